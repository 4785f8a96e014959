"""The tree of an answer, made once, whoever asks for it.

Links, text for comparing and fields are taken from one page one after another, so remembering the
last tree is enough, and bounds what is held by one page.
"""

from contextlib import suppress
from typing import NamedTuple

from turbohtml import Document, HTMLParseError, parse, parse_xml

from freki.extract import charset
from freki.messages import Response
from freki.url import join

XHTML = "application/xhtml+xml"


def media_type(response: Response) -> str:
    """The type of an answer without its parameters."""
    return response.content_type.partition(";")[0].strip().lower()


class Parsed(NamedTuple):
    """A tree and the name of the charset its bytes were read in."""

    document: Document
    charset: str | None


def parsed(response: Response) -> Parsed:
    """The tree of an HTML answer."""
    if response is not _last.response:
        _last.tree = _parse(response)
        _last.response = response
    return _last.tree


def base(document: Document, response: Response) -> str:
    """What the links of a page are meant from: its first `<base href>`, else its own address.

    Browsers run scripts, so to them `<noscript>` holds text, and a `<base>` in it is none. The
    parser takes it out of the `<noscript>` of a head; where one comes before, it is asked again.
    """
    after_noscript = False
    for element in document.iter_elements(("base", "noscript")):
        if element.tag == "noscript":
            after_noscript = True
        elif (href := element.attr("href")) is not None:
            if after_noscript and document.encoding:  # of XML it is unknown, and there it counts
                return base(_scripted(response, document.encoding), response)
            return join(response.url, href) or response.url
    return response.url


def _scripted(response: Response, encoding: str) -> Document:
    """The page without anything in its `<noscript>` elements, as a browser has it."""
    document = parse(response.body, encoding=encoding, positions=False, scripting=True)
    for element in list(document.iter_elements(("noscript",))):
        element.decompose()
    return document


class _Last:
    """What was asked for last."""

    __slots__ = ("response", "tree")

    def __init__(self) -> None:
        self.response: Response | None = None
        self.tree: Parsed


_last = _Last()


def _parse(response: Response) -> Parsed:
    if media_type(response) == XHTML:
        # In XML `<script src="x"/>` is whole; the HTML parser would take the rest of the page
        # for the script. Much of what is sent as XHTML is no XML, so browsers' error page is not
        # copied: it is read as HTML then.
        text, encoding = charset.decode(response.body, response.content_type)
        with suppress(HTMLParseError):
            return Parsed(parse_xml(text), encoding)
    document = parse(
        response.body,
        encoding=charset.announced(response.body, response.content_type),
        detect_encoding=True,
        positions=False,
        allow_declarative_shadow_roots=False,  # as plain templates, whose links the walk sees
    )
    return Parsed(document, document.encoding)
