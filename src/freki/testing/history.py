"""Did a crawl keep its promises, whatever happened to it meanwhile? One verdict on one history.

    undisturbed = read(store_of_a_quiet_crawl)
    history = read(store, log, kills=[…])
    assert not judge(history, undisturbed, Bounds(delay=0.1))

A history is the final state of a store and what its server was asked in the meantime, with the
moments at which a worker ended without a farewell. The store is only read. `judge` is pure and
knows nothing of how the crawl was disturbed: what it demands holds for every disturbance.
"""

from bisect import bisect
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from itertools import pairwise

from msgspec import Struct

from freki.admit.gate import PROBE
from freki.ledger import read as ledger
from freki.ledger.buffered import CAPACITY
from freki.ledger.check import findings, structure
from freki.ledger.crawls import newest
from freki.ledger.place import Place
from freki.ledger.store import read_store, translated
from freki.messages import Reason, State
from freki.testing.auditor import Access, most_in_flight, violations

# Answers that a crawler comes back for without having lost them.
_COME_BACK = frozenset({408, 429, 500, 502, 503, 504})

# The numbers of reasons are grouped by the outcome they belong to; see `messages.Reason`.
_FIRST_REASON = {State.done.name: 1, State.failed.name: 20, State.refused.name: 50}
_LAST_REASON = {State.done.name: 19, State.failed.name: 49, State.refused.name: 99}


class Row(Struct, frozen=True):
    """A URL as the store tells of it in the end."""

    url: str
    outcome: str | None = None  # None: still waiting or leased
    reason: str | None = None
    status: int | None = None
    digests: tuple[str, ...] = ()  # of the pages stored for it


class History(Struct, frozen=True):
    """What a store and a server know of one crawl."""

    rows: tuple[Row, ...]
    sums: Mapping[str, int]  # by outcome, and "open": as the store keeps count
    log: tuple[Access, ...] = ()
    kills: tuple[float, ...] = ()  # by the clock of the log's starts, in order
    unsound: tuple[str, ...] = ()  # what `freki check` finds


class Bounds(Struct, frozen=True):
    """What was promised to hosts, and what a kill may cost."""

    delay: float = 0.0
    at_once: int = 16  # requests to one host
    repeats: int = 16 + CAPACITY  # after a kill: what was in flight and in the buffer


class Judgement(Struct, frozen=True):
    """Everything that is not as promised, in words; all empty where there is nothing."""

    lost: tuple[str, ...] = ()
    doubled: tuple[str, ...] = ()
    unexplained: tuple[str, ...] = ()
    impolite: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()  # another outcome or another body than without disturbance
    unsound: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return any(getattr(self, name) for name in self.__struct_fields__)


def read(store: Place, log: Iterable[Access] = (), kills: Sequence[float] = ()) -> History:
    """The history of the crawl that was begun last in a store."""
    with closing(read_store(store)) as db, translated(str(store)):
        crawl = newest(db)
        assert crawl is not None, f"{store} holds no crawl"
        digests = defaultdict(list)
        for page in ledger.pages(db, crawl.id, ledger.Filter()):
            digests[page.url].append(page.sha256)
        rows = tuple(
            Row(line.url, line.outcome, line.reason, line.status, tuple(digests[line.url]))
            for line in ledger.urls(db, crawl.id, ledger.Filter())
        )
        sums = ledger.status(db, crawl.id)
        unsound = [*structure(db), *(finding.what for finding in findings(db))]
    return History(
        rows,
        {name: getattr(sums, name) for name in ("done", "failed", "refused", "open")},
        tuple(log),
        tuple(kills),
        tuple(unsound),
    )


def judge(history: History, undisturbed: History, bounds: Bounds) -> Judgement:
    """Whatever is wrong with the history of a crawl that says it is finished."""
    return Judgement(
        lost=tuple(_lost(history, undisturbed)),
        doubled=tuple(_doubled(history, bounds)),
        unexplained=tuple(_unexplained(history)),
        impolite=tuple(_impolite(history, bounds)),
        changed=tuple(_changed(history, undisturbed)),
        unsound=history.unsound,
    )


def repeats(log: Iterable[Access], kills: Sequence[float]) -> Counter[int | None]:
    """How many requests were made again because of which kill, by its number; None is no kill.

    A request belongs to the first kill after it: what that kill left uncommitted is asked for
    again, be it after some more of them.
    """
    counts: Counter[int | None] = Counter()
    for first, second in _asked_again(log):
        kill = bisect(kills, first.start)
        counts[kill if kill < bisect(kills, second.start) else None] += 1
    return counts


def _lost(history: History, undisturbed: History) -> Iterator[str]:
    rows = {row.url: row for row in history.rows}
    for row in history.rows:
        if row.outcome is None:
            yield f"{row.url} has no outcome"
    for row in undisturbed.rows:
        found = rows.get(row.url)
        if found is None:
            yield f"{row.url} is not in the store"
        elif row.digests and not found.digests:
            yield f"{row.url} has no page"


def _doubled(history: History, bounds: Bounds) -> Iterator[str]:
    for url, times in Counter(row.url for row in history.rows).items():
        if times > 1:
            yield f"{url} is {times} times in the store"
    for row in history.rows:
        if len(row.digests) > 1:
            yield f"{row.url} has {len(row.digests)} pages"
    for kill, times in repeats(history.log, history.kills).items():
        if kill is None:
            yield f"{times} requests were made again without need"
        elif times > bounds.repeats:
            yield f"{times} requests were made again after kill {kill}"


def _unexplained(history: History) -> Iterator[str]:
    counted = Counter(row.outcome or "open" for row in history.rows)
    for outcome, summed in history.sums.items():
        if summed != counted[outcome]:
            yield f"{outcome} are {summed} by the sums, and {counted[outcome]} by the rows"
    for row in history.rows:
        if row.outcome is not None and not _explains(row.reason, row.outcome):
            yield f"{row.url} is {row.outcome} for the reason {row.reason}"
    known = {row.url for row in history.rows}
    for url in dict.fromkeys(_url(visit) for visit in _visits(history.log)):
        if url not in known:
            yield f"{url} was asked for and is not in the store"


def _explains(reason: str | None, outcome: str) -> bool:
    number = Reason.__members__.get(reason or "", 0)
    return _FIRST_REASON[outcome] <= number <= _LAST_REASON[outcome]


def _impolite(history: History, bounds: Bounds) -> Iterator[str]:
    for found in violations(history.log, bounds.delay):
        yield f"{found.host} was asked again after {found.spacing:.3f} s"
    for host, most in most_in_flight(_held(history)).items():
        if most > bounds.at_once:
            yield f"{host} had {most} requests at once"
    refused = {row.url for row in history.rows if row.outcome == State.refused.name}
    for url in dict.fromkeys(_url(visit) for visit in _visits(history.log)):
        if url in refused:
            yield f"{url} was refused, and asked for"


def _held(history: History) -> Iterator[Access]:
    """Requests for as long as the crawler held them.

    A process that is killed lets go of its own, and a busy server works on them for a while.
    """
    for visit in history.log:
        kill = bisect(history.kills, visit.start)
        let_go = history.kills[kill] if kill < len(history.kills) else visit.end
        yield visit._replace(end=min(visit.end, let_go))


def _changed(history: History, undisturbed: History) -> Iterator[str]:
    rows = {row.url: row for row in history.rows}
    for row in undisturbed.rows:
        found = rows.get(row.url, row)
        if found != row:
            yield f"{row.url} became {_told(found)}, and undisturbed {_told(row)}"
    known = {row.url for row in undisturbed.rows}
    for row in history.rows:
        if row.url not in known:
            yield f"{row.url} became {_told(row)}, and undisturbed it was never found"


def _told(row: Row) -> str:
    digests = " ".join(digest[:12] for digest in row.digests)
    return f"{row.outcome} {row.reason} {row.status or ''} {digests}".rstrip()


def _asked_again(log: Iterable[Access]) -> Iterator[tuple[Access, Access]]:
    by_url = defaultdict(list)
    for visit in sorted(_visits(log), key=lambda visit: visit.start):
        by_url[_url(visit)].append(visit)
    for visits in by_url.values():
        yield from ((one, two) for one, two in pairwise(visits) if one.status not in _COME_BACK)


def _visits(log: Iterable[Access]) -> Iterator[Access]:
    """What was asked for as a page: robots.txt and probes are no URLs of a crawl."""
    return (visit for visit in log if not visit.path.startswith(("/robots.txt", PROBE)))


def _url(visit: Access) -> str:
    return f"http://{visit.host}{visit.path}"
