from collections.abc import Iterator
from pathlib import Path

import pytest

from freki.testing.bench import SqliteBench
from freki.testing.ledger import LedgerContract


class TestSqlite(LedgerContract):
    @pytest.fixture(autouse=True)
    def _bench(self, tmp_path: Path) -> Iterator[None]:
        bench = self.bench = SqliteBench(tmp_path / "freki.db")
        yield
        bench.check()
        bench.close()
