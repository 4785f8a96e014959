"""`freki check`: whether a store is sound, and what can be mended."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
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


def half_done(site: Site, store: Path) -> None:
    """Some pages are stored, and some wait."""
    run = freki("crawl", "--store", store, "--delay", "0", "--max-pages", "12", "--json", site.url)
    assert run.code == 8


def all_of_it(site: Site, store: Path) -> Run:
    return freki(
        "crawl", "--store", store, "--delay", "0", "--max-pages", "1000", "--json", site.url
    )


def pages(store: Path) -> set[str]:
    run = freki("pages", "--store", store, "--format", "csv")
    assert run.code == 0
    return {line.partition(",")[0] for line in run.out.splitlines()}


def test_a_store_with_another_key_is_refused_and_mended(
    site: Site, store: Path, tmp_path: Path
) -> None:
    half_done(site, store)
    with closing(sqlite3.connect(store)) as db:
        db.execute("UPDATE secret SET value = randomblob(16)")
        db.commit()
    run = all_of_it(site, store)
    assert (run.code, run.out) == (3, "")
    assert "freki check --repair" in run.err
    assert "key of the fingerprints" in check(store).out
    assert check(store, "--repair").code == 0
    assert all_of_it(site, store).code == 0
    crawl(site, tmp_path / "quiet.db")
    assert pages(store) == pages(tmp_path / "quiet.db")


@pytest.mark.parametrize("table", ["url", "host", "page", "sqlite_schema"])
def test_what_is_lost_with_a_damaged_table_is_crawled_again(
    table: str, site: Site, store: Path, tmp_path: Path
) -> None:
    half_done(site, store)
    spoil(store, table)
    assert check(store).code == 3
    run = check(store, "--repair")
    assert run.code == 3
    assert f"crawled again with --store {store}.rescued" in run.out
    assert check(Path(f"{store}.rescued")).code == 0
    assert all_of_it(site, Path(f"{store}.rescued")).code == 0
    crawl(site, tmp_path / "quiet.db")
    assert pages(Path(f"{store}.rescued")) == pages(tmp_path / "quiet.db")


def spoil(store: Path, table: str) -> None:
    """Overwrite what the last part of a table has of the file."""
    with closing(sqlite3.connect(store)) as db:
        query = "SELECT pgoffset, pgsize FROM dbstat WHERE name = ? ORDER BY pageno DESC LIMIT 1"
        place, size = db.execute(query, (table,)).fetchone()
    with store.open("r+b") as file:
        file.seek(place)
        file.write(b"\xff" * size)


def test_a_crawl_does_not_say_that_it_is_finished_over_damage(site: Site, store: Path) -> None:
    half_done(site, store)
    with closing(sqlite3.connect(store)) as db:
        db.execute("DELETE FROM page WHERE url = (SELECT max(url) FROM page)")
        db.commit()
    run = all_of_it(site, store)
    assert (run.code, run.out) == (3, "")
    assert "is done and has no page" in run.err
    assert freki("status", "--store", store, "--json").json["status"] == "interrupted"
    assert check(store, "--repair").code == 0
    assert all_of_it(site, store).code == 0


@pytest.mark.parametrize("change", ["path = path || 'x'", "print = print + 100", "via = 99"])
def test_a_url_that_was_changed_is_never_fetched_and_found_again(
    change: str, site: Site, store: Path, tmp_path: Path
) -> None:
    half_done(site, store)
    with closing(sqlite3.connect(store)) as db:
        db.execute(f"UPDATE url SET {change} WHERE id = (SELECT max(id) FROM url WHERE state = 0)")
        db.commit()
    asked = len(site.log)
    if "via" not in change:
        assert all_of_it(site, store).code == 3
        assert not [visit for visit in list(site.log)[asked:] if visit.path.endswith("x")]
    run = check(store, "--repair")
    assert run.code == 0
    assert "found again by its links" in run.out
    assert all_of_it(site, store).code == 0
    crawl(site, tmp_path / "quiet.db")
    assert pages(store) == pages(tmp_path / "quiet.db")


@pytest.mark.parametrize(
    ("table", "column"),
    [
        ("crawl", "settings"), ("crawl", "seeds"), ("url", "detail"), ("page", "title"),
        ("page", "headers"), ("attempt", "detail"), ("host", "origin"),
    ],
)  # fmt: skip
def test_a_text_that_is_none_is_told_and_mended(
    table: str, column: str, site: Site, store: Path
) -> None:
    half_done(site, store)
    with closing(sqlite3.connect(store)) as db:
        db.execute("INSERT INTO attempt VALUES (2, 0, 23, 'late', '[0,0,0,0,0]')")
        db.execute("UPDATE url SET detail = 'it' WHERE id = 1")
        garbage = f"UPDATE {table} SET {column} = CAST(x'ff' || {column} AS TEXT)"
        db.execute(f"{garbage} WHERE rowid = (SELECT min(rowid) FROM {table})")
        db.commit()
    assert check(store).code == 3
    assert check(store, "--repair").code == 0
    assert check(store).code == 0
    assert all_of_it(site, store).code == 0


def test_a_table_that_is_described_otherwise_is_told_and_mended(site: Site, store: Path) -> None:
    half_done(site, store)
    with closing(sqlite3.connect(store)) as db:
        db.execute("PRAGMA writable_schema = ON")
        db.execute("UPDATE sqlite_schema SET sql = replace(sql, 'robots', 'sobots')")
        db.commit()
    assert "not described" in check(store).out
    assert all_of_it(site, store).code == 3
    assert check(store, "--repair").code == 3
    assert all_of_it(site, Path(f"{store}.rescued")).code == 0


def test_a_value_that_means_nothing_is_told_as_damage(site: Site, store: Path) -> None:
    crawl(site, store)
    with closing(sqlite3.connect(store)) as db:
        db.execute("UPDATE url SET reason = 77, via = 78 WHERE id = 2")
        db.commit()
    for words in (["urls"], ["status"], ["explain", site.url + "x"]):
        run = freki(*words, "--store", store)
        assert "Traceback" not in run.err
    assert freki("urls", "--store", store).code == 3
    assert check(store, "--repair").code == 0
    assert freki("urls", "--store", store).code == 0
