"""The tables of a store on a server, from one version to the next, while workers work.

The first process of a later version changes the tables, in one transaction and while it holds a
lock. What only adds (a table, a column, an index) is no matter to workers of the version before:
they go on, and further ones may come. Where a program must know of a change, the change says from
which version on; it waits for the transactions that are under way, and of older workers none is
taken any more: they end with `StoreTooNew`, and what they held waits again after their lease.
"""

import time
from collections.abc import Callable, Sequence
from functools import partial
from secrets import token_bytes
from typing import Final, NamedTuple

from freki.errors import StoreBusy, StoreError, StoreTooNew
from freki.ledger.database import Database, transaction
from freki.ledger.place import Address
from freki.ledger.postgres.dialect import schema

# Who makes or changes the tables holds this lock, "Frek" in ASCII, so that two do not at once.
LOCK: Final = 0x4672656B

# A table that somebody reads for long cannot be changed, and all others wait behind who wants to.
# So it is tried for a short while, again and again.
WAITS: Final = "SET LOCAL lock_timeout TO '1s'"
TRIES = 20
PAUSE = 1.0


class Upgrade(NamedTuple):
    """What makes a version out of the one before."""

    statements: Callable[[], list[str]]
    oldest: int  # programs that know of this version or a later one understand the tables then


# The first is version 1; as many as `store.VERSION` says.
UPGRADES: Final[Sequence[Upgrade]] = (Upgrade(partial(schema, "schema_1.sql"), oldest=1),)


def upgrade(server: Database, address: Address, to: Sequence[Upgrade] = UPGRADES) -> None:
    """Bring the tables to our version; those of a later one stay as they are."""
    tries = 0
    while (version := version_of(server, address, len(to))) < len(to):
        try:
            _change(server, address, version, to)
        except StoreBusy as error:
            tries += 1
            if tries == TRIES:
                raise StoreBusy(
                    f"{address}: the tables are to be changed for this version of Freki, and "
                    f"somebody reads them for long, perhaps an export; try again later ({error})"
                ) from None
            time.sleep(PAUSE)


def version_of(server: Database, address: Address, known: int = len(UPGRADES)) -> int:
    """The version of the tables, 0 where there are none; `StoreTooNew` where we are too old."""
    # The catalogue itself is read: a name is looked up in what the connection remembers, and who
    # waited for another to make the tables remembers that there were none.
    made = "SELECT 1 FROM pg_catalog.pg_tables WHERE schemaname = ? AND tablename = 'store'"
    if server.execute(made, (address.schema,)).fetchone() is None:
        return 0
    row = server.execute("SELECT version, oldest FROM store").fetchone()
    version, oldest = row or (0, 0)
    refuse_newer(version, oldest, str(address), known)
    return int(version)


def refuse_newer(version: int, oldest: int, store: str, known: int = len(UPGRADES)) -> None:
    """Raises `StoreTooNew` where the tables are not for a program that knows of this version."""
    if oldest > known:
        raise StoreTooNew(
            f"{store}: written by a later version of Freki (store version {version}, this "
            f"program knows {known}); upgrade Freki"
        )


def _change(server: Database, address: Address, version: int, to: Sequence[Upgrade]) -> None:
    """Each version in one transaction: a store is never between an old version and a new."""
    try:
        with transaction(server):
            server.execute("SELECT pg_advisory_xact_lock(?)", (LOCK,))
            # Another process may have been quicker.
            if version_of(server, address, len(to)) == version:
                _apply(server, address, version + 1, to[version])
    except StoreError as error:
        if version == 0:
            raise type(error)(f"{error}; the user must be allowed to make a schema") from None
        raise


def _apply(server: Database, address: Address, version: int, change: Upgrade) -> None:
    if version == 1:
        server.execute(f"CREATE SCHEMA IF NOT EXISTS {address.schema}")
    else:
        server.execute(WAITS)
    if version > 1 and change.oldest == version:
        # Every transaction of a worker begins with its session: now all of them are over.
        server.execute("LOCK TABLE session IN ACCESS EXCLUSIVE MODE")
    for statement in change.statements():
        server.execute(statement)
    if version == 1:
        server.execute("INSERT INTO secret VALUES ('fingerprints', ?)", (token_bytes(16),))
        server.execute("INSERT INTO store VALUES (1, 1)")
    server.execute("UPDATE store SET version = ?, oldest = ?", (version, change.oldest))
