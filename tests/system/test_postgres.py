"""The command line on a store that is on a server, and everything that can be wrong with it."""

import signal
import socket
import struct
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from threading import Thread

import pytest
from tests.chaos.rig import Site, now, pause, site
from tests.command import call, ended, freki, start
from tests.postgres import PASSWORD, PostgresServer, free_port

from freki.ledger.place import Address
from freki.testing.history import Bounds, History, judge, read
from freki.testing.synthetic import Web

TOWNS = Web(pages=20, hosts=6, links_per_page=4, cross_links=0.3)
DELAY = 0.05
POLITELY = ("--scope", "any", "--quiet", "--delay", str(DELAY))
SECRET = {"PGPASSWORD": PASSWORD}


@pytest.fixture(scope="module")
def towns(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with site(tmp_path_factory.mktemp("towns"), TOWNS) as running:
        yield running


@pytest.fixture(scope="module")
def quiet_towns(towns: Site, tmp_path_factory: pytest.TempPathFactory) -> History:
    store = tmp_path_factory.mktemp("quiet") / "freki.db"
    assert freki("crawl", towns.url, "--scope", "any", "--quiet", "--delay", "0", "--store", store)
    return read(store)


def no_connection_is_left(server: PostgresServer) -> bool:
    """The server notices a moment later that somebody has gone."""
    deadline = now() + 5.0
    query = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'freki'"
    while server.ask(query) != [0]:
        if now() > deadline:
            return False
    return True


# --- what works ---


def test_every_command_works_on_a_server(
    towns: Site, quiet_towns: History, postgres: PostgresServer, tmp_path: Path
) -> None:
    store = postgres.schema()
    words = ("--store", str(store))
    crawl = call("crawl", towns.url, "--scope", "any", "--delay", "0", *words, variables=SECRET)
    assert crawl.code == 0, crawl.err
    assert PASSWORD not in crawl.out + crawl.err
    assert not judge(read(postgres_address(store)), quiet_towns, Bounds())
    url = quiet_towns.rows[5].url
    for command in (
        ["status", *words, "--json"], ["urls", *words], ["urls", *words, "--group", "reason,host"],
        ["pages", *words, "--format", "jsonl", "--links"], ["items", *words],
        ["export", str(tmp_path / "pages.jsonl"), str(tmp_path / "p.warc.gz"), *words],
        ["query", "SELECT count(*) FROM links", *words],
        ["explain", url, *words], ["check", str(store)], ["retry", *words, "--host", url],
    ):  # fmt: skip
        run = call(*command, variables=SECRET)
        assert run.code == 0, run.err
    assert no_connection_is_left(postgres)


def postgres_address(store: Address) -> Address:
    store.password = PASSWORD
    return store


def test_a_worker_joins_and_leaves_when_it_is_told(
    towns: Site, quiet_towns: History, postgres: PostgresServer
) -> None:
    store, began = postgres.schema(), now()
    words = ("--store", str(store))
    slowly = ("--scope", "any", "--quiet", "--delay", "1")
    first = start("crawl", towns.url, *slowly, *words, variables=SECRET)
    pause(first, until=lambda: len(towns.log(began)) > 2)
    second = start("worker", *words, variables=SECRET)
    sessions = f"SELECT count(*) FROM {store.schema}.session"
    # Each had one for the start URLs before.
    working = f"SELECT 1 FROM {store.schema}.session WHERE id = 4"
    pause(second, until=lambda: postgres.ask(working) == [1])
    for process, left in ((second, [1]), (first, [0])):
        process.send_signal(signal.SIGTERM)
        assert ended(process).code == 130
        assert postgres.ask(sessions) == left
    assert no_connection_is_left(postgres)
    run = call("crawl", towns.url, "--quiet", "--delay", "0", *words, variables=SECRET)
    assert run.code == 0
    judgement = judge(read(store, towns.log(began)), quiet_towns, Bounds())
    assert not judgement, judgement


def test_clocks_may_be_an_hour_apart(
    towns: Site, quiet_towns: History, postgres: PostgresServer
) -> None:
    store, began = postgres.schema(), now()
    words = ("--store", str(store))
    first = start("crawl", towns.url, *POLITELY, *words, variables=SECRET)
    pause(first, until=lambda: len(towns.log(began)) > 10)
    others = [
        start("worker", *words, variables=SECRET, before=("faketime", "-f", hours))
        for hours in ("+1h", "-1h")
    ]
    assert [ended(process).code for process in (first, *others)] == [0, 0, 0]
    history = read(store, towns.log(began))
    judgement = judge(history, quiet_towns, Bounds(delay=DELAY, at_once=1))
    assert not judgement, judgement


def test_of_two_who_begin_the_same_crawl_at_once_one_is_told(
    towns: Site, quiet_towns: History, postgres: PostgresServer
) -> None:
    store = postgres.schema()
    words = ("--scope", "any", "--quiet", "--delay", "0", "--store", str(store), "--name", "one")
    both = [start("crawl", towns.url, *words, variables=SECRET) for _ in range(2)]
    runs = [ended(process) for process in both]
    codes = sorted(run.code for run in runs)
    assert codes in ([0, 6], [0, 0]), runs  # who comes between the two works on it, too
    assert not judge(read(store), quiet_towns, Bounds())


# --- what does not ---


def refused(store: object, *words: object, code: int = 3) -> str:
    run = call("status", "--store", str(store), *map(str, words), variables=SECRET)
    assert (run.code, run.out) == (code, "")
    assert "Traceback" not in run.err
    assert PASSWORD not in run.err
    return run.err


def test_a_wrong_password(postgres: PostgresServer) -> None:
    for secret in ("guessed", "gue%2Fssed%40"):
        address = f"postgresql://crawler:{secret}@127.0.0.1:{postgres.port}/postgres"
        said = refused(address)
        assert "password authentication failed" in said
        assert "gue" not in said


def test_a_password_that_breaks_the_address(postgres: PostgresServer) -> None:
    for secret in ("sec/ret", "sec@ret", "sec?ret", "sec#ret", "sec:ret@x", "12/ret"):
        said = refused(f"postgresql://crawler:{secret}@127.0.0.1:{postgres.port}/postgres", code=2)
        assert "percent-encoded" in said
        assert "ret" not in said.replace("secret", "")


def test_a_database_that_is_not_there(postgres: PostgresServer) -> None:
    said = refused(f"postgresql://crawler@127.0.0.1:{postgres.port}/nowhere")
    assert 'database "nowhere" does not exist' in said


def test_a_database_without_a_store(postgres: PostgresServer) -> None:
    assert "there is no store here" in refused(postgres.schema())


def test_no_server() -> None:
    assert "cannot be reached" in refused(f"postgresql://crawler@127.0.0.1:{free_port()}/x")


def test_a_store_of_a_later_version(postgres: PostgresServer) -> None:
    store = postgres.schema()
    call("crawl", "http://127.0.0.1:1/", "--attempts", "1", "--store", str(store), variables=SECRET)
    postgres.ask(f"UPDATE {store.schema}.store SET version = 99, oldest = 99")
    assert "later version of Freki (store version 99" in refused(store)
    run = call("crawl", "http://127.0.0.1:1/", "--store", str(store), variables=SECRET)
    assert (run.code, "upgrade Freki" in run.err) == (3, True)


def test_a_user_who_may_not_make_tables(postgres: PostgresServer) -> None:
    postgres.ask(f"CREATE ROLE guest LOGIN PASSWORD '{PASSWORD}'")
    address = f"postgresql://guest@127.0.0.1:{postgres.port}/postgres?schema=notmine"
    run = call("crawl", "http://127.0.0.1:1/", "--store", address, variables=SECRET)
    assert (run.code, "allowed to make a schema" in run.err) == (3, True), run.err


def test_a_server_that_is_too_old() -> None:
    with old_server() as port:
        said = refused(f"postgresql://crawler@127.0.0.1:{port}/x")
    assert "is PostgreSQL 9.6" in said
    assert "needs 14 or later" in said


@contextmanager
def old_server() -> Iterator[int]:
    """Says that it is PostgreSQL 9.6, and yes to everything."""
    with closing(socket.create_server(("127.0.0.1", 0))) as listening:
        Thread(target=_answer, args=(listening,), daemon=True).start()
        yield listening.getsockname()[1]


def _answer(listening: socket.socket) -> None:
    line, _ = listening.accept()
    with line, line.makefile("rb") as said:
        while True:  # no encryption, thank you
            (length, code) = struct.unpack("!II", said.read(8))
            said.read(length - 8)
            if code == 196608:
                break
            line.sendall(b"N")
        settings = {"server_version": "9.6.24", "client_encoding": "UTF8"}
        line.sendall(_message(b"R", struct.pack("!I", 0)))
        for name, value in settings.items():
            line.sendall(_message(b"S", f"{name}\0{value}\0".encode()))
        line.sendall(_message(b"Z", b"I"))
        while kind := said.read(1):
            said.read(struct.unpack("!I", said.read(4))[0] - 4)
            if kind == b"Q":
                line.sendall(_message(b"C", b"SET\0") + _message(b"Z", b"I"))


def _message(kind: bytes, body: bytes) -> bytes:
    return kind + struct.pack("!I", len(body) + 4) + body
