"""Searching what pages say: read beside answering, a crawl after the other, when somebody asks.

Who searches gets what was read so far and is told how much is left. Nothing is lost with the
process: whoever asks next goes on where the index ends.
"""

import os
import sqlite3
import tempfile
import threading
from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import closing
from pathlib import Path
from threading import Lock

from msgspec import Struct

from freki.errors import StoreError
from freki.ledger import read, texts
from freki.ledger.crawls import Crawl
from freki.ledger.database import Database
from freki.ledger.place import Place
from freki.ledger.store import read_store
from freki.serve import logs
from freki.sinks.searchable import read_all

# Seconds for which an answer waits for what is being read: small crawls are searched at once.
READ_FOR = 0.7

# Crawls that may wait to be read.
MOST_WAITING = 50

# Reading gives way to answering, as workers do.
NICENESS = 5


class Searched(Struct, frozen=True):
    """What a search found, and of how many pages."""

    among: str  # as `Filter.among` wants it
    unread: int  # pages of the crawl that were not looked at yet


class Searching:
    """One for the process; its methods may be called from any thread."""

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(1, "texts", initializer=_give_way)
        self._reading: dict[str, Future[None]] = {}
        self._turn = Lock()
        self._ending = threading.Event()
        # Of stores on a server: each process has its own.
        self._folder = tempfile.TemporaryDirectory(prefix="freki-texts-")

    def __repr__(self) -> str:
        return f"<Searching waiting={len(self._reading)}>"

    def close(self) -> None:
        self._ending.set()
        self._pool.shutdown(cancel_futures=True)
        self._folder.cleanup()

    def search(
        self, store: Place, db: Database, crawl: Crawl, text: str, patience: float | None
    ) -> Searched:
        """The pages that say it, as far as they are read after so many seconds.

        Without a bound to patience, whoever asks reads all of them.
        """
        path = self._index_of(store, crawl)
        with texts.opened(path, db) as index:
            os.utime(path)  # what nobody uses is thrown away
            if patience is None:
                deque(read_all(index, db, crawl.id), maxlen=0)
            elif texts.is_behind(index, db, crawl.id):
                wait([self._begun(path, store, crawl)], patience)
            unread = 0
            if texts.is_behind(index, db, crawl.id):
                known = read.status(db, crawl.id).pages
                unread = max(1, known - texts.pages_read(index, crawl.id))
            return Searched(texts.hits(index, text), unread)

    def _index_of(self, store: Place, crawl: Crawl) -> Path:
        if isinstance(store, Path):
            return texts.beside(store)
        return Path(self._folder.name) / crawl.name

    def _begun(self, path: Path, store: Place, crawl: Crawl) -> Future[None]:
        """The reading of a crawl; each is read once at a time."""
        with self._turn:
            going_on = {name: task for name, task in self._reading.items() if not task.done()}
            if crawl.name not in going_on and len(going_on) < MOST_WAITING:
                going_on[crawl.name] = self._pool.submit(self._read, path, store, crawl)
            self._reading = going_on
            return going_on.get(crawl.name) or _not_now()

    def _read(self, path: Path, store: Place, crawl: Crawl) -> None:
        try:
            with closing(read_store(store)) as db, texts.opened(path, db) as index:
                for _ in read_all(index, db, crawl.id):
                    if self._ending.is_set() or _is_gone(store):
                        return
        except (StoreError, sqlite3.Error):
            logs.failure("texts", crawl=crawl.name)


def _is_gone(store: Place) -> bool:
    """Whether a crawl was deleted while it was read."""
    return isinstance(store, Path) and not store.exists()


def _not_now() -> Future[None]:
    """Too many wait to be read already."""
    done: Future[None] = Future()
    done.set_result(None)
    return done


def _give_way() -> None:
    os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), NICENESS)
