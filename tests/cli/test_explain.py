"""`freki explain`: the story of one URL."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import msgspec
import pytest
from tests.background import background
from tests.command import Run, freki
from tests.system.scripted import Scripted, answer, page, scripted


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Scripted, Path]]:
    """A small site with a page behind a redirect and a link that leads outside, and its store."""
    script = {
        "/": page("/moved", "/missing", "http://elsewhere.invalid/"),
        "/moved": answer(301, location="/here"),
        "/here": page("/"),
    }
    store = tmp_path_factory.mktemp("told") / "freki.db"
    with background(scripted(script)) as site:
        run = freki("crawl", "--store", store, "--delay", "0", "--name", "mine", f"{site.url}/")
        assert run.code == 0
        yield site, store


def explain(store: Path, *words: str) -> Run:
    return freki("explain", "--store", store, *words)


def test_it_tells_where_a_url_was_found_what_was_answered_and_who_links_to_it(
    told: tuple[Scripted, Path],
) -> None:
    site, store = told
    run = explain(store, f"{site.url}/missing")
    assert (run.code, run.err) == (0, "")
    assert f"{site.url}/missing\n  crawl mine, run 1\n" in run.out
    assert f" as a link on {site.url}/, depth 1\n" in run.out
    assert "status 404 by HTTP/1.1 from 127.0.0.1" in run.out
    assert "outcome   done, http_error (status 404)" in run.out
    assert f"  linked from\n    {site.url}/  'to /missing'\n" in run.out


@pytest.mark.parametrize(
    ("path", "outcome", "reason", "via"),
    [
        ("/", "done", "ok", "seed"),
        ("/moved", "done", "redirect", "link"),
        ("/here", "done", "ok", "redirect"),
    ],
)
def test_as_json_it_is_one_object(
    path: str, outcome: str, reason: str, via: str, told: tuple[Scripted, Path]
) -> None:
    site, store = told
    story = msgspec.json.decode(explain(store, site.url + path, "--json").out)
    assert (story["outcome"], story["reason"], story["via"]) == (outcome, reason, via)


def test_a_try_that_a_crash_cut_short_is_told(told: tuple[Scripted, Path]) -> None:
    site, store = told
    with closing(sqlite3.connect(store)) as db:
        db.execute("UPDATE url SET attempts = attempts + 1 WHERE path = '/here'")
        db.commit()
    assert (
        "1 time it was handed to a worker that ended before"
        in explain(store, f"{site.url}/here").out
    )
    assert "handed to a worker" not in explain(store, f"{site.url}/").out


def test_why_a_url_was_refused_is_told_in_words(told: tuple[Scripted, Path]) -> None:
    run = explain(told[1], "http://elsewhere.invalid/")
    assert "refused, out_of_scope" in run.out
    assert ": outside of what the crawl is about; --scope widens that\n" in run.out


def test_a_url_that_nobody_links_to_is_told_with_those_like_it(
    told: tuple[Scripted, Path],
) -> None:
    site, store = told
    run = explain(store, f"{site.url}/moved/")
    assert (run.code, run.out) == (1, "")
    assert f"{site.url}/moved/ was never discovered" in run.err
    assert f"but this one was: {site.url}/moved" in run.err


def test_what_is_no_url_is_told(told: tuple[Scripted, Path]) -> None:
    run = explain(told[1], "no url")
    assert (run.code, run.out) == (2, "")
    assert "not a valid URL" in run.err
