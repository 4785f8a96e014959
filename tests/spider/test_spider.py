"""What spiders do: callbacks, requests, state, items; and what is said of those that are wrong."""

from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import pydantic
import pytest
from tests.spider.books import BOOKS, SHOP
from tests.spider.exploring import explore

import freki
from freki.errors import BadConfig, BadSelector, BadSpider

TITLES = {f"Book {number}" for number in range(1, BOOKS + 1)}


@dataclass
class Place:
    page: str
    number: int


class Model(pydantic.BaseModel):
    title: str


class Frozen(msgspec.Struct, frozen=True):
    title: str


class Books(freki.Spider):
    """Several kinds of callbacks, pagination, and state."""

    start = [SHOP]

    def parse(self, page: freki.Page) -> Iterator[object]:
        for number, book in enumerate(page.css("article.book")):
            yield page.follow(book.css("a"), self.book, Place(page.url, number))
        yield page.follow("a.next")

    def book(self, page: freki.Page, place: Place) -> dict[str, object]:
        assert isinstance(place, Place)
        return {"title": page.css("h1").text, "on": place.page, "number": place.number}


class OneBook(freki.Spider):
    start = [f"{SHOP}book/1"]

    def parse(self, page: freki.Page) -> Any:
        return None


def one(answer: Any) -> type[freki.Spider]:
    """A spider whose callback answers so."""

    class One(OneBook):
        def parse(self, page: freki.Page) -> Any:
            return answer(page) if callable(answer) else answer

    return One


def test_it_goes_through_all_pages_and_takes_state_along() -> None:
    explored = explore(Books)
    assert {item["title"] for item in explored.items} == TITLES
    assert len(explored.items) == BOOKS
    last = next(item for item in explored.items if item["title"] == "Book 8")
    assert (last["on"], last["number"]) == (f"{SHOP}?page=3", 1)


def test_only_what_it_asks_for_is_fetched() -> None:
    class First(freki.Spider):
        start = [SHOP]

        def parse(self, page: freki.Page) -> dict[str, int]:
            return {"links": len(page.links)}

    explored = explore(First)
    assert explored.items == [{"links": 4}]
    assert dict(explored.shop.asked) == {"GET /": 1}


def test_follow_links_follows_everything() -> None:
    class All(freki.Spider):
        start = [SHOP]
        follow_links = True

        def parse(self, page: freki.Page) -> object:
            return {"url": page.url} if "/book/" in page.url else None

    assert len(explore(All).items) == BOOKS


def test_links_go_through_the_functions_around_them() -> None:
    class Some(freki.Spider):
        start = [SHOP]
        follow_links = True
        around_links = [lambda _, links: [link for link in links if "page" not in link.url]]

        def parse(self, page: freki.Page) -> object:
            return None

    assert set(explore(Some).shop.asked) == {"GET /", "GET /book/1", "GET /book/2", "GET /book/3"}


async def _later(_: freki.Page) -> dict[str, int]:
    return {"n": 1}


async def _later_several(_: freki.Page) -> AsyncIterator[dict[str, int]]:
    yield {"n": 1}
    yield {"n": 2}


@pytest.mark.parametrize(
    ("answer", "items"),
    [
        (None, []),
        ({"n": 1}, [{"n": 1}]),
        ([{"n": 1}, None, [{"n": 2}]], [{"n": 1}, {"n": 2}]),
        (Place("a", 1), [{"page": "a", "number": 1}]),
        (Model(title="a"), [{"title": "a"}]),
        (Frozen("a"), [{"title": "a"}]),
        (_later, [{"n": 1}]),
        (_later_several, [{"n": 1}, {"n": 2}]),
        (lambda page: ({"n": number} for number in range(2)), [{"n": 0}, {"n": 1}]),
    ],
)
def test_a_callback_may_answer_in_any_of_these_ways(answer: Any, items: list[object]) -> None:
    assert explore(one(answer)).items == items


def test_a_redirect_takes_callback_and_state_along() -> None:
    class Moved(freki.Spider):
        start = [freki.Request(f"{SHOP}old", "book", state=Place("x", 7))]

        def book(self, page: freki.Page, place: Place) -> dict[str, object]:
            return {"url": page.url, "number": place.number}

    assert explore(Moved).items == [{"url": f"{SHOP}book/1", "number": 7}]


def test_a_form_is_sent_as_a_browser_would_and_what_follows_is_a_page_of_its_own() -> None:
    class Login(freki.Spider):
        start = [f"{SHOP}shelf", f"{SHOP}login"]

        def parse(self, page: freki.Page) -> Any:
            if page.css("form"):
                return page.submit("#login", {"user": "me", "word": "secret"}, self.inside)
            return None

        def inside(self, page: freki.Page) -> dict[str, str]:
            return {"title": page.css("h1").text}

    explored = explore(Login)
    assert explored.items == [{"title": "Yours"}]
    assert explored.shop.asked == {"GET /shelf": 2, "GET /login": 1, "POST /login": 1}


def test_the_same_request_is_made_once_and_one_with_a_key_again() -> None:
    class Twice(OneBook):
        def parse(self, page: freki.Page) -> Any:
            for key in ("", "", "a", "a", "b"):
                yield page.request("/book/2", self.book, key=key)

        def book(self, page: freki.Page) -> dict[str, str]:
            return {"url": page.url}

    explored = explore(Twice)
    assert explored.items == [{"url": f"{SHOP}book/2"}] * 3
    assert explored.shop.asked["GET /book/2"] == 3


def test_a_request_has_its_headers_and_its_body() -> None:
    class Api(OneBook):
        def parse(self, page: freki.Page) -> Any:
            yield page.request("/api", json={"q": [1]}, headers={"X-Key": "k"}, method="put")

    explored = explore(Api)
    request = explored.shop.claims[-1].request
    assert request is not None
    assert (request.method, request.body) == ("PUT", b'{"q":[1]}')
    assert request.headers == (("x-key", "k"), ("content-type", "application/json"))


def test_error_pages_are_for_callbacks_that_ask_for_them() -> None:
    class Errors(freki.Spider):
        start = [f"{SHOP}nowhere"]

        def parse(self, page: freki.Page) -> dict[str, int]:
            return {"status": page.status}

    assert explore(Errors).items == []
    Errors.statuses = {404}
    assert explore(Errors).items == [{"status": 404}]


def test_priorities_come_before_the_order_of_discovery() -> None:
    class Ranked(OneBook):
        def parse(self, page: freki.Page) -> Any:
            for number in (2, 3, 4):
                yield page.request(f"/book/{number}", self.end, priority=number)

        def end(self, page: freki.Page) -> None:
            return None

    explored = explore(Ranked, concurrency=1)
    asked = [claim.url.rpartition("/")[2] for claim in explored.shop.claims]
    assert asked == ["1", "4", "3", "2"]


# Where to start


def test_a_start_may_be_a_method_of_any_kind() -> None:
    class Starting(freki.Spider):
        async def start(self) -> AsyncIterator[object]:
            yield f"{SHOP}book/1"
            yield freki.Request(f"{SHOP}book/2", self.second)

        def parse(self, page: freki.Page) -> dict[str, str]:
            return {"parse": page.url}

        def second(self, page: freki.Page) -> dict[str, str]:
            return {"second": page.url}

    items = explore(Starting).items
    assert sorted(map(str, items)) == sorted(
        [str({"parse": f"{SHOP}book/1"}), str({"second": f"{SHOP}book/2"})]
    )


# What goes on after a stop


def test_a_crawl_goes_on_with_the_state_of_its_requests(tmp_path: Path) -> None:
    store = tmp_path / "freki.db"
    first = explore(Books, store=store, max_pages=3)
    assert 0 < len(first.items) < BOOKS
    second = explore(Books, store=store, max_pages=100)
    assert len(second.items) == BOOKS
    assert {item["title"] for item in second.items} == TITLES
    assert not second.shop.asked.keys() & first.shop.asked.keys()


# What is wrong with a page, or with the program


def test_an_exception_costs_its_page_with_all_it_yielded() -> None:
    class Failing(freki.Spider):
        start = [f"{SHOP}book/1", f"{SHOP}book/2"]

        def parse(self, page: freki.Page) -> Iterator[object]:
            yield {"url": page.url}
            if page.url.endswith("1"):
                raise ValueError("oh no")

    explored = explore(Failing)
    assert explored.items == [{"url": f"{SHOP}book/2"}]
    outcome, reason, detail = explored.urls[f"{SHOP}book/1"]
    assert (outcome, reason) == ("failed", "crash")
    assert detail is not None
    assert detail.endswith("ValueError: oh no\n")
    assert "in parse" in detail


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (42, "yielded 42 (int), which is neither an item"),
        ("/book/2", "page.request(address)"),
        (lambda page: page, "yielded <Page 200 http://books/book/1> (Page)"),
        (lambda page: page.css("div["), "the CSS selector 'div[' cannot be used"),
        (lambda page: page.xpath("//a["), "the XPath '//a[' cannot be used"),
        (lambda page: page.follow("/book/2"), "for an address use page.request"),
        (lambda page: page.request("mailto:x@y"), "is no address that can be crawled"),
        (lambda page: page.request("/x", callback=print), "One has no method print"),
        (lambda page: page.request("/x", callback="oops"), "One has no method oops"),
        (lambda page: page.request("/x", method="BREW"), "the method 'BREW' is none of GET"),
        (lambda page: page.request("/x", body=b"1", method="GET"), "a GET has no body"),
        (lambda page: page.request("/x", body=b"1", json=1), "a request has one body"),
        (lambda page: page.request("/x", headers={"a": "b\r\nc: d"}), "one line of ASCII"),
        (lambda page: page.request("/x", state=object()), "the state of a request is kept"),
    ],
)
def test_what_is_wrong_on_every_page_stops_the_crawl_and_is_told(answer: Any, told: str) -> None:
    with pytest.raises(BadSpider) as raised:
        explore(one(answer))
    assert told in str(raised.value)
    assert str(raised.value).startswith(f"One.parse on {SHOP}book/1: ")


def test_a_crawl_that_was_stopped_by_an_error_goes_on_when_it_is_mended(tmp_path: Path) -> None:
    store = tmp_path / "freki.db"
    with pytest.raises(BadSelector):
        explore(one(lambda page: page.css("h1[")), store=store)
    assert explore(one(lambda page: {"h1": page.css("h1").text}), store=store).items == [
        {"h1": "Book 1"}
    ]


class _NoStart(freki.Spider):
    pass


class _TextStart(freki.Spider):
    start = SHOP


class _NoParse(freki.Spider):
    start = [SHOP]


class _BadOption(OneBook):
    start = [SHOP]
    settings = {"deph": 2}


class _BadPipeline(OneBook):
    start = [SHOP]
    pipelines = [lambda: None]


class _Needs(freki.Spider):
    start = [SHOP]

    def __init__(self, what: str) -> None:
        self.what = what


@pytest.mark.parametrize(
    ("spider", "error", "told"),
    [
        (_NoStart, BadSpider, '_NoStart has no start; write start = ["https://…"]'),
        (_TextStart, BadSpider, "write start = ['http://books/']"),
        (_NoParse, BadSpider, "_NoParse has no method parse"),
        (_BadOption, BadConfig, "the option 'deph', which is none (did you mean depth?)"),
        (_BadPipeline, BadSpider, "it gets (item) or (item, page)"),
        (_Needs, BadSpider, "_Needs cannot be made without arguments"),
        (int, BadSpider, "is no spider: a spider is a class that inherits freki.Spider"),
    ],
)
def test_what_a_spider_lacks_is_told(spider: Any, error: type[Exception], told: str) -> None:
    with pytest.raises(error) as raised:
        freki.run(spider, ignore_robots=True, delay=0)
    assert told in str(raised.value)


def test_a_crawl_without_its_spider_refuses(tmp_path: Path) -> None:
    store = tmp_path / "freki.db"
    explore(Books, store=store, max_pages=1)
    with pytest.raises(freki.errors.BadInput, match=r"was begun with tests\.spider"):
        freki.run(SHOP, store=store, name="books")
