"""Cells with what nobody put there: found, mended, and never a reason to wait for ever."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from freki.errors import StoreDamaged
from freki.ledger.check import findings, repair
from freki.ledger.store import open_store
from freki.messages import State
from freki.testing.bench import StoreBench, page

A, X = "http://a/", "http://a/x"

# What was not stored, and whether a worker cannot go on with it.
ODD = [
    ("UPDATE host SET next_at = 'soon'", True),
    ("UPDATE host SET next_at = 1e300", False),
    ("UPDATE host SET failures = x'01'", True),
    ("UPDATE host SET delay = 'long'", True),
    (
        "UPDATE host SET robots_at = 9e9, robots = x'00', robots_status = 503, robots_tries = 1",
        True,
    ),
    (
        "UPDATE host SET robots = x'ffff', robots_at = 1, robots_status = 200, robots_tries = 0",
        True,
    ),
    ("UPDATE url SET depth = 'deep' WHERE state = 0", True),
    ("UPDATE url SET attempts = 1 << 60 WHERE state = 0", True),
    ("UPDATE url SET path = x'2f' WHERE state = 0", True),
    ("UPDATE url SET due = 9e9 WHERE state = 0", False),
    ("UPDATE url SET state = 1, session = 2 WHERE state = 0", True),  # the next one to join
    ("UPDATE session SET until = 9e9", False),
    ("UPDATE session SET until = 'never'", True),
    ("UPDATE session SET process = 'x'", False),
]

# What leaves URLs that nobody can get at.
ASTRAY = [
    "UPDATE host SET session = 999",
    "UPDATE session SET id = 0",
    "UPDATE session SET crawl = 999",
    "UPDATE host SET crawl = 999",
    "UPDATE url SET state = 1 WHERE state = 0",
    "UPDATE url SET host = 999 WHERE state = 0",
]

NAMES = [f"UPDATE host SET origin = '{name}'" for name in ("", "text", "http:/a", "HTTP://a")]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "freki.db"


@pytest.fixture
def bench(path: Path) -> Iterator[StoreBench]:
    """One page is stored, the one it leads to waits, and their worker died."""
    bench = StoreBench(path)
    worker = bench.worker()
    worker.seed(A)
    (claim,) = worker.claim()
    worker.commit(page(claim, X))
    yield bench
    bench.close()


def damage(path: Path, statement: str) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        assert db.execute(statement).rowcount


@pytest.mark.parametrize("statement", [statement for statement, _ in ODD] + ASTRAY + NAMES)
def test_what_was_not_stored_is_found_and_mended(
    statement: str, path: Path, bench: StoreBench
) -> None:
    damage(path, statement)
    with closing(open_store(path)) as db:
        if statement != "UPDATE session SET process = 'x'":  # who could tell that it is not so?
            assert list(findings(db))
        _, is_sound = repair(db, "freki.db")
        assert is_sound
    worker = bench.worker(now=100.0)
    worker.seed(A)  # as who continues a crawl does
    for later in range(3):
        for claim in worker.next_claims(now=110.0 + later):
            worker.commit(page(claim, X))
    assert {row.url for row in bench.rows()} == {A, X}
    assert bench.count(State.waiting) == 0


@pytest.mark.parametrize(("statement", "stops"), ODD)
def test_a_worker_goes_on_or_says_that_the_store_is_damaged(
    statement: str, stops: bool, path: Path, bench: StoreBench
) -> None:
    damage(path, statement)
    try:
        worker = bench.worker(now=100.0)
        claims = []
        for later in range(6):
            worker.renew(now=100.0 + 20.0 * later)
            claims += worker.claim(now=100.0 + 20.0 * later)
    except StoreDamaged:
        assert stops
    else:
        assert not stops
        assert [claim.url for claim in claims] == [X]


@pytest.mark.parametrize("statement", ASTRAY)
def test_what_nobody_can_get_at_is_nothing_to_wait_for(
    statement: str, path: Path, bench: StoreBench
) -> None:
    damage(path, statement)
    worker = bench.worker(now=100.0)
    worker.work(now=100.0)
    work = worker.work(now=200.0)
    assert work.hosts == []
    assert work.open == 1
    assert work.stuck
