"""Do the names of a store still mean what they meant? Else known URLs would be taken for new ones.

A path is held against its fingerprint, a host against the index of its name, the key of the
fingerprints against some of them. What means something else now is dropped, and found again.
"""

import sqlite3
from contextlib import suppress
from functools import partial
from secrets import token_bytes
from typing import Final

from freki.errors import BadUrl, StoreDamaged
from freki.ledger.database import Database
from freki.ledger.discover import Fingerprint, fingerprint, fits, following
from freki.ledger.rows import unpack_links
from freki.ledger.statements import statements
from freki.ledger.store import ADVICE, GARBLED
from freki.messages import Link
from freki.url import parse, split

SQL: Final = statements("mend.sql")
LEDGER: Final = statements("ledger.sql")

# Paths that are looked at to tell whether the fingerprints were made with the key that is there.
SAMPLE = 16

KEY_BYTES = 16

# Not in a file of statements, because only SQLite can be asked for a table and its index apart.
_RENAMED_HOSTS = """
SELECT id FROM host NOT INDEXED WHERE id NOT IN (
    SELECT twin.id FROM host AS twin INDEXED BY sqlite_autoindex_host_1
    WHERE twin.crawl = host.crawl AND twin.origin = host.origin)
"""


def secret_of(db: Database) -> bytes:
    """The key of a store's fingerprints."""
    row = db.execute(LEDGER["fingerprint_key"]).fetchone()
    if row is None:
        raise StoreDamaged(f"{ADVICE[StoreDamaged]} (the key of its fingerprints is gone)")
    return bytes(row[0])


def prints_of(db: Database) -> Fingerprint:
    """The fingerprints of a store."""
    return partial(fingerprint, secret=secret_of(db))


def key_fits(db: Database) -> bool:
    """Whether any of some paths has its fingerprint: where none has, the key was damaged."""
    try:
        prints = prints_of(db)
    except StoreDamaged:
        return False
    some = db.execute(SQL["some_paths"], (SAMPLE,)).fetchall()
    return not some or any(fits(str(path), print_, prints) for path, print_ in some)


def make_prints(db: Database) -> None:
    """Make all fingerprints again, with a key that is there."""
    if db.execute(LEDGER["fingerprint_key"]).fetchone() is None:
        db.execute(SQL["fingerprint_key_set"], (token_bytes(KEY_BYTES),))
    prints = prints_of(db)
    for id_, host, path in db.execute(SQL["paths"]).fetchall():
        print_ = prints(path)
        while db.execute(SQL["print_taken"], (host, print_, id_)).fetchone():
            print_ = following(print_)
        db.execute(SQL["print_set"], (print_, id_))


def is_url(text: str) -> bool:
    """Whether a start URL is one, as each was when its crawl began."""
    with suppress(BadUrl):
        return bool(parse(text))
    return False


def is_origin(text: str) -> bool:
    """Whether the name of a host is one, spelt as all are."""
    with suppress(BadUrl):
        return parse(f"{text}/") == f"{text}/"
    return False


def renamed_hosts(db: Database) -> list[int]:
    """Hosts with another name in their table than in its index: nobody knows which is right."""
    with suppress(sqlite3.DatabaseError):
        return [id_ for (id_,) in db.execute(_RENAMED_HOSTS)]
    return []


def drop_host(db: Database, host: int) -> None:
    """Drop a host with all its URLs."""
    for (url,) in db.execute(SQL["urls_of_host"], (host,)).fetchall():
        drop_url(db, url)
    db.execute(SQL["host_drop"], (host,))


def drop_url(db: Database, url: int) -> None:
    """Drop a URL with its page."""
    db.execute(SQL["page_drop"], (url,))
    db.execute(SQL["url_drop"], (url,))


def find_again(db: Database) -> None:
    """URLs were lost: pages that link to them are fetched again, and find them as they did before.

    So are the answers for robots.txt, which name sitemaps.
    """
    prints = prints_of(db)

    def is_known(crawl: int, link: Link) -> bool:
        origin, path = split(link.url)
        place = (crawl, origin, prints(path), path)
        return db.execute(SQL["is_known"], place).fetchone() is not None

    mothers = []
    for url, crawl, packed in db.execute(SQL["links"]):
        with suppress(*GARBLED):  # repair will see that, too
            if not all(is_known(crawl, link) for link in unpack_links(packed)):
                mothers.append(url)
    for url in mothers:
        put_back(db, url)
    db.execute(SQL["robots_afresh"])


def put_back(db: Database, url: int) -> None:
    """Drop the page of a URL and what was taken out of it; the URL waits for another visit."""
    db.execute(SQL["page_drop"], (url,))
    db.execute(SQL["items_drop"], (url,))
    db.execute(SQL["url_again"], (url,))
