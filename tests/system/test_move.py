"""A crawl goes on where it was copied to, from a file to a server and back."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.chaos.rig import Site, end, kill, now, pause, site, start
from tests.command import call, freki
from tests.postgres import PASSWORD, PostgresServer

from freki.ledger.buffered import CAPACITY
from freki.ledger.place import Address, Place
from freki.testing.history import Bounds, History, judge, read
from freki.testing.synthetic import Web

WEB = Web(pages=1200, links_per_page=6, redirects=0.05, missing=0.03, duplicates=0.05, delay=0.005)


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with site(tmp_path_factory.mktemp("library"), WEB) as running:
        yield running


@pytest.fixture(scope="module")
def undisturbed(library: Site, tmp_path_factory: pytest.TempPathFactory) -> History:
    store = tmp_path_factory.mktemp("undisturbed") / "freki.db"
    assert end(start(library.url, store))[0] == 0
    return read(store)


def finish(url: str, store: Place) -> None:
    words = ["--quiet", "--delay=0", "--workers=2", f"--store={store}"]
    run = call("crawl", url, *words, variables={"PGPASSWORD": PASSWORD})
    assert (run.code, run.err) == (0, "")


def moved(source: Place, target: Place) -> None:
    run = freki("move", _spelt(source), _spelt(target))
    assert (run.code, run.err) == (0, "")
    assert PASSWORD not in run.out


def _spelt(place: Place) -> str:
    if isinstance(place, Address):
        return str(place).replace("@", ":p%40ss%2Fword@", 1)
    return str(place)


def test_a_crawl_moved_in_the_middle_ends_as_if_it_had_not_been(
    library: Site, undisturbed: History, postgres: PostgresServer, tmp_path: Path
) -> None:
    here, there, home = tmp_path / "here.db", postgres.schema(), tmp_path / "home.db"
    began = now()
    process = start(library.url, here)
    pause(process, until=lambda: len(library.log(began)) > 2 * CAPACITY)
    kill(process)
    killed = now()
    moved(here, there)
    finish(library.url, there)
    history = read(there, library.log(began), [killed])
    judgement = judge(history, undisturbed, Bounds(at_once=2 * 16))
    assert not judgement, judgement
    assert 0 < sum(bool(row.digests) for row in read(here).rows) < len(undisturbed.rows)
    moved(there, home)
    assert read(home).rows == history.rows
    run = freki("check", home)
    assert run.code == 0, run.out


def test_a_crawl_is_not_moved_onto_another(postgres: PostgresServer, tmp_path: Path) -> None:
    one, two = tmp_path / "one.db", tmp_path / "two.db"
    for store in (one, two):
        freki("crawl", "http://127.0.0.1:1/", "--store", store, "--quiet", "--attempts", "1")
    run = freki("move", one, two)
    assert run.code == 2
    assert "holds crawls already" in run.err
