"""Freki as a library: an iterator of pages that cleans up however it is left."""

import asyncio
import os
import tempfile
import threading
import warnings
from collections.abc import AsyncIterator, Iterator
from contextlib import aclosing, asynccontextmanager, closing
from pathlib import Path
from typing import Any

import pytest
from tests.background import background
from tests.system.scripted import answer, page, scripted

import freki
from freki.errors import BadConfig, BadInput, BadUrl, CrawlRunning, NotAStore, StoreUnreachable
from freki.ledger import crawls, read
from freki.ledger.store import read_store
from freki.testing.server import Site, serve
from freki.testing.synthetic import Web

WEB = Web(seed=6, pages=200, redirects=0.1, missing=0.05)
FAST: dict[str, Any] = {"delay": 0, "attempts": 1}


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path) -> Iterator[Path]:
    """Where temporary files go; it must be empty in the end."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    before = tempfile.gettempdir()
    tempfile.tempdir = str(folder)
    yield folder
    tempfile.tempdir = before
    assert list(folder.iterdir()) == []


@pytest.fixture(autouse=True)
def _no_thread_stays() -> Iterator[None]:
    before = set(threading.enumerate())
    yield
    assert set(threading.enumerate()) == before


@asynccontextmanager
async def no_task_stays() -> AsyncIterator[None]:
    before = asyncio.all_tasks()
    yield
    await asyncio.sleep(0)
    assert asyncio.all_tasks() == before


async def urls(*words: str, **options: Any) -> list[str]:
    return [visit.url async for visit in freki.crawl(*words, **FAST, **options)]


def stored(store: Path) -> set[str]:
    """The URLs of all pages in the newest run of a store."""
    with closing(read_store(store)) as db:
        crawl = crawls.newest(db)
        assert crawl
        lines = read.pages(db, crawl.id, read.Filter())
        return {line.url for line in lines if line.status // 100 != 3}


def test_every_page_is_yielded_once_with_what_it_says() -> None:
    async def crawl() -> tuple[list[freki.Page], Site]:
        async with no_task_stays(), serve(WEB) as site:
            return [visit async for visit in freki.crawl(site.url, **FAST)], site

    visits, site = asyncio.run(crawl())
    statuses = {visit.url: visit.status for visit in visits}
    assert len(statuses) == len(visits)
    assert set(statuses.values()) == {200, 404, 410}
    first = next(visit for visit in visits if visit.url == site.url)
    assert first.title == "The Library of Halls"
    assert b"<h1>The Library of Halls</h1>" in first.body
    assert f"{site.url}hall/1/" in [link.url for link in first.links]


def test_the_page_that_a_redirect_leads_to_is_yielded_and_the_redirect_is_not() -> None:
    script = {"/": answer(302, location="/end"), "/end": page()}

    async def crawl() -> tuple[list[str], str]:
        async with scripted(script) as site:
            return await urls(f"{site.url}/"), site.url

    found, base = asyncio.run(crawl())
    assert found == [f"{base}/end"]


def test_options_are_those_of_the_command_line() -> None:
    async def crawl() -> list[str]:
        async with serve(WEB) as site:
            return await urls(site.url, max_pages=7, concurrency=3)

    assert len(asyncio.run(crawl())) == 7


@pytest.mark.parametrize(
    ("words", "options", "error", "told"),
    [
        ((), {}, BadInput, "at least one URL"),
        (("no url",), {}, BadUrl, "not a valid URL"),
        (("http://a/",), {"dept": 2}, BadConfig, "no option 'dept' (did you mean depth?)"),
        (("http://a/",), {"depth": "two"}, BadConfig, "--depth"),
        (("http://a/",), {"depth": -1}, BadConfig, "--depth"),
        (("http://a/",), {"include": ["re:("]}, BadConfig, "the pattern 're:(' cannot be used"),
    ],
)
def test_what_is_wrong_is_told_before_a_store_is_made(
    words: tuple[str, ...],
    options: dict[str, object],
    error: type[BadInput],
    told: str,
    tmp_path: Path,
) -> None:
    store = tmp_path / "freki.db"
    with pytest.raises(error) as raised:
        asyncio.run(urls(*words, store=store, **options))
    assert told in str(raised.value)
    assert not store.exists()


def test_a_store_that_is_none_is_told(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("hello")
    with pytest.raises(NotAStore):
        asyncio.run(urls("http://a/", store=tmp_path / "text"))
    with pytest.raises(StoreUnreachable):
        asyncio.run(urls("http://a/", store=tmp_path / "no" / "where"))


@pytest.mark.parametrize("seen", [1, 5])
def test_leaving_the_loop_ends_the_crawl_and_leaves_nothing_behind(seen: int) -> None:
    async def crawl() -> None:
        async with serve(WEB) as site, no_task_stays():
            async with aclosing(freki.crawl(site.url, **FAST)) as pages:
                for _ in range(seen):
                    await anext(pages)
            requests = site.statistics().requests
            assert requests < WEB.pages
            await asyncio.sleep(0)
            assert site.statistics().requests == requests

    with warnings.catch_warnings(action="error"):
        asyncio.run(crawl())


def test_a_bare_break_leaves_nothing_behind_when_the_loop_ends(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def crawl() -> None:
        async with serve(WEB) as site:
            async for _ in freki.crawl(site.url, **FAST):
                break

    asyncio.run(crawl())
    assert caplog.text == ""


def test_an_error_in_a_bare_loop_is_all_that_is_told(caplog: pytest.LogCaptureFixture) -> None:
    """Nothing awaits between the error and the end of the loop, which finds a crawl half-way."""

    async def crawl(url: str) -> None:
        async for _ in freki.crawl(url, **FAST):
            raise ZeroDivisionError

    with background(serve(WEB)) as site:
        for _ in range(5):
            with pytest.raises(ZeroDivisionError):
                asyncio.run(crawl(site.url))
    assert caplog.text == ""


def test_an_error_of_the_caller_ends_the_crawl_and_is_the_callers() -> None:
    async def crawl() -> None:
        async with (
            serve(WEB) as site,
            no_task_stays(),
            aclosing(freki.crawl(site.url, **FAST)) as pages,
        ):
            async for _ in pages:
                raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        asyncio.run(crawl())


def test_a_crawl_can_be_given_a_time() -> None:
    async def crawl() -> None:
        async with scripted({"/": page("/silence"), "/silence": None}) as site, no_task_stays():
            async with asyncio.timeout(0.2):
                await urls(f"{site.url}/")

    with pytest.raises(TimeoutError):
        asyncio.run(crawl())


def test_a_slow_reader_slows_the_crawl_and_gets_every_page() -> None:
    web = Web(seed=7, pages=300)

    async def crawl() -> None:
        async with serve(web) as site, aclosing(freki.crawl(site.url, **FAST)) as pages:
            ahead: list[int] = []
            async for _ in pages:
                for _ in range(20):
                    await asyncio.sleep(0)  # the crawl has its turns, and we do nothing
                ahead.append(site.statistics().requests - len(ahead))
            assert len(ahead) == web.pages
            assert 50 < max(ahead) < 100

    asyncio.run(crawl())


def test_what_was_yielded_is_stored_and_the_same_call_goes_on(tmp_path: Path) -> None:
    store = tmp_path / "freki.db"

    async def crawl() -> tuple[set[str], list[str]]:
        async with serve(WEB) as site:
            seen = set()
            async with aclosing(freki.crawl(site.url, store=store, **FAST)) as pages:
                async for visit in pages:
                    seen.add(visit.url)
                    if len(seen) == 20:
                        break
            ahead = stored(store) - seen
            assert seen <= stored(store)
            later = await urls(site.url, store=str(store))
            assert seen.isdisjoint(later)
            assert stored(store) - {*seen, *ahead} == set(later)
            return {*seen, *ahead, *later}, await urls(site.url)

    interrupted, whole = asyncio.run(crawl())
    assert interrupted == set(whole)


def test_a_finished_crawl_begins_a_new_run(tmp_path: Path) -> None:
    store = tmp_path / "freki.db"

    async def crawl() -> tuple[list[str], list[str]]:
        async with scripted({"/": page("/other"), "/other": page()}) as site:
            start = f"{site.url}/"
            return await urls(start, store=store), await urls(start, store=store)

    first, second = asyncio.run(crawl())
    assert len(first) == 2
    assert first == second


def test_two_crawls_run_side_by_side_and_one_of_a_name_only(tmp_path: Path) -> None:
    store = tmp_path / "freki.db"

    async def crawl() -> None:
        async with scripted({"/": page("/silence"), "/silence": None}) as site:
            url = f"{site.url}/"
            async with aclosing(freki.crawl(url, store=store, **FAST)) as pages:
                await anext(pages)
                with pytest.raises(CrawlRunning, match=f"by process {os.getpid()}"):
                    await urls(url, store=store)
                async with serve(WEB) as other:
                    assert len(await urls(other.url, store=store, max_pages=9)) == 9

    asyncio.run(crawl())


def test_run_sums_up(tmp_path: Path) -> None:
    with background(serve(WEB)) as site:
        store = tmp_path / "freki.db"
        assert freki.run(site.url, store=store, name="mine", max_pages=12, **FAST).fetched == 12
        assert freki.run(site.url, store=store, name="mine", max_pages=15, **FAST).fetched == 3
        assert len(stored(store)) == 15
