"""Opening a store: one of a version we know, or a clear error and nothing touched."""

import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from importlib import import_module
from pathlib import Path
from secrets import token_bytes
from types import ModuleType
from typing import overload

from msgspec import DecodeError
from zstandard import ZstdError

from freki.errors import (
    BadInput,
    NotAStore,
    StoreBusy,
    StoreDamaged,
    StoreError,
    StoreFull,
    StoreTooNew,
    StoreUnreachable,
)
from freki.ledger.database import Database, transaction
from freki.ledger.place import Address, Place
from freki.ledger.statements import making

# "Frek" in ASCII: SQLite keeps it in the file's header, and `file` can show it.
APPLICATION_ID = 0x4672656B
VERSION = 1

# How long a writer waits for another process before it is an error to the user.
BUSY_SECONDS = 60.0

_ERRORS = {
    sqlite3.SQLITE_BUSY: StoreBusy,
    sqlite3.SQLITE_LOCKED: StoreBusy,
    sqlite3.SQLITE_FULL: StoreFull,
    sqlite3.SQLITE_CORRUPT: StoreDamaged,
    sqlite3.SQLITE_NOTADB: NotAStore,
    sqlite3.SQLITE_READONLY: StoreUnreachable,
    sqlite3.SQLITE_CANTOPEN: StoreUnreachable,
    sqlite3.SQLITE_PERM: StoreUnreachable,
    sqlite3.SQLITE_IOERR: StoreUnreachable,
    # The one write whose "no room" SQLite reports as "I/O error": its shared memory grows.
    sqlite3.SQLITE_IOERR_SHMSIZE: StoreFull,
}

ADVICE = {
    StoreBusy: "another process holds the store; wait for it or end it, then run the command again",
    StoreFull: "there is no room left on the device; free some, then run the same command again",
    StoreDamaged: "the store is damaged; freki check --repair saves what can be saved",
    NotAStore: "this file is not a store of Freki; name another with --store",
    StoreUnreachable: "the store cannot be read or written; check the path and its permissions",
}

# What SQLite lets pass, and who decodes a cell does not: a text that is none (be it in a message
# about a broken schema), JSON or compressed bytes that are not.
GARBLED = (UnicodeDecodeError, DecodeError, ZstdError)


@contextmanager
def translated(store: str) -> Iterator[None]:
    """Turns what SQLite raises into our errors, with what to do about them."""
    try:
        yield
    except (sqlite3.Error, *GARBLED) as error:
        garbled = isinstance(error, GARBLED)
        code = sqlite3.SQLITE_CORRUPT if garbled else getattr(error, "sqlite_errorcode", 0)
        kind = _ERRORS.get(code) or _ERRORS.get(code & 0xFF)
        if kind is None and isinstance(error, sqlite3.ProgrammingError | sqlite3.InterfaceError):
            raise
        kind = kind or StoreError
        advice = ADVICE.get(kind, "see the message of the database")
        raise kind(f"{store}: {advice} ({error})") from error


@contextmanager
def legible(store: str) -> Iterator[None]:
    """The same for who does nothing but read rows: a value that does not fit is damage, too."""
    with translated(store):
        try:
            yield
        except (AttributeError, LookupError, TypeError, ValueError) as error:
            raise StoreDamaged(f"{store}: {ADVICE[StoreDamaged]} ({error})") from error


@contextmanager
def _opening(store: str) -> Iterator[None]:
    """The same for what the file system raises: only here may it be about the store."""
    try:
        with translated(store):
            yield
    except OSError as error:
        advice = ADVICE[StoreUnreachable]
        raise StoreUnreachable(f"{store}: {advice} ({error.strerror})") from error


@overload
def open_store(place: Path, *, durability: str = ...) -> sqlite3.Connection: ...
@overload
def open_store(place: Place, *, durability: str = ...) -> Database: ...
def open_store(place: Place, *, durability: str = "process") -> Database:
    """A connection that may write; the store is created where there is none."""
    if isinstance(place, Address):
        served: Database = on_server().open_server(place, durability)
        return served
    return _open_file(place, durability)


@overload
def open_existing(place: Path) -> sqlite3.Connection: ...
@overload
def open_existing(place: Place) -> Database: ...
def open_existing(place: Place) -> Database:
    """A connection that may write, to a store that exists."""
    if isinstance(place, Address):
        served: Database = on_server().open_existing(place)
        return served
    with _opening(str(place)):
        _refuse_nothing(place)
    return _open_file(place, "process")


@overload
def read_store(place: Path) -> sqlite3.Connection: ...
@overload
def read_store(place: Place) -> Database: ...
def read_store(place: Place) -> Database:
    """A connection that cannot write, to a store that exists."""
    if isinstance(place, Address):
        served: Database = on_server().read_server(place)
        return served
    return _read_file(place)


def on_server(module: str = "postgres.store") -> ModuleType:
    """What speaks to servers is there for those who asked for it."""
    try:
        return import_module(f"freki.ledger.{module}")
    except ModuleNotFoundError as error:
        if error.name != "psycopg":
            raise
        raise BadInput(
            "for a store on PostgreSQL install its driver: pip install 'freki[postgres]'"
        ) from None


def _open_file(path: Path, durability: str) -> sqlite3.Connection:
    with _opening(str(path)):
        if not path.parent.is_dir():
            raise StoreUnreachable(f"{path}: there is no folder {path.parent}; create it first")
        _refuse_foreign_files(path)
        # Absolute: SQLite knows names that are no paths, such as ":memory:" and "file:x".
        db = _connect(str(path.absolute()))
        _looked_at.add(_identity(path))
        try:
            _check_version(db, path)  # before anything is touched
            _prepare(db, durability)
            _migrate(db, path)
        except BaseException:
            db.close()
            raise
    return db


def _read_file(path: Path) -> sqlite3.Connection:
    with _opening(str(path)):
        _refuse_nothing(path)
        _refuse_foreign_files(path)
        db = _connect(f"file:{_quoted(path)}?mode=ro{_alone(path)}")
        _looked_at.add(_identity(path))
        try:
            _refuse_older(_check_version(db, path), path)
        except BaseException:
            db.close()
            raise
    return db


def _alone(path: Path) -> str:
    """What SQLite must be told to read a store where it may make no files beside it.

    It is true only of a store that nobody writes: in a folder that is closed to us somebody else
    may, but then the log of what he writes lies there.
    """
    closed = not os.access(path.parent, os.W_OK)
    return "&immutable=1" if closed and not path.with_name(f"{path.name}-wal").exists() else ""


def describes_ours(db: sqlite3.Connection) -> bool:
    """Whether the tables of a store are described as this version makes them."""
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as fresh:
        _apply(fresh, VERSION)
        return set(db.execute(_DESCRIPTION)) == set(fresh.execute(_DESCRIPTION))


_DESCRIPTION = "SELECT type, name, tbl_name, sql FROM sqlite_schema"


def _quoted(path: Path) -> str:
    """A path as SQLite's `file:` names want it."""
    return str(path.absolute()).replace("%", "%25").replace("?", "%3f").replace("#", "%23")


def _connect(name: str) -> sqlite3.Connection:
    return sqlite3.connect(
        name,
        timeout=BUSY_SECONDS,
        isolation_level=None,  # transactions are ours to begin and end
        check_same_thread=False,  # one thread at a time, but not always the same one
        cached_statements=128,
        uri=name.startswith("file:"),
    )


def _refuse_nothing(path: Path) -> None:
    if not path.exists():
        raise StoreUnreachable(f"{path}: there is no store here; crawl first, or use --store")


def _refuse_older(version: int, path: Path) -> None:
    """Who only reads cannot migrate; 0 is a file with nothing in it."""
    if version == 0:
        raise StoreUnreachable(f"{path}: there is nothing in this store yet; crawl first")
    if version < VERSION:
        raise StoreUnreachable(f"{path}: the store is not of this version yet; crawl first")


def _refuse_foreign_files(path: Path) -> None:
    """Look before SQLite does: it would wait at a pipe, and touch what is not ours."""
    if not path.exists():
        return
    if not path.is_file():
        kind = "folder" if path.is_dir() else "device"
        raise StoreUnreachable(f"{path}: this is a {kind}; a store is a file")
    if path.stat().st_size == 0 or _identity(path) in _looked_at:
        return
    with path.open("rb") as file:
        header = file.read(72)
    if not header.startswith(b"SQLite format 3\0"):
        raise NotAStore(f"{path}: {ADVICE[NotAStore]}")
    # Bytes 68 to 71 hold the application id; a store that was never committed to has 0 there.
    application = int.from_bytes(header[68:72], "big")
    if application not in (0, APPLICATION_ID):
        raise NotAStore(f"{path}: {ADVICE[NotAStore]}")


# Files that this process had open in SQLite, and may have still. To open and close one again would
# take away every lock that SQLite holds on it (POSIX, close(2)): the next process that leaves the
# store would believe to be the last, and delete the log we write to.
_looked_at: set[tuple[int, int]] = set()


def _identity(path: Path) -> tuple[int, int]:
    found = path.stat()
    return found.st_dev, found.st_ino


def _prepare(db: sqlite3.Connection, durability: str) -> None:
    """WAL: readers never wait, and a commit is one sequential write.

    NORMAL survives the death of the process at any moment; FULL syncs every commit and
    survives a power cut as well.
    """
    switch_to_wal(db)
    db.execute(f"PRAGMA synchronous = {'FULL' if durability == 'power' else 'NORMAL'}")
    # 24 MiB: what is written at once. What is read comes from the cache of the system, which costs
    # a tenth more CPU per URL that is looked up, and no memory of ours.
    db.execute("PRAGMA cache_size = -24576")
    db.execute("PRAGMA wal_autocheckpoint = 4000")  # 16 MiB of log between copies to the file
    db.execute("PRAGMA temp_store = MEMORY")


def switch_to_wal(db: sqlite3.Connection) -> None:
    """Waits for a process that makes the same store: here SQLite itself does not."""
    until = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            db.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > until:
                raise
            time.sleep(0.01)
        else:
            return


def _check_version(db: sqlite3.Connection, path: Path) -> int:
    version, application, has_tables = db.execute(_LOOK).fetchone()
    if application != APPLICATION_ID and (version or has_tables):
        raise NotAStore(f"{path}: {ADVICE[NotAStore]}")
    if version > VERSION:
        raise StoreTooNew(
            f"{path}: written by a later version of Freki (store version {version}, this program "
            f"knows {VERSION}); upgrade Freki"
        )
    return int(version)


# One statement, so that it sees one state of a store that another process is making right now.
_LOOK = """
SELECT user_version, application_id, EXISTS (SELECT 1 FROM sqlite_schema)
FROM pragma_user_version, pragma_application_id
"""


def _migrate(db: sqlite3.Connection, path: Path) -> None:
    """Each version in one transaction: a store is never between an old version and a new."""
    while (version := _check_version(db, path)) < VERSION:
        with transaction(db):
            if _check_version(db, path) == version:  # another process may have been quicker
                _apply(db, version + 1)


def _apply(db: sqlite3.Connection, version: int) -> None:
    for statement in making(f"schema_{version}.sql"):
        db.execute(statement)
    if version == 1:
        db.execute("INSERT INTO secret VALUES ('fingerprints', ?)", (token_bytes(16),))
        db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    db.execute(f"PRAGMA user_version = {version}")
