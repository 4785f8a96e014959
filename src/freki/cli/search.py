"""Searching what pages say: what was not read yet is read first, and told how far it is."""

import os
import sys
from hashlib import sha256
from pathlib import Path

from freki.ledger import read, texts
from freki.ledger.database import Database
from freki.ledger.place import Place
from freki.sinks.searchable import read_all


def pages_that_say(db: Database, store: Place, crawl: int, text: str) -> str:
    """The numbers of the pages, as `Filter.among` wants them."""
    with texts.opened(_index_of(store), db) as index:
        pages = read.status(db, crawl).pages
        for count in read_all(index, db, crawl):
            if sys.stderr.isatty():
                told = f"\rread what {count:,} of {pages:,} pages say"
                print(told, end="", file=sys.stderr, flush=True)
        if sys.stderr.isatty():
            print("\r\033[K", end="", file=sys.stderr, flush=True)
        return texts.hits(index, text)


def _index_of(store: Place) -> Path:
    """Beside a store that is a file; else where this machine keeps what it can make again."""
    if isinstance(store, Path):
        return texts.beside(store)
    kept = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    folder = Path(kept) / "freki"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return folder / f"text-{sha256(str(store).encode()).hexdigest()[:32]}"
