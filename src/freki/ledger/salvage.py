"""Reading what can still be read of a damaged store, into a new one."""

import shutil
import sqlite3
import struct
from contextlib import closing, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO

from freki.errors import StoreDamaged
from freki.ledger.cells import rest_soon
from freki.ledger.identity import find_again
from freki.ledger.store import describes_ours, open_store, translated

# In the order in which rows refer to each other.
TABLES = (
    "crawl", "host", "url", "request", "body", "page", "item", "delivery", "attempt",
    "rendering", "picture", "capture", "thumbnail", "likeness", "secret",
)  # fmt: skip

# Of those without row numbers, which are few or can be made again, all is copied or nothing.
WHOLE = {"delivery", "likeness", "secret"}

# Row numbers tried one by one around a damaged page before the next stretch is tried.
STRIDE = 64


def salvage(damaged: Path, rescued: Path) -> tuple[int, int]:
    """Copy row by row; answers with how many rows were kept, and about how many were lost."""
    if rescued.exists():
        raise StoreDamaged(f"{rescued} exists; move it away first, then repair again")
    with TemporaryDirectory(dir=rescued.parent, prefix=f"{rescued.name}-") as folder:
        readable = _readable(damaged, Path(folder))
        with (
            translated(str(damaged)),
            closing(_reading(readable)) as old,
            closing(open_store(rescued)) as new,
        ):
            return _copy_all(old, new)


def _copy_all(old: sqlite3.Connection, new: sqlite3.Connection) -> tuple[int, int]:
    new.execute("BEGIN IMMEDIATE")
    counts = {table: _copy(old, new, table) for table in TABLES}
    new.execute("UPDATE crawl SET status = 'interrupted'")
    new.execute("UPDATE url SET state = 0, session = NULL WHERE state = 1")
    new.execute("UPDATE host SET session = NULL")
    rest_soon(new)
    find_again(new)  # a damaged page may hold fewer rows than it did, and read well
    new.execute("COMMIT")
    kept, lost = zip(*counts.values(), strict=True)
    return sum(kept), sum(lost)


def _readable(store: Path, folder: Path) -> Path:
    """The store itself, or where nothing can be read because nobody knows the tables, a copy.

    What describes the tables is the same in every store, and stands in the same place.
    """
    with suppress(sqlite3.DatabaseError, UnicodeDecodeError), closing(_reading(store)) as db:
        if describes_ours(db):
            return store
    copy, fresh = folder / "copy.db", folder / "fresh.db"
    for part in ("", "-wal"):
        with suppress(FileNotFoundError):
            shutil.copy(f"{store}{part}", f"{copy}{part}")
    with closing(open_store(fresh)) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        pages = db.execute("SELECT pageno, pgsize FROM dbstat WHERE name = 'sqlite_schema'")
        places = [((number - 1) * size, size) for number, size in pages]
    content = fresh.read_bytes()
    with copy.open("r+b") as file:
        for place, length in places:
            file.seek(place)
            file.write(content[place : place + length])
        _describe(file, copy.stat().st_size // places[0][1])
    return copy


def _reading(store: Path) -> sqlite3.Connection:
    db = sqlite3.connect(f"{store.absolute().as_uri()}?mode=ro", uri=True, isolation_level=None)
    db.text_factory = lambda raw: raw.decode("utf-8", "replace")
    return db


def _copy(old: sqlite3.Connection, new: sqlite3.Connection, table: str) -> tuple[int, int]:
    columns = [row[1] for row in new.execute(f"PRAGMA table_info({table})")]
    names, marks = ", ".join(columns), ", ".join("?" * len(columns))
    insert = f"INSERT OR REPLACE INTO {table} ({names}) VALUES ({marks})"  # noqa: S608 - our names
    if table in WHOLE:
        return _copy_whole(old, new, f"SELECT {names} FROM {table}", insert)  # noqa: S608
    try:
        (last,) = old.execute(f"SELECT coalesce(max(rowid), 0) FROM {table}").fetchone()  # noqa: S608
    except sqlite3.DatabaseError:
        return 0, STRIDE
    kept = lost = low = 0
    while low <= last:
        reached, count = _stretch(old, new, f"SELECT rowid, {names} FROM {table}", insert, low)  # noqa: S608
        kept += count
        if reached is None:
            break
        low = reached + STRIDE
        lost += STRIDE
    return kept, lost


def _copy_whole(
    old: sqlite3.Connection, new: sqlite3.Connection, select: str, insert: str
) -> tuple[int, int]:
    try:
        rows = old.execute(select).fetchall()
    except sqlite3.DatabaseError:
        return 0, 1
    new.executemany(insert, rows)
    return len(rows), 0


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


def _describe(file: IO[bytes], pages: int) -> None:
    """In the header, which is that of an empty store, the number of pages; none of them is free."""
    file.seek(28)
    file.write(struct.pack(">III", pages, 0, 0))
