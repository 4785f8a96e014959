"""A store copied into another one, also from a file to a server and back: every row as it is."""

import re
import sqlite3
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Final

from freki.errors import BadInput
from freki.ledger import crawls
from freki.ledger.check import mend_sums
from freki.ledger.database import Database, Row, transaction
from freki.ledger.statements import script, statements

SQL: Final = statements("move.sql")

# What is counted anew, and who worked on it: nobody does any more.
NOT_COPIED = ("tally", "session")

# Rows that are in memory at once; some are bodies.
STRETCH = 100


def move(source: Database, target: Database) -> dict[str, int]:
    """Copies all crawls into a store that has none; answers with the rows of each table.

    What was leased waits again, and hosts rest as they did: a crawl goes on as if it had been
    interrupted.
    """
    for name in crawls.names(source):
        if (crawl := crawls.find(source, name)) is not None:
            crawls.refuse_if_running(source, crawl)
    if crawls.names(target):
        raise BadInput("the target holds crawls already; move into a store that has none")
    source.execute("BEGIN")  # one moment of it, should somebody begin to work on it after all
    try:
        with transaction(target):
            target.execute(SQL["secrets_forget"])
            copied = {table: _copy(source, target, table) for table in tables()}
            for statement in ("nothing_leased", "nobody_holds", "nothing_runs"):
                target.execute(SQL[statement])
            mend_sums(target)
    finally:
        source.execute("ROLLBACK")
    return copied


def tables() -> list[str]:
    """Everything a store holds."""
    made = re.findall(r"^CREATE TABLE (\w+)", script("schema_1.sql"), re.MULTILINE)
    return [table for table in made if table not in NOT_COPIED]


def _copy(source: Database, target: Database, table: str) -> int:
    columns = _columns(table)
    rows = iter(source.execute(f"SELECT {', '.join(columns)} FROM {table} ORDER BY 1"))  # noqa: S608
    if isinstance(target, sqlite3.Connection):
        return _insert(target, table, columns, rows)
    from freki.ledger.postgres.link import Server  # noqa: PLC0415 - for those who have its driver

    assert isinstance(target, Server)
    return target.load(table, columns, rows)


def _columns(table: str) -> list[str]:
    """Those that SQLite has: what PostgreSQL has beside them, it works out for itself."""
    made = re.search(
        rf"^CREATE TABLE {table} \((.*?)^\)", script("schema_1.sql"), re.MULTILINE | re.DOTALL
    )
    assert made is not None
    return re.findall(r"^    ([a-z]\w*)", made[1], re.MULTILINE)


def _insert(db: sqlite3.Connection, table: str, columns: Sequence[str], rows: Iterator[Row]) -> int:
    marks = ", ".join("?" * len(columns))
    insert = f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({marks})"  # noqa: S608 - our names
    count = 0
    while stretch := list(islice(rows, STRETCH)):
        db.executemany(insert, stretch)
        count += len(stretch)
    return count
