"""The main content of a page: what remains without menus, footers, advertisements.

trafilatura finds it best, and takes some 20 ms. Its quick way is enough where turbohtml's own
finder (2 ms) comes to about as much text, which is so on three pages of four; else it looks again
with all it has. Which parts of the page hold that text is then looked up in the page itself, so
that headings, code, tables and pictures are as they were.
"""

import logging
from functools import lru_cache
from types import ModuleType
from typing import Final

from turbohtml import Document, Element, Node, Text

# A page of more is a book or an attack; finding takes more than linear time.
MAX_CHARACTERS: Final = 3_000_000

# The two finders agree if neither has this many times the text of the other. Closer than that, the
# slow way changed no page of the evaluation for the better.
AGREEMENT: Final = 2.0
ENOUGH: Final = 200  # letters; of less, the quick way may have found the wrong thing

# Letters that may lie between two parts of the text that follow each other in the page, where
# the second is so short that it may be there by chance.
NEAR: Final = 400
LONG: Final = 60
SAMPLE: Final = 24

# Part of the text that must be found in the page again.
FOUND_AGAIN: Final = 0.6

_BLOCKS: Final = frozenset({
    "address", "article", "aside", "blockquote", "body", "center", "dd", "details", "div", "dl",
    "dt", "fieldset", "figcaption", "figure", "footer", "form", "h1", "h2", "h3", "h4", "h5", "h6",
    "header", "hr", "html", "li", "main", "nav", "ol", "p", "pre", "section", "summary", "table",
    "tbody", "td", "tfoot", "th", "thead", "tr", "ul",
})  # fmt: skip
_NO_TEXT: Final = frozenset({
    "script", "style", "template", "noscript", "svg", "iframe", "button", "select",
})  # fmt: skip
_WHOLE: Final = frozenset({"pre", "tr"})  # kept or not as one

# What parsers and their users raise for input that nobody thought of.
_FAILURES: Final = (
    ValueError,
    TypeError,
    LookupError,
    AttributeError,
    RecursionError,
    AssertionError,
)


def main_text(source: str, document: Document) -> str:
    """The text of the main content; empty where nothing reads as content."""
    own = document.main_text()
    library = _trafilatura()
    if library is None or len(source) > MAX_CHARACTERS:
        return own
    quick = _extracted(library, source, fast=True)
    if _agree(letters(quick), letters(own)):
        return quick
    return _extracted(library, source, fast=False) or own


def keep_only(document: Document, text: str) -> bool:
    """Take everything out of a page that is not of this text; False if too little was found."""
    root = document.root
    wanted = letters(text)
    if root is None or not wanted:
        return False
    finder = _Finder(wanted, letters(_title(document)))
    try:
        finder.sift(root)
    except RecursionError:  # hostile markup nests hundreds deep
        return False
    finder.drop_last_pictures()
    return finder.found >= FOUND_AGAIN * len(wanted)


def letters(text: str) -> str:
    """What two renderings of a text have in common."""
    return "".join(filter(str.isalnum, text.casefold()))


class _Finder:
    """Goes through a page in order, and through the text beside it."""

    def __init__(self, wanted: str, title: str) -> None:
        self._wanted = wanted
        self._title = title
        self._at = 0
        self._pictures: list[Element] = []  # since the last text that was kept
        self.found = 0

    def __repr__(self) -> str:
        return f"<_Finder {self._at} of {len(self._wanted)}>"

    def sift(self, element: Element) -> bool:
        """Keeps of an element what is wanted; True if that was anything."""
        if element.tag in _NO_TEXT:
            return False
        if element.tag in _WHOLE or not _has_blocks(element):
            return self._is_wanted(element)
        kept = [self._sift_child(child) for child in element.children]
        return any(kept)

    def _sift_child(self, child: Node) -> bool:
        match child:
            case Element() if child.tag in _BLOCKS or _has_blocks(child):
                wanted = self.sift(child)
            case Element():
                wanted = self._is_wanted(child)
            case Text():
                wanted = not child.data.strip() or self._follows(letters(child.data))
                if not child.data.strip():
                    return False
            case _:
                wanted = False
        if not wanted:
            child.decompose()
        return wanted

    def _is_wanted(self, element: Element) -> bool:
        text = letters(element.text)
        if not text:
            return self._is_picture(element)
        if self._follows(text) or (element.tag == "h1" and text in self._title):
            self._pictures.clear()
            return True
        return False

    def _is_picture(self, element: Element) -> bool:
        """A picture within the text stays; one behind the last words goes again."""
        picture = element if element.tag == "img" else element.find("img")
        if picture is None or not self.found:
            return element.tag in ("br", "hr") and bool(self.found)
        self._pictures.append(picture)
        return True

    def drop_last_pictures(self) -> None:
        for picture in self._pictures:
            picture.decompose()

    def _follows(self, text: str) -> bool:
        """Whether these letters come next, or soon; of long ones it is enough that they come."""
        start = self._wanted.find(text, self._at)
        if start < 0 and len(text) >= LONG:  # the finder of the text went another way
            start = self._wanted.find(text)
        end = start + len(text)
        if start < 0 and len(text) >= LONG:  # a word of it may have been left out
            start = self._wanted.find(text[:SAMPLE], self._at)
            last = self._wanted.find(text[-SAMPLE:], start, start + 2 * len(text))
            start, end = (-1, -1) if last < 0 else (start, last + SAMPLE)
        if start < 0 or (start > self._at + NEAR and len(text) < LONG):
            return False
        self.found += end - start
        self._at = end
        return True


def _has_blocks(element: Element) -> bool:
    return next(iter(element.iter_elements(tuple(_BLOCKS))), None) is not None


def _title(document: Document) -> str:
    title = document.find("title")
    return "" if title is None else title.text


def _agree(one: str, other: str) -> bool:
    if len(one) < ENOUGH or not other:
        return False
    return 1 / AGREEMENT < len(one) / len(other) < AGREEMENT


@lru_cache(maxsize=1)
def _trafilatura() -> ModuleType | None:
    """The library where it is installed; it takes a third of a second to load."""
    try:
        import trafilatura  # noqa: PLC0415 - an extra
    except ImportError:
        return None
    # It tells of pages without content; that is an answer here, and no news.
    logging.getLogger("trafilatura").addHandler(logging.NullHandler())
    module: ModuleType = trafilatura
    return module


def _extracted(library: ModuleType, source: str, *, fast: bool) -> str:
    try:
        found: str | None = library.extract(source, include_comments=False, fast=fast)
    except _FAILURES:
        return ""
    return found or ""
