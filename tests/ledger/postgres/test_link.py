import time

import pytest
from tests.postgres import PostgresServer

from freki.errors import StoreError
from freki.ledger.postgres import link
from freki.ledger.postgres.link import Server
from freki.ledger.postgres.store import open_server, read_server

pytestmark = pytest.mark.system

AWKWARD = ["", "NULL", 'a"b', "a\\b", "{a,b}", "a,b", " a ", "'", "\n", "ツ", "%s ?", None]


def test_the_date_is_the_servers(postgres: PostgresServer) -> None:
    server = Server(postgres.schema())
    server.ask_for_date()
    (date,) = server.execute("SELECT extract(epoch FROM clock_timestamp())").fetchone()
    assert float(date) == pytest.approx(server.date(), abs=1.0)
    server.close()


def test_a_slow_answer_does_not_move_the_clock_and_a_clock_that_was_set_does(
    postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = Server(postgres.schema())
    server.ask_for_date()
    behind = server.date() - time.monotonic()
    date = "SELECT extract(epoch FROM clock_timestamp())::double precision"
    monkeypatch.setattr(link, "_DATE", f"{date} - 0.01 FROM pg_sleep(0.08)")
    server.ask_for_date()
    assert server.date() - time.monotonic() == pytest.approx(behind, abs=0.001)
    monkeypatch.setattr(link, "_DATE", f"{date} + 3600")
    server.ask_for_date()
    assert server.date() - time.monotonic() == pytest.approx(behind + 3600, abs=0.5)
    server.close()


def test_columns_of_a_batch_arrive_as_they_were(postgres: PostgresServer) -> None:
    server = Server(postgres.schema())
    asked = "SELECT * FROM unnest(?::text[], ?::bigint[], ?::float8[])"
    numbers, dates = [*range(-5, 6), None], [0.1, 1e300, *[None] * 9, -3.5]
    rows = server.execute(asked, (AWKWARD, numbers, dates)).fetchall()
    assert rows == list(zip(AWKWARD, numbers, dates, strict=True))
    server.close()


def test_text_with_nul_is_kept_as_far_as_possible(postgres: PostgresServer) -> None:
    server = Server(postgres.schema())
    assert server.execute("SELECT ?::text", ("a\0b",)).fetchone() == ("a\ufffdb",)
    assert server.execute("SELECT unnest(?::text[])", (["a\0b"],)).fetchone() == ("a\ufffdb",)
    server.close()


def test_a_connection_that_was_ended_between_transactions_is_not_missed(
    postgres: PostgresServer,
) -> None:
    server = Server(postgres.schema())
    (pid,) = server.execute("SELECT pg_backend_pid()").fetchone()
    postgres.ask("SELECT pg_terminate_backend(%s, 5000)", pid)
    (another,) = server.execute("SELECT pg_backend_pid()").fetchone()
    assert another != pid
    server.close()


def test_a_connection_that_was_ended_within_a_transaction_is_told(
    postgres: PostgresServer,
) -> None:
    server = Server(postgres.schema())
    server.execute("BEGIN")
    (pid,) = server.execute("SELECT pg_backend_pid()").fetchone()
    postgres.ask("SELECT pg_terminate_backend(%s, 5000)", pid)
    with pytest.raises(StoreError, match="connection was lost"):
        server.execute("SELECT 1")
    assert not server.in_transaction
    assert server.execute("SELECT 1").fetchone() == (1,)
    server.close()


def test_who_reads_sees_one_moment_and_cannot_write(postgres: PostgresServer) -> None:
    store = postgres.schema()
    writer, reader = open_server(store, "process"), read_server(store)
    assert list(reader.execute("SELECT name FROM crawl")) == []
    writer.execute("INSERT INTO secret VALUES ('x', ?)", (b"x",))
    assert reader.execute("SELECT count(*) FROM secret").fetchone() == (1,)
    with pytest.raises(StoreError):
        reader.execute("DELETE FROM secret").fetchone()
    writer.close()
    reader.close()


def test_what_is_put_off_comes_in_its_order(postgres: PostgresServer) -> None:
    server = open_server(postgres.schema(), "process")
    server.execute("BEGIN IMMEDIATE")
    server.later("INSERT INTO secret VALUES ('x', ?)", (b"x",))
    server.later("UPDATE secret SET value = ? WHERE name = 'x'", (b"y",))
    first, second = server.together(
        [("SELECT value FROM secret WHERE name = ?", ("x",)), ("SELECT 1", ())]
    )
    assert (first.fetchone(), second.fetchone()) == ((b"y",), (1,))
    server.later("DELETE FROM secret WHERE name = 'x'")
    server.execute("COMMIT")
    assert not server.in_transaction
    assert server.execute("SELECT 1 FROM secret WHERE name = 'x'").fetchone() is None
    server.close()


def test_what_is_put_off_is_undone_with_the_rest(postgres: PostgresServer) -> None:
    server = open_server(postgres.schema(), "process")
    for wrong in ("SELECT 1 / 0", ""):
        server.execute("BEGIN IMMEDIATE")
        server.later("INSERT INTO secret VALUES ('x', ?)", (b"x",))
        if wrong:
            with pytest.raises(StoreError, match="division by zero"):
                server.together([(wrong, ()), ("SELECT 2", ())])
        assert server.in_transaction
        server.execute("ROLLBACK")
        assert not server.in_transaction
        assert server.execute("SELECT 1 FROM secret WHERE name = 'x'").fetchone() is None
    server.close()


def test_what_was_put_off_outlives_a_lost_connection(postgres: PostgresServer) -> None:
    server = open_server(postgres.schema(), "process")
    (pid,) = server.execute("SELECT pg_backend_pid()").fetchone()
    server.execute("BEGIN IMMEDIATE")
    postgres.ask("SELECT pg_terminate_backend(%s, 5000)", pid)
    server.later("INSERT INTO secret VALUES ('x', ?)", (b"x",))
    assert server.execute("SELECT value FROM secret WHERE name = 'x'").fetchone() == (b"x",)
    server.execute("COMMIT")
    assert server.execute("SELECT value FROM secret WHERE name = 'x'").fetchone() == (b"x",)
    server.close()
