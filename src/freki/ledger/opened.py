"""What belongs to an open store, wherever it is: its ledger, and its clock."""

import sqlite3
import time
from collections.abc import Callable

from freki.ledger.database import Database
from freki.ledger.discover import Fingerprint
from freki.ledger.sqlite import SqliteLedger
from freki.ledger.terms import Terms


def ledger_of(
    db: Database, store: str, crawl: int, terms: Terms, prints: Fingerprint | None = None
) -> SqliteLedger:
    """A worker's view of a crawl."""
    if isinstance(db, sqlite3.Connection):
        return SqliteLedger(db, store, crawl, terms, prints)
    # Loaded for those who have its driver.
    from freki.ledger.postgres.ledger import PostgresLedger  # noqa: PLC0415
    from freki.ledger.postgres.link import Server  # noqa: PLC0415

    assert isinstance(db, Server)
    return PostgresLedger(db, store, crawl, terms, prints)


def clock_of(db: Database) -> Callable[[], float]:
    """The date all workers of a store agree on; nobody can set it back or forth.

    It is counted by the monotonic clock from what a clock said at the start: that of the server,
    where there is one, since machines may disagree by hours.
    """
    if isinstance(db, sqlite3.Connection):
        started = time.time() - time.monotonic()
        return lambda: started + time.monotonic()
    from freki.ledger.postgres.link import Server  # noqa: PLC0415 - as above

    assert isinstance(db, Server)
    db.ask_for_date()
    return db.date
