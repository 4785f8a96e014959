"""SIGTERM: the crawl stops asking, ends what is in flight, and can be continued."""

import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from subprocess import TimeoutExpired

import pytest
from msgspec import Struct
from tests.chaos.conftest import Measured
from tests.chaos.rig import Site, crawl, end, now, pause, site, start

from freki.cli.exits import Exit
from freki.testing.history import Bounds, History, judge, read
from freki.testing.synthetic import Web

# Every answer takes so long that a signal finds all connections busy.
SLOW_WEB = Web(pages=150, delay=1.0)
AT_ONCE = 16

# What continues it is not the point.
QUICKLY = "--concurrency=150"


class Stop(Struct, frozen=True):
    """How a crawl took the signal."""

    code: int
    began: float
    asked: float  # to end
    ended: float


class Story(Struct, frozen=True):
    """A stop, and what became of the crawl when it was continued."""

    code: int
    seconds: float
    news: float  # seconds for which new requests still came
    history: History


# Each kind of end: the options of the crawl, and how often it gets the signal.
ENDS: dict[str, tuple[list[str], int]] = {
    "drained": ([], 1),
    "cut": (["--drain=0.1"], 1),
    "forced": ([], 2),
}


@pytest.fixture(scope="session")
def slow(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with site(tmp_path_factory.mktemp("slow"), SLOW_WEB) as running:
        yield running


@pytest.fixture(scope="session")
def quiet_slow(slow: Site, tmp_path_factory: pytest.TempPathFactory) -> History:
    store = tmp_path_factory.mktemp("quiet") / "freki.db"
    crawl(slow.url, store, QUICKLY)
    return read(store)


@pytest.fixture(scope="module")
def stories(slow: Site, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Story]:
    """Each crawl is stopped by itself, and all are continued at once: they wait for answers."""
    folder = tmp_path_factory.mktemp("stops")
    stops = {name: stop(slow, folder / name, name) for name in ENDS}
    with ThreadPoolExecutor(len(ENDS)) as threads:
        goes = [
            threads.submit(crawl, slow.url, folder / name, f"--user-agent={name}", QUICKLY)
            for name in ENDS
        ]
    for gone in goes:
        gone.result()
    return {name: story(slow, folder / name, name, stopped) for name, stopped in stops.items()}


def stop(slow: Site, store: Path, agent: str) -> Stop:
    """Send SIGTERM to a crawl when all its connections are busy."""
    options, signals = ENDS[agent]
    began = now()
    process = start(slow.url, store, f"--user-agent={agent}", *options)
    pause(process, until=lambda: len(slow.log(began)) > AT_ONCE)
    asked = now()
    for _ in range(signals):
        with suppress(TimeoutExpired):
            process.wait(0.2)
        process.send_signal(signal.SIGTERM)
    code, _ = end(process)
    return Stop(code, began, asked, now())


def story(slow: Site, store: Path, agent: str, stopped: Stop) -> Story:
    log = slow.log(stopped.began, agent)
    last = max(visit.start for visit in log if visit.start < stopped.ended)
    history = read(store, log, [stopped.ended])
    return Story(stopped.code, stopped.ended - stopped.asked, last - stopped.asked, history)


def test_a_signal_lets_what_is_in_flight_end_and_nothing_new_begin(
    stories: dict[str, Story], quiet_slow: History, measured: Measured
) -> None:
    drained = stories["drained"]
    assert drained.code == Exit.interrupted
    assert drained.news < 1
    assert drained.seconds < 5
    judgement = judge(drained.history, quiet_slow, Bounds(at_once=150, repeats=0))
    assert not judgement, judgement
    measured(
        "7 SIGTERM", f"last request after {drained.news:.2f} s, over in {drained.seconds:.1f} s"
    )


def test_what_does_not_end_in_time_is_given_back(
    stories: dict[str, Story], quiet_slow: History, measured: Measured
) -> None:
    cut = stories["cut"]
    assert cut.code == Exit.interrupted
    assert cut.seconds < 1
    judgement = judge(cut.history, quiet_slow, Bounds(at_once=150, repeats=AT_ONCE))
    assert not judgement, judgement
    measured("  --drain 0.1", f"over in {cut.seconds:.1f} s")


def test_a_second_signal_ends_at_once(
    stories: dict[str, Story], quiet_slow: History, measured: Measured
) -> None:
    forced = stories["forced"]
    assert forced.code == Exit.interrupted_at_once
    assert forced.seconds < 3
    judgement = judge(forced.history, quiet_slow, Bounds(at_once=150))
    assert not judgement, judgement
    measured("  a second SIGTERM", f"over in {forced.seconds:.1f} s")
