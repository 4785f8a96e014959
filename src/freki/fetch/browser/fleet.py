"""The browsers of a pool: started, handed out, replaced before they wear out, and ended."""

import asyncio
import os
from collections import Counter
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager, suppress
from typing import Any, TypeVar

import msgspec
from msgspec import Struct

from freki.errors import BrowserMissing
from freki.fetch.browser import memory, process
from freki.fetch.browser.member import Member
from freki.fetch.browser.process import Chromium, Terms
from freki.fetch.browser.tab import Tab

# When a browser is worn: what peers found before their leaks hurt.
MOST_PAGES = 100
MOST_SECONDS = 1_800.0

# Seconds that the jobs of a worn browser get, and that a browser which does not start costs.
DRAIN_SECONDS = 120.0
PAUSE = 0.5
MOST_PAUSE = 30.0

# A browser that dies younger was not killed by its pages: the next one would die as well.
YOUNG = 5.0

# Of a container's memory, for all browsers together, and what one of them needs at least.
SHARE = 0.85
LEAST_MEMORY = 2**30
MOST_MEMORY = 2 * 2**30

TABS = 3

T = TypeVar("T")


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


def size_here(browsers: int | None = None) -> tuple[Size, int]:
    """As many browsers as there are cores and memory for, and the bytes each may have."""
    share = int(memory.limit() * SHARE)
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    count = browsers or max(1, min(cores or 1, share // LEAST_MEMORY))
    return Size(browsers=count), max(2**28, min(MOST_MEMORY, share // count))


class Fleet:
    """As many browsers as there are seats. Its tasks belong to the pool."""

    def __init__(self, terms: Terms, size: Size, tasks: asyncio.TaskGroup) -> None:
        self.started = 0
        self.waiting = 0
        self.pages = 0
        self.ended: Counter[str] = Counter()  # browsers by why
        self.broken: BrowserMissing | None = None  # why there is none
        self.members: list[Member] = []  # those that take jobs
        self._running: set[Member] = set()  # and those that end, or have one job alone
        self._terms = terms
        self._size = size
        self._tasks = tasks
        self._free = asyncio.Condition()
        self._keepers: list[asyncio.Task[None]] = []
        self._going = 0  # browsers that are to end, and have not yet

    def __repr__(self) -> str:
        return f"<Fleet {self.members} started={self.started} ended={dict(self.ended)}>"

    async def drained(self) -> None:
        """Wait until no page is open, and browsers that were replaced are gone."""
        while self._going or any(member.active for member in self.members):  # noqa: ASYNC110
            await asyncio.sleep(0.05)

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
        await asyncio.gather(*(member.browser.end() for member in self._running))
        self.members.clear()

    async def take(self) -> Member | None:
        """The browser with fewest pages, or None where none was free in time."""
        self.waiting += 1
        try:
            async with asyncio.timeout(self._size.patience), self._free:
                await self._free.wait_for(lambda: self.broken or self._best() is not None)
                member = self._best()
                if member is not None:
                    member.active += 1
                    member.pages += 1
                    member.idle.clear()
                    self.pages += 1
                return member
        except TimeoutError:
            return None
        finally:
            self.waiting -= 1

    def _best(self) -> Member | None:
        usable = [
            member
            for member in self.members
            if member.active < self._size.tabs and not member.dead and member.worn != "stuck"
        ]
        return min(usable, key=lambda member: member.active, default=None)

    async def give_back(self, member: Member, tab: Tab | None) -> None:
        if tab is not None and not member.dead:
            await member.close(tab)
        member.active -= 1
        if not member.active:
            member.idle.set()
        async with self._free:
            self._free.notify_all()  # one that is told may have been cancelled just now

    @asynccontextmanager
    async def alone(self, within: float) -> AsyncIterator[Member]:
        """A browser beside the others for one job; `BrowserMissing`, or late: `TimeoutError`."""
        starting = self._spawn(self._started_or_not())
        try:
            async with asyncio.timeout(within):
                member = await asyncio.shield(starting)
            if isinstance(member, BrowserMissing):
                raise member
            member.active += 1
            member.idle.clear()
            yield member
        finally:
            # Who asked for it may be gone before it is there.
            self._spawn(self._end_started(starting))

    async def _started_or_not(self) -> Member | BrowserMissing:
        """On a machine that has much to do, what fails once may come about the second time."""
        with suppress(BrowserMissing):
            return await self._start()
        try:
            return await self._start()
        except BrowserMissing as error:
            return error

    async def _end_started(self, starting: asyncio.Task[Member | BrowserMissing]) -> None:
        member = await starting
        if isinstance(member, Member):
            await self._end(member, "alone")

    def _spawn(self, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        tasks = self._tasks
        return tasks.create_task(work)

    async def _start(self) -> Member:
        """A new browser; `BrowserMissing` where there is none to be had."""
        browser = await Chromium.start(self._terms)
        member = Member(browser)
        self._running.add(member)
        self.started += 1
        return member

    async def _keep(self, member: Member | None) -> None:
        """A seat of the pool always has a browser: the next one comes before the last one goes."""
        pause = PAUSE
        while True:
            try:
                member = member or await self._start()
            except BrowserMissing as error:
                await self._say_broken(error)
                await asyncio.sleep(pause)
                pause = min(MOST_PAUSE, 2 * pause)
                continue
            await self._seat(member)
            why = await member.watch(self._size.pages, self._size.seconds)
            following = None
            if not member.dead:
                with suppress(BrowserMissing):
                    following = await self._start()
            self.members.remove(member)
            self._spawn(self._end(member, why))
            pause = min(MOST_PAUSE, 2 * pause) if member.dead and member.age < YOUNG else PAUSE
            if pause > PAUSE:
                await asyncio.sleep(pause)
            member = following

    async def _say_broken(self, error: BrowserMissing) -> None:
        """Without any browser, nobody shall wait for one."""
        if not self.members:
            self.broken = error
            async with self._free:
                self._free.notify_all()

    async def _seat(self, member: Member) -> None:
        self.broken = None
        self.members.append(member)
        async with self._free:
            self._free.notify_all()

    async def _end(self, member: Member, why: str) -> None:
        """Its last jobs come to their end first, unless it is dead."""
        self.ended[why] += 1
        self._going += 1
        if not member.dead:
            with suppress(TimeoutError):
                async with asyncio.timeout(DRAIN_SECONDS):
                    await member.idle.wait()
        await member.browser.end()
        self._running.discard(member)
        self._going -= 1
