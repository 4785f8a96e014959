"""Where a page leads: every URL once, in document order, with the words that name it.

Per-link work in Python is what costs, so a page's links are first a dictionary
from URL to element, which costs 0.3 us for each `<a>`, and only what is left of
them (a third, on documentation) is read further.
"""

import re
from itertools import islice

from turbohtml import Document, Element

from freki.messages import Link, Via
from freki.url import Joiner, directory, join

# A page with more is a generated maze, and each link costs a row in the ledger.
_MAX_ELEMENTS = 100_000

# A relative link of 20 bytes on a page with an address of 8 KiB is a URL of
# 8 KiB: so many characters may all links of a page together take from its address.
_MAX_INHERITED = 32_000_000

_MAX_REMEMBERED = 65_536  # joined links of all directories together: about 20 MB

_MAX_TEXT = 200
_MAX_REL = 100

_LEADING = ("a", "area", "frame", "iframe", "link", "meta")
_FOLLOWED = {"next", "prev", "canonical", "alternate"}
_VIA = {"frame": Via.frame, "iframe": Via.frame, "meta": Via.refresh}

# WHATWG HTML 4.2.5.3, "shared declarative refresh steps".
_REFRESH = re.compile(
    r"[\t\n\f\r ]*+(?:\d++[\d.]*+|\.[\d.]*+)(?=[;,\t\n\f\r ])[\t\n\f\r ]*+[;,]?[\t\n\f\r ]*+"
    r"(?:url[\t\n\f\r ]*+=[\t\n\f\r ]*+)?+(?:\"([^\"]*+)|'([^']*+)|(.*+))",
    re.IGNORECASE | re.ASCII | re.DOTALL,
)


def links(document: Document, base: str) -> list[Link]:
    """The links of a page whose relative links are meant from `base`."""
    joined = _directories.joiner(base)
    known = len(joined)
    first: dict[str, Element] = {}
    for element in islice(document.iter_elements(_LEADING), _limit(base)):
        href = element.attr("href") if element.tag == "a" else _target(element)
        if not href or href[0] == "#":
            continue
        url = joined[href]
        if url == "":
            url = join(base, href)
        if url and url not in first:
            first[url] = element
    _directories.grew(len(joined) - known)
    return [_link(url, element) for url, element in first.items()]


def relations(element: Element) -> list[str]:
    """The words of a `rel` attribute, lower-cased."""
    return (element.attr("rel") or "")[:_MAX_REL].lower().split()


def collapsed(text: str, limit: int) -> str:
    """Text on one line, cut at `limit` characters."""
    # Markup is indented, so more than the limit is read; who pads more than that is hostile.
    return " ".join(text[: 8 * limit].split())[:limit].rstrip()


def _limit(base: str) -> int:
    return min(_MAX_ELEMENTS, _MAX_INHERITED // len(base))


def _target(element: Element) -> str | None:
    """Where an element that is no `<a>` leads, as it is written."""
    match element.tag:
        case "area":
            return element.attr("href")
        case "link":
            rel = relations(element)
            leads = "stylesheet" not in rel and not _FOLLOWED.isdisjoint(rel)
            return element.attr("href") if leads else None
        case "meta":
            return _refresh_target(element)
        case _:
            return element.attr("src")


def _refresh_target(meta: Element) -> str | None:
    if (meta.attr("http-equiv") or "").lower() != "refresh":
        return None
    refresh = _REFRESH.match(meta.attr("content") or "")
    return refresh and refresh[refresh.lastindex or 0]


def _link(url: str, element: Element) -> Link:
    rel = " ".join(relations(element)) if element.attr("rel") else ""
    match element.tag:
        case "a":
            return Link(url, _text(element), rel)
        case "area":
            return Link(url, _attribute(element, "alt"), rel)
        case "link":
            return Link(url, "", rel, Via.canonical if "canonical" in rel else Via.link)
        case tag:
            return Link(url, "", rel, _VIA[tag])


def _text(anchor: Element) -> str:
    """The words of a link, else its title, else what stands for its picture."""
    # An `<a>` can hold others only in hostile or broken markup (SVG, table cells). Reading the
    # text of all of them would take the square of their number; this stops at the first inside.
    if anchor.find("a") is not None:
        return ""
    text = anchor.text
    if "{" in text:  # the style of a drawing is text as well; this way of reading leaves it out
        text = anchor.to_text()
    return collapsed(text, _MAX_TEXT) or _attribute(anchor, "title") or _picture(anchor)


def _picture(anchor: Element) -> str:
    image = anchor.find("img")
    return "" if image is None else _attribute(image, "alt")


def _attribute(element: Element, name: str) -> str:
    return collapsed(element.attr(name) or "", _MAX_TEXT)


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
