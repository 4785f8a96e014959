"""What a worker has done so far, counted as it happens, for whoever watches."""

from collections import Counter
from heapq import nlargest

from msgspec import Struct

from freki.messages import PAGES, Claim, Failure, Outcome, Response, State
from freki.url import split

# Hosts whose response time is remembered. A watcher sees the slowest few; on a broad crawl
# the ones heard of last stand for all.
MAX_HOSTS = 1000


class Beat(Struct, frozen=True):
    """The counts at one moment."""

    fetched: int = 0  # answers and failures
    pages: int = 0  # stored, redirects not counted
    failed: int = 0
    retried: int = 0
    wire_bytes: int = 0
    statuses: dict[str, int] = {}  # "2xx" and so on
    slowest: list[tuple[str, float]] = []  # host and its response time in seconds
    trouble: str = ""  # what a URL had to wait for last
    trouble_until: float = 0.0  # and when it may be tried again, in seconds since the epoch

    def __add__(self, other: "Beat") -> "Beat":
        """What two workers did; the slowest hosts are the three slowest of both."""
        hosts = {**dict(other.slowest), **dict(self.slowest)}
        slowest = nlargest(3, hosts.items(), key=lambda host: host[1])
        last = max(self, other, key=lambda beat: beat.trouble_until)
        return Beat(
            self.fetched + other.fetched,
            self.pages + other.pages,
            self.failed + other.failed,
            self.retried + other.retried,
            self.wire_bytes + other.wire_bytes,
            dict(sorted((Counter(self.statuses) + Counter(other.statuses)).items())),
            slowest,
            last.trouble,
            last.trouble_until,
        )


class Pulse:
    """Counts outcomes; a look at it costs nothing to the crawl."""

    def __init__(self) -> None:
        self._states: Counter[State] = Counter()
        self._statuses: Counter[int] = Counter()
        self._seconds: dict[str, float] = {}
        self._pages = 0
        self._wire_bytes = 0
        self._waiting: Outcome | None = None

    def __repr__(self) -> str:
        return f"<Pulse {self.statistics()}>"

    def note(self, claim: Claim, answer: Response | Failure | None, outcome: Outcome) -> None:
        self._states[outcome.state] += 1
        if outcome.state is State.waiting:
            self._waiting = outcome
        if not isinstance(answer, Response):
            return
        self._pages += outcome.state is State.done and outcome.reason in PAGES
        status = answer.status // 100
        self._statuses[status] += 1
        self._wire_bytes += answer.wire_bytes
        origin = split(claim.url).origin
        before = self._seconds.get(origin, answer.timings.total)
        self._seconds[origin] = before + 0.2 * (answer.timings.total - before)
        if len(self._seconds) > MAX_HOSTS:
            del self._seconds[next(iter(self._seconds))]

    def statistics(self) -> Beat:
        return Beat(
            fetched=self._states.total(),
            pages=self._pages,
            failed=self._states[State.failed],
            retried=self._states[State.waiting],
            wire_bytes=self._wire_bytes,
            statuses={f"{kind}xx": count for kind, count in sorted(self._statuses.items())},
            slowest=nlargest(3, self._seconds.items(), key=lambda host: host[1]),
            trouble=_trouble(self._waiting) if self._waiting else "",
            trouble_until=self._waiting.due if self._waiting else 0.0,
        )


def _trouble(waiting: Outcome) -> str:
    return f"{split(waiting.claim.url).origin} ({waiting.detail or waiting.reason.name})"
