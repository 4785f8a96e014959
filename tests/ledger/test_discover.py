import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from freki.ledger.discover import Sieve, fingerprint
from freki.ledger.statements import statements
from freki.ledger.store import open_store
from freki.messages import Batch, Reason
from freki.testing.bench import StoreBench, discovery

SQL = statements("ledger.sql")
KEYED = partial(fingerprint, secret=b"s" * 16)


@pytest.fixture
def db(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    with closing(open_store(tmp_path / "freki.db")) as db:
        yield db


def sieve(
    db: sqlite3.Connection, prints: Callable[[str], int] = KEYED, first_bloom: int = 1
) -> Sieve:
    return Sieve(db, SQL, 1, prints, first_bloom)


def test_what_is_perhaps_known_but_is_not_is_new(db: sqlite3.Connection) -> None:
    """Filters of 1, 2, 4 and more places: together they are wrong about one URL in ten."""
    tiny = sieve(db)
    for number in range(2000):
        new, known = tiny.sift([discovery(f"http://a/{number}")])
        assert [url.path for url in new] == [f"/{number}"]
        assert known == []
        tiny.remember(new)


def test_filters_take_little_more_than_a_byte_for_each_url(db: sqlite3.Connection) -> None:
    growing = sieve(db, first_bloom=1000)
    for number in range(0, 20_000, 500):
        new, _ = growing.sift([discovery(f"http://a/{n}") for n in range(number, number + 500)])
        growing.remember(new)
    assert growing.statistics()["bloom_bytes"] < 20_000 * 2 * 1.25


def test_each_url_comes_out_once_with_its_best_way(db: sqlite3.Connection) -> None:
    no = Reason.depth
    found = [
        discovery("http://a/", 3), discovery("http://a/", 2), discovery("http://a/", 1, no),
        discovery("http://b/", 5, no), discovery("http://b/", 4, no), discovery("http://b/", 9),
    ]  # fmt: skip
    new, _ = sieve(db).sift(found)
    assert [(url.origin, url.found.depth, url.found.refused) for url in new] == [
        ("http://a", 2, None),
        ("http://b", 9, None),
    ]


@given(st.lists(st.tuples(st.sampled_from("abc"), st.text("xyz", max_size=3)), max_size=30))
def test_with_any_fingerprint_every_url_comes_out_once(urls: list[tuple[str, str]]) -> None:
    texts = [f"http://{host}/{path}" for host, path in urls]
    with closing(sqlite3.connect(":memory:")) as db:
        db.execute("CREATE TABLE host (id, crawl, origin)")
        db.execute("CREATE TABLE url (id, host, print, path, state, reason, depth)")
        for prints in (KEYED, len, lambda path: -(2**63), lambda path: 2**63 - 1):
            new, _ = sieve(db, prints).sift([discovery(text) for text in texts])
            assert sorted(url.found.url for url in new) == sorted(set(texts))
            assert len({(url.origin, url.print) for url in new}) == len(new)
            assert all(-(2**63) <= url.print < 2**63 for url in new)


def test_a_fingerprint_depends_on_the_secret_and_every_byte_of_the_path() -> None:
    paths = ["/", "/a", "/A", "/a?", "/a?b=", "/%61", "/a/", "//a", "/\udcff"]
    assert len({fingerprint(path, b"1" * 16) for path in paths}) == len(paths)
    assert fingerprint("/", b"1" * 16) != fingerprint("/", b"2" * 16)
    assert fingerprint("/", b"1" * 16) == fingerprint("/", b"1" * 16)


def test_a_filter_that_was_loaded_spares_the_look_at_new_urls(tmp_path: Path) -> None:
    bench = StoreBench(tmp_path / "freki.db")
    worker = bench.worker()
    worker.find(*(discovery(f"http://a/{number}") for number in range(100)))
    with closing(open_store(tmp_path / "freki.db")) as db:
        asked: list[str] = []
        later = sieve(db, partial(fingerprint, secret=_secret(db)), 1000)
        later.load(100)
        db.set_trace_callback(asked.append)
        new, known = later.sift([discovery(f"http://a/{number}") for number in range(200)])
        assert [url.path for url in new] == [f"/{number}" for number in range(100, 200)]
        assert known == []
        assert 100 <= len(asked) < 110
    bench.close()


def _secret(db: sqlite3.Connection) -> bytes:
    (secret,) = db.execute(SQL["fingerprint_key"]).fetchone()
    assert isinstance(secret, bytes)
    return secret


def test_a_url_is_found_by_its_path_among_those_that_collide(tmp_path: Path) -> None:
    bench = StoreBench(tmp_path / "freki.db")
    ledger = bench.ledger(prints=_same)
    session = ledger.join(0.0)
    ledger.commit(
        session, Batch(0.0, discoveries=[discovery(f"http://a/{n}", n) for n in range(5)])
    )
    with closing(open_store(tmp_path / "freki.db")) as db:
        looking = sieve(db, _same)
        for number in range(5):
            found = looking.find(f"http://a/{number}")
            assert found is not None
            assert found.depth == number
        assert looking.find("http://a/5") is None
        assert looking.find("http://b/0") is None
    bench.close()


def _same(_path: str) -> int:
    return 7
