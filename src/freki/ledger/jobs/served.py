"""A service in a store on a server, for web processes and workers on any number of machines.

Its books are tables beside those of the crawls, and each job's crawl is a crawl of that name.
"""

import time
from collections import deque
from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import lru_cache
from threading import Lock
from typing import Any, Final

from freki.errors import StoreError, StoreTooNew, StoreUnreachable
from freki.ledger.blobs import sweep
from freki.ledger.database import Conflict, ConnectionLost, Database, transaction
from freki.ledger.jobs.folder import VERSION
from freki.ledger.jobs.place import refuse_foreign_name
from freki.ledger.place import Address
from freki.ledger.postgres.dialect import schema
from freki.ledger.postgres.link import PATIENCE, Line, Server
from freki.ledger.postgres.reader import Reader
from freki.ledger.postgres.remove import remove
from freki.ledger.postgres.store import open_server, read_server
from freki.ledger.postgres.upgrade import LOCK
from freki.ledger.statements import statements

OURS: Final = statements("postgres/jobs.sql")

# Seconds for which our clock is counted on from the server's.
TRUSTED = 10.0

# Hosts that are counted: those of some hundred workers.
MOST_DUE = 100_000

# Seconds between two looks for bodies and pictures beside the store that no job has any more.
DAY = 86_400.0

# Connections that are kept for reading.
MOST_READERS = 8

# Seconds between two looks at what became of a transaction whose end was not seen.
PAUSE = 0.05


class Served:
    """A service's books and crawls on a server."""

    def __init__(self, address: Address) -> None:
        self.address = address
        self._readers: deque[Reader] = deque(maxlen=MOST_READERS)

    def __str__(self) -> str:
        return str(self.address)

    def __repr__(self) -> str:
        return f"<Served {self.address}>"

    def desk(self, patience: float = PATIENCE) -> "Desk":
        return Desk(self.address, patience)

    def store_of(self, crawl: str) -> Address:
        refuse_foreign_name(crawl)
        return self.address

    @contextmanager
    def reading(self, crawl: str) -> Iterator[Database]:
        """Connections are kept for whoever reads next: to make one costs more than to ask."""
        refuse_foreign_name(crawl)
        try:
            reader = self._readers.pop()
        except IndexError:
            reader = read_server(self.address, patience=0.0)
        try:
            yield reader
        finally:
            if len(self._readers) < MOST_READERS and reader.rest():
                self._readers.append(reader)
            else:
                reader.close()

    def close(self) -> None:
        """End the connections that are kept."""
        while self._readers:
            self._readers.pop().close()

    def room(self) -> None:
        """The server keeps an eye on its own."""

    def prepare(self) -> None:
        with closing(open_server(self.address, "power")) as server, transaction(server):
            server.execute("SELECT pg_advisory_xact_lock(?)", (LOCK,))
            _migrate(server, self.address)


def _migrate(server: Server, address: Address) -> None:
    version = _version(server, address)
    if version > VERSION:
        raise StoreTooNew(f"{address}: written by a later version of Freki; upgrade Freki")
    if version == 0:
        for statement in schema(f"jobs_schema_{VERSION}.sql"):
            server.execute(statement)
        server.execute("INSERT INTO books VALUES (?)", (VERSION,))


def _version(server: Server, address: Address) -> int:
    (made,) = server.execute("SELECT to_regclass(?)", (f"{address.schema}.books",)).fetchone()
    return int(server.execute("SELECT version FROM books").fetchone()[0]) if made else 0


@lru_cache(maxsize=128)
def _rows_of(names: tuple[str, ...]) -> type[tuple[Any, ...]]:
    """Rows whose columns have names as well."""
    places = {name: place for place, name in enumerate(names)}

    class Row(tuple[Any, ...]):
        __slots__ = ()

        def __getitem__(self, key: Any) -> Any:
            return super().__getitem__(places[key] if isinstance(key, str) else key)

    return Row


def _named(cursor: Any) -> type[tuple[Any, ...]]:
    return _rows_of(tuple(column.name for column in cursor.description or ()))


class Books(Server):
    """A connection for short transactions of the service."""

    def __init__(self, address: Address, patience: float) -> None:
        super().__init__(address, "power", patience)
        self.be_a_workers()

    def _connect(self) -> Line:
        line = super()._connect()
        line.row_factory = _named
        return line

    def begin(self, *, durably: bool) -> str:
        """A transaction; answers with its number."""
        lightly = "" if durably else "; SET LOCAL synchronous_commit TO off"
        rows = self.run(f"BEGIN{lightly}; SELECT pg_current_xact_id()::text")
        while rows.nextset():
            pass
        return str(rows.fetchone()[0])

    def came_through(self, transaction: str) -> bool:
        """What became of a transaction whose end was not seen."""
        while True:
            asked = "SELECT pg_xact_status(?::text::xid8)"
            try:
                (status,) = self.execute(asked, (transaction,)).fetchone()
            except StoreUnreachable:
                raise
            except StoreError:  # the server crashed, and knows of no such number
                return False
            if status != "in progress":
                return bool(status == "committed")
            time.sleep(PAUSE)


class Desk:
    """A connection to books on a server, for one thread at a time; others wait their turn."""

    def __init__(self, address: Address, patience: float) -> None:
        self._address = address
        self._turn = Lock()
        self._books = Books(address, patience)
        self._looked_at_clock = float("-inf")
        self._swept_at = time.monotonic()

    def __repr__(self) -> str:
        return f"<Desk {self._address}>"

    @contextmanager
    def reading(self) -> Iterator[Database]:
        with self._turn:
            yield self._books

    @contextmanager
    def writing(self) -> Iterator[Database]:
        with self._turn, self._transaction(durably=True):
            yield self._books

    @contextmanager
    def noting(self) -> Iterator[Database]:
        with self._turn, self._transaction(durably=False):
            yield self._books

    @contextmanager
    def _transaction(self, *, durably: bool) -> Iterator[None]:
        """All of it, or `Conflict` where none of it was done and it may be tried again."""
        number = self._books.begin(durably=durably)
        try:
            yield
        except BaseException as error:
            if self._books.in_transaction:
                self._books.execute("ROLLBACK")
            if isinstance(error, ConnectionLost):
                raise Conflict(str(error)) from error
            raise
        try:
            self._books.execute("COMMIT")
        except ConnectionLost as error:
            if not self._books.came_through(number):
                raise Conflict(str(error)) from error

    def now(self) -> float:
        if time.monotonic() - self._looked_at_clock > TRUSTED:
            with self._turn:
                self._books.ask_for_date()
            self._looked_at_clock = time.monotonic()
        return self._books.date()

    def changes(self) -> int:
        with self.reading() as db:
            event, job = db.execute(OURS["newest"]).fetchone()
        return int(event) << 32 | int(job) & 0xFFFFFFFF

    def bytes_of(self, crawl: str) -> int:
        with self.reading() as db:
            return int(db.execute(OURS["bytes_of"], (crawl,)).fetchone()[0])

    def hosts_due(self) -> int:
        with self.reading() as db:
            return int(db.execute(OURS["hosts_due"], (MOST_DUE,)).fetchone()[0])

    def remove(self, crawl: str) -> None:
        """On a connection of its own: it may take a while."""
        refuse_foreign_name(crawl)
        with closing(open_server(self._address, "process")) as server:
            remove(server, crawl)

    def crawls_before(self, date: float) -> list[str]:
        with self.reading() as db:
            return [name for (name,) in db.execute(OURS["crawls_before"], (date,))]

    def forget_texts(self, date: float) -> int:
        return 0  # they are where they were made, and go with their process

    def settle(self) -> None:
        """The vacuum overwrites what is deleted; what lies beside the store is swept once a day."""
        if time.monotonic() - self._swept_at < DAY:
            return
        self._swept_at = time.monotonic()
        with closing(open_server(self._address, "process")) as server:
            sweep(server)

    def close(self) -> None:
        self._books.close()
