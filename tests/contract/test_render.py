import pytest

from freki.testing.renders import FakeBench, RenderContract


class TestFake(RenderContract):
    @pytest.fixture(autouse=True)
    def _bench(self) -> None:
        self.bench = FakeBench()
