"""The ledger as the event loop sees it: one thread, two buffers.

Outcomes go into a buffer; the writer swaps it for an empty one and commits it in the thread
while the next fills. Who adds waits only when the buffer is full. A crash loses the buffer that
was not committed, whose URLs are still leased, so they are fetched again.
"""

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from typing import TypeVar

from msgspec import Struct

from freki.messages import Batch, Discovery, HostRest, HostRules, Outcome
from freki.steps import Ledger, Session, Work

# A commit of 128 pages costs 25 µs a page; smaller batches rewrite the same index pages more
# often, larger ones lose more in a crash and save nothing.
BATCH = 128
CAPACITY = 2 * BATCH

# Seconds that an outcome waits for company.
LINGER = 0.1

T = TypeVar("T")


class Written(Struct, frozen=True):
    """What the buffer did so far."""

    commits: int = 0
    outcomes: int = 0
    buffered: int = 0


class Buffered:
    """A session of a ledger, for use in the event loop."""

    def __init__(
        self, ledger: Ledger, clock: Callable[[], float], executor: Executor | None
    ) -> None:
        self._ledger = ledger
        self._clock = clock
        self._executor = executor
        self._session: Session | None = None
        self._outcomes: list[Outcome] = []
        self._rests: dict[int, HostRest] = {}
        self._rules: list[HostRules] = []
        self._discoveries: list[Discovery] = []
        self._filled = asyncio.Event()
        self._hurry = asyncio.Event()
        self._swapped = asyncio.Event()
        self._idle = asyncio.Event()
        self._idle.set()
        self._commits = 0
        self._written = 0
        self.on_commit: Callable[[], None] = lambda: None

    def __repr__(self) -> str:
        return f"<Buffered {self.statistics()} of {self._ledger!r}>"

    def statistics(self) -> Written:
        return Written(self._commits, self._written, len(self._outcomes))

    async def join(self) -> None:
        """Open a session; what the dead held is free again."""
        self._session = await self._in_thread(self._ledger.join, self._clock())

    async def leave(self) -> None:
        """Give everything back."""
        session, self._session = self._session, None
        if session is not None:
            await self._in_thread(self._ledger.leave, session, self._clock())

    async def renew(self) -> None:
        await self._in_thread(self._ledger.renew, self._held, self._clock())

    async def claim(self, hosts: int, refill: Sequence[HostRest], full: Sequence[int] = ()) -> Work:
        claim = self._ledger.claim
        return await self._in_thread(claim, self._held, self._clock(), hosts, refill, full)

    async def room(self) -> None:
        """Wait until there is room for an outcome."""
        while len(self._outcomes) >= CAPACITY:
            self._swapped.clear()
            await self._swapped.wait()

    def put(self, outcome: Outcome, rest: HostRest | None = None) -> None:
        """Add an outcome; the caller waited for `room` before it looked at the page."""
        self._outcomes.append(outcome)
        if rest is not None:
            self._rests[rest.host] = rest
        self._fill()
        if len(self._outcomes) >= BATCH:
            self._hurry.set()

    def put_rules(self, rules: HostRules, found: Sequence[Discovery]) -> None:
        """Add what a host asks for, and the sitemaps it names."""
        self._rules.append(rules)
        self._discoveries += found
        self._fill()

    def _fill(self) -> None:
        self._idle.clear()
        self._filled.set()

    async def write(self) -> None:
        """Commit what comes in, for ever."""
        while True:
            await self._filled.wait()
            await self._company()
            await self._commit()

    async def drain(self) -> None:
        """Wait until everything that was put is durable. `write` must be running."""
        while not self._idle.is_set():
            self._hurry.set()
            await self._idle.wait()

    def forget(self) -> None:
        """Drop what was not committed: the session it belongs to is lost."""
        self._outcomes, self._rests = [], {}
        self._rules, self._discoveries = [], []
        self._filled.clear()
        self._idle.set()

    async def _company(self) -> None:
        if len(self._outcomes) < BATCH:
            try:
                async with asyncio.timeout(LINGER):
                    await self._hurry.wait()
            except TimeoutError:
                pass
        self._hurry.clear()

    async def _commit(self) -> None:
        outcomes, self._outcomes = self._outcomes, []
        rests, self._rests = self._rests, {}
        rules, self._rules = self._rules, []
        found, self._discoveries = self._discoveries, []
        self._filled.clear()
        self._swapped.set()
        batch = Batch(self._clock(), outcomes, list(rests.values()), rules, found)
        await self._in_thread(self._ledger.commit, self._held, batch)
        self._commits += 1
        self._written += len(outcomes)
        if not self._filled.is_set():
            self._idle.set()
        self.on_commit()

    @property
    def _held(self) -> Session:
        assert self._session is not None, "join comes first"
        return self._session

    async def _in_thread(self, call: Callable[..., T], *arguments: object) -> T:
        """Run on the ledger's thread; without one, here, which is what virtual time wants."""
        if self._executor is None:
            return call(*arguments)
        loop = asyncio.get_running_loop()
        running = loop.run_in_executor(self._executor, call, *arguments)
        # Who waits may be cancelled meanwhile; then nobody else looks at how the call ended.
        running.add_done_callback(lambda ended: ended.cancelled() or ended.exception())
        return await asyncio.shield(running)
