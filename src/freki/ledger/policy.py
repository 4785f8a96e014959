"""When may the next request go to which host? Pure: `now` is always an argument.

The life of a host in a worker: `add` brings it with some claims, `take` hands them out one by
one, `settle` says how a request went and makes the host rest, and when its claims are used up
it appears in `hungry` until more are added or it is `drop`ped. It rests with an empty queue just
the same: the next claim must not jump the delay.

Cost: O(log hosts) for each of take and settle.
"""

from collections import deque
from collections.abc import Iterable
from heapq import heappop, heappush

from msgspec import Struct

from freki.messages import Claim, HostRest, HostWork

# How fast a learnt pause falls when a host answers quicker again. It rises at once.
FALL = 0.3

# A host that cannot be reached is tried again after this, then after twice as long, and so on.
# Ten tries take five minutes.
FIRST_BACKOFF = 1.0
LONGEST_BACKOFF = 60.0

# Connection failures in a row after which a host is left alone: some five minutes.
HOST_TRIES = 10

# Requests in a row that a host answers with "come back later" before it is left alone: half an
# hour, or as long as it asks for. A host that says so for ever would keep a crawl from its end.
HOST_PATIENCE = 30


class Manners(Struct, frozen=True):
    """What was promised to hosts."""

    delay: float | None = None  # fixed; None follows the response time
    min_delay: float = 0.25
    max_delay: float = 30.0
    concurrency: int = 1
    per_address: bool = False  # hosts on one address share one pause

    def pause(self, learnt: float | None, elapsed: float) -> float:
        """The pause after a request that took `elapsed` seconds."""
        if self.delay is not None:
            return self.delay
        if learnt is not None and learnt > elapsed:
            elapsed = learnt - FALL * (learnt - elapsed)
        return max(min(elapsed, self.max_delay), self.min_delay)

    def standing_pause(self, learnt: float | None) -> float:
        """The pause where a request taught nothing new."""
        if self.delay is not None:
            return self.delay
        return max(min(learnt or 0.0, self.max_delay), self.min_delay)


class _Host:
    """A host in this worker's hands."""

    __slots__ = (
        "active", "address", "asked", "backed_off", "claims", "delay", "failures", "id",
        "is_strained", "listed", "next_at",
    )  # fmt: skip

    def __init__(self, work: HostWork) -> None:
        self.id = work.host
        self.claims = deque(work.claims)
        self.next_at = work.next_at
        self.delay = work.delay
        # What was stored is no reason to give a host up without another look.
        self.failures = max(0, min(work.failures, HOST_TRIES - 1))
        self.asked = 0.0  # by Crawl-delay
        self.address = ""
        self.is_strained = False  # the last failure was an answer: not now
        self.backed_off = 0.0  # failures before this date belong to one and the same trouble
        self.active = 0
        self.listed = False  # in the heap

    def rest(self) -> HostRest:
        return HostRest(self.id, self.next_at, self.delay, self.failures)


class Agenda:
    """The claims a worker holds, in the order in which they may go out."""

    def __init__(self, manners: Manners) -> None:
        self._manners = manners
        self._hosts: dict[int, _Host] = {}
        self._line: list[tuple[float, int, _Host]] = []
        self._turn = 0  # breaks ties by age, so that equal hosts alternate
        self._hungry: dict[int, _Host] = {}
        self._stocked: dict[int, _Host] = {}  # with claims, and those that had some
        self._addresses: dict[str, float] = {}  # as many as hosts are held, see `drop`
        self.waiting = 0
        self.active = 0

    def __repr__(self) -> str:
        return f"<Agenda hosts={len(self._hosts)} waiting={self.waiting} active={self.active}>"

    @property
    def hosts(self) -> int:
        return len(self._hosts)

    def add(self, works: Iterable[HostWork]) -> None:
        """Take over further claims; a host that is already held keeps its own pace."""
        for work in works:
            host = self._hosts.get(work.host)
            if host is None:
                host = self._hosts[work.host] = _Host(work)
            else:
                host.claims.extend(work.claims)
            self._hungry.pop(host.id, None)
            self._stocked[host.id] = host
            self.waiting += len(work.claims)
            self._list(host)

    def take(self, now: float) -> Claim | None:
        """The next claim that may go out, or None if none may yet."""
        while self._line and self._line[0][0] <= now:
            _, _, host = heappop(self._line)
            host.listed = False
            if self._ready_at(host) > now:  # it was told to rest while it stood in line
                self._list(host)
                continue
            claim = host.claims.popleft()
            host.active += 1
            self.waiting -= 1
            self.active += 1
            # Several at once, and hosts of one address, keep their distance from start to start;
            # one at a time rests from the end of the answer, see `settle`.
            if self._at_once(host) > 1:
                self._rest_until(host, now + self._pause(host))
            else:
                self._rest_address(host, now + self._pause(host))
            self._list(host)
            return claim
        return None

    def next_at(self) -> float | None:
        """When `take` will have something, as far as is known now."""
        return self._line[0][0] if self._line else None

    def settle(
        self,
        claim: Claim,
        now: float,
        elapsed: float | None,
        pause_until: float = 0.0,
        address: str = "",
    ) -> HostRest:
        """A request is over: its host rests. `elapsed` is None where the host was not reached."""
        host = self._hosts[claim.host]
        host.active -= 1
        self.active -= 1
        if address:
            host.address = address
        if elapsed is None or pause_until:
            host.is_strained = elapsed is not None
            self._back_off(host, now, pause_until)
        else:
            host.failures = 0
        if elapsed is not None:
            host.delay = self._manners.pause(host.delay, elapsed)
        if self._at_once(host) == 1:
            self._rest_until(host, now + self._pause(host))
        if host.claims:
            self._list(host)
        elif not host.active:
            self._hungry[host.id] = host
        return host.rest()

    def put_back(
        self, claim: Claim, now: float, elapsed: float | None, pause_until: float = 0.0
    ) -> None:
        """The host was asked for something else first; the claim keeps its turn."""
        self._hosts[claim.host].claims.appendleft(claim)
        self.waiting += 1
        self.settle(claim, now, elapsed, pause_until)

    def give_up(self, claim: Claim, pause_until: float = 0.0) -> None:
        """The claim needs no request after all, or its host none for now."""
        host = self._hosts[claim.host]
        host.active -= 1
        self.active -= 1
        self._rest_until(host, pause_until)
        if not host.claims and not host.active:
            self._hungry[host.id] = host
        self._list(host)

    def ask(self, host: int, delay: float) -> None:
        """The host asks for a longer delay; it is kept up to the longest pause."""
        if (held := self._hosts.get(host)) is not None:
            held.asked = min(delay, self._manners.max_delay)

    def rest(self, host: int) -> HostRest:
        """How a host rests now."""
        return self._hosts[host].rest()

    def pause(self, host: int) -> float:
        """The pause between two requests to a host."""
        return self._pause(self._hosts[host])

    def failures(self, host: int) -> int:
        """How often in a row a host could not be reached, or asked us to come back later."""
        return self._hosts[host].failures

    def trouble(self, host: int) -> str | None:
        """Why a host is left alone; None where it is not."""
        held = self._hosts[host]
        if held.is_strained and held.failures >= HOST_PATIENCE:
            return f"asked us to come back later {held.failures} times in a row"
        if not held.is_strained and held.failures >= HOST_TRIES:
            return f"could not be reached {held.failures} times in a row"
        return None

    @property
    def is_hungry(self) -> bool:
        return bool(self._hungry)

    def hungry(self) -> list[HostRest]:
        """Hosts whose claims are used up, with the rest they must keep."""
        return [host.rest() for host in self._hungry.values()]

    def full(self, most: int) -> list[int]:
        """Hosts that need no further claims for now; thousands may be held that stall."""
        self._stocked = {id_: host for id_, host in self._stocked.items() if host.claims}
        return [id_ for id_, host in self._stocked.items() if len(host.claims) >= most]

    def drop(self, hosts: Iterable[int]) -> None:
        """Forget hosts that the ledger let go."""
        for host in hosts:
            if host in self._hungry:
                del self._hungry[host], self._hosts[host]
        if len(self._addresses) > 2 * len(self._hosts) + 16:
            held = {host.address for host in self._hosts.values()}
            self._addresses = {name: date for name, date in self._addresses.items() if name in held}

    def clear(self) -> None:
        """Forget everything: the claims are not ours any more."""
        self._hosts.clear()
        self._hungry.clear()
        self._stocked.clear()
        self._line.clear()
        self._addresses.clear()
        self.waiting = self.active = 0

    def _pause(self, host: _Host) -> float:
        return max(self._manners.standing_pause(host.delay), host.asked)

    def _at_once(self, host: _Host) -> int:
        return 1 if host.asked else self._manners.concurrency

    def _back_off(self, host: _Host, now: float, pause_until: float) -> None:
        """Each time twice as long; what failed meanwhile was sent before we knew."""
        if now >= host.backed_off:
            host.failures += 1
            host.backed_off = now + min(FIRST_BACKOFF * 2.0 ** (host.failures - 1), LONGEST_BACKOFF)
        host.backed_off = max(host.backed_off, pause_until)
        self._rest_until(host, host.backed_off)

    def _rest_until(self, host: _Host, date: float) -> None:
        host.next_at = max(host.next_at, date)
        self._rest_address(host, host.next_at)

    def _rest_address(self, host: _Host, date: float) -> None:
        if self._manners.per_address and host.address:
            self._addresses[host.address] = max(self._addresses.get(host.address, 0.0), date)

    def _ready_at(self, host: _Host) -> float:
        if self._manners.per_address and host.address:
            return max(host.next_at, self._addresses.get(host.address, 0.0))
        return host.next_at

    def _list(self, host: _Host) -> None:
        if host.listed or not host.claims or host.active >= self._at_once(host):
            return
        host.listed = True
        self._turn += 1
        heappush(self._line, (self._ready_at(host), self._turn, host))
