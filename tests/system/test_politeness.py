"""What hosts were promised, judged by the log of the servers alone."""

import asyncio
import time
from pathlib import Path
from typing import Any

import pytest
from tests.system.scripted import Script, answer, page, scripted

import freki
from freki.testing.auditor import Access, duplicates, most_in_flight, spacings, violations
from freki.testing.server import serve
from freki.testing.synthetic import Web


async def _crawl(url: str, store: Path | None = None, **options: object) -> list[str]:
    return [visit.url async for visit in freki.crawl(url, store=store, name="audited", **options)]


async def _audited(web: Web, **options: Any) -> tuple[list[str], list[Access]]:
    async with serve(web) as site:
        pages = await _crawl(site.url, **options)
        return pages, list(site.log)


def test_requests_to_a_host_keep_their_distance_on_many_hosts() -> None:
    web = Web(seed=3, pages=4, hosts=150, cross_links=0.5, redirects=0.1)
    pages, log = asyncio.run(_audited(web, scope="any", delay=0.2))
    assert len(pages) > 400
    assert violations(log, 0.2) == []
    assert set(most_in_flight(log).values()) == {1}


def test_a_pause_follows_the_response_time_of_a_slow_host() -> None:
    pages, log = asyncio.run(_audited(Web(pages=6, delay=0.3), min_delay=0.05))
    assert len(pages) == 6
    # From start to start: the answer takes 0.3 s, and the host rests for as long again.
    assert min(spacings(log).values()) >= 0.6


def test_a_crawl_delay_is_kept() -> None:
    web = Web(pages=5, robots="User-agent: *\nCrawl-delay: 0.4\n")
    _, log = asyncio.run(_audited(web, delay=0.1))
    assert violations(log, 0.4) == []


def test_a_crawl_delay_is_kept_where_many_requests_at_once_were_wanted() -> None:
    web = Web(pages=6, robots="User-agent: *\nCrawl-delay: 0.2\n")
    _, log = asyncio.run(_audited(web, delay=0))
    assert violations(log, 0.2) == []


def test_no_delay_means_as_fast_as_it_goes_and_not_more_at_once_than_allowed() -> None:
    _, log = asyncio.run(_audited(Web(pages=200, delay=0.01), delay=0, concurrency=5))
    assert max(most_in_flight(log).values()) == 5


def test_a_resumed_crawl_does_not_jump_the_delay(tmp_path: Path) -> None:
    store = tmp_path / "freki.db"

    async def crawl_in_pieces() -> list[Access]:
        async with serve(Web(pages=12)) as site:
            for most in (3, 6, 9, None):
                await _crawl(site.url, store=store, delay=0.3, max_pages=most)
            return list(site.log)

    log = asyncio.run(crawl_in_pieces())
    assert violations(log, 0.3) == []
    assert duplicates(log) == {}


@pytest.mark.parametrize("status", [429, 503])
def test_retry_after_pauses_the_whole_host(status: int) -> None:
    answers = iter([answer(status, retry_after="1"), page()])
    script: Script = {
        "/": page("/strained", "/other", "/third"),
        "/strained": lambda: next(answers),
        "/other": page(),
        "/third": page(),
    }
    asked: list[tuple[str, float]] = []

    async def crawl() -> list[str]:
        async with scripted(script) as site:
            site.note = lambda path: asked.append((path, time.monotonic()))
            return await _crawl(f"{site.url}/", min_delay=0.01, sitemap="no")

    pages = asyncio.run(crawl())
    assert len(pages) == 4
    paths = [path for path, _ in asked]
    strained = paths.index("/strained")
    assert asked[strained + 1][1] - asked[strained][1] >= 1.0
    assert paths.count("/strained") == 2


@pytest.mark.parametrize("header", ["Thu, 01 Jan 1970 00:00:00 GMT", "soon"])
def test_a_retry_after_that_says_nothing_does_not_stop_the_crawl(header: str) -> None:
    answers = iter([answer(503, retry_after=header), page()])
    script: Script = {"/": lambda: next(answers)}

    async def crawl() -> list[str]:
        async with scripted(script) as site:
            return await _crawl(f"{site.url}/", min_delay=0.01, sitemap="no")

    assert len(asyncio.run(crawl())) == 1
