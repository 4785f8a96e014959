"""What the ledger asks of a database: statements in, rows out. SQLite's own connection has it."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Protocol

from freki.errors import StoreError, StoreUnreachable

Row = tuple[Any, ...]


class ConnectionLost(StoreUnreachable):
    """The connection was lost in a transaction: it may have come through, or not."""


class Conflict(StoreError):
    """Two transactions were in each other's way, and this one was undone."""


class Rows(Protocol):
    """What a statement answers with."""

    @property
    def rowcount(self) -> int: ...

    @property
    def lastrowid(self) -> int | None: ...

    @property
    def description(self) -> Any:
        """A sequence per column that begins with its name."""
        ...

    def fetchone(self) -> Any:
        """The next row, or None after the last one."""
        ...

    def fetchall(self) -> list[Any]: ...

    def __iter__(self) -> Iterator[Any]: ...


def named(rows: Rows) -> Iterator[dict[str, Any]]:
    """Rows with the names of their columns."""
    names = [column[0] for column in rows.description]
    for row in rows:
        yield dict(zip(names, row, strict=True))


class Database(Protocol):
    """A connection. Transactions begin and end by statements; outside of one, each is its own."""

    @property
    def in_transaction(self) -> bool: ...

    def execute(self, sql: str, parameters: Any = ..., /) -> Rows: ...

    def executemany(self, sql: str, parameters: Iterable[Any], /) -> Rows: ...

    def close(self) -> None: ...


@contextmanager
def transaction(db: Database) -> Iterator[None]:
    """All of it or nothing."""
    db.execute("BEGIN IMMEDIATE")
    try:
        yield
        db.execute("COMMIT")
    except BaseException:
        if db.in_transaction:  # a full disk ends it on SQLite's side, a lost connection on ours
            db.execute("ROLLBACK")
        raise
