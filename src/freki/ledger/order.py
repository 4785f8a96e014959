"""Lists of URLs and pages as somebody wants them sorted, from any place on.

What is sorted is only numbers; the rows that are shown are read one by one. A row of a list says
by a word where the list goes on behind it: its number, and if need be what it is sorted by.
"""

from collections.abc import Iterator
from functools import partial
from typing import Any, Final, Literal, NamedTuple

from msgspec.structs import replace

from freki.ledger import read
from freki.ledger.database import Database
from freki.ledger.read import Filter
from freki.ledger.statements import statements

SQL: Final = statements("order.sql")
NAMES: Final = statements("story.sql")

What = Literal["pages", "urls"]

# What lists can be sorted by.
SORTS: Final[dict[What, tuple[str, ...]]] = {
    "pages": ("status", "size", "time", "depth", "url"),
    "urls": ("status", "depth", "url"),
}


class Listed(NamedTuple):
    """A row of a list."""

    cursor: str
    number: int
    line: Any  # a `UrlLine` or a `PageLine`


def listed(
    db: Database, crawl: int, what: What, wanted: Filter, *, with_links: bool = False
) -> Iterator[Listed]:
    """The rows that are wanted, in that order."""
    lines: Any = partial(read.numbered_pages, with_links=with_links)
    if what == "urls":
        lines = read.numbered_urls
    if wanted.sort is None:
        for number, line in lines(db, crawl, wanted):
            yield Listed(str(number), number, line)
        return
    for number, place in db.execute(SQL[what], _parameters(db, crawl, wanted)):
        this = Filter(after=number - 1, limit=1, redirects=True)
        for found, line in lines(db, crawl, this):
            if found == number:  # another one, where it went since
                yield Listed(f"{number}~{float(place)!r}", number, line)


def after(wanted: Filter, cursor: str) -> Filter:
    """The same, from behind a row on; raises ValueError for what is no cursor."""
    number, _, place = cursor.partition("~")
    if (wanted.sort is None) != (place == ""):
        raise ValueError("this is a cursor of another order")
    return replace(wanted, after=int(number), place=float(place) if place else None)


def _parameters(db: Database, crawl: int, wanted: Filter) -> dict[str, object]:
    address = ""
    if wanted.sort == "url" and wanted.after:
        row = db.execute(NAMES["name_of"], (wanted.after,)).fetchone()
        address = row[0] if row else ""
    return {
        **wanted.parameters(crawl),
        "sort": wanted.sort,
        "sign": -1 if wanted.descending else 1,
        "from_place": wanted.place,
        "from_up": "" if wanted.descending else address,
        "from_down": address if wanted.descending else "",
    }
