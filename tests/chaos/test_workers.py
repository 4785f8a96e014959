"""Two workers at one crawl, and one of them freezes or dies: the other takes over, once."""

import signal
import sqlite3
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path
from subprocess import TimeoutExpired

import pytest
from tests.chaos.conftest import Measured, Scale
from tests.chaos.rig import Process, Site, crawl, end, kill, launch, now, pause, site

from freki.config import Politeness, Scope, Settings
from freki.ledger import crawls
from freki.ledger.store import open_store
from freki.testing.history import Bounds, History, judge, read
from freki.testing.synthetic import Web

WORK = Path(__file__).with_name("work.py")

# Hosts that link to each other; each belongs to one worker at a time.
TOWNS = Web(pages=40, hosts=6, links_per_page=4, cross_links=0.3)
DELAY = 0.1

# A dead worker's URLs are somebody else's after a lease and this.
TAKE_OVER = 5.0


@pytest.fixture(scope="session")
def towns(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with site(tmp_path_factory.mktemp("towns"), TOWNS) as running:
        yield running


@pytest.fixture(scope="session")
def quiet_towns(towns: Site, tmp_path_factory: pytest.TempPathFactory) -> History:
    store = tmp_path_factory.mktemp("quiet") / "freki.db"
    crawl(towns.url, store, "--scope=any")
    return read(store)


@pytest.fixture
def began(towns: Site, tmp_path: Path) -> Path:
    """A store with a polite crawl of the towns that nobody works on yet."""
    store = tmp_path / "freki.db"
    settings = Settings(scope=Scope(scope="any"), politeness=Politeness(delay=DELAY))
    with closing(open_store(store)) as db:
        crawls.begin(db, crawls.default_name(towns.url), [towns.url], settings, time.time())
    return store


def two_workers(store: Path, lease: float, stack: ExitStack) -> tuple[Process, Process]:
    """One that works, and one that joined it and gets what the first one leaves."""
    first, second = (stack.enter_context(working(store, lease)) for _ in range(2))
    return first, second


@contextmanager
def working(store: Path, lease: float) -> Iterator[Process]:
    """A worker that has joined; killed in the end, if it is still there."""
    before = sessions(store)
    process = launch(WORK, store, str(lease))
    try:
        pause(process, until=lambda: sessions(store) >= before + 2)  # one is for the start URLs
        yield process
    finally:
        kill(process)


def leased(store: Path, process: Process) -> set[str]:
    """The URLs that a process has leased."""
    query = """
        SELECT origin || path FROM url JOIN host ON host.id = url.host
        JOIN session ON session.id = url.session WHERE session.process LIKE ?
    """
    with closing(sqlite3.connect(store)) as db:
        return {url for (url,) in db.execute(query, (f"{process.pid} %",))}


def sessions(store: Path) -> int:
    """How many there ever were."""
    with closing(sqlite3.connect(store)) as db:
        query = "SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = 'session'"
        return int(db.execute(query).fetchone()[0])


def test_a_frozen_worker_is_replaced_and_comes_too_late(
    towns: Site,
    quiet_towns: History,
    began: Path,
    scale: Scale,
    measured: Measured,
) -> None:
    start = now()
    with ExitStack() as stack:
        frozen, awake = two_workers(began, scale.lease, stack)
        frozen.send_signal(signal.SIGSTOP)
        stopped, before, held = now(), sessions(began), leased(began, frozen)
        with suppress(TimeoutExpired):
            awake.wait(3 * scale.lease)
        taken = {f"http://{visit.host}{visit.path}" for visit in towns.log(stopped)}
        frozen.send_signal(signal.SIGCONT)
        woken = now()
        assert end(awake)[0] == end(frozen)[0] == 0
    assert sessions(began) > before  # its own was over, so that it had to join again
    assert taken & held
    history = read(began, towns.log(start), [stopped, woken])
    judgement = judge(history, quiet_towns, Bounds(delay=DELAY, at_once=1))
    assert not judgement, judgement
    measured("6 worker frozen", f"{3 * scale.lease:g} s at a lease of {scale.lease:g} s")


def test_what_a_dead_worker_held_is_taken_over_soon(
    towns: Site,
    quiet_towns: History,
    began: Path,
    scale: Scale,
    measured: Measured,
) -> None:
    start = now()
    with ExitStack() as stack:
        dead, alive = two_workers(began, scale.lease, stack)
        kill(dead)
        died, held = now(), leased(began, dead)
        pause(alive, until=lambda: not leased(began, dead))
        over = now() - died
        assert end(alive)[0] == 0
    assert held
    assert over < scale.lease + TAKE_OVER
    judgement = judge(
        read(began, towns.log(start), [died]), quiet_towns, Bounds(delay=DELAY, at_once=1)
    )
    assert not judgement, judgement
    measured("6 worker killed", f"its URLs were free {over:.1f} s later, lease {scale.lease:g} s")
