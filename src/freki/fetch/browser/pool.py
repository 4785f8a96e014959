"""Browsers that are kept warm, and replaced before they wear out.

Several browsers with a few pages each: a browser draws one picture at a time. A job gets a context
of its own; a browser that was used often or long, or has grown, is replaced by a new one, and ends
when its last job has. If a browser dies, its jobs are tried again, each alone in a browser of its
own: the one that kills that as well has a crash for its outcome, and the others do not notice.
"""

import asyncio
import os
from collections import Counter
from collections.abc import AsyncIterator, Coroutine
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from typing import Any

import msgspec
from msgspec import Struct

from freki.errors import BrowserMissing
from freki.fetch.browser import memory, process
from freki.fetch.browser.cdp import Gone, Refused
from freki.fetch.browser.member import Member
from freki.fetch.browser.photograph import developed
from freki.fetch.browser.process import Chromium, Terms
from freki.fetch.browser.tab import Tab
from freki.fetch.browser.visit import Explain, Seen, visit
from freki.fetch.egress import Egress
from freki.fetch.proxy import Limits, proxy
from freki.messages import Reason
from freki.pictures import Rendering, Shot, Unrendered

# When a browser is worn: what peers found before their leaks hurt.
MOST_PAGES = 100
MOST_SECONDS = 1_800.0

# Seconds that the jobs of a worn browser get, and that a browser which does not start costs.
DRAIN_SECONDS = 120.0
MOST_PAUSE = 30.0

# Of a container's memory, for all browsers together, and what one of them needs at least.
SHARE = 0.85
LEAST_MEMORY = 2**30
MOST_MEMORY = 2 * 2**30

TABS = 3

# Visits after which memory that is free goes back to the system.
GIVE_BACK_EVERY = 20


class Size(Struct, frozen=True, kw_only=True):
    """How many browsers, how many pages in each, and how long a job waits for one."""

    browsers: int
    tabs: int = TABS
    pages: int = MOST_PAGES
    seconds: float = MOST_SECONDS
    patience: float = 600.0

    def for_jobs(self, jobs: int) -> "Size":
        """No more browsers than so many jobs keep busy."""
        return msgspec.structs.replace(self, browsers=max(1, min(self.browsers, -(-jobs // 2))))


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


def size_here(browsers: int | None = None) -> tuple[Size, int]:
    """As many browsers as there are cores and memory for, and the bytes each may have."""
    share = int(memory.limit() * SHARE)
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    count = browsers or max(1, min(cores or 1, share // LEAST_MEMORY))
    return Size(browsers=count), max(2**28, min(MOST_MEMORY, share // count))


class Pool:
    """A `steps.Render`. Made by `pool`, which owns its tasks."""

    def __init__(
        self, terms: Terms, size: Size, tasks: asyncio.TaskGroup, explain: Explain
    ) -> None:
        self._terms = terms
        self._explain = explain
        self._size = size
        self._tasks = tasks
        self._members: list[Member] = []
        self._free = asyncio.Condition()
        self._alone = asyncio.Lock()
        self._eyes = ThreadPoolExecutor(size.browsers, "pictures")
        self._keepers: list[asyncio.Task[None]] = []
        self._jobs = 0
        self._waiting = 0
        self._pages = 0
        self._started = 0
        self._going = 0  # browsers that are to end, and have not yet
        self._ended: Counter[str] = Counter()
        self._outcomes: Counter[str] = Counter()
        self._broken: BrowserMissing | None = None

    def __repr__(self) -> str:
        return f"<Pool {self.statistics()}>"

    def statistics(self) -> Statistics:
        return Statistics(
            browsers=len(self._members),
            active=sum(member.active for member in self._members),
            waiting=self._waiting,
            pages=self._pages,
            started=self._started,
            ended=dict(self._ended),
            outcomes=dict(self._outcomes),
            bytes=sum(member.bytes for member in self._members),
        )

    def pids(self) -> list[int]:
        """The browsers that run."""
        return [member.browser.pid for member in self._members]

    async def drained(self) -> None:
        """Wait until no page is open, and browsers that were replaced are gone."""
        while self._going or any(member.active for member in self._members):  # noqa: ASYNC110
            await asyncio.sleep(0.05)

    async def __call__(self, shot: Shot) -> Rendering | Unrendered:
        """Visit, and look at the pictures."""
        self._jobs += 1
        try:
            return await self._rendered(shot)
        finally:
            self._jobs -= 1
            if not self._jobs and self._members:  # else the pool is closed
                self._eyes.submit(memory.give_back)

    async def _rendered(self, shot: Shot) -> Rendering | Unrendered:
        seen = await self._seen(shot)
        outcome = Reason.ok if isinstance(seen, Seen) else seen.reason
        self._outcomes[outcome.name] += 1
        if isinstance(seen, Unrendered):
            return seen
        loop = asyncio.get_running_loop()
        captures = [
            await loop.run_in_executor(self._eyes, developed, negative, shot)
            for negative in seen.negatives
        ]
        # After every tall page, now and then, and once there is nothing to do; it costs a few
        # milliseconds.
        if len(captures) > 1 or sum(self._outcomes.values()) % GIVE_BACK_EVERY == 0:
            await loop.run_in_executor(self._eyes, memory.give_back)
        return msgspec.structs.replace(seen.rendering, captures=tuple(captures))

    async def _seen(self, shot: Shot) -> Seen | Unrendered:
        now = asyncio.get_running_loop().time
        asked_at = now()
        member = await self._take()
        if member is None:
            detail = str(self._broken or f"no browser was free for {self._size.patience:g} seconds")
            return Unrendered(url=shot.url, reason=Reason.busy, detail=detail)
        queue = now() - asked_at
        seen = await self._visit(member, shot, queue)
        if isinstance(seen, Seen) or not member.dead:
            return seen
        return await self._visit_alone(shot, queue)

    async def _visit(self, member: Member, shot: Shot, queue: float) -> Seen | Unrendered:
        """One visit in a browser that was taken; it is given back when the page is closed."""
        tab = None
        try:
            tab = await member.open(shot.viewports[0])
            return await visit(tab, shot, self._explain, queue)
        except (Gone, Refused, TimeoutError) as error:
            if not member.dead:
                member.worn = member.worn or "stuck"
            return Unrendered(url=shot.url, reason=Reason.crash, detail=f"no page: {error}")
        finally:
            # In a task of the pool: who asked may be gone, the page must go all the same.
            self._spawn(self._give_back(member, tab))

    async def _visit_alone(self, shot: Shot, queue: float) -> Seen | Unrendered:
        """Again, in a browser of its own: the one before died of this page, or of another."""
        async with self._alone:
            try:
                member = await self._start()
            except BrowserMissing as error:
                return Unrendered(url=shot.url, reason=Reason.crash, detail=str(error))
            member.active += 1
            member.idle.clear()
            try:
                return await self._visit(member, shot, queue)
            finally:
                self._spawn(self._end(member, "alone"))

    async def _take(self) -> Member | None:
        """The browser with fewest pages, or None where none was free in time."""
        self._waiting += 1
        try:
            async with asyncio.timeout(self._size.patience), self._free:
                await self._free.wait_for(lambda: self._broken or self._best() is not None)
                member = self._best()
                if member is not None:
                    member.active += 1
                    member.pages += 1
                    member.idle.clear()
                    self._pages += 1
                return member
        except TimeoutError:
            return None
        finally:
            self._waiting -= 1

    def _best(self) -> Member | None:
        usable = [
            member
            for member in self._members
            if member.active < self._size.tabs and not member.dead and member.worn != "stuck"
        ]
        return min(usable, key=lambda member: member.active, default=None)

    async def _give_back(self, member: Member, tab: Tab | None) -> None:
        if tab is not None and not member.dead:
            await member.close(tab)
        member.active -= 1
        if not member.active:
            member.idle.set()
        async with self._free:
            self._free.notify()

    def _spawn(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        tasks = self._tasks
        return tasks.create_task(work)

    # Browsers

    async def open(self) -> None:
        """Have the first browser; then the others are started beside it."""
        process.reap()
        memory.keep_apart()
        first = await self._start()
        for seat in range(self._size.browsers):
            keeper = self._keep(first if seat == 0 else None)
            self._keepers.append(self._spawn(keeper))

    async def close(self) -> None:
        """End everything."""
        for keeper in self._keepers:
            keeper.cancel()
        await asyncio.gather(*self._keepers, return_exceptions=True)
        await asyncio.gather(*(member.browser.end() for member in self._members))
        self._members.clear()
        self._eyes.shutdown(wait=False)

    async def _start(self) -> Member:
        browser = await Chromium.start(self._terms)
        member = Member(browser)
        await browser.cdp.tell("Target.setDiscoverTargets", within=5.0, discover=True)
        self._started += 1
        return member

    async def _keep(self, member: Member | None) -> None:
        """A seat of the pool always has a browser: the next one comes before the last one goes."""
        pause = 0.5
        while True:
            try:
                member = member or await self._start()
            except (BrowserMissing, Gone, Refused, TimeoutError) as error:
                await self._say_broken(error)
                await asyncio.sleep(pause)
                pause = min(MOST_PAUSE, 2 * pause)
                continue
            pause = 0.5
            self._broken = None
            await self._seat(member)
            why = await member.watch(self._size.pages, self._size.seconds)
            following = None
            if not member.dead:
                with suppress(BrowserMissing, Gone, Refused, TimeoutError):
                    following = await self._start()
            self._members.remove(member)
            self._spawn(self._end(member, why))
            member = following

    async def _say_broken(self, error: Exception) -> None:
        """Without any browser, nobody shall wait for one."""
        if not self._members:
            self._broken = BrowserMissing(str(error))
            async with self._free:
                self._free.notify_all()

    async def _seat(self, member: Member) -> None:
        self._members.append(member)
        async with self._free:
            self._free.notify_all()

    async def _end(self, member: Member, why: str) -> None:
        """Its last jobs come to their end first, unless it is dead."""
        self._ended[why] += 1
        self._going += 1
        if not member.dead:
            with suppress(TimeoutError):
                async with asyncio.timeout(DRAIN_SECONDS):
                    await member.idle.wait()
        await member.browser.end()
        self._going -= 1


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
