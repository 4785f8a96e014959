"""What a page tells: read from its tree, or by the reader in C that needs none.

Both give the same, for each page that the reader takes; the others it leaves to the tree.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import NamedTuple, Protocol

from turbohtml import Document, Element, Namespace, Text

from freki import native
from freki.extract import charset
from freki.extract.document import XHTML, Parsed, base, media_type
from freki.extract.words import collapsed
from freki.messages import Response
from freki.native import Native
from freki.url import join

_MAX_TELLING = 4000  # elements; a page in forty languages has a hundred
_MAX_TITLE = 1000  # search engines show 60 characters

# A page with more is a generated maze, and each link costs a row in the ledger.
_MAX_ANCHORS = 100_000

# A relative link of 20 bytes on a page with an address of 8 KiB is a URL of 8 KiB:
# so many characters may the links of a page together take from its address.
_MAX_INHERITED = 32_000_000

_MAX_TEXT = 200

_NAMING = ("base", "frame", "iframe", "link", "meta", "title")
_UNSEEN = {"script", "style"}  # what they hold is no text

# An element that names something: "link", "frame", "refresh" or "meta", then the word that says
# what it is, the value, and its rel.
Named = tuple[str, str, str, str]


class About(Protocol):
    """The text and the rel of an anchor, by its number; read when it is asked for."""

    def __getitem__(self, number: int, /) -> tuple[str, str]: ...


class Telling(NamedTuple):
    """What a page tells, before its links are joined with its address."""

    base: str  # what links are meant from
    charset: str | None
    language: str
    title: str
    named: Sequence[Named]

    # Where the `<a>` and `<area>` lead, as it is written, in their order, and a number for each.
    # The first of each address is enough, and those that stay on the page are left out.
    anchors: Iterable[tuple[str, int]]
    about: About


def by_reader(response: Response, library: Native | None = native.HERE) -> Telling | None:
    """What the reader finds; None where there is none, or only the tree can tell."""
    if library is None or media_type(response) == XHTML:
        return None
    encoding = charset.told(response.body, response.content_type)
    if encoding is None:
        return None
    body = response.body
    if encoding != "UTF-8":
        body = body.decode(f"whatwg-{encoding}").encode()
    read = library.read_page(body)
    if read is None:
        return None
    (*named, language, base_, title, count), anchors = read
    address = (join(response.url, base_) or response.url) if base_ else response.url
    if int(count) > _most(address):
        return None
    records = list(zip(named[0::4], named[1::4], named[2::4], named[3::4], strict=True))
    numbered = zip(anchors[0::3], range(len(anchors) // 3), strict=True)
    about = list(zip(anchors[1::3], anchors[2::3], strict=True))
    return Telling(address, encoding, language, title, records, numbered, about)


def by_tree(response: Response, page: Parsed) -> Telling:
    """What the elements of a tree tell."""
    document, encoding = page
    naming = list(islice(document.iter_elements(_NAMING), _MAX_TELLING))
    has_base = any(element.tag == "base" for element in naming)
    address = base(document, response) if has_base else response.url
    root = document.root
    language = (root.attr("lang") or root.attr("xml:lang")) if root is not None else None
    written = _written(document, address)
    numbered = zip(written, range(len(written)), strict=True)
    anchors = [(href, number) for href, number in numbered if href and href[0] != "#"]
    about = _Walked(list(written.values()))
    named, title = list(_named(naming)), _title(naming)
    return Telling(address, encoding, language or "", title, named, anchors, about)


def _most(address: str) -> int:
    return min(_MAX_ANCHORS, _MAX_INHERITED // len(address))


def _written(document: Document, address: str) -> dict[str | None, Element]:
    """The first anchor of each address. What is done for all is one attribute; few are read on."""
    written: dict[str | None, Element] = {}
    for anchor in islice(document.iter_elements(("a", "area")), _most(address)):
        href = anchor.attr("href")
        if href is None:
            href = anchor.attr("xlink:href")
        if href not in written:
            written[href] = anchor
    return written


class _Walked:
    """Anchors of a tree."""

    def __init__(self, anchors: list[Element]) -> None:
        self._anchors = anchors

    def __getitem__(self, number: int) -> tuple[str, str]:
        anchor = self._anchors[number]
        return _text(anchor), anchor.attr("rel") or ""


def _named(naming: list[Element]) -> Iterator[Named]:
    for element in naming:
        rel = element.attr("rel") or ""
        match element.tag:
            case "link":
                yield "link", rel, element.attr("href") or "", rel
            case "frame" | "iframe":
                yield "frame", "", element.attr("src") or "", rel
            case "meta":
                content = element.attr("content") or ""
                if equivalent := element.attr("http-equiv"):
                    yield "refresh", equivalent, content, rel
                if name := element.attr("name"):
                    yield "meta", name, content, ""


def _title(naming: list[Element]) -> str:
    for element in naming:
        if element.tag == "title" and element.namespace is Namespace.HTML:
            return collapsed(element.text, _MAX_TITLE)
    return ""


def _text(anchor: Element) -> str:
    """The words of an anchor, else its title, else what stands for its picture."""
    if anchor.tag == "area":
        return _attribute(anchor, "alt")
    # An `<a>` holds others only in broken or hostile markup (SVG, table cells). Reading the text
    # of each would take the square of their number; to look for the first inside is linear.
    if anchor.find("a") is not None:
        return _attribute(anchor, "title")
    text = anchor.text
    if "{" in text:
        text = "".join(_seen(anchor))
    if len(text) <= _MAX_TEXT and (words := text.split()):  # nearly always
        return " ".join(words)
    return collapsed(text, _MAX_TEXT) or _attribute(anchor, "title") or _picture(anchor)


def _seen(anchor: Element) -> Iterator[str]:
    """The text without the style of a drawing, which is text to the parser."""
    for node in anchor.descendants:
        inside = node.parent
        if isinstance(node, Text) and not (isinstance(inside, Element) and inside.tag in _UNSEEN):
            yield node.data


def _picture(anchor: Element) -> str:
    image = anchor.find("img")
    return "" if image is None else _attribute(image, "alt")


def _attribute(element: Element, name: str) -> str:
    return collapsed(element.attr(name) or "", _MAX_TEXT)
