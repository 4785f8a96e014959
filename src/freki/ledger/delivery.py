"""How far the items of a crawl were handed to somebody outside."""

from collections.abc import Sequence
from typing import Final

from freki.ledger import read
from freki.ledger.database import Database
from freki.ledger.statements import statements
from freki.ledger.store import translated

SQL: Final = statements("delivery.sql")


def undelivered(db: Database, crawl: int, name: str, most: int) -> list[read.ItemLine]:
    """The next kept items that this receiver has not taken."""
    row = db.execute(SQL["taken"], (crawl, name)).fetchone()
    return list(read.items(db, crawl, after=row[0] if row else 0, limit=most))


def delivered(
    db: Database, crawl: int, name: str, last: int, failed: Sequence[tuple[int, str]] = ()
) -> None:
    """Note the last item that was taken, and those that the receiver raised on, with why."""
    with translated(f"crawl {crawl}"):
        for id_, why in failed:
            db.execute(SQL["item_failed"], (why, id_))
        db.execute(SQL["take"], (crawl, name, last))
