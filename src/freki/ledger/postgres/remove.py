"""A crawl is taken out of a store that others share, in many short transactions."""

from collections.abc import Callable
from contextlib import suppress
from typing import Final

from freki.ledger.database import Conflict, Database, transaction
from freki.ledger.statements import statements

SQL: Final = statements("postgres/remove.sql")

# Rows that go in one transaction: nobody waits for long.
URLS = 2_000
RENDERINGS = 200

OF_THE_CRAWL = ("likenesses", "deliveries", "hosts", "tally", "crawl")


def remove(db: Database, name: str) -> None:
    """Delete all runs of a crawl; the row that names it goes last, so that a stop loses nothing."""
    for (crawl,) in db.execute(SQL["runs"], (name,)).fetchall():
        db.execute(SQL["sessions"], (crawl,))
        while urls := _ids(db, "urls", crawl, URLS):
            _without(db, _urls, urls)
        while renderings := _ids(db, "renderings", crawl, RENDERINGS):
            _without(db, _renderings, renderings)
        for statement in OF_THE_CRAWL:
            db.execute(SQL[statement], (crawl,))


def _ids(db: Database, statement: str, crawl: int, most: int) -> list[int]:
    return [id_ for (id_,) in db.execute(SQL[statement], (crawl, most)).fetchall()]


def _without(db: Database, drop: Callable[[Database, list[int]], None], ids: list[int]) -> None:
    with suppress(Conflict), transaction(db):  # then its rows are found again
        drop(db, ids)


def _urls(db: Database, urls: list[int]) -> None:
    bodies = _numbers(db, "pages", urls)
    for statement in ("items", "attempts", "requests", "urls_drop"):
        db.execute(SQL[statement], (urls,))
    db.execute(SQL["bodies_hold"], (bodies,))
    db.execute(SQL["bodies"], (bodies,))


def _renderings(db: Database, renderings: list[int]) -> None:
    pictures = _numbers(db, "thumbnails", renderings) + _numbers(db, "captures", renderings)
    db.execute(SQL["renderings_drop"], (renderings,))
    db.execute(SQL["pictures_hold"], (pictures,))
    db.execute(SQL["pictures"], (pictures,))


def _numbers(db: Database, statement: str, ids: list[int]) -> list[int]:
    return [number for (number,) in db.execute(SQL[statement], (ids,)).fetchall()]
