"""`freki check`: whether a store is sound, and what can be mended."""

import sqlite3
from contextlib import closing
from pathlib import Path

from tests.command import Run, freki

from freki.testing.server import Site


def check(store: Path, *words: str) -> Run:
    return freki("check", store, *words)


def crawl(site: Site, store: Path) -> Run:
    return freki("crawl", "--store", store, "--delay", "0", "--json", site.url)


def test_a_store_that_was_crawled_into_is_sound(site: Site, store: Path) -> None:
    crawl(site, store)
    assert check(store) == (0, f"{store} is sound.\n", "")


def test_sums_that_are_wrong_are_told_and_mended(site: Site, store: Path) -> None:
    before = crawl(site, store).json
    with closing(sqlite3.connect(store)) as db:
        db.execute("UPDATE tally SET count = count + 1")
        db.commit()
    assert crawl(site, store).json["discovered"] != before["discovered"]
    run = check(store)
    assert run.code == 3
    assert f"freki check {store} --repair mends it" in run.out
    assert check(store, "--repair").code == 0
    assert check(store).code == 0
    assert crawl(site, store).json["discovered"] == before["discovered"]


def test_what_is_no_store_is_told(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("hello")
    for name, told in (("text", "not a store of Freki"), ("none", "there is no store here")):
        run = check(tmp_path / name)
        assert (run.code, run.out) == (3, "")
        assert told in run.err
