"""What an answer says: where it leads, and what it tells about itself.

A page is parsed once, in C, and Python sees only the elements that can tell
something. Nothing raises for any content, and time is linear in its size: the
HTML parser nests at most 512 deep, and whatever hostile markup could multiply
has a bound that says so.
"""

import re
from itertools import islice

from turbohtml import Element, Namespace

from freki.extract import charset
from freki.extract.document import XHTML, Parsed, base
from freki.extract.document import parsed as tree
from freki.extract.links import collapsed, links, merged, refresh_target
from freki.extract.weblinks import announced
from freki.messages import Link, Page, Response, Via
from freki.url import join

_MAX_TELLING = 4000  # elements; a page in forty languages has a hundred
_MAX_TEXT = 1000  # of title and description; search engines show 60 and 160 characters
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

_TELLING = ("base", "frame", "iframe", "link", "meta", "title")

_US = {"*", "robots", "freki"}  # whom a directive names when it means us
_VALUED = {"unavailable_after", "max-snippet", "max-image-preview", "max-video-preview"}


def extract(response: Response) -> Page:
    """Links, title and so on of an HTML page; of anything else what its headers say."""
    location = response.location
    if location and 300 <= response.status < 400:
        return _redirect(response.url, location)
    return told(response, parsed(response))


def parsed(response: Response) -> Parsed | None:
    """The tree of an answer; None where it is no HTML."""
    media_type = response.content_type.partition(";")[0].strip().lower()
    return tree(response) if _is_html(media_type, response.body) else None


def told(response: Response, page: Parsed | None) -> Page:
    """What an answer with this tree says."""
    if page is not None:
        return _read(response, page)
    forbidden = _forbidden_by_headers(response)
    found = _by_headers(response)
    return Page(
        links=found,
        canonical=_canonical(found),
        language=_language(None, response),
        charset=charset.declared(response.content_type),
        noindex="noindex" in forbidden,
        nofollow="nofollow" in forbidden,
    )


def _redirect(url: str, location: str) -> Page:
    target = join(url, location)
    return Page(links=[Link(target, via=Via.redirect)] if target else [])


def _is_html(media_type: str, body: bytes) -> bool:
    if media_type in _UNTOLD:
        return _LOOKS_LIKE_HTML.match(body[:_SNIFFED]) is not None
    return media_type in _HTML


def _read(response: Response, page: Parsed) -> Page:
    document, encoding = page
    telling = list(islice(document.iter_elements(_TELLING), _MAX_TELLING))
    has_base = any(element.tag == "base" for element in telling)
    found = links(document, telling, base(document, response) if has_base else response.url)
    found = merged(_by_headers(response), found)
    metas = _metas(telling)
    forbidden = _forbidden_by_headers(response)
    for text in metas.get("robots", []) + metas.get("freki", []):
        forbidden |= _directives(text)
    return Page(
        links=found,
        title=_title(telling),
        description=_description(metas),
        canonical=_canonical(found),
        language=_language(document.root, response),
        charset=encoding,
        noindex="noindex" in forbidden,
        nofollow="nofollow" in forbidden,
    )


def _by_headers(response: Response) -> list[Link]:
    """Where headers lead that mean the same as elements of a head, of whatever type the answer."""
    header = response.header("refresh")
    target = refresh_target(header) if header else None
    moved = join(response.url, target) if target else None
    refreshed = [Link(moved, via=Via.refresh)] if moved else []
    return merged(refreshed, announced(response))


def _canonical(found: list[Link]) -> str | None:
    return next((link.url for link in found if link.via == Via.canonical), None)


def _metas(telling: list[Element]) -> dict[str, list[str]]:
    metas: dict[str, list[str]] = {}
    for element in telling:
        if element.tag == "meta" and (name := element.attr("name")):
            metas.setdefault(name.lower(), []).append(element.attr("content") or "")
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


def _title(telling: list[Element]) -> str | None:
    for element in telling:
        if element.tag == "title" and element.namespace is Namespace.HTML:
            return collapsed(element.text, _MAX_TEXT) or None
    return None


def _description(metas: dict[str, list[str]]) -> str | None:
    texts = (collapsed(content, _MAX_TEXT) for content in metas.get("description", ()))
    return next(filter(None, texts), None)


def _language(root: Element | None, response: Response) -> str | None:
    told = (root.attr("lang") or root.attr("xml:lang")) if root is not None else None
    if not told:
        told = response.header("content-language") or ""
        # Of several languages none is the page's: WHATWG HTML 3.2.6.2.
        told = "" if "," in told else told
    return collapsed(told, _MAX_LANGUAGE) or None
