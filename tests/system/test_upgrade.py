"""The tables of a store change while workers work on it; what changes them is made up here."""

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing

import pytest
from tests.chaos.rig import Process, Site, crawl, now, pause, site
from tests.command import call, ended, start
from tests.postgres import PASSWORD, PostgresServer

from freki.errors import StoreTooNew
from freki.ledger.place import Address
from freki.ledger.postgres import upgrade as upgrades
from freki.ledger.postgres.link import Server
from freki.ledger.postgres.store import open_server
from freki.ledger.postgres.upgrade import UPGRADES, Upgrade, upgrade, version_of
from freki.ledger.store import VERSION
from freki.testing.history import Bounds, History, judge, read
from freki.testing.synthetic import Web

TOWNS = Web(pages=20, hosts=6, links_per_page=4, cross_links=0.3)
DELAY = 0.2
SECRET = {"PGPASSWORD": PASSWORD}

# What a later version might need beside what there is: columns, a table, an index.
ADDED = (
    "ALTER TABLE page ADD COLUMN simhash BIGINT",
    "ALTER TABLE url ADD COLUMN weight REAL NOT NULL DEFAULT 1.0",
    "ALTER TABLE session ADD COLUMN region TEXT",
    "CREATE TABLE neighbour (page BIGINT PRIMARY KEY, other BIGINT NOT NULL)",
    "CREATE INDEX page_simhash ON page (simhash) WHERE simhash IS NOT NULL",
)
# And what nobody survives who does not know of it.
TURNED_OVER = (
    "ALTER TABLE url RENAME COLUMN depth TO level",
    "ALTER TABLE tally DROP COLUMN part",
)


def changed(statements: Sequence[str], oldest: int) -> list[Upgrade]:
    return [*UPGRADES, Upgrade(lambda: [*statements], oldest)]


ADDS = changed(ADDED, oldest=VERSION)
TURNS_OVER = changed(TURNED_OVER, oldest=VERSION + 1)


@pytest.fixture(scope="module")
def towns(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with site(tmp_path_factory.mktemp("towns"), TOWNS) as running:
        yield running


@pytest.fixture(scope="module")
def quiet_towns(towns: Site, tmp_path_factory: pytest.TempPathFactory) -> History:
    store = tmp_path_factory.mktemp("quiet") / "freki.db"
    crawl(towns.url, store, "--scope=any")
    return read(store)


@pytest.fixture
def store(postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch) -> Address:
    monkeypatch.setenv("PGPASSWORD", PASSWORD)
    return postgres.schema()


@pytest.fixture
def working(towns: Site, store: Address) -> Iterator[list[Process]]:
    """A crawl with two workers, in the middle."""
    began = now()
    words = ("--scope", "any", "--quiet", "--delay", str(DELAY), "--store", str(store))
    with ExitStack() as ends:
        first = start("crawl", towns.url, *words, variables=SECRET)
        ends.callback(first.kill)
        pause(first, until=lambda: len(towns.log(began)) > 5)
        second = start("worker", "--store", str(store), variables=SECRET)
        ends.callback(second.kill)
        pause(second, until=lambda: len(towns.log(began)) > 20)
        yield [first, second]


def test_the_last_upgrade_makes_the_version_that_programs_name() -> None:
    assert len(UPGRADES) == VERSION


def test_workers_go_on_while_something_is_added(
    working: list[Process], towns: Site, quiet_towns: History, store: Address
) -> None:
    with closing(Server(store)) as later:
        upgrade(later, store, ADDS)
        assert version_of(later, store, len(ADDS)) == VERSION + 1
        asked_before = len(towns.log())
        # Further ones of the earlier version may come as well.
        third = call("worker", "--store", str(store), variables=SECRET)
        assert [ended(process).code for process in working] == [0, 0]
        assert third.code == 0, third.err
        assert len(towns.log()) > asked_before
        assert later.execute("SELECT count(*) FROM page WHERE simhash IS NULL").fetchone()[0] > 50
    judgement = judge(read(store), quiet_towns, Bounds(delay=DELAY, at_once=1))
    assert not judgement, judgement


def test_workers_that_would_not_understand_the_tables_are_told_and_end(
    working: list[Process], store: Address
) -> None:
    with closing(Server(store)) as later:
        upgrade(later, store, TURNS_OVER)
        stored = "SELECT count(*) FROM url WHERE state = 2"
        before = later.execute(stored).fetchone()
        for process in working:
            run = ended(process)
            assert run.code == 3, run.err
            assert "later version of Freki" in run.err
            assert "upgrade Freki" in run.err
            assert "Traceback" not in run.err
        # Nothing of theirs was taken after that, and what they held is known to be held.
        assert later.execute(stored).fetchone() == before
        lost = (
            "SELECT count(*) FROM url WHERE state = 1 AND session NOT IN (SELECT id FROM session)"
        )
        assert later.execute(lost).fetchone() == (0,)
    with pytest.raises(StoreTooNew):
        open_server(store, "process")


def test_of_many_who_come_at_once_one_changes_the_tables(store: Address) -> None:
    open_server(store, "process").close()

    def come(_number: int) -> int:
        with closing(Server(store)) as server:
            upgrade(server, store, ADDS)
            return version_of(server, store, len(ADDS))

    with ThreadPoolExecutor(6) as threads:
        assert list(threads.map(come, range(6))) == [VERSION + 1] * 6


def test_a_change_that_fails_leaves_the_tables_as_they_were(store: Address) -> None:
    open_server(store, "process").close()
    broken = changed(("CREATE TABLE half (id BIGINT)", "ALTER TABLE nothing ADD COLUMN x INT"), 1)
    with closing(Server(store)) as server:
        with pytest.raises(Exception, match="does not exist"):
            upgrade(server, store, broken)
        assert version_of(server, store) == VERSION
        half = "SELECT count(*) FROM pg_tables WHERE tablename = 'half' AND schemaname = ?"
        assert server.execute(half, (store.schema,)).fetchone() == (0,)


def test_a_long_read_holds_up_the_change_and_nobody_else(
    store: Address, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(upgrades, "PAUSE", 0.01)
    with closing(open_server(store, "process")) as export, closing(Server(store)) as later:
        export.execute("BEGIN")
        export.execute("SELECT count(*) FROM url").fetchone()
        with ThreadPoolExecutor(1) as threads:
            waiting = threads.submit(upgrade, later, store, ADDS)
            with closing(open_server(store, "process")) as worker:
                for _ in range(20):
                    began = now()
                    worker.execute("SELECT count(*) FROM url").fetchone()
                    assert now() - began < 2.0
            assert not waiting.done()
            export.execute("COMMIT")
            waiting.result(10.0)
        assert version_of(later, store, len(ADDS)) == VERSION + 1
