"""What a page has inside, for those who look for something: CSS, XPath, text, attributes.

    for book in page.css("article.book"):
        book.css("h3").text, book.css("a").url

A `Selection` is a list of matches. What is asked of it is asked of the first one, and nothing
raises because a page lacks something: text is empty then, and an attribute None.
"""

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import overload

from turbohtml import Document, Element, Node, Text, parse

from freki.errors import BadSelector
from freki.extract.words import collapsed
from freki.url import join

# No text of an element is read further; a page may have 10 MiB.
_MAX_TEXT = 10_000_000

# The two selectors of Scrapy that are not of CSS: what they stand for is read from the element.
_PSEUDO = re.compile(r"(.*)::(?:(text)|attr\(\s*([^)\s]+)\s*\))\s*", re.DOTALL)

Match = Element | str


class Selection(Sequence["Selection"]):
    """Elements or texts of a page, in the order in which they stand there."""

    __slots__ = ("_base", "_matches", "_path")

    def __init__(self, matches: Sequence[Match], base: str, path: str = "") -> None:
        self._matches = matches
        self._base = base
        self._path = path

    def __repr__(self) -> str:
        return f"<Selection {self._path!r}: {len(self)}>"

    def __len__(self) -> int:
        return len(self._matches)

    def __iter__(self) -> Iterator["Selection"]:
        for match in self._matches:
            yield Selection([match], self._base, self._path)

    @overload
    def __getitem__(self, index: int) -> "Selection": ...
    @overload
    def __getitem__(self, index: slice) -> "Selection": ...
    def __getitem__(self, index: int | slice) -> "Selection":
        matches = self._matches[index]
        found = matches if isinstance(index, slice) else [matches]
        return Selection(found, self._base, self._path)  # type: ignore[arg-type]

    def css(self, selector: str) -> "Selection":
        """What is inside of these and matches; `::text` and `::attr(name)` work as in Scrapy."""
        plain, text, attribute = _parts(selector)
        found = [element for inside in self._elements for element in _select(inside, plain)]
        if text:
            return Selection([own for one in found for own in _texts(one)], self._base, selector)
        if attribute:
            values = [one.attr(attribute) for one in found]
            return Selection([value for value in values if value is not None], self._base, selector)
        return Selection(found, self._base, selector)

    def xpath(self, expression: str) -> "Selection":
        """What an XPath 1.0 expression finds from here: elements, texts or one value."""
        found: list[Match] = []
        for element in self._elements:
            found += _evaluate(element, expression)
        return Selection(found, self._base, expression)

    @property
    def text(self) -> str:
        """The words of the first match, on one line; empty where there is none."""
        return _text(self._matches[0]) if self._matches else ""

    @property
    def texts(self) -> list[str]:
        """The words of each match."""
        return [_text(match) for match in self._matches]

    @overload
    def attr(self, name: str) -> str | None: ...
    @overload
    def attr(self, name: str, default: str) -> str: ...
    def attr(self, name: str, default: str | None = None) -> str | None:
        """An attribute of the first match."""
        first = next(self._elements, None)
        return default if first is None else first.attr(name, default)

    def attrs(self, name: str) -> list[str]:
        """An attribute of each match that has it."""
        values = (element.attr(name) for element in self._elements)
        return [value for value in values if value is not None]

    @property
    def url(self) -> str | None:
        """Where the first match leads, absolute: of its href, src or action, or of its text."""
        return next(iter(self.urls), None)

    @property
    def urls(self) -> list[str]:
        """Where each match leads, absolute."""
        found = []
        for match in self._matches:
            href = match if isinstance(match, str) else _href(match)
            if href is not None and (url := join(self._base, href.strip())) is not None:
                found.append(url)
        return found

    @property
    def html(self) -> str:
        """The first match as HTML."""
        first = next(iter(self._matches), "")
        return first if isinstance(first, str) else first.html

    @property
    def tag(self) -> str:
        """The name of the first match, as `a`; empty for a text."""
        first = next(self._elements, None)
        return "" if first is None else first.tag

    def re(self, pattern: str) -> str | None:
        """What the pattern, or its first group, finds in the text of the first match."""
        found = re.search(pattern, self.text)
        return found and found[found.re.groups and 1]

    def get(self, default: str | None = None) -> str | None:
        """As in Scrapy: the first match as a text, HTML of an element."""
        return next(iter(self.getall()), default)

    def getall(self) -> list[str]:
        """As in Scrapy: each match as a text, HTML of an element."""
        return [match if isinstance(match, str) else match.html for match in self._matches]

    def only(self) -> "Selection":
        """This selection, if it has exactly one match; raises `LookupError` otherwise."""
        if len(self) != 1:
            raise LookupError(f"{self._path!r} matches {len(self)} times, not once")
        return self

    def form_data(self) -> list[tuple[str, str]]:
        """What a browser would send of the first match, a form, if nobody touched it."""
        first = next(self._elements, None)
        return [] if first is None else first.form_data()

    @property
    def _elements(self) -> Iterator[Element]:
        return (match for match in self._matches if isinstance(match, Element))


def select(document: Document, selector: str, base: str) -> Selection:
    """What matches a CSS selector in a whole page."""
    root = document.root
    plain, text, attribute = _parts(selector)
    if root is None or text or attribute:
        return Selection([root] if root is not None else [], base).css(selector)
    return Selection(_select(document, plain), base, selector)


def evaluate(document: Document, expression: str, base: str) -> Selection:
    """What an XPath expression finds in a whole page."""
    return Selection(_evaluate(document, expression), base, expression)


def check_css(selector: str) -> None:
    """Raises `BadSelector` for one that cannot be used."""
    select(_NOTHING, selector, "")
    plain, _, _ = _parts(selector)
    _select(_NOTHING, plain)


def check_xpath(expression: str) -> None:
    """Raises `BadSelector` for one that cannot be used."""
    _evaluate(_NOTHING, expression)


@lru_cache(maxsize=1024)
def _parts(selector: str) -> tuple[str, str | None, str | None]:
    """The CSS of a selector, and what of the elements is meant."""
    found = _PSEUDO.fullmatch(selector)
    if found is None:
        return selector, None, None
    return found[1].strip() or "*", found[2], found[3]


def _select(inside: Element | Document, selector: str) -> list[Element]:
    try:
        return inside.select(selector)
    except (ValueError, TypeError) as error:
        raise BadSelector(f"the CSS selector {selector!r} cannot be used: {error}") from None


def _evaluate(inside: Element | Document, expression: str) -> list[Match]:
    try:
        found = inside.xpath(expression)
    except (ValueError, TypeError) as error:
        raise BadSelector(f"the XPath {expression!r} cannot be used: {error}") from None
    if not isinstance(found, list):
        return [_value(found)]
    return [_match(one) for one in found]


def _match(found: Node | str) -> Match:
    return found if isinstance(found, Element | str) else getattr(found, "data", str(found))


def _value(value: object) -> str:
    """A number or truth as XPath spells it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


def _texts(element: Element) -> list[str]:
    """The texts that stand in an element itself, as `::text` means it."""
    return [child.data for child in element.children if isinstance(child, Text)]


def _text(match: Match) -> str:
    return collapsed(match if isinstance(match, str) else match.text, _MAX_TEXT)


def _href(element: Element) -> str | None:
    for name in ("href", "src", "action"):
        if (value := element.attr(name)) is not None:
            return value
    return None


_NOTHING = parse("<p></p>")
