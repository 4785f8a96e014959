from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.postgres import PostgresServer

from freki.ledger.place import Address
from freki.testing.bench import StoreBench
from freki.testing.ledger import LedgerContract


class TestSqlite(LedgerContract):
    @pytest.fixture(autouse=True)
    def _bench(self, tmp_path: Path) -> Iterator[None]:
        bench = self.bench = StoreBench(tmp_path / "freki.db")
        yield
        bench.check()
        bench.close()


@pytest.fixture(scope="module")
def database(postgres: PostgresServer) -> Address:
    return postgres.schema()


@pytest.mark.system
class TestPostgres(LedgerContract):
    @pytest.fixture(autouse=True)
    def _bench(self, database: Address) -> Iterator[None]:
        bench = self.bench = StoreBench(database)
        yield
        bench.check()
        bench.close()
