from collections.abc import Iterator

import pytest
from tests.postgres import PostgresServer, running_server


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """A PostgreSQL server for all tests that want one."""
    with running_server() as server:
        yield server
