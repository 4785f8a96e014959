"""Cells of a store with what nobody put there: a text for a number, a date in a thousand years.

SQLite keeps any type in any column, and a byte that changes may make one of another. Such a cell
gets what it has in a new row; where there is no such value its row goes, and what missed it then is
mended as everywhere.
"""

import sqlite3
from collections.abc import Iterator
from typing import Final, NamedTuple

from freki.ledger.database import Database
from freki.ledger.identity import drop_host, drop_url

TABLES: Final = (
    "crawl", "session", "host", "url", "page", "body", "request", "item", "attempt",
    "rendering", "capture", "thumbnail", "picture",
)  # fmt: skip

# By the declared type. Numbers of ours are smaller than what 53 bits hold.
_FITS: Final = {
    "INTEGER": "typeof({0}) = 'integer' AND abs({0}) < 9007199254740992",
    "REAL": "typeof({0}) IN ('real', 'integer')",
    "TEXT": "typeof({0}) = 'text'",
    "BLOB": "typeof({0}) = 'blob'",
}

# A hash has 64 bits, and of these there are digests to look at.
_JUDGED_ELSEWHERE: Final = {("capture", "phash"), ("body", "data"), ("picture", "data")}

# Dates that come: no option lets any be more than a day away.
_DATE: Final = "typeof({0}) IN ('real', 'integer') AND {0} < strftime('%s', 'now') + 172800"
_DATES: Final = {"until", "next_at", "robots_at", "due"}

# What a crawl gets: it is the one row that must not go.
_OF_CRAWLS: Final = {
    "name": "'crawl ' || id",
    "run": "id",
    "settings": "'{}'",
    "seeds": "'[]'",
    "status": "'interrupted'",
    "started_at": "0",
}

# After a repair nobody knows whether the date of a host was that of its table or of its index. It
# rests as after a request, so that nobody waits an hour for a byte.
_REST_SOON: Final = """
UPDATE host SET next_at = min(next_at, strftime('%s', 'now') + min(30, max(1, coalesce(delay, 0))))
"""


class Cell(NamedTuple):
    """A cell that is not what was stored."""

    table: str
    row: int
    column: str
    otherwise: str | None  # the expression for what it gets; None where its row goes

    def __str__(self) -> str:
        return f"{self.column} of {self.table} {self.row} is not what was stored"

    @property
    def takes_urls(self) -> bool:
        """Whether URLs go with its row."""
        return self.otherwise is None and self.table in ("host", "url")

    def mend(self, db: Database) -> None:
        if self.otherwise is not None:
            setting = f"{self.column} = {self.otherwise}"
            db.execute(f"UPDATE {self.table} SET {setting} WHERE rowid = ?", (self.row,))  # noqa: S608 - our names
        elif self.table == "host":
            drop_host(db, self.row)
        elif self.table == "url":
            drop_url(db, self.row)
        else:
            db.execute(f"DELETE FROM {self.table} WHERE rowid = ?", (self.row,))  # noqa: S608


def odd_cells(db: Database) -> Iterator[Cell]:
    """Every cell that does not fit its column."""
    if not isinstance(db, sqlite3.Connection):
        return  # a server looks at types itself
    for table in TABLES:
        fits = dict(_columns(db, table))
        is_odd = " OR ".join(f"NOT ({fit})" for fit, _ in fits.values())
        fitting = ", ".join(fit for fit, _ in fits.values())
        rows = db.execute(f"SELECT rowid, {fitting} FROM {table} WHERE {is_odd}").fetchall()  # noqa: S608
        for row, *answers in rows:
            for (column, (_, otherwise)), fit in zip(fits.items(), answers, strict=True):
                if not fit:
                    yield Cell(table, row, column, otherwise)


def _columns(db: sqlite3.Connection, table: str) -> Iterator[tuple[str, tuple[str, str | None]]]:
    """Each column with what fits there, as an expression, and what it gets where nothing does."""
    for _, name, kind, needed, usual, is_key in db.execute(f"PRAGMA table_info({table})"):
        if is_key or (table, name) in _JUDGED_ELSEWHERE:
            continue
        fit = (_DATE if name in _DATES else _FITS[kind]).format(name)
        otherwise = _OF_CRAWLS.get(name, usual) if table == "crawl" else usual
        if needed:
            yield name, (fit, otherwise)
        else:
            yield name, (f"{name} IS NULL OR {fit}", "NULL")


def rest_soon(db: Database) -> None:
    """Let no host rest longer than after a request."""
    db.execute(_REST_SOON)
