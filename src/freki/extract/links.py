"""Where a page leads.

A page has ten times the anchors that it has anything else, and three anchors
for every URL. So what is done for each anchor is one attribute and two
dictionary look-ups, 0.3 us, and only the first of each URL is read further.
"""

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import chain, islice

from turbohtml import Document, Element

from freki.extract.charset import spelled
from freki.messages import Link, Via
from freki.url import Joiner, directory, join

# A page with more is a generated maze, and each link costs a row in the ledger.
_MAX_ANCHORS = 100_000

# A relative link of 20 bytes on a page with an address of 8 KiB is a URL of 8 KiB:
# so many characters may the links of a page together take from its address.
_MAX_INHERITED = 32_000_000

_MAX_REMEMBERED = 65_536  # joined links of all directories together: about 20 MB

_MAX_TEXT = 200
_MAX_REL = 100

_FOLLOWED = {"next", "prev", "canonical", "alternate"}
_NO_PAGE = {"stylesheet", "icon"}  # "alternate stylesheet", "alternate icon"

# WHATWG HTML 4.2.5.3, "shared declarative refresh steps".
_REFRESH = re.compile(
    r"[\t\n\f\r ]*+(?:\d++[\d.]*+|\.[\d.]*+)(?=[;,\t\n\f\r ])[\t\n\f\r ]*+[;,]?[\t\n\f\r ]*+"
    r"(?:url[\t\n\f\r ]*+=[\t\n\f\r ]*+)?+(?:\"([^\"]*+)|'([^']*+)|(.*+))",
    re.IGNORECASE | re.ASCII | re.DOTALL,
)


def links(document: Document, telling: Iterable[Element], base: str) -> list[Link]:
    """Where a page leads, each URL once: what `telling` elements name, then anchors in order.

    `base` is what links are meant from, see `document.base`. An anchor is an `<a>` or `<area>` of
    any namespace, in `<noscript>` and `<template>` too; where it has no `href`, its `xlink:href`
    counts, as drawings have it.
    """
    joined = _directories.joiner(base)
    known = len(joined)
    found = _each_once(_named(telling, base, joined, document.encoding))
    for url, anchor in _anchors(document, base, joined).items():
        if url not in found:
            rel = anchor.attr("rel")
            found[url] = Link(url, _text(anchor), relations(rel) if rel else "")
    _directories.grew(len(joined) - known)
    return list(found.values())


def merged(by_headers: list[Link], of_page: list[Link]) -> list[Link]:
    """What headers name, then what the page does, each URL once: the page's own link has words."""
    if not by_headers:  # nearly always
        return of_page
    known = {link.url for link in of_page}
    more = (link for link in by_headers if link.url not in known or link.via == Via.canonical)
    return list(_each_once(chain(more, of_page)).values())


def _each_once(links: Iterable[Link]) -> dict[str, Link]:
    found: dict[str, Link] = {}
    for link in links:
        # A page is often its own alternate; that it is canonical says more.
        if link.url not in found or link.via == Via.canonical:
            found[link.url] = link
    return found


def collapsed(text: str, limit: int) -> str:
    """Text on one line, cut at `limit` characters."""
    if len(text) > limit:
        text = text[: 8 * limit]  # markup is indented; who pads more than that is hostile
    text = " ".join(text.split())
    return text if len(text) <= limit else text[:limit].rstrip()


def _named(
    telling: Iterable[Element], base: str, joined: Joiner, encoding: str | None
) -> Iterator[Link]:
    for element in telling:
        match element.tag:
            case "link":
                href, via = _relation(element)
            case "meta":
                href, via = _refresh(element), Via.refresh
            case _:
                href, via = element.attr("src"), Via.frame
        href = href and spelled(href, encoding)
        if href and (url := joined[href] or join(base, href)):
            yield Link(url, "", _rel(element), via)


def _relation(link: Element) -> tuple[str | None, Via]:
    via = relation((link.attr("rel") or "")[:_MAX_REL])
    return (None, Via.link) if via is None else (link.attr("href"), via)


@lru_cache(maxsize=1024)  # the same ten stand in the head of every page
def relation(rel: str) -> Via | None:
    """How a link with these relations leads on; None where it is not followed."""
    relations = set(rel.lower().split())
    if not relations & _FOLLOWED or relations & _NO_PAGE:
        return None
    return Via.canonical if "canonical" in relations else Via.link


def _refresh(meta: Element) -> str | None:
    if (meta.attr("http-equiv") or "").lower() != "refresh":
        return None
    return refresh_target(meta.attr("content") or "")


def refresh_target(text: str) -> str | None:
    """Where a refresh leads, as a `meta` element or a header has it."""
    refresh = _REFRESH.match(text)
    return refresh and refresh[refresh.lastindex or 0]


def _anchors(document: Document, base: str, joined: Joiner) -> dict[str, Element]:
    """The first anchor of each URL."""
    most = min(_MAX_ANCHORS, _MAX_INHERITED // len(base))
    written: dict[str | None, Element] = {}
    first: dict[str, Element] = {}
    for anchor in islice(document.iter_elements(("a", "area")), most):
        href = anchor.attr("href")
        if href is None:
            href = anchor.attr("xlink:href")
        if href in written:
            continue
        written[href] = anchor
        if not href or href[0] == "#":
            continue
        if not href.isascii():
            href = spelled(href, document.encoding)
        url = joined[href]
        if url == "":
            url = join(base, href)
        if url and url not in first:
            first[url] = anchor
    return first


def _text(anchor: Element) -> str:
    """The words of an anchor, else its title, else what stands for its picture."""
    if anchor.tag == "area":
        return _attribute(anchor, "alt")
    # An `<a>` holds others only in broken or hostile markup (SVG, table cells). Reading the text
    # of each would take the square of their number; to look for the first inside is linear.
    if anchor.find("a") is not None:
        return _attribute(anchor, "title")
    text = anchor.text
    if "{" in text:  # the style of a drawing is text as well; this way of reading leaves it out
        text = anchor.to_text()
    if len(text) <= _MAX_TEXT and (words := text.split()):  # nearly always
        return " ".join(words)
    return collapsed(text, _MAX_TEXT) or _attribute(anchor, "title") or _picture(anchor)


def _picture(anchor: Element) -> str:
    image = anchor.find("img")
    return "" if image is None else _attribute(image, "alt")


def _attribute(element: Element, name: str) -> str:
    return collapsed(element.attr(name) or "", _MAX_TEXT)


def _rel(element: Element) -> str:
    return relations(element.attr("rel") or "")


def relations(rel: str) -> str:
    """The words of a `rel`, as they are stored."""
    return " ".join(rel[:_MAX_REL].lower().split())


class _Directories:
    """A `Joiner` for each directory; all are forgotten at once when they hold too much."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._held = 0
        self._joiners: dict[str, Joiner] = {}

    def joiner(self, base: str) -> Joiner:
        where = directory(base)
        joiner = self._joiners.get(where)
        if joiner is None:
            joiner = self._joiners[where] = Joiner(where)
            self.grew(1)
        return joiner

    def grew(self, by: int) -> None:
        self._held += by
        if self._held > self._limit:
            self._joiners.clear()
            self._held = 0


_directories = _Directories(_MAX_REMEMBERED)
