"""What a store knows, for people and programs: read-only, streamed, in order of discovery."""

from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Any, Final

import msgspec
from msgspec import Struct

from freki.ledger import details
from freki.ledger.blobs import Kind, Shelf
from freki.ledger.database import Database, named
from freki.ledger.discover import fingerprint
from freki.ledger.identity import secret_of
from freki.ledger.rows import NOFOLLOW, NOINDEX, unpack_body, unpack_links, unpack_request
from freki.ledger.statements import statements
from freki.ledger.store import legible
from freki.messages import PAGES, Fate, Link, Reason, Request, State, Timings, Via
from freki.url import split

SQL: Final = statements("read.sql")

# What URLs can be counted by.
GROUPS = ("state", "outcome", "reason", "detail", "status", "host", "depth", "via", "parent")

# A store is written by others while we read it, and a hostile site can make two URLs redirect
# to each other: no chain is followed longer than this.
MAX_CHAIN = 50


class Status(Struct, frozen=True):
    """The sums of a crawl. `discovered` is what all others add up to."""

    discovered: int
    done: int
    failed: int
    refused: int
    waiting: int
    leased: int
    reasons: dict[str, dict[str, int]]  # outcome, reason, count
    pages: int  # stored answers, redirects not counted

    @property
    def open(self) -> int:
        return self.waiting + self.leased


class HostLine(Struct, frozen=True):
    """A host as `freki status` shows it."""

    host: str
    waiting: int
    delay: float | None
    failures: int
    next_at: str | None


class UrlLine(Struct, frozen=True):
    """A URL of the ledger."""

    url: str
    state: str  # waiting, leased or ended
    outcome: str | None
    reason: str | None
    detail: str | None
    status: int | None
    depth: int
    parent: str | None
    via: str
    attempts: int
    found_at: str


class LinkLine(Struct, frozen=True):
    """A link of a page, spelt out."""

    url: str
    text: str
    rel: str
    via: str


class PageLine(Struct, frozen=True):
    """A visit."""

    url: str
    final_url: str
    redirects: list[str]  # what led here, in order
    status: int
    title: str | None
    content_type: str
    charset: str | None
    language: str | None
    description: str | None
    canonical: str | None
    depth: int
    parent: str | None
    via: str
    fetched_at: str
    bytes: int
    wire_bytes: int
    sha256: str
    http: str
    address: str
    timings: dict[str, float]
    headers: list[list[str]]
    noindex: bool
    nofollow: bool
    links: list[LinkLine] | None = None


class Arrival(Struct, frozen=True):
    """A stored answer and its place in the order in which answers were stored."""

    id: int
    page: PageLine  # with its links
    reason: Reason
    body: bytes | None  # None where it was not kept, or not asked for
    request: Request | None


class ItemLine(Struct, frozen=True):
    """What was taken out of a page."""

    id: int  # grows in the order in which items were stored
    url: str  # of the page
    kind: str  # the name of its type, empty for a plain dict
    fate: str  # kept, dropped or failed
    found_at: str
    data: msgspec.Raw  # JSON
    detail: str | None  # why it was dropped, or the traceback
    key: str | None


class Filter(Struct, frozen=True):
    """Which rows; None is any."""

    state: State | None = None
    reason: Reason | None = None
    status: tuple[int, int] | None = None
    origin: str | None = None
    depth: int | None = None
    content_type: str | None = None
    url: str | None = None
    message: str | None = None  # the detail, see `details.py`
    text: str | None = None  # in its address or title; small ASCII letters are as good as capitals
    among: str | None = None  # JSON: numbers of pages that say it, see `texts.py`
    redirects: bool = False  # answers that lead elsewhere as well
    sort: str | None = None  # None is as they were discovered; see `order.py`
    descending: bool = False
    after: int = 0
    place: float | None = None  # sorted: what the row `after` was sorted by
    limit: int = -1  # SQLite's word for none

    def parameters(self, crawl: int) -> dict[str, object]:
        status, status_to = self.status or (None, None)
        return {
            "crawl": crawl,
            "state": self.state,
            "reason": self.reason,
            "status": status,
            "status_to": status_to,
            "origin": self.origin,
            "depth": self.depth,
            "content_type": self.content_type,
            "url": self.url,
            "message": details.as_it_is(self.message),
            "alike": details.but_for_numbers(self.message),
            "text": self.text,
            "among": self.among,
            "redirects": self.redirects,
            "after": self.after,
            "limit": self.limit,
        }


def status(db: Database, crawl: int) -> Status:
    """The sums, by state, outcome and reason."""
    states = dict.fromkeys(State, 0)
    reasons: dict[str, dict[str, int]] = {}
    pages = 0
    with legible(f"crawl {crawl}"):
        for state, reason, count in db.execute(SQL["tally"], (crawl,)):
            states[State(state)] += count
            if state >= State.done:
                reasons.setdefault(State(state).name, {})[Reason(reason).name] = count
            pages += count if state == State.done and reason in PAGES else 0
    return Status(
        discovered=sum(states.values()),
        done=states[State.done],
        failed=states[State.failed],
        refused=states[State.refused],
        waiting=states[State.waiting],
        leased=states[State.leased],
        reasons=reasons,
        pages=pages,
    )


def traps(db: Database, crawl: int) -> dict[str, int]:
    """How many URLs each kind of trap was refused, the largest first. Looks at every URL."""
    return dict(db.execute(SQL["traps"], (crawl,)).fetchall())


def hosts(db: Database, crawl: int, limit: int = 10) -> list[HostLine]:
    """The hosts with most to do."""
    return [
        HostLine(origin, waiting, delay, failures, iso(next_at) if next_at else None)
        for origin, next_at, delay, failures, waiting in db.execute(SQL["hosts"], (crawl, limit))
    ]


def urls(db: Database, crawl: int, wanted: Filter) -> Iterator[UrlLine]:
    """The ledger's URLs."""
    return (line for _, line in numbered_urls(db, crawl, wanted))


def numbered_urls(db: Database, crawl: int, wanted: Filter) -> Iterator[tuple[int, UrlLine]]:
    """The ledger's URLs with their numbers, which `Filter.after` goes on from."""
    for row in db.execute(SQL["urls"], wanted.parameters(crawl)):
        id_, url, state, reason, detail, status_, depth, parent, via, attempts, found_at = row
        ended = state >= State.done
        line = UrlLine(
            url,
            "ended" if ended else State(state).name,
            State(state).name if ended else None,
            Reason(reason).name if reason else None,
            detail,
            status_,
            depth,
            parent,
            Via(via).name,
            attempts,
            iso(found_at),
        )
        yield id_, line


def grouped(db: Database, crawl: int, wanted: Filter, columns: Sequence[str]) -> list[Struct]:
    """How many URLs there are for each combination of columns, most first."""
    line = msgspec.defstruct("Group", [("count", int), *((name, object) for name in columns)])
    counts = Counter(
        tuple(_group_value(url, column) for column in columns)
        for url in urls(db, crawl, msgspec.structs.replace(wanted, limit=-1))
    )
    most = counts.most_common(None if wanted.limit < 0 else wanted.limit)
    return [line(count, *values) for values, count in most]


def _group_value(url: UrlLine, column: str) -> object:
    return split(url.url).origin if column == "host" else getattr(url, column)


def pages(
    db: Database, crawl: int, wanted: Filter, *, with_links: bool = False
) -> Iterator[PageLine]:
    """The visits, redirect answers included."""
    return (line for _, line in numbered_pages(db, crawl, wanted, with_links=with_links))


def numbered_pages(
    db: Database, crawl: int, wanted: Filter, *, with_links: bool = False
) -> Iterator[tuple[int, PageLine]]:
    """The visits with the numbers of their URLs."""
    secret = secret_of(db)
    for row in named(db.execute(SQL["pages"], wanted.parameters(crawl))):
        links = unpack_links(row["links"])
        final_url = _final_url(db, crawl, secret, row["url"], links)
        yield row["id"], _page_line(db, row, final_url, links if with_links else None)


def arrivals(
    db: Database, crawl: int, after: int, limit: int, *, bodies: bool, every: bool
) -> Iterator[Arrival]:
    """The pages stored behind the one numbered `after`; where asked for, `every` answer."""
    secret, shelf = secret_of(db), Shelf(db)
    wanted: dict[str, object] = {"crawl": crawl, "after": after, "limit": limit}
    wanted |= {"bodies": bodies, "every": every}
    for row in named(db.execute(SQL["arrivals"], wanted)):
        links = unpack_links(row["links"])
        final_url = _final_url(db, crawl, secret, row["url"], links)
        yield Arrival(
            row["arrival"],
            _page_line(db, row, final_url, links),
            Reason(row["reason"]),
            _body(shelf, row["digest"], row["data"]),
            unpack_request(row["request"]) if row["request"] is not None else None,
        )


def _page_line(
    db: Database, row: dict[str, Any], final_url: str, links: list[Link] | None
) -> PageLine:
    timings = msgspec.json.decode(row["timings"], type=Timings)
    return PageLine(
        url=row["url"],
        final_url=final_url,
        redirects=_led_here(db, row["parent_id"], row["via"]),
        status=row["status"],
        title=row["title"],
        content_type=row["content_type"],
        charset=row["charset"],
        language=row["language"],
        description=row["description"],
        canonical=row["canonical"],
        depth=row["depth"],
        parent=row["parent"],
        via=Via(row["via"]).name,
        fetched_at=iso(row["at"]),
        bytes=row["bytes"],
        wire_bytes=row["wire_bytes"],
        sha256=row["digest"].hex(),
        http=row["http"],
        address=row["address"],
        timings={name: getattr(timings, name) for name in Timings.__struct_fields__},
        headers=msgspec.json.decode(row["headers"]),
        noindex=bool(row["robots"] & NOINDEX),
        nofollow=bool(row["robots"] & NOFOLLOW),
        links=None if links is None else _spelt_out(links),
    )


def items(
    db: Database,
    crawl: int,
    fate: Fate | None = Fate.kept,
    *,
    after: int = 0,
    limit: int = -1,
) -> Iterator[ItemLine]:
    """The items behind the one with the id `after`; None as fate is any."""
    wanted = {"crawl": crawl, "fate": fate, "after": after, "limit": limit}
    for id_, url, kind, fate_, at, data, detail, key in db.execute(SQL["items"], wanted):
        yield ItemLine(
            id_, url, kind, Fate(fate_).name, iso(at), msgspec.Raw(data.encode()), detail, key
        )


def item_counts(db: Database, crawl: int) -> dict[str, int]:
    """How many items there are of each fate."""
    counts = {fate.name: 0 for fate in Fate}
    for fate, _, count in db.execute(SQL["item_counts"], (crawl,)):
        counts[Fate(fate).name] += count
    return counts


def body(db: Database, url: int) -> bytes | None:
    """The body of a visit, or None where it was not kept."""
    row = db.execute(SQL["body_of"], (url,)).fetchone()
    return _body(Shelf(db), *row) if row else None


def _body(shelf: Shelf, digest: bytes, data: bytes | None) -> bytes | None:
    packed = shelf.take(Kind.body, digest, data)
    return None if packed is None else unpack_body(packed)


def iso(seconds: float) -> str:
    """A date as all output spells it."""
    try:
        date = datetime.fromtimestamp(seconds, UTC)
    except (OverflowError, OSError) as error:  # which one depends on how far away it is
        raise ValueError(f"{seconds} is no date") from error
    return date.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _spelt_out(links: list[Link]) -> list[LinkLine]:
    return [LinkLine(link.url, link.text, link.rel, Via(link.via).name) for link in links]


def _led_here(db: Database, parent: int | None, via: int) -> list[str]:
    """The URLs that redirected to this one, the first one first."""
    chain: list[str] = []
    while via == Via.redirect and parent is not None and len(chain) < MAX_CHAIN:
        source, parent, via = db.execute(SQL["redirect_source"], (parent,)).fetchone()
        chain.insert(0, source)
    return chain


def _final_url(db: Database, crawl: int, secret: bytes, url: str, links: list[Link]) -> str:
    """Where the redirects that start here end."""
    for _ in range(MAX_CHAIN):
        target = next((link.url for link in links if link.via == Via.redirect), None)
        if target is None:
            return url
        url = target
        origin, path = split(url)
        place = (crawl, origin, fingerprint(path, secret), path)
        row = db.execute(SQL["redirect_target"], place).fetchone()
        if row is None:
            return url
        links = unpack_links(row[0])
    return url
