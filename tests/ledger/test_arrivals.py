"""Answers in the order in which they were stored: what exports go by."""

from contextlib import closing
from pathlib import Path

from msgspec.structs import replace

from freki.ledger import read
from freki.ledger.read import Filter
from freki.ledger.retry import retry
from freki.ledger.store import read_store
from freki.messages import Claim, Outcome, Request
from freki.testing.bench import SHARED, StoreBench, page, redirect


def arrivals(store: Path, after: int = 0, *, every: bool = False) -> list[read.Arrival]:
    with closing(read_store(store)) as db:
        return list(read.arrivals(db, 1, after, -1, bodies=True, every=every))


def filled(store: Path) -> tuple[StoreBench, list[Claim]]:
    bench = StoreBench(store)
    worker = bench.worker(replace(SHARED, per_host=99))
    worker.seed("http://a/1", "http://a/2", "http://a/3")
    claims = worker.claim()
    late, moved, early = claims
    worker.commit(page(early, "http://a/x", body=b"early"))
    worker.commit(redirect(moved, "http://a/x"), page(late, body=b"late"))
    return bench, claims


def test_answers_come_in_the_order_of_their_commits(tmp_path: Path) -> None:
    filled(tmp_path / "freki.db")
    told = [(line.page.url, line.body) for line in arrivals(tmp_path / "freki.db")]
    assert told == [("http://a/3", b"early"), ("http://a/1", b"late")]
    every = arrivals(tmp_path / "freki.db", every=True)
    assert [line.page.url for line in every] == ["http://a/3", "http://a/2", "http://a/1"]
    assert all(line.request is None for line in every)


def test_who_was_interrupted_goes_on_behind_the_last_one(tmp_path: Path) -> None:
    filled(tmp_path / "freki.db")
    first, last = arrivals(tmp_path / "freki.db")
    assert arrivals(tmp_path / "freki.db", first.id) == [last]
    assert arrivals(tmp_path / "freki.db", last.id) == []


def test_a_page_that_was_fetched_again_is_a_new_arrival(tmp_path: Path) -> None:
    bench, _ = filled(tmp_path / "freki.db")
    seen = arrivals(tmp_path / "freki.db")[-1]
    assert retry(bench._db, 1, Filter(url=None, status=(200, 200))) == 2
    worker = bench.worker(SHARED)
    worker.commit(*map(_fetched, worker.next_claims(9.0)))
    assert all(line.id > seen.id for line in arrivals(tmp_path / "freki.db"))


def test_what_a_request_was_beyond_its_address_is_told(tmp_path: Path) -> None:
    store = tmp_path / "freki.db"
    worker = StoreBench(store).worker(SHARED)
    worker.seed("http://a/")
    (claim,) = worker.claim()
    asked = Request(method="POST", body=b"q=1", mark="1")
    found = replace(page(claim, "http://a/search").discoveries[0], request=asked)
    worker.commit(replace(page(claim), discoveries=[found]))
    worker.commit(*map(_fetched, worker.next_claims()))
    (_, posted) = arrivals(store)
    assert posted.request == asked


def _fetched(claim: Claim) -> Outcome:
    return page(claim)
