"""Browsers that are kept warm, and replaced before they wear out.

Several browsers with a few pages each: a browser draws one picture at a time. A job gets a context
of its own; a browser that was used often or long, or has grown, is replaced by a new one, and ends
when its last job has. If a browser dies, its jobs are tried again in what is left of their time,
each alone in a browser of its own: the one that kills that as well has a crash for its outcome, and
the others do not notice.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Coroutine
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from typing import Any

import msgspec
from msgspec import Struct

from freki.errors import BrowserMissing
from freki.fetch.browser import memory
from freki.fetch.browser.allowance import Allowance
from freki.fetch.browser.cdp import Gone, Refused
from freki.fetch.browser.fleet import Fleet, Size, size_here
from freki.fetch.browser.member import Member
from freki.fetch.browser.photograph import developed
from freki.fetch.browser.process import Terms
from freki.fetch.browser.visit import Explain, Seen, visit
from freki.fetch.egress import Egress
from freki.fetch.proxy import Limits, proxy
from freki.messages import Reason
from freki.pictures import Capture, Phases, Rendering, Shot, Unrendered

__all__ = ["Pool", "Size", "Statistics", "pool", "size_here"]

# A page whose browser died is visited again if there are as many seconds left; to start a browser
# takes one on a busy machine.
AGAIN_SECONDS = 1.0

# Visits after which memory that is free goes back to the system.
GIVE_BACK_EVERY = 20


class Statistics(Struct, frozen=True, kw_only=True):
    """What a pool has done and has."""

    browsers: int
    active: int
    waiting: int
    pages: int
    started: int
    ended: dict[str, int]  # browsers by why they ended: worn, died, silent, large
    outcomes: dict[str, int]  # visits by reason
    bytes: int  # of memory, of all browsers


class Pool:
    """A `steps.Render`. Made by `pool`, which owns its tasks."""

    def __init__(
        self, terms: Terms, size: Size, tasks: asyncio.TaskGroup, explain: Explain
    ) -> None:
        self._fleet = Fleet(terms, size, tasks)
        self._explain = explain
        self._size = size
        self._tasks = tasks
        self._alone = asyncio.Lock()
        self._eyes = ThreadPoolExecutor(size.browsers, "pictures")
        self._jobs = 0
        self._outcomes: Counter[str] = Counter()

    def __repr__(self) -> str:
        return f"<Pool {self.statistics()}>"

    def statistics(self) -> Statistics:
        fleet = self._fleet
        return Statistics(
            browsers=len(fleet.members),
            active=sum(member.active for member in fleet.members),
            waiting=fleet.waiting,
            pages=fleet.pages,
            started=fleet.started,
            ended=dict(fleet.ended),
            outcomes=dict(self._outcomes),
            bytes=sum(member.bytes for member in fleet.members),
        )

    def pids(self) -> list[int]:
        """The browsers that run."""
        return [member.browser.pid for member in self._fleet.members]

    async def open(self) -> None:
        """Have the first browser; the others come while it works."""
        await self._fleet.open()

    async def drained(self) -> None:
        """Wait until no page is open, and browsers that were replaced are gone."""
        await self._fleet.drained()

    async def close(self) -> None:
        """End everything."""
        await self._fleet.close()
        self._eyes.shutdown(wait=False)

    async def __call__(self, shot: Shot) -> Rendering | Unrendered:
        """Visit, and look at the pictures."""
        self._jobs += 1
        try:
            seen = await self._rendered(shot, Allowance(shot.seconds))
        finally:
            self._jobs -= 1
            self._give_back_memory()
        outcome = Reason.ok if isinstance(seen, Rendering) else seen.reason
        self._outcomes[outcome.name] += 1
        return seen

    def _give_back_memory(self) -> None:
        """Now and then, and once there is nothing to do; it costs a few milliseconds."""
        is_time = not self._jobs or self._outcomes.total() % GIVE_BACK_EVERY == 0
        if is_time and self._fleet.members:  # else the pool is closed
            self._eyes.submit(memory.give_back)

    async def _rendered(self, shot: Shot, allowance: Allowance) -> Rendering | Unrendered:
        seen = await self._seen(shot, allowance)
        if isinstance(seen, Unrendered):
            return seen
        try:
            async with asyncio.timeout(allowance.left):
                captures = await self._developed(seen, shot)
        except TimeoutError:
            detail = "there was no time left to look at its pictures"
            return _unrendered(shot, Reason.capture, detail, seen.rendering.phases)
        return msgspec.structs.replace(seen.rendering, captures=tuple(captures))

    async def _developed(self, seen: Seen, shot: Shot) -> list[Capture]:
        loop = asyncio.get_running_loop()
        captures = [
            await loop.run_in_executor(self._eyes, developed, negative, shot)
            for negative in seen.negatives
        ]
        if len(captures) > 1:
            self._eyes.submit(memory.give_back)
        return captures

    async def _seen(self, shot: Shot, allowance: Allowance) -> Seen | Unrendered:
        with allowance.waiting():
            member = await self._fleet.take()
        if member is None:
            waited = f"no browser was free for {self._size.patience:g} seconds"
            detail = str(self._fleet.broken or waited)
            return _unrendered(shot, Reason.busy, detail, allowance.phases)
        seen = await self._visit(member, shot, allowance)
        if isinstance(seen, Seen) or not member.dead:
            return seen
        return await self._visit_again(shot, allowance)

    async def _visit(self, member: Member, shot: Shot, allowance: Allowance) -> Seen | Unrendered:
        """One visit in a browser that was taken; it is given back when the page is closed."""
        tab = None
        try:
            async with asyncio.timeout(allowance.left):
                tab = await member.open(shot.viewports[0])
            rest = msgspec.structs.replace(shot, seconds=allowance.left)
            return await visit(tab, rest, self._explain, allowance.queue)
        except (Gone, Refused, TimeoutError) as error:
            if not member.dead and allowance.left:
                member.worn = member.worn or "stuck"
            detail = f"no page: {error}" if str(error) else "the browser opened no page in time"
            return _unrendered(shot, Reason.crash, detail, allowance.phases)
        finally:
            # In a task of the pool: who asked may be gone, the page must go all the same.
            self._spawn(self._fleet.give_back(member, tab))

    async def _visit_again(self, shot: Shot, allowance: Allowance) -> Seen | Unrendered:
        """Alone, one after the other: the browser before died of this page, or of another."""
        try:
            with allowance.waiting():
                async with asyncio.timeout(self._size.patience):
                    await self._alone.acquire()
        except TimeoutError:
            return _unrendered(shot, Reason.busy, f"{_DIED} no other was free", allowance.phases)
        try:
            return await self._visit_alone(shot, allowance)
        finally:
            self._alone.release()

    async def _visit_alone(self, shot: Shot, allowance: Allowance) -> Seen | Unrendered:
        if allowance.left < AGAIN_SECONDS:
            detail = f"{_DIED} there was no time left for another visit"
            return _unrendered(shot, Reason.crash, detail, allowance.phases)
        try:
            async with self._fleet.alone(allowance.left) as member:
                return await self._visit(member, shot, allowance)
        except BrowserMissing as error:
            detail = f"{_DIED} {error}"
        except TimeoutError:
            detail = f"{_DIED} no other started in time"
        return _unrendered(shot, Reason.crash, detail, allowance.phases)

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        tasks = self._tasks
        tasks.create_task(work)


_DIED = "its browser died, and"


def _unrendered(shot: Shot, reason: Reason, detail: str, phases: Phases) -> Unrendered:
    return Unrendered(url=shot.url, reason=reason, detail=detail, phases=phases)


@asynccontextmanager
async def pool(
    terms: Terms, size: Size, egress: Egress, limits: Limits | None = None
) -> AsyncIterator[Pool]:
    """A pool, warm, whose browsers reach what `egress` lets them; all of it ends with the block."""
    try:
        async with proxy(egress, limits) as way_out, asyncio.TaskGroup() as tasks:
            led = msgspec.structs.replace(terms, network=tuple(way_out.flags))
            made = Pool(led, size, tasks, way_out.failure)
            await made.open()
            try:
                yield made
            finally:
                await made.close()
    except BaseExceptionGroup as errors:
        raise _first(errors) from None


def _first(errors: BaseException) -> BaseException:
    """What failed first; the rest was cancelled because of it."""
    while isinstance(errors, BaseExceptionGroup):
        errors = errors.exceptions[0]
    return errors
