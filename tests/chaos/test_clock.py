"""The clock of the machine jumps: hosts are not asked sooner, and nothing waits for a lost hour."""

import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest
from tests.chaos.conftest import Measured
from tests.chaos.rig import Process, Site, crawl, end, kill, now, pause, site, start

from freki.ledger import read as ledger
from freki.ledger.crawls import newest
from freki.ledger.store import read_store
from freki.testing.history import Bounds, History, judge, read
from freki.testing.synthetic import Web

HOUR, DAY = 3600, 86_400
JUMPS = [HOUR, -HOUR, DAY, -DAY]

# A page after the other, so that there is a distance to keep.
VILLAGE = Web(pages=24)
DELAY = 0.1
POLITELY = f"--delay={DELAY}"
ALONE = Bounds(delay=DELAY, at_once=1)

# Far more than a crawl takes on a busy machine, and far less than the shortest jump.
SOON = 60.0


@pytest.fixture(scope="session")
def village(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with site(tmp_path_factory.mktemp("village"), VILLAGE) as running:
        yield running


@pytest.fixture(scope="session")
def quiet_village(village: Site, tmp_path_factory: pytest.TempPathFactory) -> History:
    store = tmp_path_factory.mktemp("quiet") / "freki.db"
    crawl(village.url, store)
    return read(store)


class Clock:
    """The date of processes that are started through it."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self.set(0)

    def set(self, seconds: int) -> None:
        """Jump to so much beside the date."""
        # Renamed into place: a process reads it at every look at the clock.
        fresh = self._file.with_suffix(".new")
        fresh.write_text(f"{seconds:+}\n")
        fresh.replace(self._file)

    def through(self) -> list[str]:
        return [
            "env",
            f"LD_PRELOAD={_library()}",
            f"FAKETIME_TIMESTAMP_FILE={self._file}",
            "FAKETIME_NO_CACHE=1",
            "FAKETIME_DONT_FAKE_MONOTONIC=1",  # which no setting of a clock changes
        ]


def _library() -> str:
    """Where Debian keeps it depends on the architecture."""
    shown = subprocess.run(
        ["faketime", "-m", "-f", "+0", "env"], capture_output=True, text=True, check=True
    )
    (line,) = (line for line in shown.stdout.splitlines() if line.startswith("LD_PRELOAD="))
    return line.removeprefix("LD_PRELOAD=")


@pytest.fixture
def clock(tmp_path: Path) -> Clock:
    return Clock(tmp_path / "clock")


def asked(village: Site, process: Process, count: int, agent: str = "") -> None:
    """Let so many more requests come."""
    since = now()
    pause(process, until=lambda: len(village.log(since, agent)) >= count)


def test_a_crawl_does_not_notice_that_the_clock_jumps(
    village: Site, quiet_village: History, clock: Clock, measured: Measured, tmp_path: Path
) -> None:
    store, began = tmp_path / "freki.db", now()
    process = start(village.url, store, POLITELY, through=clock.through())
    for jump in JUMPS:
        asked(village, process, 4)
        clock.set(jump)
    assert end(process, within=SOON)[0] == 0
    judgement = judge(read(store, village.log(began)), quiet_village, ALONE)
    assert not judgement, judgement
    assert shortest(store) >= 0
    measured("8 clock jumps in a crawl", "by an hour and a day, forth and back: unnoticed")


def test_a_crawl_is_continued_under_another_date(
    village: Site, quiet_village: History, measured: Measured, tmp_path: Path
) -> None:
    def continued(how: str, jump: int) -> float:
        """How long the rest of a crawl took after its end, of either kind, and a jump."""
        agent = f"{how} {jump}"
        store, clock = tmp_path / f"{agent}.db", Clock(tmp_path / f"{agent}.clock")
        options = (POLITELY, f"--user-agent={agent}")
        process = start(village.url, store, *options, through=clock.through())
        asked(village, process, 8, agent)
        if how == "killed":
            kill(process)
        else:
            process.terminate()
            end(process)
        ended = now()
        clock.set(jump)
        again = start(village.url, store, *options, through=clock.through())
        assert end(again, within=SOON)[0] == 0
        took = now() - ended
        judgement = judge(read(store, village.log(agent=agent), [ended]), quiet_village, ALONE)
        assert not judgement, (agent, judgement)
        assert shortest(store) >= 0
        return took

    ways = [(how, jump) for how in ("killed", "stopped") for jump in JUMPS]
    with ThreadPoolExecutor(len(ways)) as threads:  # they mostly rest
        rests = list(threads.map(lambda way: continued(*way), ways))
    for (how, jump), took in zip(ways, rests, strict=True):
        measured(f"8 {how}, then {jump / HOUR:+g} h", f"over {took:.1f} s later")


def shortest(store: Path) -> float:
    """The shortest duration that a store tells of."""
    with closing(read_store(store)) as db:
        crawl = newest(db)
        assert crawl is not None
        pages = ledger.pages(db, crawl.id, ledger.Filter())
        return min([crawl.seconds, *(min(page.timings.values()) for page in pages)])
