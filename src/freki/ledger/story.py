"""The story of one URL: where it was found, what was decided, tried and answered."""

from collections.abc import Iterator
from typing import Any, Final

import msgspec
from msgspec import Struct

from freki.ledger.belief import believed
from freki.ledger.database import Database
from freki.ledger.discover import fingerprint
from freki.ledger.identity import secret_of
from freki.ledger.read import iso
from freki.ledger.rows import links_to
from freki.ledger.statements import statements
from freki.messages import Reason, State, Timings, Via
from freki.url import split

SQL: Final = statements("story.sql")
LEDGER: Final = statements("ledger.sql")

# Pages that link here are named up to this many; a navigation link is on every page.
MAX_MOTHERS = 20


class Attempt(Struct, frozen=True):
    """One try to fetch it."""

    at: str
    answer: str  # "status 200", or the reason and detail of a failure
    seconds: float
    timings: Timings


class Mother(Struct, frozen=True):
    """A page that links to it."""

    url: str
    text: str
    rel: str
    via: str


class Story(Struct, frozen=True):
    """All that a store knows of a URL in one run of a crawl."""

    url: str
    crawl: str
    run: int
    state: str
    outcome: str | None
    reason: str | None
    detail: str | None
    depth: int
    via: str
    found_at: str
    found_on: str | None
    tries: int  # times it was handed to a worker
    attempts: list[Attempt]
    due: str | None
    host_rests_until: str | None
    host_failures: int
    title: str | None
    content_type: str | None
    bytes: int | None
    linked_from: list[Mother]
    more_links: bool


def stories(db: Database, url: str, crawl: str | None = None) -> Iterator[Story]:
    """The story of a URL in each run that knows it, the oldest first; of one crawl, or of any."""
    rows = _rows(db, url, crawl)
    mothers = _mothers(db, url, {row[0]: row[-1] for row in rows})
    for row in rows:
        story = _story(db, url, row, mothers[row[-1]])
        yield believed(msgspec.to_builtins(story), Story)


def outlines(db: Database, url: str, crawl: str | None = None) -> list[Story]:
    """The same without who links there, which takes a look at every page; see `mothers`."""
    return [_story(db, url, row, []) for row in _rows(db, url, crawl)]


def mothers(db: Database, url: str, crawl: str | None = None) -> list[Mother]:
    """Who links there in the last run; more than are named tell that there are more."""
    rows = _rows(db, url, crawl)[-1:]
    return [mother for row in rows for mother in _mothers(db, url, {row[0]: row[-1]})[row[-1]]]


def number_of(db: Database, url: str, crawl: str | None = None) -> int | None:
    """The number of a URL in the last run that knows it."""
    rows = _rows(db, url, crawl)
    return int(rows[-1][0]) if rows else None


def alike(db: Database, url: str, crawl: str | None = None) -> list[str]:
    """Known URLs that differ from one in what people mistype: scheme, www, the last slash."""
    origin, path = split(url)
    scheme, _, host = origin.partition("://")
    other = "http" if scheme == "https" else "https"
    bare = host.removeprefix("www.")
    origins = [f"{kind}://{name}" for kind in (scheme, other) for name in (bare, f"www.{bare}")]
    paths = [path, path.rstrip("/") or "/", f"{path}/", path.partition("?")[0]]
    candidates = dict.fromkeys(place + way for place in origins for way in paths)
    return [known for known in candidates if known != url and _rows(db, known, crawl)]


def _rows(db: Database, url: str, crawl: str | None) -> list[tuple[Any, ...]]:
    origin, path = split(url)
    wanted = (origin, fingerprint(path, secret_of(db)), path, crawl)
    return db.execute(SQL["rows"], wanted).fetchall()


def _story(db: Database, url: str, row: tuple[Any, ...], mothers: list[Mother]) -> Story:
    (id_, state, reason, detail, depth, via, _hops, tries, parent, found_at, due, next_at, failures,
     crawl, run, _) = row  # fmt: skip
    ended = State(state) >= State.done
    visit = db.execute(SQL["visit"], (id_,)).fetchone()
    waits = state == State.waiting
    return Story(
        url=url,
        crawl=crawl,
        run=run,
        state="ended" if ended else State(state).name,
        outcome=State(state).name if ended else None,
        reason=Reason(reason).name if reason else None,
        detail=detail,
        depth=depth,
        via=Via(via).name,
        found_at=iso(found_at),
        found_on=_name(db, parent),
        tries=tries,
        attempts=list(_attempts(db, id_, visit)),
        due=iso(due) if waits and due else None,
        host_rests_until=iso(next_at) if waits and next_at else None,
        host_failures=failures,
        title=visit[3] if visit else None,
        content_type=visit[2] if visit else None,
        bytes=visit[4] if visit else None,
        linked_from=mothers[:MAX_MOTHERS],
        more_links=len(mothers) > MAX_MOTHERS,
    )


def _name(db: Database, url: int | None) -> str | None:
    row = db.execute(SQL["name_of"], (url,)).fetchone()
    return row[0] if row else None


def _attempts(db: Database, url: int, visit: tuple[Any, ...] | None) -> Iterator[Attempt]:
    for at, reason, detail, timings in db.execute(SQL["attempts"], (url,)):
        took = msgspec.json.decode(timings, type=Timings)
        yield Attempt(iso(at), f"{Reason(reason).name}: {detail}", took.total, took)
    if visit is not None:
        at, status, _, _, _, timings, address, http = visit
        took = msgspec.json.decode(timings, type=Timings)
        answer = f"status {status} by HTTP/{http} from {address}"
        yield Attempt(iso(at), answer, took.total, took)


def _mothers(db: Database, url: str, ids: dict[int, int]) -> dict[int, list[Mother]]:
    """By crawl, pages that link here; one more than are named tells that there are more.

    Links are kept with their page, so this looks at every page, until each crawl has enough.
    """
    found: dict[int, list[Mother]] = {crawl: [] for crawl in ids.values()}
    open_ = set(found)
    find = links_to(url)
    crawls = msgspec.json.encode(sorted(found)).decode()
    for page, packed in db.execute(SQL["links_of_pages"], (crawls,)) if ids else ():
        if page in ids or not (links := find(packed)):
            continue
        name, crawl = db.execute(SQL["page_of"], (page,)).fetchone() or ("", None)
        if crawl in open_:
            found[crawl] += [
                Mother(name, each.text, each.rel, Via(each.via).name) for each in links
            ]
            if len(found[crawl]) > MAX_MOTHERS:
                open_.remove(crawl)
        if not open_:
            break
    return found
