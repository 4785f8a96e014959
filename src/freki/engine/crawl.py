"""The loop of a worker: claim, send out what may go out, wait for something to change."""

import asyncio
from contextlib import suppress
from enum import StrEnum

from freki.engine.journey import Steps, journey
from freki.errors import LeaseLost, StoreDamaged, StoreError
from freki.messages import Claim, HostRules
from freki.steps import Work

# Hosts a worker holds at once. With the default pause of some seconds between two requests,
# this many keep 256 connections busy, and cost 8 MB with their claims.
MAX_HOSTS = 4096

# More of them in one claim would hold up the commits of all workers for longer.
HOSTS_PER_CLAIM = 16

# Claims of shared hosts in hand below which more are fetched: a claim takes about a
# millisecond, in which some ten of these are used up.
LOW_WATER = 64

# Seconds after which a worker with nothing to do looks again, for others may have found links: the
# first time, and at most, twice as long each time in between.
LOOK_SOON = 0.02
LOOK_AGAIN = 1.0

# Seconds after which a journey counts as stalled, how often that is looked at while there is no
# room, and how many stalled ones there may be for each that is not.
STALLED = 1.0
STALL_CHECK = 0.25
MOST_STALLED = 3

# Looks, a second apart, that find nothing to wait for before that counts as damage: where a store
# has several writers, one may see another's work half gone.
STUCK_LOOKS = 3

# Keeps a loop that waits for a date from spinning on the clock's resolution.
SHORTEST_WAIT = 0.01


class Ending(StrEnum):
    """How a crawl's work came to an end."""

    finished = "finished"
    limited = "limited"  # a limit leaves URLs waiting
    interrupted = "interrupted"


class Worker:
    """Works on one crawl until there is nothing left, a limit is reached, or it is stopped."""

    def __init__(
        self, steps: Steps, *, connections: int, exclusive: bool, lease: float, drain: float
    ) -> None:
        self._steps = steps
        self._connections = connections
        self._exclusive = exclusive
        self._lease = lease
        self._leased_until = 0.0
        self._drain = drain
        self._changed = asyncio.Event()
        self._claiming = False
        self._claim_after = 0.0
        self._looks_in_vain = 0
        self._stop_at: float | None = None
        self._stuck = 0
        self.work = Work([])

    def __repr__(self) -> str:
        return f"<Worker {self._steps.agenda!r} {self._steps.ledger!r}>"

    def stop(self, drain: float | None = None) -> None:
        """Take nothing new; what is in flight has some seconds to end."""
        if self._stop_at is None:
            self._stop_at = self._steps.clock() + (self._drain if drain is None else drain)
        self._changed.set()

    async def run(self) -> Ending:
        ending = None
        while ending is None:
            try:
                ending = await self._session()
            except BaseExceptionGroup as errors:
                # One task failed first; the others were cancelled because of it.
                error = first_error(errors)
                if not isinstance(error, LeaseLost):
                    raise error from None
                self._begin_again()
        return ending

    def _begin_again(self) -> None:
        """We were taken for dead, and somebody else has our claims.

        Nothing of ours was stored since, so nothing of it may be remembered either.
        """
        self._steps.agenda.clear()
        self._steps.gate.forget()
        self._steps.rulebook.forget()
        self._steps.ledger.forget()
        self._claiming = False

    async def _session(self) -> Ending:
        """From joining the crawl to leaving it."""
        ledger = self._steps.ledger
        ledger.on_commit = self._on_commit
        self._leased_until = self._steps.clock() + self._lease
        await ledger.join()
        try:
            async with asyncio.TaskGroup() as group:
                background = [
                    group.create_task(ledger.write(), name="write"),
                    group.create_task(self._renew(), name="renew"),
                ]
                ending = await self._crawl(group)
                await ledger.drain()
                for task in background:
                    task.cancel()
        finally:
            # A store that cannot be written has said so already; our leases end by themselves.
            with suppress(StoreError):
                await ledger.leave()
        return ending

    async def _crawl(self, group: asyncio.TaskGroup) -> Ending:
        agenda = self._steps.agenda
        travels = Travels(self._connections)
        while True:
            self._changed.clear()
            if self._stop_at is not None:
                await travels.drained(max(0.0, self._stop_at - self._steps.clock()))
                return Ending.interrupted
            self._send_out(group, travels)
            if not agenda.active and not agenda.waiting and not self._claiming:
                if (ending := await self._look_around()) is not None:
                    return ending
            elif self._wants_claims():
                self._claiming = True
                group.create_task(self._claim(), name="claim")
            await self._wait(travels)

    def _send_out(self, group: asyncio.TaskGroup, travels: "Travels") -> None:
        """Start a journey for every claim that may go out now."""
        agenda, now = self._steps.agenda, self._steps.clock()
        while self._may_send(travels, now) and self._stop_at is None:
            claim = agenda.take(now)
            if claim is None:
                return
            travels.add(group.create_task(self._travel(claim, group, travels)), now)

    def _may_send(self, travels: "Travels", now: float) -> bool:
        """Not when our lease is over: others may be at our hosts, and only renewing it tells."""
        return now <= self._leased_until and travels.has_room(now)

    async def _travel(self, claim: Claim, group: asyncio.TaskGroup, travels: "Travels") -> None:
        await journey(claim, self._steps)
        travels.leave()
        # The next one starts here; the loop wakes only when there is more to do than that.
        self._send_out(group, travels)
        agenda = self._steps.agenda
        if agenda.waiting < LOW_WATER or agenda.is_hungry or self._stop_at is not None:
            self._changed.set()

    def _wants_claims(self) -> bool:
        agenda = self._steps.agenda
        if self._claiming:
            return False
        if agenda.is_hungry:
            return True
        now = self._steps.clock()
        if now < self._claim_after:
            return False
        if self._exclusive:
            return agenda.hosts < MAX_HOSTS
        # What waits for a slow host must not keep others from being claimed.
        next_at = agenda.next_at()
        return agenda.waiting < LOW_WATER or next_at is None or next_at > now

    async def _claim(self) -> Work:
        agenda, ledger = self._steps.agenda, self._steps.ledger
        refill = agenda.hungry()
        room = HOSTS_PER_CLAIM
        if self._exclusive:
            room = min(room, MAX_HOSTS - agenda.hosts)
        self._claim_after = now = self._steps.clock()
        work = await ledger.claim(room, refill, agenda.full(LOW_WATER))
        agenda.add(work.hosts)
        for of_host in work.hosts:
            if of_host.rules is not None:
                self._recall(of_host.rules)
        agenda.drop(rest.host for rest in refill)
        self._looks_in_vain = 0 if work.hosts else self._looks_in_vain + 1
        if len(work.hosts) < room:  # all there is for now; a commit or a date brings more
            soon = now + self._patience()
            self._claim_after = max(now + SHORTEST_WAIT, min(work.next_due or soon, soon))
        self.work = work
        self._claiming = False
        self._changed.set()
        return work

    def _patience(self) -> float:
        """Seconds until another worker may have found something for us."""
        if self._exclusive:
            return LOOK_AGAIN
        return min(LOOK_AGAIN, LOOK_SOON * 2.0 ** min(self._looks_in_vain, 10))

    def _recall(self, rules: HostRules) -> None:
        rulebook = self._steps.rulebook
        rulebook.recall(rules)
        if (delay := rulebook.crawl_delay(rules.origin)) is not None:
            self._steps.agenda.ask(rules.host, delay)

    async def _look_around(self) -> Ending | None:
        """Nothing is in hand: is there more, will there be, or was that all?"""
        await self._steps.ledger.drain()
        if self._stop_at is not None:
            return None
        work = await self._claim()
        if work.hosts:
            return None
        self._changed.clear()
        if work.open == 0:
            return Ending.finished
        if work.limit_reached and work.leased == 0:
            return Ending.limited
        self._stuck = self._stuck + 1 if work.stuck else 0
        if self._stuck == STUCK_LOOKS:
            raise StoreDamaged(
                f"{work.open:,} URLs are to be fetched, and can never be: the store is damaged; "
                "freki check --repair saves what can be saved"
            )
        return None

    async def _wait(self, travels: "Travels") -> None:
        """Until something changed, a host has rested, or it is time to look again."""
        agenda, now = self._steps.agenda, self._steps.clock()
        until = max(self._claim_after, now + SHORTEST_WAIT)
        next_at = agenda.next_at()
        if next_at is not None:
            until = min(until, next_at) if self._may_send(travels, now) else now + STALL_CHECK
        with suppress(TimeoutError):
            async with asyncio.timeout(max(0.0, until - now)):
                await self._changed.wait()

    async def _renew(self) -> None:
        """Three renewals fit into a lease, so that one that is late loses nothing."""
        while True:
            await asyncio.sleep(self._lease / 3)
            until = self._steps.clock() + self._lease
            await self._steps.ledger.renew()
            self._leased_until = until
            self._changed.set()

    def _on_commit(self) -> None:
        self._claim_after = 0.0
        self._changed.set()


class Travels:
    """The journeys under way.

    One that has been on its way for long mostly waits for a host that stalls. It holds a socket
    and nothing else, so it does not count against the limit: five hundred hosts that never
    answer would keep all others from being asked.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._started: dict[asyncio.Task[None], float] = {}  # the oldest first
        self._stalled: set[asyncio.Task[None]] = set()  # no more of them than there are hosts

    def __repr__(self) -> str:
        return f"<Travels {len(self._started)} stalled={len(self._stalled)}>"

    def add(self, travel: asyncio.Task[None], now: float) -> None:
        self._started[travel] = now
        travel.add_done_callback(self._end)

    def leave(self) -> None:
        """The journey that calls this is over, so that it can send out the next one."""
        current = asyncio.current_task()
        assert current is not None
        self._end(current)

    def has_room(self, now: float) -> bool:
        under_way = len(self._started) + len(self._stalled)
        if under_way < self._limit:
            return True
        # The oldest come first, and each is looked at once: thousands may stall for a minute.
        while self._started and (oldest := next(iter(self._started.items())))[1] < now - STALLED:
            del self._started[oldest[0]]
            self._stalled.add(oldest[0])
        return under_way < self._limit + min(len(self._stalled), MOST_STALLED * self._limit)

    async def drained(self, seconds: float) -> None:
        """Let journeys end until the deadline; the URLs of the others stay ours to give back."""
        under_way = {*self._started, *self._stalled}
        if under_way:
            await asyncio.wait(under_way, timeout=seconds)
        for travel in {*self._started, *self._stalled}:
            travel.cancel()

    def _end(self, travel: asyncio.Task[None]) -> None:
        self._started.pop(travel, None)
        self._stalled.discard(travel)


def first_error(errors: BaseException) -> BaseException:
    """What failed first in a TaskGroup; the rest was cancelled because of it."""
    while isinstance(errors, BaseExceptionGroup):
        errors = errors.exceptions[0]
    return errors
