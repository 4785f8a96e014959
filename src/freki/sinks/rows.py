"""What can be exported: rows in the order in which they were stored, from any place on."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, NamedTuple

import msgspec
from msgspec import Struct

from freki.extract import reading
from freki.ledger import read
from freki.ledger.database import Database
from freki.ledger.read import Arrival, Filter
from freki.messages import Response, State

# Rows that are read at once; a store that is being written is held open no longer than that.
CHUNK = 500

# A redirect is no link that somebody could mend on a page, and a guessed sitemap neither.
NOT_ON_A_PAGE: Final = ("redirect", "sitemap_file")

Row = dict[str, object]


class Placed(NamedTuple):
    """What came of one stored thing, and how far whoever has it has come."""

    position: int
    rows: Sequence[Any]  # of tables a `Row` each, of archives the `Arrival` itself


class LinkRow(Struct, frozen=True):
    """A link."""

    source: str
    target: str
    text: str
    rel: str
    via: str


class BrokenRow(Struct, frozen=True):
    """A link that leads to nothing."""

    url: str  # that is broken
    status: int | None
    reason: str
    detail: str | None
    page: str  # that has the link
    text: str  # of the anchor
    link: str  # as the page has it, where that redirects to the broken one


# What a page can be exported with beyond what is known of it: computed only when asked for.
EXTRAS: Final[dict[str, Callable[[Arrival], object]]] = {
    "links": lambda arrival: arrival.page.links,
    "html": lambda arrival: reading.html(_response(arrival)),
    "text": lambda arrival: reading.text(_response(arrival)),
    "markdown": lambda arrival: reading.markdown(_response(arrival)),
    "main": lambda arrival: reading.main(_response(arrival)),
    "main_markdown": lambda arrival: reading.main_markdown(_response(arrival)),
}

PAGE_COLUMNS: Final = tuple(name for name in read.PageLine.__struct_fields__ if name != "links")

COLUMNS: Final = {
    "pages": PAGE_COLUMNS,
    "urls": read.UrlLine.__struct_fields__,
    "links": LinkRow.__struct_fields__,
    "broken": BrokenRow.__struct_fields__,
}


def _response(arrival: Arrival) -> Response:
    page = arrival.page
    return Response(page.url, page.status, (), arrival.body or b"", page.content_type)


def pages(db: Database, crawl: int, after: int, extras: tuple[str, ...]) -> Iterator[Placed]:
    """A row for each page."""
    bodies = bool(set(extras) - {"links"})
    for arrival in read.arrivals(db, crawl, after, CHUNK, bodies=bodies, every=False):
        row: Row = {name: getattr(arrival.page, name) for name in PAGE_COLUMNS}
        yield Placed(arrival.id, [row | {name: EXTRAS[name](arrival) for name in extras}])


def answers(db: Database, crawl: int, after: int) -> Iterator[Placed]:
    """Every answer with its body: also redirects and sitemaps."""
    for arrival in read.arrivals(db, crawl, after, CHUNK, bodies=True, every=True):
        yield Placed(arrival.id, [arrival])


def links(db: Database, crawl: int, after: int) -> Iterator[Placed]:
    """A row for each link of each answer, redirects included."""
    for arrival in read.arrivals(db, crawl, after, CHUNK, bodies=False, every=True):
        rows = [
            {"source": arrival.page.url, "target": link.url, "text": link.text,
             "rel": link.rel, "via": link.via}
            for link in arrival.page.links or ()
        ]  # fmt: skip
        yield Placed(arrival.id, rows)


def items(db: Database, crawl: int, after: int) -> Iterator[Placed]:
    """A row for each item that was kept."""
    for item in read.items(db, crawl, after=after, limit=CHUNK):
        data = msgspec.json.decode(item.data)
        yield Placed(item.id, [data if isinstance(data, dict) else {"value": data}])


def urls(db: Database, crawl: int) -> Iterator[Row]:
    """A row for each URL of the ledger, whatever became of it."""
    for line in read.urls(db, crawl, Filter()):
        yield {name: getattr(line, name) for name in COLUMNS["urls"]}


def broken(db: Database, crawl: int) -> Iterator[Row]:
    """A row for each link that leads to an error or to nothing, also by way of redirects."""
    wrong = _broken_urls(db, crawl)
    while _behind_redirects(db, crawl, wrong):
        pass
    for row in every(lambda after: links(db, crawl, after)):
        line = wrong.get(str(row["target"]))
        if line is not None and row["via"] not in NOT_ON_A_PAGE:
            yield {
                "url": line.url, "status": line.status, "reason": line.reason,
                "detail": line.detail, "page": row["source"], "text": row["text"],
                "link": row["target"],
            }  # fmt: skip


def _broken_urls(db: Database, crawl: int) -> dict[str, read.UrlLine]:
    failed = read.urls(db, crawl, Filter(state=State.failed))
    errors = read.urls(db, crawl, Filter(status=(400, 599)))
    return {line.url: line for found in (failed, errors) for line in found}


def _behind_redirects(db: Database, crawl: int, wrong: dict[str, read.UrlLine]) -> bool:
    """Adds what redirects to something broken; True if there was any."""
    before = len(wrong)
    for row in every(lambda after: links(db, crawl, after)):
        if row["via"] == "redirect" and row["target"] in wrong:
            wrong.setdefault(str(row["source"]), wrong[str(row["target"])])
    return len(wrong) > before


def every(source: Callable[[int], Iterator[Placed]]) -> Iterator[Row]:
    """All rows of a source, a chunk at a time."""
    position, found = 0, True
    while found:
        found = False
        for placed in source(position):
            position, found = placed.position, True
            yield from placed.rows
