"""A site to crawl and a store to keep it in."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.background import background

from freki.testing.server import Site, serve
from freki.testing.synthetic import Web

WEB = Web(seed=5, pages=120, redirects=0.1, missing=0.1, files=0.05, messy=0.3)


@pytest.fixture(scope="session")
def site() -> Iterator[Site]:
    """A small web with redirects, missing pages and files; 120 numbers and some hops."""
    with background(serve(WEB)) as served:
        yield served


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """Where no store is yet."""
    return tmp_path / "freki.db"
