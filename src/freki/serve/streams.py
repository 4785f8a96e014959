"""Events as they happen, over HTTP (server-sent events), from where the caller stopped reading.

One task looks for the whole process whether anybody has written; streams wait for it. What there is
then is read and put into words once for all who have read as far. So twenty streams cost little
more than one, also of a crawl that always has something to tell.
"""

import asyncio
import time
from collections.abc import AsyncIterator
from typing import Annotated

import msgspec
from anyio import to_thread
from fastapi import APIRouter, Header, Query, Request
from msgspec import Struct
from starlette.responses import Response, StreamingResponse

from freki.ledger.jobs.events import Event
from freki.ledger.jobs.orders import ENDED
from freki.serve.callers import Books, Reader
from freki.serve.office import Office
from freki.serve.problems import Problem, documented

routes = APIRouter(prefix="/crawls/{id}", tags=["crawls"])

LOOK_EVERY = 0.2

# What happens within a second is told together.
TELL_EVERY = 1.0

# Proxies close what is silent for a minute.
HEARTBEAT = 15.0

MOST_STREAMS = 500
BATCH = 200

LastEventId = Annotated[
    str | None,
    Header(alias="Last-Event-ID", max_length=20, pattern=r"^\d+$",
           description="what comes after this event; by default all there is"),
]  # fmt: skip
After = Annotated[
    str | None,
    Query(max_length=20, pattern=r"^\d+$",
          description="the same for who cannot send that header at first, as browsers"),
]  # fmt: skip


class Seen(Struct, frozen=True):
    """What happened since an event, as it is sent."""

    lines: bytes
    last: int  # the number of the last event
    is_full: bool  # there may be more
    is_over: bool


class Watch:
    """Tells who waits that something may have happened, and streams what it was."""

    def __init__(self, office: Office) -> None:
        self._office = office
        self._changed = asyncio.Event()
        self._to_tell = asyncio.Event()
        # What was seen since streams were told, by job and the event before: at most one for each.
        self._seen: dict[tuple[str, int], Seen] = {}
        self._turn = asyncio.Lock()
        self.streams = 0
        self.ending = False

    def __repr__(self) -> str:
        return f"<Watch of {self.streams} streams>"

    async def run(self) -> None:
        """Look, as long as there is anybody to tell."""
        known, told, at = -1, -1, 0.0
        while True:
            await asyncio.sleep(LOOK_EVERY)
            if not self.streams:
                continue
            changes = await to_thread.run_sync(self._office.changes)
            if changes != known:
                known = changes
                self._wake()
            if known != told and time.monotonic() - at >= TELL_EVERY:
                told, at = known, time.monotonic()
                self._tell()

    def end(self) -> None:
        """Streams end, so that the process can; who reads them comes back by itself."""
        self.ending = True
        self._wake()
        self._tell()

    async def change(self, seconds: float) -> None:
        """Until something may have happened, or the time is over."""
        await _comes(self._changed, seconds)

    async def look(self, job: str, crawl: str, after: int) -> Seen:
        """What happened since an event. Who asks the same until the next telling shares it."""
        async with self._turn:
            known = self._seen
            if (job, after) in known:
                return known[job, after]
            seen = await to_thread.run_sync(_look, self._office, job, crawl, after)
            if not seen.is_full and not seen.is_over:  # what has ended may go on
                known[job, after] = seen
            return seen

    def next_telling(self) -> asyncio.Event:
        """Set when streams are told that something may have happened after this moment."""
        return self._to_tell

    def look_anew(self) -> None:
        """Take nothing that was seen before for all there is."""
        self._seen = {}

    def _tell(self) -> None:
        self.look_anew()
        before, self._to_tell = self._to_tell, asyncio.Event()
        before.set()

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
    id: str,
    request: Request,
    office: Books,
    caller: Reader,
    last_event_id: LastEventId = None,
    after: After = None,
) -> Response:
    """What happens in a crawl: `state` and `progress`, each with a number to go on from.

    A `progress` event has the sums and the latest pages. The stream ends when the crawl has.
    """
    job = await to_thread.run_sync(office.job, caller, id)
    watch: Watch = request.app.state.watch
    if watch.streams >= MOST_STREAMS:
        raise Problem("too_many_streams", "close one, or ask again later", retry_after=10)
    begin = min(int(last_event_id or after or 0), 2**53)
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    lines = _lines(watch, job.id, job.crawl, begin)
    return StreamingResponse(lines, 200, headers, "text/event-stream")


async def _lines(watch: Watch, job: str, crawl: str, after: int) -> AsyncIterator[bytes]:
    watch.streams += 1
    try:
        yield b"retry: 2000\n\n"
        while not watch.ending:
            telling = watch.next_telling()
            seen = await watch.look(job, crawl, after)
            after = seen.last
            if seen.lines:
                yield seen.lines
            if seen.is_full:
                continue
            if seen.is_over:
                yield b"event: end\ndata: {}\n\n"
                return
            if not await _comes(telling, HEARTBEAT):
                watch.look_anew()
                yield b": still here\n\n"
    finally:
        watch.streams -= 1


async def _comes(event: asyncio.Event, seconds: float) -> bool:
    try:
        async with asyncio.timeout(seconds):
            await event.wait()
    except TimeoutError:
        return False
    return True


def _look(office: Office, job: str, crawl: str, after: int) -> Seen:
    """Asked for the state first: what happened before it ended is then among the events."""
    is_over = office.state_of(job) in (*ENDED, None)
    events = office.events_of(crawl, after, BATCH)
    last = events[-1].seq if events else after
    return Seen(b"".join(map(_framed, events)), last, len(events) == BATCH, is_over)


def _framed(event: Event) -> bytes:
    data = msgspec.json.encode({"at": event.at, **msgspec.json.decode(event.data)})
    return b"id: %d\nevent: %s\ndata: %s\n\n" % (event.seq, event.kind.encode(), data)
