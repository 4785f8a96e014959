"""Every URL has one outcome, every sum adds up, and what is stored is what is there."""

import sqlite3
from collections import Counter
from contextlib import closing
from pathlib import Path
from random import Random
from typing import Any

import pytest
from tests.background import background
from tests.command import Run, freki

from freki.messages import Reason, State
from freki.testing.server import Site, serve
from freki.testing.synthetic import Web
from freki.url import split

SEEDS = range(12)

# One attempt: what is broken in this web stays broken, and waiting for that proves nothing.
QUICK = ("--delay", "0", "--concurrency", "16", "--attempts", "1")

ENDS = ("done", "failed", "refused")


def some_web(seed: int) -> Web:
    """A web with a little or a lot of everything, drawn by its seed."""
    dice = Random(seed)
    return Web(
        seed=seed,
        pages=dice.choice([1, 15, 16, 17, 60, 150]),
        links_per_page=dice.choice([0, 3, 12]),
        hosts=dice.choice([1, 3]),
        cross_links=dice.choice([0.0, 0.4]),
        redirects=dice.choice([0.0, 0.1, 0.4]),
        missing=dice.choice([0.0, 0.1]),
        broken=dice.choice([0.0, 0.1]),
        duplicates=dice.choice([0.0, 0.1]),
        files=dice.choice([0.0, 0.1]),
        messy=dice.choice([0.0, 0.5, 1.0]),
        largest=4000,
    )


def crawl(site: Site, store: Path, *words: str) -> Run:
    return freki("crawl", "--store", store, *QUICK, "--quiet", *words, site.url)


def assert_sums_add_up(store: Path) -> dict[str, Any]:
    """The status of the crawl, once it was held against the rows themselves."""
    status: dict[str, Any] = freki("status", "--store", store, "--json").json
    with closing(sqlite3.connect(store)) as db:
        states = db.execute("SELECT state, reason FROM url").fetchall()
        stored = db.execute("SELECT url FROM page").fetchall()
        urls = db.execute("SELECT host, path FROM url").fetchall()
    rows = Counter((State(state).name, reason and Reason(reason).name) for state, reason in states)

    assert status["discovered"] == len(states) == len(set(urls))
    assert status["discovered"] == sum(status[name] for name in (*ENDS, "waiting", "leased"))
    for name in ("waiting", "leased"):
        assert status[name] == rows[name, None]
    for name in ENDS:
        reasons = status["reasons"].get(name, {})
        assert status[name] == sum(reasons.values())
        assert reasons == {
            reason: count for (state, reason), count in rows.items() if state == name
        }
    done = status["reasons"].get("done", {})
    assert status["pages"] == status["done"] - done.get("redirect", 0) - done.get("sitemap", 0)
    assert status["done"] == len(stored)
    return status


def paths(store: Path) -> list[str]:
    """The paths of all stored answers, in any order."""
    run = freki("pages", "--redirects", "--store", store, "--format", "csv")
    return [split(line.partition(",")[0]).path for line in run.out.splitlines()[1:]]


@pytest.mark.parametrize("seed", SEEDS)
def test_a_whole_web_is_stored_and_nothing_else(seed: int, tmp_path: Path) -> None:
    with background(serve(some_web(seed))) as site:
        store = tmp_path / "freki.db"
        assert crawl(site, store).code == 0
        status = assert_sums_add_up(store)
        assert sorted(paths(store)) == sorted(site.web.expected())
    assert (status["waiting"], status["leased"], status["failed"]) == (0, 0, 0)


@pytest.mark.parametrize("seed", SEEDS)
def test_what_lies_within_a_depth_is_stored_whatever_the_order_of_the_answers(
    seed: int, tmp_path: Path
) -> None:
    with background(serve(some_web(seed))) as site:
        for depth in (0, 1, 2, 4):
            store = tmp_path / f"{depth}.db"
            assert crawl(site, store, "--depth", str(depth)).code == 0
            assert_sums_add_up(store)
            assert sorted(paths(store)) == sorted(site.web.expected(depth=depth))


@pytest.mark.parametrize("seed", SEEDS)
def test_the_sums_add_up_at_every_limit_on_the_way(seed: int, tmp_path: Path) -> None:
    store = tmp_path / "freki.db"
    with background(serve(some_web(seed))) as site:
        for limit in (1, 10, 40, 1000):
            crawl(site, store, "--max-pages", str(limit))
            status = assert_sums_add_up(store)
            assert status["pages"] <= limit
            assert status["leased"] == 0
        assert sorted(paths(store)) == sorted(site.web.expected())
