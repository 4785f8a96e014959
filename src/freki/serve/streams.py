"""Events as they happen, over HTTP (server-sent events), from where the caller stopped reading.

One task looks for the whole process whether anybody has written; streams wait for it. So twenty
streams cost what one does, as long as nothing happens.
"""

import asyncio
import time
from collections.abc import AsyncIterator
from typing import Annotated

import msgspec
from anyio import to_thread
from fastapi import APIRouter, Header, Request
from starlette.responses import Response, StreamingResponse

from freki.ledger.jobs.events import Event
from freki.ledger.jobs.orders import ENDED
from freki.serve.callers import Books, Reader
from freki.serve.office import Office
from freki.serve.problems import Problem, documented

routes = APIRouter(prefix="/crawls/{id}", tags=["crawls"])

LOOK_EVERY = 0.2

# Proxies close what is silent for a minute.
HEARTBEAT = 15.0

MOST_STREAMS = 500
BATCH = 200

LastEventId = Annotated[
    str | None,
    Header(alias="Last-Event-ID", max_length=20, pattern=r"^\d+$",
           description="what comes after this event; by default all there is"),
]  # fmt: skip


class Watch:
    """Tells streams that something may have happened."""

    def __init__(self, office: Office) -> None:
        self._office = office
        self._changed = asyncio.Event()
        self.streams = 0
        self.ending = False

    def __repr__(self) -> str:
        return f"<Watch of {self.streams} streams>"

    async def run(self) -> None:
        """Look, as long as there is anybody to tell."""
        seen = -1
        while True:
            await asyncio.sleep(LOOK_EVERY)
            if not self.streams:
                continue
            changes = await to_thread.run_sync(self._office.changes)
            if changes != seen:
                seen = changes
                self._wake()

    def end(self) -> None:
        """Streams end, so that the process can; who reads them comes back by itself."""
        self.ending = True
        self._wake()

    async def change(self, seconds: float) -> None:
        """Until something may have happened, or the time is over."""
        changed = self._changed
        try:
            async with asyncio.timeout(seconds):
                await changed.wait()
        except TimeoutError:
            pass

    def _wake(self) -> None:
        before, self._changed = self._changed, asyncio.Event()
        before.set()


@routes.get(
    "/events",
    response_class=StreamingResponse,
    responses={
        200: {"content": {"text/event-stream": {"schema": {"type": "string"}}}},
        **documented("not_found", "invalid", "too_many_streams"),
    },
)
async def stream_events(
    id: str,  # noqa: A002
    request: Request,
    office: Books,
    caller: Reader,
    last_event_id: LastEventId = None,
) -> Response:
    """What happens in a crawl: `state` and `progress`, each with a number to go on from.

    A `progress` event has the sums and the latest pages. The stream ends when the crawl has.
    """
    job = await to_thread.run_sync(office.job, caller, id)
    watch: Watch = request.app.state.watch
    if watch.streams >= MOST_STREAMS:
        raise Problem("too_many_streams", "close one, or ask again later", retry_after=10)
    after = min(int(last_event_id or 0), 2**53)
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    lines = _lines(office, watch, job.id, job.crawl, after)
    return StreamingResponse(lines, 200, headers, "text/event-stream")


async def _lines(
    office: Office, watch: Watch, job: str, crawl: str, after: int
) -> AsyncIterator[bytes]:
    watch.streams += 1
    try:
        yield b"retry: 2000\n\n"
        told = time.monotonic()
        while not watch.ending:
            events, is_over = await to_thread.run_sync(_look, office, job, crawl, after)
            for event in events:
                after = event.seq
                yield _framed(event)
            if is_over and len(events) < BATCH:
                yield b"event: end\ndata: {}\n\n"
                return
            if events:
                told = time.monotonic()
                continue
            if time.monotonic() - told >= HEARTBEAT:
                told = time.monotonic()
                yield b": still here\n\n"
            await watch.change(HEARTBEAT)
    finally:
        watch.streams -= 1


def _look(office: Office, job: str, crawl: str, after: int) -> tuple[list[Event], bool]:
    """Asked for the state first: what happened before it ended is then among the events."""
    is_over = office.state_of(job) in (*ENDED, None)
    return office.events_of(crawl, after, BATCH), is_over


def _framed(event: Event) -> bytes:
    data = msgspec.json.encode({"at": event.at, **msgspec.json.decode(event.data)})
    return b"id: %d\nevent: %s\ndata: %s\n\n" % (event.seq, event.kind.encode(), data)
