from contextlib import closing

import pytest
from tests.postgres import PostgresServer

from freki.ledger.postgres.front import AFRESH, Front
from freki.testing.bench import StoreBench

ALL = float("-inf")


def test_who_got_all_they_wanted_begins_behind_it_for_a_while() -> None:
    front = Front()
    assert front.at(10.0) == ALL
    front.move(5.0)
    assert front.at(10.0) == 5.0
    front.move(6.0)
    assert front.at(10.0 + AFRESH / 2) == 6.0
    assert front.at(10.0 + AFRESH) == ALL


def test_who_found_less_looks_at_everything_the_next_time() -> None:
    front = Front()
    front.at(10.0)
    front.move(5.0)
    front.move(None)
    assert front.at(10.1) == ALL


def test_a_clock_that_is_set_back_hides_nobody() -> None:
    front = Front()
    front.at(10.0)
    front.move(5.0)
    assert front.at(9.0) == ALL


@pytest.mark.system
def test_a_host_that_comes_first_later_is_found_soon(postgres: PostgresServer) -> None:
    store = postgres.schema()
    with closing(StoreBench(store)) as bench:
        worker = bench.worker(now=10.0)
        worker.seed(*(f"http://{name}/" for name in "abc"))
        for name, date in zip("abc", (5, 6, 7), strict=True):
            _due(postgres, store.schema, name, date)
        taken = [claim.url for claim in worker.claim(10.0, hosts=1)]
        _due(postgres, store.schema, "c", 1)
        for moment in (10.0 + AFRESH / 2, 10.0 + AFRESH):
            taken += [claim.url for claim in worker.claim(moment, hosts=1)]
    assert taken == ["http://a/", "http://b/", "http://c/"]


def _due(postgres: PostgresServer, schema: str, name: str, date: int) -> None:
    origin = f"http://{name}"
    postgres.ask(f"UPDATE {schema}.host SET next_at = {date} WHERE origin = %s", origin)
