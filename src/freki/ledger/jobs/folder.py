"""The folder of a service: its own database, and a store for each crawl.

Each crawl is a store of its own, the same that `freki crawl` makes: crawls never wait for each
other's commits, nothing of one caller lies beside what is another's, and to delete a crawl is to
delete its files.
"""

import os
import shutil
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from threading import Lock

from msgspec import Struct

from freki.errors import NotAStore, StoreTooNew, StoreUnreachable
from freki.ledger import texts
from freki.ledger.database import transaction
from freki.ledger.jobs.place import CRAWL_NAME, refuse_foreign_name
from freki.ledger.statements import making
from freki.ledger.store import read_store, switch_to_wal, translated

# "Frej" in ASCII: not a store of crawls, so that one is not taken for the other.
APPLICATION_ID = 0x4672656A
VERSION = 1

BUSY_SECONDS = 30.0


class Folder(Struct, frozen=True):
    """A service's books and crawls as files."""

    folder: Path

    def __str__(self) -> str:
        return str(self.folder)

    @property
    def jobs(self) -> Path:
        return self.folder / "service.db"

    @property
    def crawls(self) -> Path:
        return self.folder / "crawls"

    def store_of(self, crawl: str) -> Path:
        """The store of one crawl."""
        refuse_foreign_name(crawl)
        return self.crawls / f"{crawl}.db"

    def files_of(self, crawl: str) -> list[Path]:
        """Whatever exists of a store: the database, what SQLite has beside it, and its index."""
        store = self.store_of(crawl)
        files = [store.with_name(store.name + end) for end in ("", "-wal", "-shm")]
        return [file for file in [*files, *texts.files_of(texts.beside(store))] if file.exists()]

    @contextmanager
    def reading(self, crawl: str) -> Iterator[sqlite3.Connection | None]:
        try:
            db = read_store(self.store_of(crawl))
        except StoreUnreachable:
            db = None
        if db is None:
            yield None
            return
        with closing(db):
            yield db

    def desk(self, patience: float = 0.0) -> "Desk":
        return Desk(self)

    def close(self) -> None:
        """Nothing is kept open."""

    def room(self) -> int:
        """Bytes that are left on the device."""
        return shutil.disk_usage(self.folder).free

    def prepare(self) -> None:
        """Make the folder, for its owner alone."""
        try:
            self.crawls.mkdir(mode=0o700, parents=True, exist_ok=True)
            self.folder.chmod(0o700)
        except OSError as error:
            raise StoreUnreachable(
                f"{self.folder}: the folder cannot be made; name another with --data "
                f"({error.strerror})"
            ) from None
        Desk(self).close()


class Desk:
    """A connection to the service's database, for one thread at a time; others wait their turn."""

    def __init__(self, folder: Folder) -> None:
        self._folder = folder
        self._path = folder.jobs
        self._turn = Lock()
        with translated(str(self._path)):
            self._db = _open(self._path)

    def __repr__(self) -> str:
        return f"<Desk {self._path}>"

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        with self._turn, translated(str(self._path)):
            yield self._db

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """One transaction: all of it or nothing."""
        with self._turn, translated(str(self._path)), transaction(self._db):
            yield self._db

    # One writer at a time, and a crash of the process takes nothing: there is one way to write.
    noting = writing

    def now(self) -> float:
        return time.time()

    def changes(self) -> int:
        """A number that is another one after somebody else has written."""
        with self.reading() as db:
            (version,) = db.execute("PRAGMA data_version").fetchone()
        return int(version)

    def bytes_of(self, crawl: str) -> int:
        return sum(file.stat().st_size for file in self._folder.files_of(crawl))

    def hosts_due(self) -> None:
        """Every crawl has a store of its own, and one machine is all there is."""

    def remove(self, crawl: str) -> None:
        for file in self._folder.files_of(crawl):
            file.unlink(missing_ok=True)

    def crawls_before(self, date: float) -> list[str]:
        names = {file.name.partition(".")[0] for file in self._folder.crawls.iterdir()}
        return [
            name
            for name in sorted(names)
            if CRAWL_NAME.fullmatch(name)
            and all(file.stat().st_mtime <= date for file in self._folder.files_of(name))
        ]

    def forget_texts(self, date: float) -> int:
        unused = [
            file
            for file in self._folder.crawls.glob(f"*{texts.SUFFIX}")
            if file.stat().st_mtime <= date
        ]
        for file in unused:
            texts.throw_away(file)
        return len(unused)

    def settle(self) -> None:
        """Bring the log into the file, so that nothing that was deleted stays in the log."""
        with self.reading() as db:
            db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()

    def close(self) -> None:
        self._db.close()


def copy_database(source: Path, to: Path) -> None:
    """A copy of one moment of a SQLite file that others write to."""
    with translated(str(source)):
        origin = sqlite3.connect(source, timeout=BUSY_SECONDS)
        os.close(os.open(to, os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC | os.O_EXCL, 0o600))
        target = sqlite3.connect(to)
        try:
            origin.backup(target)
        finally:
            target.close()
            origin.close()


def _open(path: Path) -> sqlite3.Connection:
    if not path.exists():
        os.close(os.open(path, os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC, 0o600))
    db = sqlite3.connect(
        path.absolute(), timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False
    )
    try:
        db.row_factory = sqlite3.Row
        _check(db, path)
        switch_to_wal(db)
        db.execute("PRAGMA synchronous = NORMAL")
        db.execute("PRAGMA secure_delete = ON")  # what is deleted is overwritten
        _migrate(db)
    except BaseException:
        db.close()
        raise
    return db


def _check(db: sqlite3.Connection, path: Path) -> None:
    version = db.execute("PRAGMA user_version").fetchone()[0]
    application = db.execute("PRAGMA application_id").fetchone()[0]
    if application not in (0, APPLICATION_ID):
        raise NotAStore(f"{path}: this is no database of the service; name another --data")
    if version > VERSION:
        raise StoreTooNew(f"{path}: written by a later version of Freki; upgrade Freki")


def _migrate(db: sqlite3.Connection) -> None:
    with transaction(db):
        if db.execute("PRAGMA user_version").fetchone()[0] == 0:
            for statement in making("jobs_schema_1.sql"):
                db.execute(statement)
            db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            db.execute(f"PRAGMA user_version = {VERSION}")
