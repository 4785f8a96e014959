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


class Manners(Struct, frozen=True):
    """What was promised to hosts."""

    delay: float | None = None  # fixed; None follows the response time
    min_delay: float = 0.25
    max_delay: float = 30.0
    concurrency: int = 1

    def pause(self, learnt: float | None, elapsed: float) -> float:
        """The pause after a request that took `elapsed` seconds."""
        if self.delay is not None:
            return self.delay
        if learnt is not None and learnt > elapsed:
            elapsed = learnt - FALL * (learnt - elapsed)
        return min(max(elapsed, self.min_delay), self.max_delay)


class _Host:
    """A host in this worker's hands."""

    __slots__ = ("active", "claims", "delay", "failures", "id", "listed", "next_at")

    def __init__(self, work: HostWork) -> None:
        self.id = work.host
        self.claims = deque(work.claims)
        self.next_at = work.next_at
        self.delay = work.delay
        self.failures = work.failures
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
            self.waiting += len(work.claims)
            self._list(host)

    def take(self, now: float) -> Claim | None:
        """The next claim that may go out, or None if none may yet."""
        if not self._line or self._line[0][0] > now:
            return None
        _, _, host = heappop(self._line)
        host.listed = False
        if host.next_at > now:  # it was told to rest while it stood in line
            self._list(host)
            return self.take(now)
        claim = host.claims.popleft()
        host.active += 1
        self.waiting -= 1
        self.active += 1
        # One at a time rests from the end of the answer, which `settle` knows; several at once
        # keep their distance from start to start.
        if self._manners.concurrency > 1:
            host.next_at = now + self._manners.pause(host.delay, 0.0)
        self._list(host)
        return claim

    def next_at(self) -> float | None:
        """When `take` will have something, as far as is known now."""
        return self._line[0][0] if self._line else None

    def settle(self, claim: Claim, now: float, elapsed: float, pause_until: float = 0.0) -> HostRest:
        """A request is over: its host rests. `elapsed` is negative where no answer came."""
        host = self._hosts[claim.host]
        host.active -= 1
        self.active -= 1
        if elapsed < 0:
            host.failures += 1
            pause = self._manners.pause(host.delay, 0.0)
        else:
            host.failures = 0
            pause = host.delay = self._manners.pause(host.delay, elapsed)
        if self._manners.concurrency == 1:
            host.next_at = max(host.next_at, now + pause)
        host.next_at = max(host.next_at, pause_until)
        if host.claims:
            self._list(host)
        elif not host.active:
            self._hungry[host.id] = host
        return host.rest()

    @property
    def is_hungry(self) -> bool:
        return bool(self._hungry)

    def hungry(self) -> list[HostRest]:
        """Hosts whose claims are used up, with the rest they must keep."""
        return [host.rest() for host in self._hungry.values()]

    def drop(self, hosts: Iterable[int]) -> None:
        """Forget hosts that the ledger let go."""
        for host in hosts:
            if host in self._hungry:
                del self._hungry[host], self._hosts[host]

    def clear(self) -> None:
        """Forget everything: the claims are not ours any more."""
        self._hosts.clear()
        self._hungry.clear()
        self._line.clear()
        self.waiting = self.active = 0

    def _list(self, host: _Host) -> None:
        if host.listed or not host.claims or host.active >= self._manners.concurrency:
            return
        host.listed = True
        self._turn += 1
        heappush(self._line, (host.next_at, self._turn, host))
