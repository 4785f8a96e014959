"""Putting a class of ended URLs back, to be fetched again; and which classes there are."""

from collections import Counter
from typing import Final

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from freki.ledger import details
from freki.ledger.database import Database, transaction
from freki.ledger.read import SQL as READ
from freki.ledger.read import Filter
from freki.ledger.statements import statements
from freki.ledger.store import translated
from freki.messages import Reason, State

SQL: Final = statements("mend.sql")
LEDGER: Final = statements("ledger.sql")

# Messages that are looked at, the most frequent ones.
MESSAGES = 2_000


class Alike(Struct, frozen=True):
    """URLs that failed alike."""

    reason: str
    host: str
    message: str
    count: int
    example: str


def failures(db: Database, crawl: int, limit: int) -> list[Alike]:
    """What a new try may mend, the largest groups first.

    Messages of failures tell sizes and times: those that differ in numbers only are one.
    """
    found: dict[tuple[int, str, str], Alike] = {}
    for reason, host, message, count, example in db.execute(READ["failures"], (crawl, MESSAGES)):
        alike = message if reason == Reason.http_error else details.key(message)
        same = found.setdefault(
            (reason, host, alike), Alike(Reason(reason).name, host, message, 0, example)
        )
        found[reason, host, alike] = replace(same, count=same.count + count)
    return sorted(found.values(), key=lambda group: -group.count)[:limit]


def count(db: Database, crawl: int, wanted: Filter) -> int:
    """How many URLs `retry` would put back now."""
    return sum(1 for _ in db.execute(SQL["to_retry"], wanted.parameters(crawl)))


def retry(db: Database, crawl: int, wanted: Filter) -> int:
    """Make the URLs wait again, and answer with how many there were.

    An answer that is stored goes: a URL has one outcome. Their hosts are asked for robots.txt
    and tried as if for the first time.
    """
    with translated(f"crawl {crawl}"), transaction(db):
        return _put_back(db, crawl, wanted)


def _put_back(db: Database, crawl: int, wanted: Filter) -> int:
    urls = db.execute(SQL["to_retry"], wanted.parameters(crawl)).fetchall()
    if not urls:
        return 0
    ids = msgspec.json.encode([url for url, *_ in urls]).decode()
    db.execute(SQL["forget_visits"], (ids,))
    db.execute(SQL["forget_bodies"])
    db.execute(SQL["forget_items"], (ids,))
    db.execute(SQL["retry"], (ids,))
    changes = Counter((state, reason) for _, _, state, reason in urls)
    moved = [(crawl, state, reason, -count) for (state, reason), count in changes.items()]
    moved.append((crawl, State.waiting, 0, len(urls)))
    db.executemany(LEDGER["tally_add"], moved)
    hosts = Counter(host for _, host, *_ in urls)
    db.executemany(SQL["host_afresh"], [(count, host) for host, count in hosts.items()])
    for host, _, pages in db.execute(SQL["pages_wrong"]).fetchall():
        db.execute(SQL["pages_set"], (pages, host))
    db.execute(SQL["crawl_unfinished"], (crawl,))
    return len(urls)
