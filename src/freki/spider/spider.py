"""The class that users inherit from, and the check that says what is wrong with theirs."""

import inspect
from collections.abc import AsyncIterable, Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, ClassVar

from freki import config
from freki.errors import BadConfig, BadSpider
from freki.messages import Asked, Link
from freki.spider.batch import Batch
from freki.spider.page import Page
from freki.spider.pipeline import Dedupe, Pipeline
from freki.spider.request import Request, asked
from freki.steps import Middleware
from freki.url import parse

LinkFilter = Callable[[Page, list[Link]], list[Link]]
"""Around extract: gets a page and its links, and answers with those to go on with."""


NO_PARSE = "{} has no method parse; write `def parse(self, page)`, which yields items and requests"


class Spider:
    """A crawl as a program: where to start, and what each page gives.

    class Books(freki.Spider):
        start = ["https://books.example"]

        def parse(self, page):
            for book in page.css("article.book"):
                yield {"title": book.css("h3").text}
            yield page.follow("a.next")
    """

    name: str = ""  # of the crawl; by default that of the class
    start: Any = ()  # addresses or requests; or a method that yields them
    settings: ClassVar[Mapping[str, object]] = {}  # options of the crawl, as depth=2
    follow_links: bool = False  # all links of all pages, and not only what callbacks ask for
    statuses: Collection[int] = ()  # of 4xx and 5xx: callbacks get these answers as well
    pipelines: Sequence[Pipeline | Dedupe | Batch] = ()  # what items go through, in this order
    around_fetch: Sequence[Middleware] = ()  # what requests go through, the first one outermost
    around_links: Sequence[LinkFilter] = ()  # what the links of a page go through

    def parse(self, page: Page) -> Any:
        """Reads the pages that no other callback reads. Write your own."""
        raise BadSpider(NO_PARSE.format(type(self).__name__))


def made(spider: "Spider | type[Spider]") -> Spider:
    """A spider of a class, or the spider itself."""
    if isinstance(spider, Spider):
        return spider
    if not (isinstance(spider, type) and issubclass(spider, Spider)):
        raise BadSpider(f"{spider!r} is no spider: a spider is a class that inherits freki.Spider")
    try:
        return spider()
    except TypeError as error:
        raise BadSpider(
            f"{spider.__name__} cannot be made without arguments ({error}); give them with --set "
            f"NAME=VALUE, give freki.run an instance, or its parameters defaults"
        ) from None


def check(spider: Spider, *, starts_elsewhere: bool = False) -> None:
    """Raises `BadSpider` for what can be seen before the first request."""
    name = type(spider).__name__
    if not callable(spider.start) and isinstance(spider.start, str):
        raise BadSpider(f"{name}.start is a list of addresses: write start = [{spider.start!r}]")
    if not (starts_elsewhere or callable(spider.start) or list(spider.start)):
        raise BadSpider(
            f'{name} has no start; write start = ["https://…"], or a method start that yields '
            "addresses and requests"
        )
    if type(spider).parse is Spider.parse and _needs_parse(spider):
        raise BadSpider(NO_PARSE.format(name))
    known = {option.name for option in config.options()}
    for option in spider.settings:
        if option not in known:
            near = config.nearest(option, known)
            raise BadConfig(f"{name}.settings has the option {option!r}, which is none{near}")


def _needs_parse(spider: Spider) -> bool:
    """Whether a start without a callback of its own can be seen."""
    return not callable(spider.start) and any(isinstance(one, str) for one in spider.start)


async def starts(spider: Spider) -> list[Asked]:
    """Where a spider begins."""
    given = spider.start() if callable(spider.start) else spider.start
    if inspect.isawaitable(given):
        given = await given
    if isinstance(given, AsyncIterable):
        first = [one async for one in given]
    elif isinstance(given, Iterable) and not isinstance(given, str | bytes):
        first = list(given)
    else:
        raise BadSpider(f"{type(spider).__name__}.start answered {given!r}; yield addresses")
    if not first:
        raise BadSpider(f"{type(spider).__name__}.start gave no address to begin with")
    return [_start(one, spider) for one in first]


def _start(one: object, spider: Spider) -> Asked:
    if isinstance(one, str):
        return Asked(parse(one))
    if isinstance(one, Request):
        return asked(one, "", spider)
    name = type(spider).__name__
    raise BadSpider(f"{name}.start gave {one!r}; it gives addresses (texts) and freki.Request(…)")
