"""A workbench for ledgers: workers in a few words, and a look at every row afterwards.

`Bench` says what an implementation must offer so that the suite in `testing/ledger.py` can try
it; `StoreBench` is ours.
"""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, Final
from uuid import uuid4

from msgspec import Struct

from freki.config import Settings
from freki.ledger import crawls
from freki.ledger.opened import ledger_of
from freki.ledger.place import Place
from freki.ledger.rows import unpack_body
from freki.ledger.sqlite import SqliteLedger
from freki.ledger.store import open_store
from freki.ledger.terms import Terms
from freki.messages import (
    Batch,
    Claim,
    Discovery,
    Fate,
    HostRest,
    HostWork,
    Link,
    Outcome,
    Page,
    Reason,
    Response,
    State,
    Via,
    Visit,
)
from freki.steps import Ledger, Session, Work

POLITE: Final = Terms(rest=1.0, lease=30.0, per_host=8)
SHARED: Final = Terms(exclusive=False, rest=0.0, lease=30.0, per_host=8)


class Row(Struct, frozen=True):
    """A URL as it stands in a ledger."""

    url: str
    state: State
    reason: Reason | None
    depth: int
    attempts: int
    due: float | None
    parent: str | None
    via: Via
    hops: int
    held_by: int | None  # the session


class HostRow(Struct, frozen=True):
    """A host as it stands in a ledger."""

    origin: str
    next_at: float
    waiting: int
    held_by: int | None


class Bench(ABC):
    """One crawl in one store, as many workers as you like, and its rows."""

    @abstractmethod
    def ledger(self, terms: Terms = POLITE, prints: Callable[[str], int] | None = None) -> Ledger:
        """A further view of the crawl, as another process would have it."""

    @abstractmethod
    def reopen(self) -> None:
        """End every connection without a word, as `kill -9` would."""

    @abstractmethod
    def rows(self) -> list[Row]:
        """Every URL, in order of discovery."""

    @abstractmethod
    def hosts(self) -> list[HostRow]:
        """Every host, in order of discovery."""

    @abstractmethod
    def tally(self) -> dict[tuple[int, int], int]:
        """The sums the ledger keeps: state and reason (0 where there is none) to a count."""

    @abstractmethod
    def sessions(self) -> set[int]:
        """Who may claim and commit."""

    @abstractmethod
    def body(self, url: str) -> bytes | None:
        """The body stored for a URL, None where none was kept."""

    @abstractmethod
    def items(self) -> list[tuple[Fate, str]]:
        """What became of every item, and its JSON, in order."""

    @abstractmethod
    def dump(self) -> object:
        """All that is stored, to be compared with itself."""

    def worker(self, terms: Terms = POLITE, now: float = 0.0) -> "Hand":
        """A worker that has joined."""
        return Hand(self.ledger(terms), now)

    def row(self, url: str) -> Row:
        (row,) = (row for row in self.rows() if row.url == url)
        return row

    def count(self, state: State, reason: Reason | None = None) -> int:
        return sum(row.state is state and reason in (None, row.reason) for row in self.rows())

    def check(self) -> None:
        """What holds after every operation: each URL is there once, and all sums are true."""
        rows = self.rows()
        assert len({row.url for row in rows}) == len(rows), "a URL has two rows"
        real = Counter((int(row.state), int(row.reason or 0)) for row in rows)
        assert {place: n for place, n in self.tally().items() if n} == dict(real)
        waiting = Counter(_origin(row.url) for row in rows if row.state is State.waiting)
        assert {host.origin: host.waiting for host in self.hosts() if host.waiting} == dict(waiting)
        alive = self.sessions()
        for row in rows:
            held = row.state is State.leased
            assert (row.held_by in alive) if held else (row.held_by is None), row
            assert (row.reason is None) == (row.state in (State.waiting, State.leased)), row
        assert all(host.held_by in {*alive, None} for host in self.hosts())


class Hand:
    """A worker in few words."""

    def __init__(self, ledger: Ledger, now: float = 0.0) -> None:
        self.ledger = ledger
        self.session: Session = ledger.join(now)
        self._held: dict[int, HostRest] = {}

    def seed(self, *urls: str, now: float = 0.0) -> None:
        self.find(*(Discovery(url, depth=0, priority=0, via=Via.seed) for url in urls), now=now)

    def find(self, *found: Discovery, now: float = 0.0) -> None:
        self.ledger.commit(self.session, Batch(now, discoveries=list(found)))

    def work(self, now: float = 0.0, *, hosts: int = 100, refill: Sequence[HostRest] = ()) -> Work:
        work = self.ledger.claim(self.session, now, hosts, refill)
        self._held |= {host.host: rest(host) for host in work.hosts}
        return work

    def claim(
        self, now: float = 0.0, *, hosts: int = 100, refill: Sequence[HostRest] = ()
    ) -> list[Claim]:
        return [claim for work in self.work(now, hosts=hosts, refill=refill).hosts
                for claim in work.claims]  # fmt: skip

    def next_claims(self, now: float = 0.0, hosts: int = 100) -> list[Claim]:
        """What is due now, of all hosts this worker ever had as well."""
        return self.claim(now, hosts=hosts, refill=list(self._held.values()))

    def visit(
        self, url: str, *links: str, moved_to: str | None = None, max_depth: int | None = None
    ) -> None:
        """Fetch the one URL that is due: a page with links, or a redirect."""
        (claim,) = self.next_claims()
        assert claim.url == url
        if moved_to is None:
            self.commit(page(claim, *links, max_depth=max_depth))
        else:
            self.commit(redirect(claim, moved_to, max_depth=max_depth))

    def commit(self, *outcomes: Outcome, now: float = 0.0, rests: Sequence[HostRest] = ()) -> None:
        self.ledger.commit(self.session, Batch(now, list(outcomes), list(rests)))

    def renew(self, now: float) -> None:
        self.ledger.renew(self.session, now)

    def leave(self, now: float = 0.0) -> None:
        self.ledger.leave(self.session, now)


def rest(of: HostWork | Claim, next_at: float = 0.0) -> HostRest:
    """How a host rests, as a worker says it with a refill or a commit."""
    return HostRest(of.host, next_at)


def page(
    claim: Claim,
    *links: Link | str,
    max_depth: int | None = None,
    body: bytes = b"<p>",
    content_type: str = "text/html",
) -> Outcome:
    """The claim was answered by a page that leads to these links."""
    made = [link if isinstance(link, Link) else Link(link) for link in links]
    visit = Visit(0.0, Response(claim.url, 200, (), body, content_type), Page(made))
    found = [_found(claim, link, max_depth) for link in made]
    return Outcome(claim, State.done, Reason.ok, visit=visit, discoveries=found)


def redirect(claim: Claim, target: str, *, max_depth: int | None = None) -> Outcome:
    """The claim was answered by a redirect."""
    link = Link(target, via=Via.redirect)
    visit = Visit(0.0, Response(claim.url, 302, (("location", target),), b""), Page([link]))
    found = [_found(claim, link, max_depth)]
    return Outcome(claim, State.done, Reason.redirect, visit=visit, discoveries=found)


def failed(claim: Claim, reason: Reason = Reason.timeout) -> Outcome:
    """There will be no answer."""
    return Outcome(claim, State.failed, reason, "no answer")


def again(claim: Claim, due: float) -> Outcome:
    """There was no answer, and there may be one later."""
    return Outcome(claim, State.waiting, Reason.timeout, "no answer", due)


def discovery(url: str, depth: int = 1, refused: Reason | None = None) -> Discovery:
    """A URL that turned up somewhere."""
    return Discovery(url, depth, priority=depth, refused=refused)


def _found(claim: Claim, link: Link, max_depth: int | None) -> Discovery:
    """What a gate would say: each link one step further, a redirect none."""
    moved = link.via == Via.redirect
    depth = claim.depth + (not moved)
    refused = Reason.depth if max_depth is not None and depth > max_depth else None
    hops = claim.hops + 1 if moved else 0
    return Discovery(link.url, depth, depth, link.via, hops, claim.id, refused)


def _origin(url: str) -> str:
    return url[: url.index("/", 8)]


class StoreBench(Bench):
    """A crawl in a store of ours; several of them may share it."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self._db = open_store(place)
        self._dbs = [self._db]
        self._crawl = crawls.begin(self._db, f"bench {uuid4()}", [], Settings(), 0.0).id

    def ledger(
        self, terms: Terms = POLITE, prints: Callable[[str], int] | None = None
    ) -> SqliteLedger:
        db = open_store(self._place)
        self._dbs.append(db)
        return ledger_of(db, str(self._place), self._crawl, terms, prints)

    def reopen(self) -> None:
        self.close()
        self._db = open_store(self._place)
        self._dbs.append(self._db)

    def close(self) -> None:
        """End every connection."""
        while self._dbs:
            self._dbs.pop().close()

    def rows(self) -> list[Row]:
        return [
            Row(url, State(state), Reason(reason) if reason else None, depth, attempts, due,
                parent, Via(via), hops, session)
            for url, state, reason, depth, attempts, due, parent, via, hops, session
            in self._ask(_ROWS)
        ]  # fmt: skip

    def hosts(self) -> list[HostRow]:
        asked = "SELECT origin, next_at, waiting, session FROM host WHERE crawl = ? ORDER BY id"
        return [HostRow(*row) for row in self._ask(asked)]

    def tally(self) -> dict[tuple[int, int], int]:
        asked = "SELECT state, reason, sum(count) FROM tally WHERE crawl = ? GROUP BY state, reason"
        return {(state, reason): count for state, reason, count in self._ask(asked)}

    def sessions(self) -> set[int]:
        return {id_ for (id_,) in self._ask("SELECT id FROM session WHERE crawl = ?")}

    def body(self, url: str) -> bytes | None:
        ((data,),) = self._ask(_BODY, url)
        return None if data is None else unpack_body(data)

    def items(self) -> list[tuple[Fate, str]]:
        asked = "SELECT fate, data FROM item WHERE crawl = ? ORDER BY id"
        return [(Fate(fate), data) for fate, data in self._ask(asked)]

    def dump(self) -> object:
        return [sorted(map(str, self._ask(statement))) for statement in _DUMP]

    def _ask(self, statement: str, *more: str) -> list[tuple[Any, ...]]:
        return self._db.execute(statement, (self._crawl, *more)).fetchall()


_ROWS = """
SELECT host.origin || url.path, url.state, url.reason, url.depth, url.attempts, url.due,
    mother_host.origin || mother.path, url.via, url.hops, url.session
FROM url JOIN host ON host.id = url.host
LEFT JOIN url AS mother ON mother.id = url.parent
LEFT JOIN host AS mother_host ON mother_host.id = mother.host
WHERE host.crawl = ? ORDER BY url.id
"""

_URLS = "SELECT url.id FROM url JOIN host ON host.id = url.host WHERE host.crawl = ?"
_DUMP = (
    "SELECT * FROM crawl WHERE id = ?",
    "SELECT state, reason, sum(count) FROM tally WHERE crawl = ? GROUP BY state, reason",
    "SELECT id, until FROM session WHERE crawl = ?",
    "SELECT * FROM host WHERE crawl = ?",
    "SELECT * FROM item WHERE crawl = ?",
    "SELECT count(*) FROM body WHERE ? > 0",
    *(
        f"SELECT * FROM {table} WHERE {column} IN ({_URLS})"  # noqa: S608 - our names
        for table, column in (("url", "id"), ("page", "url"), ("request", "url"))
    ),
    f"""SELECT * FROM body WHERE id IN (SELECT body FROM page WHERE url IN ({_URLS}))""",  # noqa: S608
)

_BODY = """
SELECT body.data FROM page JOIN body ON body.id = page.body
JOIN url ON url.id = page.url JOIN host ON host.id = url.host
WHERE host.crawl = ? AND host.origin || url.path = ?
"""
