"""Where a page leads.

A page has ten times the anchors that it has anything else, and three anchors
for every URL. So what is done for each anchor is one attribute and two
dictionary look-ups, 0.3 us, and only the first of each URL is read further.
"""

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import chain

from freki.extract.charset import spelled
from freki.extract.telling import Telling
from freki.messages import Link, Via
from freki.url import Joiner, directory, join

_MAX_REMEMBERED = 65_536  # joined links of all directories together: about 20 MB

_MAX_REL = 100

_FOLLOWED = {"next", "prev", "canonical", "alternate"}
_NO_PAGE = {"stylesheet", "icon"}  # "alternate stylesheet", "alternate icon"

# WHATWG HTML 4.2.5.3, "shared declarative refresh steps".
_REFRESH = re.compile(
    r"[\t\n\f\r ]*+(?:\d++[\d.]*+|\.[\d.]*+)(?=[;,\t\n\f\r ])[\t\n\f\r ]*+[;,]?[\t\n\f\r ]*+"
    r"(?:url[\t\n\f\r ]*+=[\t\n\f\r ]*+)?+(?:\"([^\"]*+)|'([^']*+)|(.*+))",
    re.IGNORECASE | re.ASCII | re.DOTALL,
)


def links(page: Telling) -> list[Link]:
    """Where a page leads, each URL once: what its elements name, then anchors in order.

    An anchor is an `<a>` or `<area>` of any namespace, in `<noscript>` and `<template>` too; where
    it has no `href`, its `xlink:href` counts, as drawings have it.
    """
    base, encoding, about = page.base, page.charset, page.about
    joined = _directories.joiner(base)
    known = len(joined)
    respells = encoding != "UTF-8"
    found = _each_once(_named(page, joined))
    for written, number in page.anchors:
        href = spelled(written, encoding) if respells else written
        url = joined[href]
        if url == "":
            url = join(base, href)
        if url and url not in found:
            text, rel = about[number]
            found[url] = Link(url, text, relations(rel) if rel else "")
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


def _named(page: Telling, joined: Joiner) -> Iterator[Link]:
    for kind, word, value, rel in page.named:
        href, via = _lead(kind, word, value)
        href = href and spelled(href, page.charset)
        if href and (url := joined[href] or join(page.base, href)):
            yield Link(url, "", relations(rel), via)


def _lead(kind: str, word: str, value: str) -> tuple[str | None, Via]:
    """Where an element leads, and how."""
    match kind:
        case "link" if (via := relation(word[:_MAX_REL])) is not None:
            return value, via
        case "refresh" if word.lower() == "refresh":
            return refresh_target(value), Via.refresh
        case "frame":
            return value, Via.frame
        case _:
            return None, Via.link


@lru_cache(maxsize=1024)  # the same ten stand in the head of every page
def relation(rel: str) -> Via | None:
    """How a link with these relations leads on; None where it is not followed."""
    relations = set(rel.lower().split())
    if not relations & _FOLLOWED or relations & _NO_PAGE:
        return None
    return Via.canonical if "canonical" in relations else Via.link


def refresh_target(text: str) -> str | None:
    """Where a refresh leads, as a `meta` element or a header has it."""
    refresh = _REFRESH.match(text)
    return refresh and refresh[refresh.lastindex or 0]


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
