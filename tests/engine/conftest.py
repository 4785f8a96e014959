from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.engine.crawling import Crawling

from freki.testing.web import FakeWeb


@pytest.fixture
def crawl(tmp_path: Path) -> Iterator[Crawling]:
    crawling = Crawling(tmp_path / "freki.db")
    yield crawling
    crawling.bench.close()


@pytest.fixture
def web(crawl: Crawling) -> FakeWeb:
    return crawl.web
