import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from msgspec.structs import replace

from freki import config
from freki.errors import BadInput, CrawlRunning
from freki.ledger import crawls
from freki.ledger.sqlite import SqliteLedger
from freki.ledger.store import open_store
from freki.ledger.terms import Terms
from freki.messages import Reason, Via
from freki.testing.bench import StoreBench, discovery, failed, page, redirect

SETTINGS = config.settings({"scope": {"depth": 3}})


@pytest.fixture
def db(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    with closing(open_store(tmp_path / "freki.db")) as db:
        yield db


def test_a_crawl_comes_back_as_it_was_begun(db: sqlite3.Connection) -> None:
    begun = crawls.begin(db, "a", ["http://a/", "http://b/"], SETTINGS, 5.0)
    assert crawls.find(db, "a") == begun
    assert begun.settings == SETTINGS
    assert begun.seeds == ["http://a/", "http://b/"]
    assert (begun.run, begun.status, begun.started_at, begun.ended_at) == (1, "running", 5.0, None)
    assert crawls.find(db, "b") is None


def test_a_crawl_begun_again_is_a_further_run(db: sqlite3.Connection) -> None:
    first = crawls.begin(db, "a", [], SETTINGS, 5.0)
    crawls.begin(db, "b", [], SETTINGS, 6.0)
    second = crawls.begin(db, "a", [], SETTINGS, 7.0)
    assert (first.run, second.run) == (1, 2)
    assert crawls.find(db, "a") == second
    assert crawls.newest(db) == second
    assert crawls.names(db) == ["a", "b"]


def test_a_store_without_crawls_has_none(db: sqlite3.Connection) -> None:
    assert crawls.newest(db) is None
    assert crawls.names(db) == []


def test_the_time_spent_on_a_crawl_adds_up(db: sqlite3.Connection) -> None:
    begun = crawls.begin(db, "a", [], SETTINGS, 5.0)
    crawls.end(db, begun, "interrupted", 10.0, 4.0)
    resumed = crawls.resume(db, begun, [], SETTINGS)
    assert resumed.status == "running"
    crawls.end(db, begun, "finished", 20.0, 6.0)
    ended = crawls.find(db, "a")
    assert ended is not None
    assert (ended.status, ended.ended_at, ended.seconds) == ("finished", 20.0, 10.0)
    assert ended.is_over


def test_a_resumed_crawl_takes_new_settings_and_further_start_urls(db: sqlite3.Connection) -> None:
    begun = crawls.begin(db, "a", ["http://a/"], SETTINGS, 5.0)
    wider = config.settings({"scope": {"depth": 9}})
    resumed = crawls.resume(db, begun, ["http://b/", "http://a/"], wider)
    assert resumed.seeds == ["http://a/", "http://b/"]
    assert resumed.settings == wider
    assert resumed.id == begun.id


def test_settings_of_a_later_version_are_told_and_no_crash(db: sqlite3.Connection) -> None:
    crawls.begin(db, "a", [], SETTINGS, 5.0)
    db.execute("""UPDATE crawl SET settings = '{"scope": {"colour": "blue"}}'""")
    with pytest.raises(BadInput, match="'a' has settings"):
        crawls.find(db, "a")


@pytest.mark.parametrize(
    ("seed", "name"),
    [("http://a/x", "a"), ("https://a:8443/", "a:8443"), ("http://[::1]:80/", "[::1]:80")],
)
def test_a_crawl_is_called_after_its_first_host(seed: str, name: str) -> None:
    assert crawls.default_name(seed) == name


# Who is at work


def test_a_crawl_that_is_being_worked_on_is_not_resumed(db: sqlite3.Connection) -> None:
    begun = crawls.begin(db, "a", [], SETTINGS, 5.0)
    ledger = SqliteLedger(db, "freki.db", begun.id, Terms())
    session = ledger.join(time.time())
    with pytest.raises(CrawlRunning, match="being worked on by process"):
        crawls.resume(db, begun, [], SETTINGS)
    ledger.leave(session, time.time())
    crawls.resume(db, begun, [], SETTINGS)


def test_other_crawls_of_the_store_may_be_worked_on(db: sqlite3.Connection) -> None:
    begun, other = (crawls.begin(db, name, [], SETTINGS, 5.0) for name in "ab")
    SqliteLedger(db, "freki.db", other.id, Terms()).join(time.time())
    crawls.resume(db, begun, [], SETTINGS)


def test_who_died_does_not_keep_a_crawl(db: sqlite3.Connection) -> None:
    begun = crawls.begin(db, "a", [], SETTINGS, 5.0)
    SqliteLedger(db, "freki.db", begun.id, Terms()).join(time.time())
    db.execute("UPDATE session SET process = '4194305 17'")
    crawls.resume(db, begun, [], SETTINGS)


def test_who_works_elsewhere_keeps_a_crawl_until_the_lease_is_over(db: sqlite3.Connection) -> None:
    begun = crawls.begin(db, "a", [], SETTINGS, 5.0)
    SqliteLedger(db, "freki.db", begun.id, Terms(lease=30.0)).join(time.time())
    db.execute("UPDATE session SET machine = 'elsewhere'")
    with pytest.raises(CrawlRunning):
        crawls.resume(db, begun, [], SETTINGS)
    db.execute("UPDATE session SET until = until - 31")
    crawls.resume(db, begun, [], SETTINGS)


# Where it began


def test_a_crawl_began_at_its_start_urls_and_where_they_moved_to(tmp_path: Path) -> None:
    bench = StoreBench(tmp_path / "freki.db")
    worker = bench.worker()
    worker.seed("http://a/", "http://b/", "http://c/")
    moved, there, gone = worker.claim()
    worker.commit(redirect(moved, "http://d/"), page(there, "http://b/x"), failed(gone))
    worker.find(discovery("http://e/", 0, Reason.too_many_redirects))
    worker.find(replace(discovery("http://f/sitemap.xml", 0), via=Via.sitemap_file))
    with closing(open_store(tmp_path / "freki.db")) as db:
        assert crawls.start_pages(db, 1) == ["http://a/", "http://b/", "http://c/", "http://d/"]
    assert bench.row("http://d/").via is Via.redirect
    bench.close()
