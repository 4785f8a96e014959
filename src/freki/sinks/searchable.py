"""Makes what pages say searchable, as it is for those who read them."""

import sqlite3
from collections.abc import Iterator

from freki.extract import reading
from freki.ledger import texts
from freki.ledger.database import Database
from freki.messages import Response

# Bytes of a body that are looked at.
MOST_READ = 2_000_000


def read_all(index: sqlite3.Connection, db: Database, crawl: int) -> Iterator[int]:
    """Read what was not read yet; tells now and then how many pages have been."""
    while texts.read_on(index, db, crawl, _text_of):
        yield texts.pages_read(index, crawl)


def _text_of(kind: str, body: bytes) -> str | None:
    return reading.text(Response("", 200, (), body[:MOST_READ], kind))
