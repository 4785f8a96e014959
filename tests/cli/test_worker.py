"""`freki worker`: a process more on a crawl."""

import os
from pathlib import Path

import msgspec
from tests.command import call, freki

from freki.engine.pulse import Beat
from freki.testing.server import Site


def prepared(site: Site, store: Path) -> int:
    """A store with a crawl that has some URLs to do; answers how many."""
    freki("crawl", "--store", store, "--delay", "0", "--name", "mine", "--quiet", site.url)
    freki("retry", "--store", store, "--reason", "http_error")
    waiting: int = freki("status", "--store", store, "--json").json["waiting"]
    assert waiting > 3
    return waiting


def test_it_works_until_nothing_is_left(site: Site, store: Path) -> None:
    waiting = prepared(site, store)
    run = freki("worker", "--store", store)
    assert run == (0, f"mine: finished; {waiting} pages by this worker\n", "")
    assert freki("status", "--store", store, "--json").json["waiting"] == 0
    assert freki("worker", "--store", store, "mine").out.startswith("mine: finished; 0 pages")


def test_for_its_parent_it_reports_in_json_lines(site: Site, store: Path) -> None:
    waiting = prepared(site, store)
    its, ours = os.pipe()
    run = call("worker", "--store", store, "--report", stdin=its)
    os.close(its)
    os.close(ours)
    assert (run.code, run.err) == (0, "")
    beats = [msgspec.json.decode(line, type=Beat) for line in run.out.splitlines()]
    assert beats[-1].pages == waiting


def test_when_its_parent_is_gone_it_drains(site: Site, store: Path) -> None:
    prepared(site, store)
    freki("retry", "--store", store, "--outcome", "done")
    run = call("worker", "--store", store, "--report")  # whose input ends at once
    assert (run.code, run.err) == (130, "")
    assert freki("status", "--store", store, "--json").json["leased"] == 0


def test_without_a_store_or_a_crawl_it_says_so(site: Site, store: Path) -> None:
    run = freki("worker", "--store", store)
    assert (run.code, run.out) == (3, "")
    assert "there is no store here" in run.err
    assert not store.exists()
    prepared(site, store)
    run = freki("worker", "--store", store, "other")
    assert (run.code, run.out) == (2, "")
    assert "there is no crawl 'other'" in run.err
