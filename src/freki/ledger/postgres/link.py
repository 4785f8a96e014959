"""A connection to a server: settings, waits that end, errors in our words, and a second try.

A connection that is lost between transactions is made anew without anybody noticing. One that is
lost within a transaction raises `ConnectionLost`: what of it was done is for the ledger to find
out.
"""

import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, Final, TypeVar

import psycopg
from psycopg import ClientCursor, Connection, Cursor, pq, sql
from psycopg.abc import PQGen
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.errors import (
    DataCorrupted,
    DeadlockDetected,
    DiskFull,
    IndexCorrupted,
    InsufficientPrivilege,
    LockNotAvailable,
    QueryCanceled,
    SerializationFailure,
    UniqueViolation,
)

from freki.errors import (
    BadInput,
    StoreBusy,
    StoreDamaged,
    StoreError,
    StoreFull,
    StoreUnreachable,
)
from freki.ledger.database import Conflict, ConnectionLost
from freki.ledger.place import ADVICE, Address
from freki.ledger.postgres.dialect import translated
from freki.ledger.postgres.spelling import spell_our_way

# Seconds in which a server answers, or it is taken for gone: it, or what is between, is silent.
SILENCE = 15.0

# The same for who has somebody waiting, and rather says that the store is away; seconds until such
# a connection stands, and until it is tried again after one that did not come about.
HASTY_SILENCE = 5.0
HASTY_CONNECT = "2"
BREATH = 0.5

# Seconds for which a lost connection is tried again, and between two tries.
PATIENCE = 60.0
PAUSE = 0.25

# How often the date is asked for at first: the quickest answer says best what time it is now.
FIRST_ASKED = 5

_DATE: Final = "SELECT extract(epoch FROM clock_timestamp())::double precision"

# A user's address may say otherwise. A server that is gone is noticed also while nothing is sent.
DEFAULTS: Final = {
    "application_name": "freki",
    "connect_timeout": "5",
    "keepalives_idle": "10",
    "keepalives_interval": "3",
    "keepalives_count": "3",
    "tcp_user_timeout": "15000",
}

# Whoever stops in the middle of a transaction, be it by SIGSTOP or a cut cable, holds locks that
# all others wait for: the server ends it. So leases of others go on.
WRITING: Final = """
SET search_path TO {schema};
SET synchronous_commit TO {durability};
SET lock_timeout TO '20s';
SET idle_in_transaction_session_timeout TO '60s';
SET jit TO off
"""
# A worker's transactions take milliseconds. What takes its time, as to count every URL, is for
# other connections.
WORKING: Final = """
SET statement_timeout TO '60s';
SET lock_timeout TO '8s';
SET idle_in_transaction_session_timeout TO '5s'
"""

# How the server notices that we are gone, also while it waits for the rest of what we say.
NOTICING: Final = (
    "client_connection_check_interval TO '2s'",
    "tcp_keepalives_idle TO 10",
    "tcp_keepalives_interval TO 3",
    "tcp_keepalives_count TO 3",
    "tcp_user_timeout TO '15s'",
)

T = TypeVar("T")


_KINDS: Final = (
    (DeadlockDetected | SerializationFailure | UniqueViolation, Conflict, "try again"),
    (
        DiskFull,
        StoreFull,
        "the server has no room left; free some, then run the same command again",
    ),
    (DataCorrupted | IndexCorrupted, StoreDamaged, "the database is damaged; restore a backup"),
    (LockNotAvailable | QueryCanceled, StoreBusy, "somebody holds the store for too long"),
    (InsufficientPrivilege, StoreUnreachable, "the user may not do that; grant it"),
)


class Rows(Cursor[Any]):
    """What a statement answers with, as SQLite's cursors do."""

    @property
    def lastrowid(self) -> int | None:
        """The id of the row that was inserted."""
        asked = self if self.description else self.connection.execute("SELECT lastval()")
        row = asked.fetchone()
        return row[0] if row else None

    def fetchone(self) -> Any:
        return super().fetchone() if self.description else None

    def fetchall(self) -> list[Any]:
        return super().fetchall() if self.description else []


class Line(Connection[Any]):
    """A connection whose waits end, where it is a worker's."""

    silence: float | None = None

    def wait(self, gen: PQGen[T], interval: float = 0.1, timeout: float | None = None) -> T:
        return super().wait(gen, interval, self.silence if timeout is None else timeout)


class Server:
    """A `Database` on a server, for one thread at a time."""

    def __init__(
        self, address: Address, durability: str = "process", patience: float = PATIENCE
    ) -> None:
        self._address = address
        self._patience = patience
        self._is_hasty = patience < SILENCE
        self._away_until = 0.0
        self._settings = WRITING.format(
            schema=address.schema, durability="on" if durability == "power" else "off"
        )
        self._is_workers = False
        self._started, self._doubt = 0.0, float("inf")
        self._ahead: list[tuple[str, Any]] = []  # goes with what is sent next
        self._line = self._connect()

    def __repr__(self) -> str:
        return f"<Server {self._address}>"

    @property
    def in_transaction(self) -> bool:
        return bool(self._ahead) or self._has_begun()

    def _has_begun(self) -> bool:
        status = self._line.info.transaction_status
        return status in (pq.TransactionStatus.INTRANS, pq.TransactionStatus.INERROR)

    @property
    def version(self) -> int:
        """As PostgreSQL counts them: 150004 is 15.4."""
        return self._line.info.server_version

    def execute(self, statement: str, parameters: Any = (), /) -> Any:
        if statement == "ROLLBACK":
            self._ahead.clear()
            if not self._has_begun():
                return None
        self.later(statement, parameters)
        # A transaction begins with its first statement: each way to the server takes its time.
        return None if statement.startswith("BEGIN") else self._send()[-1]

    def later(self, statement: str, parameters: Any = (), /) -> None:
        """A statement whose answer nobody waits for: it goes with the next one."""
        self._ahead.append(self.spelt_out(statement, parameters))

    def together(self, asked: Sequence[tuple[str, Any]]) -> list[Any]:
        """Statements one after the other, in one way to the server and back."""
        for statement, parameters in asked:
            self.later(statement, parameters)
        return self._send()[-len(asked) :]

    def _send(self) -> list[Any]:
        asked, self._ahead = self._ahead, []
        answers: list[Any] = self._try(lambda: self._sent(asked))
        return answers

    def _sent(self, asked: Sequence[tuple[str, Any]]) -> list[Any]:
        if len(asked) == 1:
            return [self._line.execute(*asked[0])]
        with self._line.pipeline():
            return [self._line.execute(*each) for each in asked]

    def run(self, text: str) -> Any:
        """Statements in PostgreSQL's own words, without parameters."""
        if self._ahead:
            self._send()
        return self._try(lambda: self._line.execute(text.encode(), prepare=False))

    def executemany(self, statement: str, parameters: Iterable[Any], /) -> Any:
        text, arrange, _ = translated(statement)
        given = [arrange(row) for row in parameters]
        if given and self._ahead:
            self._send()
        return self._try(lambda: self._many(text, given))

    def load(self, table: str, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> int:
        """Many rows into a table, as they are; in a transaction that may take its time."""
        self.run("SET LOCAL idle_in_transaction_session_timeout TO 0")
        return int(self._try(lambda: self._load(table, columns, rows)))

    def _load(self, table: str, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> int:
        line, place = self._line, sql.Identifier(table)
        names = sql.SQL(", ").join(map(sql.Identifier, columns))
        count = 0
        copy = sql.SQL("COPY {} ({}) FROM STDIN").format(place, names)
        with line.cursor() as cursor, cursor.copy(copy) as sink:
            for count, row in enumerate(rows, 1):
                sink.write_row(row)
        if "id" in columns:
            # Ids that are given are not drawn from the sequence, and its next one would be taken.
            mark = sql.SQL("SELECT setval({}, coalesce(max(id), 1)) FROM {}")
            line.execute(mark.format(sql.Literal(f"{table}_id_seq"), place))
        return count

    def be_a_workers(self) -> None:
        """From now on nothing may take long."""
        self._is_workers = True
        self._hurry(self._line)

    def _hurry(self, line: Line) -> None:
        line.execute(WORKING)
        line.silence = HASTY_SILENCE if self._is_hasty else SILENCE

    def date(self) -> float:
        """The server's date, counted on from when it was last asked for."""
        return self._started + time.monotonic()

    def ask_for_date(self) -> None:
        """Clocks drift apart, so this is done now and then.

        An answer is as much in doubt as it took. One that is in more doubt than what is known and
        does not contradict it tells nothing: else rests of hosts would be cut by what it is wrong.
        """
        for _ in range(1 if self._started else FIRST_ASKED):
            asked_at = time.monotonic()
            (date,) = self.execute(_DATE).fetchone()
            doubt = (time.monotonic() - asked_at) / 2
            heard = float(date) - asked_at - doubt
            if doubt < self._doubt or abs(heard - self._started) > doubt + self._doubt:
                self._started, self._doubt = heard, doubt

    def close(self) -> None:
        self._line.close()

    def spelt_out(self, statement: str, parameters: Any) -> tuple[str, Any]:
        """The statement for this server, and what is to be sent with it."""
        text, arrange, is_filter = translated(statement)
        given = arrange(parameters)
        if is_filter:
            return ClientCursor(self._line).mogrify(text, given), None
        return text, given

    def _many(self, text: str, rows: list[Any]) -> Any:
        cursor = self._line.cursor()
        if rows:
            cursor.executemany(text, rows)
        return cursor

    def _try(self, act: Any) -> Any:
        began = self._has_begun()
        with self._in_our_words():
            try:
                return act()
            except psycopg.Error as error:
                if not self._is_lost(error):
                    raise
                if began:
                    self._line.close()
                    raise ConnectionLost(self._said(error, "the connection was lost")) from error
            self._reconnect()
            return act()

    def _is_lost(self, error: psycopg.Error) -> bool:
        """Whether there is nobody at the other end, or nobody who may write any more."""
        if isinstance(error, psycopg.errors.ReadOnlySqlTransaction):
            return True  # another server took over, and this one only stands by
        silent = error.sqlstate is None and isinstance(error, psycopg.OperationalError)
        return self._line.closed or self._line.broken or silent

    def _connect(self) -> Line:
        with self._in_our_words():
            try:
                given = conninfo_to_dict(self._address.conninfo)
            except psycopg.ProgrammingError:
                raise BadInput(ADVICE) from None  # it would cite what may be a password
            usual = DEFAULTS | ({"connect_timeout": HASTY_CONNECT} if self._is_hasty else {})
            unsaid = {word: value for word, value in usual.items() if word not in given}
            conninfo = make_conninfo(self._address.conninfo, **unsaid)
            password = self._address.password
            line = Line.connect(conninfo, password=password, autocommit=True, cursor_factory=Rows)
            try:
                line.prepare_threshold = 2
                spell_our_way(line)
                line.execute(self._settings)
                if self._is_workers:
                    self._hurry(line)
                for setting in NOTICING:
                    with suppress(psycopg.Error):  # not on every platform
                        line.execute(f"SET {setting}")
            except BaseException:
                line.close()
                raise
            return line

    def _reconnect(self) -> None:
        """A new connection, as soon as there is one to be had."""
        self._line.close()
        if time.monotonic() < self._away_until:
            raise StoreUnreachable(f"{self._address}: the store cannot be reached, as a moment ago")
        until = time.monotonic() + self._patience
        while True:
            try:
                self._line = self._connect()
            except StoreError:
                if time.monotonic() > until:
                    self._away_until = time.monotonic() + BREATH
                    raise
                time.sleep(PAUSE)
            else:
                return

    @contextmanager
    def _in_our_words(self) -> Iterator[None]:
        try:
            yield
        except psycopg.OperationalError as error:
            raise self._translated(error, StoreUnreachable, "the store cannot be reached") from None
        except (psycopg.DatabaseError, psycopg.InterfaceError) as error:
            raise self._translated(error, StoreError, "see what the server says") from None

    def _translated(self, error: psycopg.Error, kind: type[StoreError], advice: str) -> StoreError:
        for known, ours, what in _KINDS:
            if isinstance(error, known):
                kind, advice = ours, what
        return kind(self._said(error, advice))

    def _said(self, error: psycopg.Error, advice: str) -> str:
        said = " ".join(str(error).split())
        if password := self._address.password:
            said = said.replace(password, "***")
        return f"{self._address}: {advice} ({said})"
