"""SIGTERM: the crawl stops asking, ends what is in flight, and can be continued."""

import signal
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from subprocess import TimeoutExpired

import pytest
from msgspec import Struct

from freki.cli.exits import Exit
from freki.testing.history import Bounds, History, judge, read
from freki.testing.synthetic import Web
from tests.chaos.conftest import Measured
from tests.chaos.rig import Process, Site, crawl, end, now, pause, site, start

# Every answer takes so long that a signal finds all connections busy.
SLOW_WEB = Web(pages=150, delay=1.0)
AT_ONCE = 16


class Stop(Struct, frozen=True):
    """How a crawl took the signal."""

    code: int
    seconds: float
    last_request: float  # seconds after the signal; negative where it came before


@pytest.fixture(scope="session")
def slow(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with site(tmp_path_factory.mktemp("slow"), SLOW_WEB) as running:
        yield running


@pytest.fixture(scope="session")
def quiet_slow(slow: Site, tmp_path_factory: pytest.TempPathFactory) -> History:
    store = tmp_path_factory.mktemp("quiet") / "freki.db"
    crawl(slow.url, store, "--concurrency=150")
    return read(store)


def stop(slow: Site, store: Path, *options: str, twice: bool = False) -> Stop:
    """Send SIGTERM to a crawl as soon as all its connections are busy."""
    began = now()
    process = start(slow.url, store, *options)
    pause(process, until=lambda: len(slow.log(began)) > AT_ONCE)
    asked = now()
    process.send_signal(signal.SIGTERM)
    if twice:
        with suppress(TimeoutExpired):
            process.wait(0.1)
        process.send_signal(signal.SIGTERM)
    code, _ = end(process)
    seconds = now() - asked
    pause_for_answers(slow)
    return Stop(code, seconds, max(visit.start for visit in slow.log(began)) - asked)
