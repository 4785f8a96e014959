"""Opening a store on a server: one of a version we know, or a clear error and nothing touched."""

from freki.errors import StoreUnreachable
from freki.ledger.place import Address
from freki.ledger.postgres.link import PATIENCE, Server
from freki.ledger.postgres.reader import Reader
from freki.ledger.postgres.upgrade import upgrade, version_of
from freki.ledger.store import VERSION

# What our statements need; older ones get no more mending from their makers either.
OLDEST = 14


def open_server(address: Address, durability: str) -> Server:
    """A connection that may write; the tables are made where there are none."""
    server = Server(address, durability)
    try:
        _refuse_old(server, address)
        upgrade(server, address)
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
    if (version := version_of(server, address)) == 0:
        raise StoreUnreachable(f"{address}: there is no store here; crawl first, or use --store")
    if version < VERSION:
        raise StoreUnreachable(f"{address}: the store is not of this version yet; crawl first")
