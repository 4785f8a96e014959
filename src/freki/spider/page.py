"""A page as users see it: what was answered, what is in it, and what to ask for next."""

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any, TypeVar, Unpack

import msgspec
from msgspec.structs import replace

from freki.errors import BadSpider
from freki.extract import charset, reading
from freki.extract.data import Data, data_of
from freki.extract.document import Parsed, base
from freki.extract.page import parsed
from freki.extract.page import told as told_by
from freki.extract.selection import Selection, evaluate, select
from freki.messages import Claim, Link, Response, Visit
from freki.messages import Page as Said
from freki.spider.request import Options, Request
from freki.url import encode_form, join

T = TypeVar("T")
S = TypeVar("S")

# How addresses begin, and no selector does.
_ADDRESS = ("http://", "https://", "/", "?", "./", "../")

# An answer that is no HTML has an empty tree.
_EMPTY = Response("http://empty/", 200, (), b"<html></html>", "text/html")


class Page:
    """An answer, and what it says. It is read when it is asked, and parsed at most once."""

    def __init__(
        self, response: Response, *, at: float = 0.0, depth: int = 0, said: Said | None = None
    ) -> None:
        self.response = response
        self.at = at
        self.depth = depth
        self.url = response.url
        self.status = response.status
        self.body = response.body
        self._said = said

    def __repr__(self) -> str:
        return f"<Page {self.status} {self.url}>"

    @classmethod
    def of_visit(cls, visit: Visit) -> "Page":
        """A page that was stored."""
        return cls(visit.response, at=visit.at, said=visit.page)

    @classmethod
    def of_claim(cls, claim: Claim, response: Response) -> "Page":
        """A page that was just fetched."""
        return cls(response, depth=claim.depth)

    # What it is

    def header(self, name: str) -> str | None:
        """The first header of that name."""
        return self.response.header(name.lower())

    @property
    def content_type(self) -> str:
        return self.response.content_type

    @cached_property
    def said(self) -> Said:
        """What the crawl itself reads of the page."""
        return self._said if self._said is not None else told_by(self.response, self._parsed)

    @property
    def title(self) -> str | None:
        return self.said.title

    @property
    def description(self) -> str | None:
        return self.said.description

    @property
    def canonical(self) -> str | None:
        return self.said.canonical

    @property
    def language(self) -> str | None:
        return self.said.language

    @property
    def charset(self) -> str | None:
        return self.said.charset

    @property
    def noindex(self) -> bool:
        return self.said.noindex

    @property
    def nofollow(self) -> bool:
        return self.said.nofollow

    @property
    def links(self) -> list[Link]:
        """Where it leads, each address once."""
        return self.said.links

    # What is in it

    def css(self, selector: str) -> Selection:
        """What matches a CSS selector; `::text` and `::attr(name)` work as in Scrapy."""
        return select(self._tree.document, selector, self.base)

    def xpath(self, expression: str) -> Selection:
        """What an XPath 1.0 expression finds."""
        return evaluate(self._tree.document, expression, self.base)

    @cached_property
    def html(self) -> str:
        """The source of the page, decoded as browsers would."""
        return charset.decode(self.body, self.content_type)[0]

    @property
    def text(self) -> str:
        """The words of the page, as a person would see them; of what is no HTML, the source."""
        return self.html if self._parsed is None else self._tree.document.to_text()

    @property
    def markdown(self) -> str:
        """The whole page as Markdown."""
        return reading.markdown(self.response) or ""

    @property
    def main(self) -> str:
        """The text of the main content: no menus, no footers. It takes some 20 ms."""
        return reading.main(self.response) or ""

    @property
    def main_markdown(self) -> str:
        """The main content as Markdown."""
        return reading.main_markdown(self.response) or ""

    @cached_property
    def data(self) -> Data:
        """What it says of itself for machines: JSON-LD, microdata, OpenGraph."""
        return data_of(self._tree.document, self.url)

    def json(self, type: type[T] | Any = Any) -> T | Any:  # noqa: A002 - as msgspec calls it
        """The body as JSON; of a `type` where one is given."""
        try:
            return msgspec.json.decode(self.body, type=type)
        except msgspec.DecodeError as error:
            raise ValueError(f"{self.url} holds no such JSON: {error}") from None

    @cached_property
    def base(self) -> str:
        """What relative addresses are resolved against."""
        if self._parsed is None:
            return self.url
        return base(self._tree.document, self.response)

    # What to ask for next

    def follow(
        self,
        target: str | Selection | Link,
        callback: "Callable[[Page], object] | Callable[[Page, S], object] | str | None" = None,
        state: S | None = None,
        **options: Unpack[Options],
    ) -> Request[S] | None:
        """A request for where a link leads: a CSS selector of it, a selection or a `Link`.

        None where there is no such link; a spider may yield that as well. For an address, see
        `request`.
        """
        if isinstance(target, str) and target.startswith(_ADDRESS):
            raise BadSpider(f"{target!r} is no CSS selector; for an address use page.request(…)")
        found = self.css(target) if isinstance(target, str) else target
        url = found.url
        return None if url is None else Request(url, callback, state, **options)

    def follow_all(
        self,
        target: str | Selection,
        callback: "Callable[[Page], object] | Callable[[Page, S], object] | str | None" = None,
        state: S | None = None,
        **options: Unpack[Options],
    ) -> list[Request[S]]:
        """A request for each link that a CSS selector or a selection finds."""
        found = self.css(target) if isinstance(target, str) else target
        return [Request(url, callback, state, **options) for url in dict.fromkeys(found.urls)]

    def request(
        self,
        url: str,
        callback: "Callable[[Page], object] | Callable[[Page, S], object] | str | None" = None,
        state: S | None = None,
        **options: Unpack[Options],
    ) -> Request[S]:
        """A request for an address, which may be relative to this page."""
        joined = join(self.base, url)
        if joined is None:
            raise BadSpider(f"{url!r} on {self.url} is no address that can be crawled")
        return Request(joined, callback, state, **options)

    def submit(
        self,
        where: str | Selection,
        fields: Mapping[str, str],
        callback: "Callable[[Page], object] | Callable[[Page, S], object] | str | None" = None,
        state: S | None = None,
        **options: Unpack[Options],
    ) -> Request[S]:
        """What a browser would send of a form after these fields were filled in."""
        found = self.css(where) if isinstance(where, str) else where
        if not found or found.tag != "form":
            raise LookupError(f"there is no form {where!r} on {self.url}")
        filled = [(name, value) for name, value in found.form_data() if name not in fields]
        pairs = [*filled, *fields.items()]
        action = join(self.base, found.attr("action") or "") or self.url
        if (found.attr("method") or "get").lower() == "post":
            return replace(Request(action, callback, state, **options), form=pairs)
        address = f"{action.partition('?')[0]}?{encode_form(pairs)}"
        return Request(address, callback, state, **options)

    @cached_property
    def _parsed(self) -> Parsed | None:
        return parsed(self.response)

    @cached_property
    def _tree(self) -> Parsed:
        tree = self._parsed or parsed(_EMPTY)
        assert tree is not None
        return tree
