"""Reading what can still be read of a damaged store, into a new one."""

import sqlite3
from contextlib import closing, suppress
from pathlib import Path

from freki.errors import StoreDamaged
from freki.ledger.store import open_store

# In the order in which rows refer to each other.
TABLES = (
    "crawl", "host", "url", "request", "body", "page", "item", "attempt",
    "rendering", "picture", "capture", "thumbnail", "secret",
)  # fmt: skip

# Row numbers tried one by one around a damaged page before the next stretch is tried.
STRIDE = 64


def salvage(damaged: Path, rescued: Path) -> tuple[int, int]:
    """Copy row by row; answers with how many rows were kept, and about how many were lost."""
    if rescued.exists():
        raise StoreDamaged(f"{rescued} exists; move it away first, then repair again")
    kept = lost = 0
    with (
        closing(sqlite3.connect(f"file:{damaged}?mode=ro", uri=True, isolation_level=None)) as old,
        closing(open_store(rescued)) as new,
    ):
        old.text_factory = lambda raw: raw.decode("utf-8", "replace")
        new.execute("BEGIN IMMEDIATE")
        for table in TABLES:
            copied, missing = _copy(old, new, table)
            kept += copied
            lost += missing
        new.execute("UPDATE crawl SET status = 'interrupted'")
        new.execute("UPDATE url SET state = 0, session = NULL WHERE state = 1")
        new.execute("UPDATE host SET session = NULL")
        new.execute("COMMIT")
    return kept, lost


def _copy(old: sqlite3.Connection, new: sqlite3.Connection, table: str) -> tuple[int, int]:
    columns = [row[1] for row in new.execute(f"PRAGMA table_info({table})")]
    names, marks = ", ".join(columns), ", ".join("?" * len(columns))
    insert = f"INSERT OR REPLACE INTO {table} ({names}) VALUES ({marks})"  # noqa: S608 - our names
    if table == "secret":
        with suppress(sqlite3.DatabaseError):
            rows = old.execute(f"SELECT {names} FROM {table}").fetchall()  # noqa: S608
            new.executemany(insert, rows)
        return 1, 0
    kept = lost = 0
    low = 0
    with suppress(sqlite3.DatabaseError):
        (last,) = old.execute(f"SELECT coalesce(max(rowid), 0) FROM {table}").fetchone()  # noqa: S608
        while low <= last:
            reached, count = _stretch(old, new, f"SELECT rowid, {names} FROM {table}", insert, low)  # noqa: S608
            kept += count
            if reached is None:
                break
            low = reached + STRIDE
            lost += STRIDE
    return kept, lost


def _stretch(
    old: sqlite3.Connection, new: sqlite3.Connection, select: str, insert: str, low: int
) -> tuple[int | None, int]:
    """Copy from a row number on; answers with where it broke, or None at the end."""
    at, count = low, 0
    try:
        for rowid, *row in old.execute(f"{select} WHERE rowid >= ? ORDER BY rowid", (low,)):
            at = rowid
            with suppress(sqlite3.IntegrityError):
                new.execute(insert, row)
                count += 1
    except sqlite3.DatabaseError:
        return at, count
    return None, count
