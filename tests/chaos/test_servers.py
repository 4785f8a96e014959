"""Four workers on one store of a server: they die and freeze, the server restarts, cables break."""

import os
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

import pytest
from tests.chaos.conftest import Measured, Scale
from tests.chaos.rig import HANGS, Process, Site, end, kill, launch, now
from tests.chaos.wire import Wire, wire
from tests.postgres import PASSWORD, PostgresServer, running_server

from freki.config import Politeness, Scope, Settings
from freki.ledger import crawls
from freki.ledger.store import open_store
from freki.testing.history import Bounds, History, judge, read

WORK = Path(__file__).with_name("work.py")
WORKERS = 4

DELAY = 0.1

# Who lost its connection has another one so soon after there is one to be had.
RECONNECTED = 5.0

LOOK = 0.05


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    """One of our own: others would not like what we do to it."""
    with running_server() as running:
        yield running


class Troubled:
    """A polite crawl by four workers, and what is done to it."""

    def __init__(
        self,
        where: Site,
        server: PostgresServer,
        lease: float,
        ends: ExitStack,
        ports: Sequence[int] = (),
    ) -> None:
        self.where, self.server, self.lease = where, server, lease
        self.store = server.schema()
        self._ends = ends
        self.began = now()
        self.troubles: list[float] = []
        settings = Settings(scope=Scope(scope="any"), politeness=Politeness(delay=DELAY))
        with closing(open_store(self.store)) as db:
            name = crawls.default_name(where.url)
            crawls.begin(db, name, [where.url], settings, time.time())
        self.workers = [self.work(port) for port in (*ports, *[server.port] * WORKERS)]

    def work(self, port: int) -> Process:
        """One more worker, perhaps by another way to the server."""
        address = str(self.store).replace(str(self.server.port), str(port))
        process = launch(WORK, address, str(self.lease))
        self._ends.callback(kill, process)
        return process

    def trouble(self) -> None:
        """What was asked for and not stored may be asked for again."""
        self.troubles.append(now())

    def until(self, so: Callable[[], bool], within: float = HANGS) -> float:
        """Wait for something while the crawl goes on; answers with how long it took."""
        began = now()
        while not so():
            assert now() - began < within, "it does not come"
            time.sleep(LOOK)
        return now() - began

    def asked(self) -> int:
        return len(self.where.log(self.began))

    def go_on(self, requests: int = 12) -> None:
        """Some more of it, undisturbed."""
        before = self.asked()
        self.until(lambda: self.asked() >= before + requests or self.is_over())

    def is_over(self) -> bool:
        return all(process.poll() is not None for process in self.workers)

    def connected(self) -> int:
        query = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'freki'"
        (count,) = self.server.ask(query)
        return int(str(count))

    def judge(self, undisturbed: History) -> None:
        codes = [end(process)[0] for process in self.workers]
        assert set(codes) <= {0, -signal.SIGKILL}, codes
        self.until(lambda: self.connected() == 0, RECONNECTED)
        history = read(self.store, self.where.log(self.began), sorted(self.troubles))
        judgement = judge(history, undisturbed, Bounds(delay=DELAY, at_once=1))
        assert not judgement, judgement


@contextmanager
def troubled(where: Site, server: PostgresServer, scale: Scale, *ports: int) -> Iterator[Troubled]:
    """Workers by these ports, and by the server's own."""
    os.environ["PGPASSWORD"] = PASSWORD
    with ExitStack() as ends:
        made = Troubled(where, server, scale.lease, ends, ports)
        made.until(lambda: made.asked() > 2 * WORKERS)
        yield made


def test_workers_die_and_freeze(
    cities: Site, quiet_cities: History, server: PostgresServer, scale: Scale, measured: Measured
) -> None:
    with troubled(cities, server, scale) as crawling:
        for dead in crawling.workers[:2]:
            kill(dead)
            crawling.trouble()
            crawling.workers.append(crawling.work(server.port))
            crawling.go_on()
        frozen = crawling.workers[2]
        frozen.send_signal(signal.SIGSTOP)
        crawling.trouble()
        time.sleep(2 * scale.lease)
        frozen.send_signal(signal.SIGCONT)
        crawling.trouble()
        crawling.judge(quiet_cities)
    measured("7 four workers", f"2 killed, 1 frozen for {2 * scale.lease:g} s: nothing amiss")


def test_connections_are_cut_and_the_server_restarts(
    cities: Site, quiet_cities: History, server: PostgresServer, scale: Scale, measured: Measured
) -> None:
    took = []
    with troubled(cities, server, scale) as crawling:
        query = (
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name='freki'"
        )
        crawling.server.ask(query)
        crawling.trouble()
        took.append(crawling.until(lambda: crawling.connected() == WORKERS))
        crawling.go_on()
        for how in (signal.SIGINT, signal.SIGQUIT):
            server.stop(how)
            crawling.trouble()
            server.start()
            took.append(crawling.until(lambda: crawling.connected() == WORKERS))
            crawling.trouble()
            crawling.go_on()
        crawling.judge(quiet_cities)
    assert max(took) < RECONNECTED
    how_long = ", ".join(f"{seconds:.1f}" for seconds in took)
    measured("7 server restarted", f"cut, restarted, crashed: reconnected after {how_long} s")


def test_a_cable_stalls_and_is_cut(
    cities: Site, quiet_cities: History, server: PostgresServer, scale: Scale, measured: Measured
) -> None:
    with wire(server.port) as cable, troubled(cities, server, scale, *[cable.port] * 2) as crawling:
        _disturb(cable, crawling, scale.lease)
        crawling.judge(quiet_cities)
    measured("7 cable", f"stalled for {2 * scale.lease:g} s, cut, stalled and cut: nothing amiss")


def _disturb(cable: Wire, crawling: Troubled, lease: float) -> None:
    crawling.until(lambda: crawling.connected() == WORKERS + 2)
    crawling.go_on()
    cable.stall()
    crawling.trouble()
    time.sleep(2 * lease)
    cable.flow()
    crawling.trouble()
    crawling.go_on()
    cable.cut()
    crawling.trouble()
    crawling.go_on()
    cable.stall()
    crawling.trouble()
    time.sleep(lease)
    cable.cut()
    cable.flow()
    crawling.trouble()
