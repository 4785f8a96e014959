"""A worker that is stopped while it says something holds up nobody for long."""

from contextlib import closing

import psycopg
import pytest
from msgspec.structs import replace
from tests.postgres import PostgresServer

from freki.ledger.place import Address
from freki.ledger.postgres import link
from freki.testing.bench import SHARED, StoreBench, page

pytestmark = pytest.mark.system


def stopped_in_the_middle(store: Address, lock: str) -> psycopg.Connection[object]:
    """A connection that took a lock, and does not come to the end of what it says."""
    line = psycopg.connect(
        store.conninfo, password=store.password, application_name="freki", autocommit=True
    )
    line.execute(f"SET search_path TO {store.schema}")
    line.pgconn.enter_pipeline_mode()
    for said in ("BEGIN", lock):
        line.pgconn.send_query_params(said.encode(), [])
    line.pgconn.send_flush_request()
    while line.pgconn.flush():
        pass
    return line


def test_who_waits_for_somebody_that_was_stopped_ends_that(
    postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(link, "WORKING", link.WORKING.replace("'8s'", "'6s'"))
    store = postgres.schema()
    with closing(StoreBench(store)) as bench:
        worker = bench.worker(replace(SHARED, per_host=9))
        worker.seed("http://a/")
        (claim,) = worker.claim()
        lock = "SELECT pg_advisory_xact_lock(hashtextextended('freki.arrivals', 1))"
        with closing(stopped_in_the_middle(store, lock)):
            worker.commit(page(claim))
        assert bench.body("http://a/") is not None
