"""What a crawl shows of a site as a whole: its folders, its ways, what is slow or there twice."""

from typing import Final

import msgspec
from msgspec import Struct

from freki.ledger.database import Database
from freki.ledger.statements import statements

SQL: Final = statements("site.sql")

# Pages that are named of those that have one body.
NAMED = 8


class Folder(Struct, frozen=True):
    """A folder that has pages of its own."""

    origin: str
    path: str  # from slash to slash
    pages: int


class Way(Struct, frozen=True):
    """How often a page of one first folder was found from another."""

    begin: str  # an origin and a folder
    end: str
    count: int


class Slow(Struct, frozen=True):
    """A page and how long it took."""

    url: int
    address: str
    seconds: float


class Twins(Struct, frozen=True):
    """Pages that are the same, byte for byte."""

    pages: list[tuple[int, str]]  # the number and address of the first ones
    count: int


def folders(db: Database, crawl: int) -> list[Folder]:
    """Every folder that has pages, by origin and path."""
    return [Folder(*row) for row in db.execute(SQL["folders"], (crawl,))]


def ways(db: Database, crawl: int, limit: int) -> list[Way]:
    """The most travelled ways between folders."""
    return [
        Way(begun_at + begun, ended_at + ended, count)
        for begun_at, begun, ended_at, ended, count in db.execute(SQL["ways"], (crawl, limit))
    ]


def classes(db: Database, crawl: int) -> dict[int, int]:
    """How many answers there are of each class of status: 2 is what went well, 4 and 5 did not."""
    return dict(db.execute(SQL["classes"], (crawl,)).fetchall())


def slowest(db: Database, crawl: int, limit: int) -> list[Slow]:
    """The pages that took longest."""
    return [Slow(*row) for row in db.execute(SQL["slowest"], (crawl, limit))]


def twins(db: Database, crawl: int, limit: int) -> list[Twins]:
    """Pages of one and the same body, the largest families first."""
    counts = dict(db.execute(SQL["twins"], (crawl, limit)).fetchall())
    named: dict[int, list[tuple[int, str]]] = {body: [] for body in counts}
    bodies = msgspec.json.encode(list(counts)).decode()
    for body, url, address in db.execute(SQL["pages_of_bodies"], (bodies, crawl)) if counts else ():
        if len(named[body]) < NAMED:
            named[body].append((url, address))
    return [Twins(named[body], count) for body, count in counts.items()]
