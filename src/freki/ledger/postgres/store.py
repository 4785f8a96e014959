"""Opening a store on a server: one of a version we know, or a clear error and nothing touched."""

from secrets import token_bytes

from freki.errors import StoreError, StoreTooNew, StoreUnreachable
from freki.ledger.place import Address
from freki.ledger.postgres.dialect import schema
from freki.ledger.postgres.link import PATIENCE, Server
from freki.ledger.postgres.reader import Reader
from freki.ledger.store import VERSION

# What our statements need; older ones get no more mending from their makers either.
OLDEST = 14

# Who makes or changes the tables holds this lock, "Frek" in ASCII, so that two do not at once.
LOCK = 0x4672656B


def open_server(address: Address, durability: str) -> Server:
    """A connection that may write; the tables are made where there are none."""
    server = Server(address, durability)
    try:
        _refuse_old(server, address)
        while (version := _version(server, address)) < VERSION:
            _migrate(server, address, version)
    except BaseException:
        server.close()
        raise
    return server


def open_existing(address: Address) -> Server:
    """A connection that may write, to a store that exists."""
    with_tables = Server(address)
    try:
        _refuse_old(with_tables, address)
        _refuse_nothing(with_tables, address)
    finally:
        with_tables.close()
    return open_server(address, "process")


def read_server(address: Address, patience: float = PATIENCE) -> Reader:
    """A connection that cannot write, to a store that exists."""
    reader = Reader(address, patience)
    try:
        _refuse_old(reader, address)
        _refuse_nothing(reader, address)
    except BaseException:
        reader.close()
        raise
    return reader


def _refuse_old(server: Server, address: Address) -> None:
    if server.version < OLDEST * 10_000:
        has = f"{server.version // 10_000}.{server.version % 10_000}"
        raise StoreUnreachable(
            f"{address}: the server is PostgreSQL {has}, and Freki needs {OLDEST} or later"
        )


def _refuse_nothing(server: Server, address: Address) -> None:
    """Who only reads cannot migrate; 0 is a store that nobody finished making."""
    if (version := _version(server, address)) == 0:
        raise StoreUnreachable(f"{address}: there is no store here; crawl first, or use --store")
    if version < VERSION:
        raise StoreUnreachable(f"{address}: the store is not of this version yet; crawl first")


def _version(server: Server, address: Address) -> int:
    # The catalogue itself is read: a name is looked up in what the connection remembers, and who
    # waited for another to make the tables remembers that there were none.
    made = "SELECT 1 FROM pg_catalog.pg_tables WHERE schemaname = ? AND tablename = 'store'"
    if server.execute(made, (address.schema,)).fetchone() is None:
        return 0
    row = server.execute("SELECT version FROM store").fetchone()
    version = row[0] if row else 0
    if version > VERSION:
        raise StoreTooNew(
            f"{address}: written by a later version of Freki (store version {version}, this "
            f"program knows {VERSION}); upgrade Freki"
        )
    return int(version)


def _migrate(server: Server, address: Address, version: int) -> None:
    """Each version in one transaction: a store is never between an old version and a new."""
    server.execute("BEGIN")
    try:
        server.execute("SELECT pg_advisory_xact_lock(?)", (LOCK,))
        if _version(server, address) == version:  # another process may have been quicker
            _apply(server, address, version + 1)
        server.execute("COMMIT")
    except BaseException as error:
        if server.in_transaction:
            server.execute("ROLLBACK")
        if isinstance(error, StoreError) and version == 0:
            raise type(error)(f"{error}; the user must be allowed to make a schema") from None
        raise


def _apply(server: Server, address: Address, version: int) -> None:
    if version == 1:
        server.execute(f"CREATE SCHEMA IF NOT EXISTS {address.schema}")
    for statement in schema(f"schema_{version}.sql"):
        server.execute(statement)
    if version == 1:
        server.execute("INSERT INTO secret VALUES ('fingerprints', ?)", (token_bytes(16),))
        server.execute("INSERT INTO store VALUES (1)")
    server.execute("UPDATE store SET version = ?", (version,))
