"""`kill -9`, at any moment and as often as you like: every page is there, once."""

import random
import time
from collections.abc import Iterator
from contextlib import closing, suppress
from itertools import repeat
from pathlib import Path
from statistics import median
from subprocess import TimeoutExpired

import pytest
from msgspec import Struct
from tests.chaos.conftest import Measured, Scale
from tests.chaos.rig import ECHO, HANGS, Site, end, kill, now, pause, site, start

from freki.config import Politeness, Settings
from freki.engine.build import terms
from freki.ledger import crawls
from freki.ledger.buffered import CAPACITY
from freki.ledger.sqlite import SqliteLedger
from freki.ledger.store import open_store
from freki.messages import Batch, Discovery
from freki.testing.auditor import Access
from freki.testing.history import Bounds, History, judge, read, repeats
from freki.testing.synthetic import Web

# Kills of one crawl at most, so that many crawls get some.
KILLS = 8

# Seconds that a crawl lives at most: some are killed before their first request, some finish.
LIVES = 1.2

# Seconds after which a recovery is killed: while it opens the store, reaps, or begins to fetch.
RECOVERS = 0.5

# Promised from start to first request after a kill, with a usual store and with a large one.
SOON, SOON_ENOUGH = 3.0, 10.0

# All of its halls are pages, so that there are more of them than anybody fetches here.
LARGE_WEB = Web(pages=16_000_000, links_per_page=0, largest=200)
CHUNK = 10_000  # URLs made known at once


class Ordeal(Struct, frozen=True):
    """A crawl that was killed until nothing was left of it to do."""

    starts: tuple[float, ...]  # of its processes, of which all but the last were killed
    log: tuple[Access, ...]

    @property
    def kills(self) -> tuple[float, ...]:
        """By the clock of the log. What a process sent last may be read a moment after its death,
        but always before the next process begins."""
        return self.starts[1:]

    def waits(self) -> Iterator[float]:
        """Seconds from the start of a process that came after a kill to its first request."""
        for began, over in zip(self.starts[1:], (*self.starts[2:], now()), strict=True):
            asked = [visit.start for visit in self.log if began + ECHO < visit.start < over]
            if asked:
                yield min(asked) - began


def suffer(where: Site, store: Path, lives: Iterator[float], *options: str) -> Ordeal:
    """Crawl, and kill the crawl at the end of each of its lives; then let it finish."""
    starts: list[float] = []
    while True:
        starts.append(now())
        process = start(where.url, store, *options)
        with suppress(TimeoutExpired):
            process.wait(next(lives, HANGS))
        if process.returncode is not None:
            break
        kill(process)
    code, words = end(process)
    assert code == 0, words
    return Ordeal(tuple(starts), tuple(where.log(starts[0])))


def test_whatever_is_killed_at_random_loses_and_doubles_nothing(
    library: Site,
    undisturbed: History,
    scale: Scale,
    dice: random.Random,
    measured: Measured,
    tmp_path: Path,
) -> None:
    ordeals: list[Ordeal] = []
    while (killed := sum(len(ordeal.kills) for ordeal in ordeals)) < scale.kills:
        store = tmp_path / f"{len(ordeals)}.db"
        lives = [dice.uniform(0, LIVES) for _ in range(min(KILLS, scale.kills - killed))]
        ordeal = suffer(library, store, iter(lives))
        ordeals.append(ordeal)
        judgement = judge(read(store, ordeal.log, ordeal.kills), undisturbed, Bounds())
        assert not judgement, judgement
    again = [times for ordeal in ordeals for times in repeats(ordeal.log, ordeal.kills).values()]
    waits = [wait for ordeal in ordeals for wait in ordeal.waits()]
    assert max(waits) < SOON
    size = len(undisturbed.rows)
    measured("1 kill -9", f"{killed} kills of {len(ordeals)} crawls of {size:,} URLs")
    measured("  requests made again", f"{sum(again)}, at most {max(again)} after one kill")
    measured("  restart to first request", f"{median(waits):.2f} s, at most {max(waits):.2f} s")


def test_no_kill_leaves_a_page_without_its_body_that_is_elsewhere(
    library: Site,
    undisturbed: History,
    scale: Scale,
    dice: random.Random,
    measured: Measured,
    tmp_path: Path,
) -> None:
    store, blobs = tmp_path / "freki.db", tmp_path / "blobs"
    lives = [dice.uniform(0.3, LIVES) for _ in range(min(KILLS, scale.kills))]
    ordeal = suffer(library, store, iter(lives), "--blobs", str(blobs))
    history = read(store, ordeal.log, ordeal.kills)  # every body is looked at
    judgement = judge(history, undisturbed, Bounds())
    assert not judgement, judgement
    with closing(open_store(store)) as db:
        named = {digest.hex() for (digest,) in db.execute("SELECT digest FROM body")}
    kept = {path.name for path in blobs.glob("*/bodies/??/*")}
    assert named <= kept
    measured("  bodies elsewhere", f"{len(ordeal.kills)} kills, {len(named):,} bodies, "
             f"{len(kept - named)} files that nobody names")  # fmt: skip


def test_a_recovery_from_a_kill_may_be_killed_too(
    library: Site,
    undisturbed: History,
    scale: Scale,
    dice: random.Random,
    measured: Measured,
    tmp_path: Path,
) -> None:
    store = tmp_path / "freki.db"
    lives = [LIVES, *(dice.uniform(0, RECOVERS) for _ in range(scale.recoveries))]
    ordeal = suffer(library, store, iter(lives))
    judgement = judge(read(store, ordeal.log, ordeal.kills), undisturbed, Bounds())
    assert not judgement, judgement
    measured("3 kill of a recovery", f"{len(ordeal.kills)} kills in a row")


def test_a_crew_may_lose_its_first_worker(
    library: Site, undisturbed: History, measured: Measured, tmp_path: Path
) -> None:
    store, kills = tmp_path / "freki.db", 3
    ordeal = suffer(library, store, repeat(LIVES, kills), "--workers=2")
    history = read(store, ordeal.log, ordeal.kills)
    judgement = judge(history, undisturbed, Bounds(at_once=32, repeats=2 * Bounds().repeats))
    assert not judgement, judgement
    measured("1 kill -9 of one of two", f"{len(ordeal.kills)} kills")


@pytest.fixture
def large(tmp_path: Path) -> Iterator[Site]:
    with site(tmp_path, LARGE_WEB) as running:
        yield running


def test_a_large_store_is_soon_at_work_again(
    large: Site, scale: Scale, measured: Measured, tmp_path: Path
) -> None:
    store = tmp_path / "freki.db"
    fill(store, large, scale.known)
    waits = [begins(large, store) for _ in range(3)]
    assert max(waits) < SOON_ENOUGH
    measured(f"  with {scale.known:,} URLs known", f"at most {max(waits):.2f} s")


def begins(where: Site, store: Path) -> float:
    """Seconds until a crawl asks for its first page; it is killed when it has asked for many."""
    began = now()
    process = start(where.url, store)
    pause(process, until=lambda: len(where.log(began)) > CAPACITY)
    kill(process)
    return min(visit.start for visit in where.log(began)) - began


def fill(store: Path, where: Site, known: int) -> None:
    """Begin a crawl that knows so many URLs, all of them waiting."""
    settings = Settings(politeness=Politeness(delay=0))
    with closing(open_store(store)) as db:
        name = crawls.default_name(where.url)
        crawl = crawls.begin(db, name, [where.url], settings, time.time())
        ledger = SqliteLedger(db, str(store), crawl.id, terms(settings))
        session = ledger.join(time.time())
        for first in range(0, known, CHUNK):
            halls = range(first, min(first + CHUNK, known))
            found = [Discovery(f"{where.url}hall/{hall}/", 1, 1) for hall in halls]
            ledger.commit(session, Batch(time.time(), discoveries=found))
        ledger.leave(session, time.time())
