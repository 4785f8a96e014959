"""What pages say, made searchable: an index beside the store of a crawl.

It is made when somebody searches, goes on where it stopped, and may be thrown away at any time.
So a crawl that nobody searches pays nothing for it, and one that goes on is not slowed down.
"""

import os
import re
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Final

import msgspec

from freki.errors import StoreUnreachable
from freki.ledger.blobs import Kind, Shelf
from freki.ledger.database import Database, transaction
from freki.ledger.identity import secret_of
from freki.ledger.rows import unpack_body
from freki.ledger.statements import making, statements
from freki.ledger.store import translated

SQL: Final = statements("texts.sql")
INDEX: Final = statements("index.sql")

SUFFIX = "-text"

# Pages that are read between two commits, and letters after which it is fewer.
CHUNK = 200
MOST_LETTERS = 8_000_000

# Letters from which on a word finds those that begin with it; fewer would find nearly everything.
BEGINS = 3

# "Freg" in ASCII; the number changes with whatever an index holds.
APPLICATION_ID = 0x46726567
VERSION = 1

BUSY_SECONDS = 30.0

# Letters of languages that leave no spaces between words: each is a word here.
_ALONE = re.compile(r"[\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]")
_QUOTED = re.compile(r'"([^"]*)"?|([^"\s]+)')

# What a page says, of its content type and its body.
TextOf = Callable[[str, bytes], str | None]


def beside(store: Path) -> Path:
    """Where the index of a store is that is a file."""
    return store.with_name(store.name + SUFFIX)


def files_of(path: Path) -> list[Path]:
    """An index, and what SQLite has beside it."""
    return [path.with_name(path.name + end) for end in ("", "-wal", "-shm")]


@contextmanager
def opened(path: Path, db: Database) -> Iterator[sqlite3.Connection]:
    """The index of this store; an empty one where there was none, or that of another store."""
    mark = sha256(secret_of(db)).hexdigest()
    with translated(str(path)):
        index = _open(path)
        try:
            if not _fits(index, db, mark):
                index.close()
                throw_away(path)
                index = _open(path)
                _make(index, mark)
            yield index
        finally:
            index.close()


def throw_away(path: Path) -> None:
    for file in files_of(path):
        file.unlink(missing_ok=True)


def read_on(index: sqlite3.Connection, db: Database, crawl: int, text_of: TextOf) -> bool:
    """Read the next pages of a crawl; False where all have been."""
    last = _last(index, crawl)
    said, at = _said_behind(db, crawl, last, text_of)
    if not said:
        return False
    with transaction(index):
        if _last(index, crawl) == last:  # nobody else has read them meanwhile
            index.executemany(INDEX["text_add"], said)
            index.execute(INDEX["note"], (crawl, said[-1][0], at, len(said)))
    return True


def _said_behind(
    db: Database, crawl: int, last: int, text_of: TextOf
) -> tuple[list[tuple[int, str]], float]:
    """What the next pages say, as many as shall be in memory at once, and the date of the last."""
    said: list[tuple[int, str]] = []
    size, at, shelf = 0, 0.0, Shelf(db)
    for id_, at, title, kind, *kept in db.execute(SQL["pages_behind"], (crawl, last, CHUNK)):
        body = shelf.take(Kind.body, *kept)
        text = text_of(kind, unpack_body(body)) if body is not None else None
        said.append((id_, _apart(f"{title or ''}\n{text or ''}")))
        size += len(said[-1][1])
        if size > MOST_LETTERS:
            break
    return said, at


def is_behind(index: sqlite3.Connection, db: Database, crawl: int) -> bool:
    """Whether there are pages that were not read yet."""
    return db.execute(SQL["is_behind"], (crawl, _last(index, crawl))).fetchone() is not None


def pages_read(index: sqlite3.Connection, crawl: int) -> int:
    row = index.execute(INDEX["pages_read"], (crawl,)).fetchone()
    return int(row[0]) if row else 0


def hits(index: sqlite3.Connection, text: str) -> str:
    """The numbers of the pages that say this, as JSON: all of its words, in any order.

    A word of some letters finds those that begin with it; words in quotes stand side by side.
    """
    wanted = expression(text)
    if not wanted:
        return "[]"
    rows = index.execute(INDEX["hits"], (wanted,))
    return msgspec.json.encode([id_ for (id_,) in rows]).decode()


def expression(text: str) -> str:
    """A search as SQLite's index of words takes it; nothing of it is a command."""
    found = []
    for phrase, word in _QUOTED.findall(text.replace("\0", " ")):
        said = _apart(phrase or word).strip()
        letters = sum(map(str.isalnum, said))
        if letters:
            end = "" if phrase or letters < BEGINS else "*"
            found.append(f'"{said}"{end}')
    return " AND ".join(found)


def _apart(text: str) -> str:
    return text if text.isascii() else _ALONE.sub(r" \g<0> ", text)


def _last(index: sqlite3.Connection, crawl: int) -> int:
    row = index.execute(INDEX["last"], (crawl,)).fetchone()
    return int(row[0]) if row else 0


def _open(path: Path) -> sqlite3.Connection:
    try:
        os.close(os.open(path, os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC, 0o600))
    except OSError as error:
        told = f"{path}: what pages say cannot be kept there ({error.strerror})"
        raise StoreUnreachable(told) from None
    return sqlite3.connect(
        path.absolute(), timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False
    )


def _fits(index: sqlite3.Connection, db: Database, mark: str) -> bool:
    try:
        ours = [index.execute(f"PRAGMA {name}").fetchone()[0]
                for name in ("application_id", "user_version")]  # fmt: skip
        if ours != [APPLICATION_ID, VERSION] or index.execute(INDEX["store"]).fetchone() != (mark,):
            return False
        return all(_is_known(db, *read) for read in index.execute(INDEX["read_last"]))
    except sqlite3.DatabaseError:
        return False  # whatever it is: made anew, it is right


def _is_known(db: Database, last: int, at: float) -> bool:
    """Whether a page is still the one that was read: a store may be a copy from before."""
    newest, now = db.execute(SQL["page_read_last"], (last,)).fetchone()
    return newest is not None and newest >= last and now in (None, at)


def _make(index: sqlite3.Connection, mark: str) -> None:
    index.execute("PRAGMA journal_mode = WAL")
    with transaction(index):
        for statement in making("index_schema_1.sql"):
            index.execute(statement)
        index.execute(INDEX["belong"], (mark,))
        index.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        index.execute(f"PRAGMA user_version = {VERSION}")
