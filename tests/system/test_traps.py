"""A web of traps around a real section, crawled for real."""

import asyncio
from contextlib import closing
from pathlib import Path
from typing import cast

import pytest

import freki
from freki.ledger import read
from freki.ledger.store import read_store
from freki.testing.server import serve
from freki.testing.synthetic import Web
from freki.testing.trapweb import TrapWeb
from freki.url import split

REAL = 300

# What a trap may cost: its budgets, and what was claimed before its pages were known.
MOST = 4000


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> tuple[set[str], dict[str, int], Path]:
    """The pages of the real section that were fetched, the fetches per trap, and the store."""
    store = tmp_path_factory.mktemp("traps") / "freki.db"

    async def crawl() -> tuple[set[str], dict[str, int]]:
        web = TrapWeb(real_pages=REAL)
        real: set[str] = set()
        fetched: dict[str, int] = {}
        async with serve(cast("Web", web)) as site:  # it answers like one
            async for visit in freki.crawl(site.url, scope="any", delay=0, store=store):
                origin, path = split(visit.url)
                trap = web.trap(origin.partition("://")[2], path)
                if trap is None:
                    real.add(path)
                else:
                    fetched[trap] = fetched.get(trap, 0) + 1
        return real, fetched

    return (*asyncio.run(crawl()), store)


def test_the_real_section_is_crawled_completely(
    crawled: tuple[set[str], dict[str, int], Path],
) -> None:
    real, _, _ = crawled
    assert real == TrapWeb(real_pages=REAL).real()


def test_every_trap_ends_within_its_budget(
    crawled: tuple[set[str], dict[str, int], Path],
) -> None:
    _, fetched, _ = crawled
    assert len(fetched) >= 6
    assert max(fetched.values()) < MOST


def test_the_report_names_the_traps(crawled: tuple[set[str], dict[str, int], Path]) -> None:
    _, _, store = crawled
    with closing(read_store(store)) as db:
        named = read.traps(db, 1)
        refused = read.status(db, 1).reasons["refused"]["trap"]
    assert sum(named.values()) == refused
    assert {"calendar", "session id", "subdomains", "repeating segments"} <= named.keys()
