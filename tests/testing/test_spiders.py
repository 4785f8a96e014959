"""Testing spiders against saved pages."""

from pathlib import Path

import pytest
from tests.spider.books import SHOP, answer
from tests.spider.test_spider import Books, OneBook, Place

from freki.errors import BadInput
from freki.messages import Claim
from freki.spider.page import Page
from freki.testing.spiders import crawl, read, save, saved


@pytest.fixture
def pages(tmp_path: Path) -> Path:
    """Most of the shop, saved."""
    for number, path in enumerate(["", "?page=2", "book/1", "book/2", "book/4"]):
        url = f"{SHOP}{path}"
        save(Page(answer(Claim(0, 0, url, 0), path)), tmp_path / f"{number}.page")
    return tmp_path


def test_one_callback_reads_one_page(pages: Path) -> None:
    found = read(Books, pages / "0.page")
    assert found.items == []
    assert found.urls == [f"{SHOP}book/{number}" for number in (1, 2, 3)] + [f"{SHOP}?page=2"]
    first = found.requests[0]
    assert (first.callback, first.state) == ("book", {"page": SHOP, "number": 0})


def test_a_callback_gets_its_state(pages: Path) -> None:
    found = read(Books, saved(pages / "2.page"), "book", Place("here", 7))
    assert found.items == [{"title": "Book 1", "on": "here", "number": 7}]


def test_a_whole_crawl_tells_what_was_not_saved(pages: Path) -> None:
    found = crawl(Books, pages)
    assert {item["title"] for item in found.items} == {"Book 1", "Book 2", "Book 4"}
    assert found.missing == [
        *(f"{SHOP}?page=3",), *(f"{SHOP}book/{number}" for number in (3, 5, 6))
    ]  # fmt: skip


def test_an_exception_is_a_failed_test(pages: Path) -> None:
    class Failing(OneBook):
        def parse(self, page: Page) -> object:
            return 1 / 0

    with pytest.raises(AssertionError, match="ZeroDivisionError"):
        read(Failing, pages / "2.page")
    with pytest.raises(AssertionError, match="ZeroDivisionError"):
        crawl(Failing, pages)


def test_what_is_no_saved_page_is_told(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="freki save URL makes one"):
        saved(tmp_path / "none.page")
    (tmp_path / "other.page").write_text("<html>")
    with pytest.raises(BadInput, match="is no saved page"):
        saved(tmp_path / "other.page")
    with pytest.raises(BadInput, match="there is no saved page"):
        crawl(Books, tmp_path / "empty")
