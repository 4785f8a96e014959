"""A connection to books that is lost: in the middle, and at the very end, where nobody can know."""

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import closing

import pytest
from tests.chaos.wire import Wire
from tests.postgres import PostgresServer

from freki.errors import StoreUnreachable
from freki.ledger.database import Conflict
from freki.ledger.jobs import keys
from freki.ledger.jobs.keys import Quotas
from freki.ledger.jobs.place import Desk
from freki.ledger.jobs.served import Served
from freki.ledger.place import Address

pytestmark = pytest.mark.system

KEY = "INSERT INTO counter (name, label, value) VALUES ('x', 'y', 1)"


class Deaf(Wire):
    """One whose answers can be held back, while what is said goes on."""

    def __init__(self, target: int) -> None:
        self.hears = threading.Event()
        self.hears.set()
        super().__init__(target)

    def _carry(self, source: socket.socket, sink: socket.socket) -> None:
        is_answer = source.getpeername()[1] == self._target
        if not is_answer:
            super()._carry(source, sink)
            return
        try:
            while said := source.recv(65_536):
                self.hears.wait()
                sink.sendall(said)
        except OSError:
            pass


@pytest.fixture
def address(postgres: PostgresServer) -> Address:
    made = postgres.schema()
    Served(made).prepare()
    return made


@pytest.fixture
def wire(postgres: PostgresServer) -> Iterator[Deaf]:
    with closing(Deaf(postgres.port)) as made:
        yield made


def through(wire: Deaf, address: Address) -> Address:
    made = Address(str(address).replace(f":{address_port(address)}/", f":{wire.port}/"))
    made.password = address.password
    return made


def address_port(address: Address) -> str:
    return str(address).rpartition(":")[2].partition("/")[0]


def test_what_was_cut_off_in_the_middle_was_not_done_and_is_done_again(
    address: Address, postgres: PostgresServer
) -> None:
    with closing(Served(address).desk()) as desk:

        def cut_off() -> None:
            with desk.writing() as db:
                db.execute(KEY)
                (pid,) = db.execute("SELECT pg_backend_pid()").fetchone()
                postgres.ask("SELECT pg_terminate_backend(%s, 5000)", pid)
                db.execute("SELECT 1")

        with pytest.raises(Conflict):
            cut_off()
        assert counted(desk) == 0
        token, _ = keys.add(desk, "me", ("read",), Quotas(), 0.0)
        assert keys.holder(desk, token) is not None


def test_a_commit_whose_answer_was_lost_is_known_to_have_come_through(
    address: Address, wire: Deaf, postgres: PostgresServer
) -> None:
    with closing(Served(through(wire, address)).desk()) as desk:
        cutting = threading.Thread(target=cut_when_done, args=(wire, address, postgres))
        with desk.writing() as db:
            db.execute(KEY)
            wire.hears.clear()
            cutting.start()
        cutting.join()
        assert counted(desk) == 1


def cut_when_done(wire: Deaf, address: Address, postgres: PostgresServer) -> None:
    while not postgres.ask(f"SELECT 1 FROM {address.schema}.counter"):
        time.sleep(0.01)
    wire.cut()
    wire.hears.set()


def test_a_server_that_is_silent_is_told_soon_to_who_has_somebody_waiting(
    address: Address, wire: Deaf
) -> None:
    with closing(Served(through(wire, address)).desk(patience=0.5)) as desk:
        assert counted(desk) == 0
        wire.stall()
        assert seconds_until_refused(desk) < 10.0
        assert seconds_until_refused(desk) < 0.4  # it is not asked again and again
        wire.flow()
        deadline = time.monotonic() + 5.0
        while not is_there(desk):
            assert time.monotonic() < deadline
            time.sleep(0.1)


def seconds_until_refused(desk: Desk) -> float:
    began = time.monotonic()
    assert not is_there(desk)
    return time.monotonic() - began


def is_there(desk: Desk) -> bool:
    try:
        counted(desk)
    except StoreUnreachable:
        return False
    return True


def counted(desk: Desk) -> int:
    with desk.reading() as db:
        return int(db.execute("SELECT count(*) FROM counter").fetchone()[0])
