"""What a page costs, counted in calls: a guard against slow creep that no noise can trip."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.engine.crawling import QUICK, Crawling

from freki import native

# Calls of functions, Python's own and those in C, from the claim of a page to its commit, for a
# page of 100 links of which 60 lead to different pages, most of them known. Python 3.11; later
# versions count fewer. Who needs more says why, and changes the number; who needs fewer as well.
CALLS_PER_PAGE = 699 if native.HERE else 1242
MORE, FEWER = 1.03, 0.75

SITE = "http://site.test"
FOLDERS = 10


class _Count:
    calls = 0


@contextmanager
def _counted() -> Iterator[_Count]:
    count = _Count()

    def note(_frame: object, event: str, _argument: object) -> None:
        if event in ("call", "c_call"):
            count.calls += 1

    sys.setprofile(note)
    try:
        yield count
    finally:
        sys.setprofile(None)


def _path(number: int) -> str:
    return f"../{number % FOLDERS}/{number}.html"


def _page(number: int, pages: int) -> str:
    """Navigation that all pages share, and a few links of their own."""
    menu = [_path(place) for place in range(40)]
    own = [_path((number * 7 + k) % pages) for k in range(20)]
    again = [f"{href}#part-{part}" for part in range(2) for href in menu[:20]]
    links = "\n".join(f'<li><a href="{href}">To {href}</a></li>' for href in menu + own + again)
    head = f"<title>Page {number}</title><meta name=description content='A page'>"
    return f"<!doctype html><html lang=en>{head}<ul>{links}</ul><p>{'Words. ' * 200}</p>"


def _crawl(crawling: Crawling, pages: int) -> int:
    for number in range(pages):
        crawling.web.page(f"{SITE}/{number % FOLDERS}/{number}.html", body=_page(number, pages))
    with _counted() as count:
        crawling(f"{SITE}/0/0.html", **QUICK)
    return count.calls


def test_a_page_takes_no_more_calls_than_it_did(tmp_path: Path) -> None:
    pages = 300
    few, many = Crawling(tmp_path / "few.db"), Crawling(tmp_path / "many.db")
    extra = _crawl(many, 2 * pages) - _crawl(few, pages)
    assert len(many.web.fetched) - len(few.web.fetched) == pages, "not the crawl that was meant"
    calls = extra / pages
    told = f"{calls:.0f} calls for a page; the number here is {CALLS_PER_PAGE}"
    assert CALLS_PER_PAGE * FEWER < calls < CALLS_PER_PAGE * MORE, told


def test_hosts_that_stall_cost_nothing_while_they_stall(tmp_path: Path) -> None:
    """What is paid for a host that never answers is its opening, however long the others take."""

    def calls(pages: int, stalling: int) -> int:
        crawling = Crawling(tmp_path / f"{pages}-{stalling}.db")
        crawling.web.latency = lambda url: 100.0 if "stalling" in url else 0.05
        for number in range(pages):
            crawling.web.page(f"{SITE}/{number}", [f"{SITE}/{number + 1}"])
        seeds = [f"http://stalling{number}.test/" for number in range(stalling)]
        with _counted() as count:
            crawling(*seeds, f"{SITE}/0", delay=0.5, ignore_robots=True, attempts=1)
        return count.calls

    beside_one_page = calls(1, 300) - calls(1, 100)
    beside_many = calls(150, 300) - calls(150, 100)
    told = f"{beside_many} calls for 200 hosts beside 150 pages, {beside_one_page} beside one"
    assert beside_many < 1.25 * beside_one_page, told
