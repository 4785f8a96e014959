"""What an answer says: where it leads, and what it tells about itself.

A page is parsed once, in C, and Python sees only the elements that can tell
something. Nothing raises for any content, and time is linear in its size: the
HTML parser nests at most 512 deep, and whatever hostile markup could multiply
has a bound that says so.
"""

import re

from freki.extract import charset
from freki.extract.document import XHTML, Parsed, media_type
from freki.extract.document import parsed as tree
from freki.extract.links import links, merged, refresh_target
from freki.extract.telling import Telling, by_reader, by_tree
from freki.extract.weblinks import announced
from freki.extract.words import collapsed
from freki.messages import Link, Page, Response, Via
from freki.url import join

_MAX_TEXT = 1000  # of a description; search engines show 160 characters
_MAX_LANGUAGE = 35  # BCP 47 (RFC 5646 4.4.1) asks for room for as many
_MAX_DIRECTIVES = 1000

_HTML = {"text/html", XHTML}
_UNTOLD = {"", "unknown/unknown", "application/unknown", "*/*"}  # WHATWG mimesniff 7, step 1

# WHATWG mimesniff 7.1, the rows that mean HTML. A byte-order mark before them is let through:
# browsers would show the source, a crawler gains by reading the page.
_LOOKS_LIKE_HTML = re.compile(
    rb"(?:\xef\xbb\xbf)?[\t\n\f\r ]*+<(?:!--|(?:!doctype html|html|head|script|iframe|h1|div|font"
    rb"|table|a|style|title|b|body|br|p)[ >])",
    re.IGNORECASE,
)
_SNIFFED = 1445  # bytes: WHATWG mimesniff 5.2

_US = {"*", "robots", "freki"}  # whom a directive names when it means us
_VALUED = {"unavailable_after", "max-snippet", "max-image-preview", "max-video-preview"}


def extract(response: Response) -> Page:
    """Links, title and so on of an HTML page; of anything else what its headers say."""
    location = response.location
    if location and 300 <= response.status < 400:
        return _redirect(response.url, location)
    if not _is_html(response):
        return told(response, None)
    read = by_reader(response)
    return told(response, tree(response)) if read is None else of_telling(response, read)


def parsed(response: Response) -> Parsed | None:
    """The tree of an answer; None where it is no HTML."""
    return tree(response) if _is_html(response) else None


def told(response: Response, page: Parsed | None) -> Page:
    """What an answer with this tree says."""
    if page is not None:
        return of_telling(response, by_tree(response, page))
    forbidden = _forbidden_by_headers(response)
    found = _by_headers(response)
    return Page(
        links=found,
        canonical=_canonical(found),
        language=_language("", response),
        charset=charset.declared(response.content_type),
        noindex="noindex" in forbidden,
        nofollow="nofollow" in forbidden,
    )


def of_telling(response: Response, telling: Telling) -> Page:
    """What an answer says that tells this."""
    by_headers = _by_headers(response)
    found = merged(by_headers, links(telling))
    before_anchors = found[: len(by_headers) + len(telling.named)]
    metas = _metas(telling)
    forbidden = _forbidden_by_headers(response)
    for text in metas.get("robots", []) + metas.get("freki", []):
        forbidden |= _directives(text)
    return Page(
        links=found,
        title=telling.title or None,
        description=_description(metas),
        canonical=_canonical(before_anchors),
        language=_language(telling.language, response),
        charset=telling.charset,
        noindex="noindex" in forbidden,
        nofollow="nofollow" in forbidden,
    )


def _redirect(url: str, location: str) -> Page:
    target = join(url, location)
    return Page(links=[Link(target, via=Via.redirect)] if target else [])


def _is_html(response: Response) -> bool:
    kind = media_type(response)
    if kind in _UNTOLD:
        return _LOOKS_LIKE_HTML.match(response.body[:_SNIFFED]) is not None
    return kind in _HTML


def _by_headers(response: Response) -> list[Link]:
    """Where headers lead that mean the same as elements of a head, of whatever type the answer."""
    header = response.header("refresh")
    target = refresh_target(header) if header else None
    moved = join(response.url, target) if target else None
    refreshed = [Link(moved, via=Via.refresh)] if moved else []
    return merged(refreshed, announced(response))


def _canonical(found: list[Link]) -> str | None:
    return next((link.url for link in found if link.via == Via.canonical), None)


def _metas(telling: Telling) -> dict[str, list[str]]:
    metas: dict[str, list[str]] = {}
    for kind, name, content, _ in telling.named:
        if kind == "meta":
            metas.setdefault(name.lower(), []).append(content)
    return metas


def _forbidden_by_headers(response: Response) -> set[str]:
    forbidden: set[str] = set()
    for name, value in response.headers:
        if name == "x-robots-tag":
            forbidden |= _directives(value)
    return forbidden


def _directives(text: str) -> set[str]:
    """What a robots directive forbids us: `noindex`, `nofollow`.

    In "noindex, other: nofollow" a name and a colon say whom the rest is for.
    """
    forbidden: set[str] = set()
    for_us = True
    for part in text[:_MAX_DIRECTIVES].lower().split(","):
        name, colon, rest = part.strip().partition(":")
        if colon and " " not in name and name not in _VALUED:
            for_us = name in _US
        word = rest.strip() if colon else name
        if for_us:
            forbidden |= {"noindex", "nofollow"} if word == "none" else {word}
    return forbidden


def _description(metas: dict[str, list[str]]) -> str | None:
    texts = (collapsed(content, _MAX_TEXT) for content in metas.get("description", ()))
    return next(filter(None, texts), None)


def _language(told: str, response: Response) -> str | None:
    if not told:
        told = response.header("content-language") or ""
        # Of several languages none is the page's: WHATWG HTML 3.2.6.2.
        told = "" if "," in told else told
    return collapsed(told, _MAX_LANGUAGE) or None
