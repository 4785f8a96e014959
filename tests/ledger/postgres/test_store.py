from concurrent.futures import ThreadPoolExecutor
from functools import partial
from threading import Barrier

import pytest
from tests.postgres import PostgresServer

from freki.ledger.place import Address
from freki.ledger.postgres.store import open_server

pytestmark = pytest.mark.system

OPENERS = 4


def test_who_opens_a_store_while_others_make_it_finds_it_made(postgres: PostgresServer) -> None:
    for _ in range(5):
        with ThreadPoolExecutor(OPENERS) as pool:
            opener = partial(_open, postgres.schema(), Barrier(OPENERS))
            for opened in [pool.submit(opener) for _ in range(OPENERS)]:
                opened.result()


def _open(address: Address, ready: Barrier) -> None:
    ready.wait(30)
    open_server(address, "process").close()
