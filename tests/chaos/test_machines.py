"""Workers whose way to the server is cut, as when somebody pulls a cable, and mended later.

The server is in a network namespace of its own, with a virtual cable for each worker. Who may not
make namespaces gets a proxy in place of each cable, which stops handing on.
"""

import os
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Protocol

from tests.chaos.conftest import Measured, Scale
from tests.chaos.rig import HANGS, Site, end, kill, launch, now
from tests.chaos.wire import Wire
from tests.postgres import PASSWORD, PostgresServer, running_server

from freki.config import Politeness, Scope, Settings
from freki.ledger import crawls
from freki.ledger.place import Address
from freki.ledger.store import open_store
from freki.testing.history import Bounds, History, judge, read

WORK = Path(__file__).with_name("work.py")
WORKERS = 3
DELAY = 0.1

# What a worker holds that is cut off is somebody else's after a lease and this.
TAKE_OVER = 5.0

LOOK = 0.05


class Cable(Protocol):
    """A worker's way to the server."""

    host: str
    port: int

    def pull(self) -> None: ...

    def plug(self) -> None: ...


class Network:
    """A namespace for the server, and cables to it."""

    def __init__(self, ends: ExitStack) -> None:
        self.name = f"freki{os.getpid()}"
        _ip("netns", "add", self.name)
        ends.callback(_ip, "netns", "delete", self.name)
        _ip("-n", self.name, "link", "set", "lo", "up")
        self._cables = 0

    def cable(self, port: int) -> "VirtualCable":
        self._cables += 1
        return VirtualCable(self.name, self._cables, port)


class VirtualCable:
    """A pair of network devices: one end here, one at the server. Others may have some, too."""

    def __init__(self, network: str, number: int, port: int) -> None:
        here, there = f"fk{os.getpid() % 100_000}h{number}", f"fk{os.getpid() % 100_000}t{number}"
        block = f"10.{20 + os.getpid() % 200}.{os.getpid() // 200 % 25 * 10 + number}"
        self.host, self.port, self._here = f"{block}.2", port, here
        self._address = f"{block}.1/24"
        _ip("link", "add", here, "type", "veth", "peer", "name", there, "netns", network)
        _ip("-n", network, "address", "add", f"{self.host}/24", "dev", there)
        _ip("-n", network, "link", "set", there, "up")
        _ip("address", "add", self._address, "dev", here)
        self.plug()

    def pull(self) -> None:
        _ip("link", "set", self._here, "down")

    def plug(self) -> None:
        _ip("link", "set", self._here, "up")


class ProxyCable(Wire):
    """The same for those who may not make networks."""

    host = "127.0.0.1"

    def pull(self) -> None:
        self.stall()

    def plug(self) -> None:
        self.flow()


def _ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True)


def _may_make_networks() -> bool:
    try:
        with ExitStack() as ends:
            Network(ends)
    except (OSError, subprocess.CalledProcessError):
        return False
    return True


@contextmanager
def server_with_cables(ends: ExitStack) -> Iterator[tuple[PostgresServer, list[Cable]]]:
    cables: list[Cable]
    if not _may_make_networks():
        with running_server() as server:
            cables = [ends.enter_context(closing(ProxyCable(server.port))) for _ in range(WORKERS)]
            yield server, cables
        return
    network = Network(ends)
    own, *others = (network.cable(0) for _ in range(WORKERS + 1))
    settings, through = "listen_addresses = '*'", ["ip", "netns", "exec", network.name]
    with running_server(settings, own.host, through) as server:
        for cable in others:
            cable.port = server.port
        yield server, [*others]


def until(so: Callable[[], bool], within: float = HANGS) -> float:
    began = now()
    while not so():
        assert now() - began < within, "it does not come"
        time.sleep(LOOK)
    return now() - began


def test_who_is_cut_off_is_replaced_and_comes_too_late(
    cities: Site, quiet_cities: History, scale: Scale, measured: Measured
) -> None:
    os.environ["PGPASSWORD"] = PASSWORD
    with ExitStack() as ends:
        server, cables = ends.enter_context(server_with_cables(ends))
        store = begun(cities, server)
        began = now()
        workers = []
        for cable in cables:
            address = f"postgresql://crawler@{cable.host}:{cable.port}/postgres"
            process = launch(WORK, f"{address}?schema={store.schema}", str(scale.lease))
            ends.callback(kill, process)
            workers.append(process)
        until(lambda: len(cities.log(began)) > 30)
        lost, lost_session = workers[0], session_of(server, store, workers[0].pid)
        cables[0].pull()
        cut = now()
        took = until(lambda: not holds(server, store, lost_session))
        replaced = now()
        time.sleep(max(0.0, scale.cut - (replaced - cut)))
        cables[0].plug()
        plugged = now()
        assert [end(process)[0] for process in workers] == [0, 0, 0]
        back = now() - plugged
        history = read(store, cities.log(began), [cut, replaced, plugged])
        newest = server.ask(f"SELECT last_value FROM {store.schema}.session_id_seq")
    assert lost.returncode == 0
    assert took < scale.lease + TAKE_OVER
    assert int(str(newest[0])) > lost_session  # its own was gone, so that it had to join again
    judgement = judge(history, quiet_cities, Bounds(delay=DELAY, at_once=1))
    assert not judgement, judgement
    kind = type(cables[0]).__name__
    measured("8 cable pulled", f"{kind}: taken over after {took:.1f} s of a lease of "
             f"{scale.lease:g} s; cut for {scale.cut:g} s, ended {back:.1f} s later")  # fmt: skip


def begun(where: Site, server: PostgresServer) -> Address:
    store = server.schema()
    settings = Settings(scope=Scope(scope="any"), politeness=Politeness(delay=DELAY))
    with closing(open_store(store)) as db:
        crawls.begin(db, crawls.default_name(where.url), [where.url], settings, time.time())
    return store


def session_of(server: PostgresServer, store: Address, process: int) -> int:
    query = f"SELECT id FROM {store.schema}.session WHERE process LIKE %s"
    (session,) = server.ask(query, f"{process} %")
    return int(str(session))


def holds(server: PostgresServer, store: Address, session: int) -> bool:
    return server.ask(f"SELECT id FROM {store.schema}.session WHERE id = {session}") != []
