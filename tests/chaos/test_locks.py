"""Another process holds the store: the crawl waits for it, and loses nothing."""

import signal
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from subprocess import TimeoutExpired

from tests.chaos.conftest import Measured, Scale
from tests.chaos.rig import Process, Site, crawl, end, now, pause, start

from freki.cli.exits import Exit
from freki.ledger.buffered import CAPACITY
from freki.testing.history import Bounds, History, judge, read

# Requests at once to one host, as the crawl here is set.
AT_ONCE = 16

# Bytes that a locked store may cost: the buffer full of pages of this site, ten times over.
MEMORY = 32 * 2**20


@contextmanager
def locked(store: Path) -> Iterator[None]:
    """Nobody else writes to the store meanwhile."""
    with closing(sqlite3.connect(store, timeout=10, isolation_level=None)) as db:
        db.execute("BEGIN EXCLUSIVE")
        yield
        db.execute("ROLLBACK")


def memory(process: Process) -> int:
    """Bytes in use."""
    lines = Path(f"/proc/{process.pid}/status").read_text().splitlines()
    (line,) = (line for line in lines if line.startswith("VmRSS:"))
    return int(line.split()[1]) * 1024


def under_way(library: Site, store: Path) -> tuple[float, Process]:
    """A crawl that has stored some pages and has many before it."""
    began = now()
    process = start(library.url, store)
    pause(process, until=lambda: len(library.log(began)) > 300)
    return began, process


def test_a_locked_store_stops_fetching_and_nothing_else(
    library: Site, undisturbed: History, scale: Scale, measured: Measured, tmp_path: Path
) -> None:
    store = tmp_path / "freki.db"
    began, process = under_way(library, store)
    with locked(store):
        since, before = now(), memory(process)
        with suppress(TimeoutExpired):
            process.wait(scale.locked)
        asked, grown = len(library.log(since)), memory(process) - before
    assert end(process)[0] == 0
    assert asked <= AT_ONCE + 2 * CAPACITY
    assert grown < MEMORY
    judgement = judge(read(store, library.log(began)), undisturbed, Bounds())
    assert not judgement, judgement
    measured(
        "5 store locked", f"{scale.locked:g} s: {asked} more requests, {grown / 2**20:.1f} MiB more"
    )


def test_a_crawl_that_waits_for_a_lock_still_ends_when_told_twice(
    library: Site, undisturbed: History, tmp_path: Path
) -> None:
    store = tmp_path / "freki.db"
    began, process = under_way(library, store)
    with locked(store):
        process.send_signal(signal.SIGTERM)
        with suppress(TimeoutExpired):
            process.wait(0.5)
        process.send_signal(signal.SIGTERM)
        assert end(process, within=3)[0] == Exit.interrupted_at_once
    ended = now()
    crawl(library.url, store)
    judgement = judge(read(store, library.log(began), [ended]), undisturbed, Bounds())
    assert not judgement, judgement
