"""The URLs that a sitemap names: XML sitemaps and their indexes, lists in plain text, RSS and Atom.

Pure and total: whatever a body contains, `read` returns what could be read and says what was
wrong. Time is linear in the size; memory is for the result and a few chunks, not the document.

The tokenizer is our own, and not for speed: expat is about as fast. But many sitemaps are not
well-formed, and expat drops all that follows a bare `&` in a URL; versions before 2.6 need seconds
for one large comment. Nothing is ever expanded or fetched: a document with a type declaration, the
only place that can define entities, is refused.
"""

import codecs
import re
import zlib
from collections.abc import Iterable, Iterator
from enum import StrEnum, auto

from msgspec import Struct

from freki.url import MAX_LENGTH

# What sitemaps.org allows one file to have.
MAX_URLS = 50_000
MAX_BYTES = 50 * 1024 * 1024  # decompressed

# Bytes that are decompressed and read at once.
CHUNK = 128 * 1024

# Parallel compressors write one member per 64 KiB or more. A hostile body could consist of
# millions, and each costs some microseconds, however little is in it.
MAX_GZIP_MEMBERS = 1024


class Problem(StrEnum):
    """What was wrong. What was read before it is kept, except where a document is refused."""

    doctype = auto()  # refused: it declares a document type
    not_a_sitemap = auto()
    too_many = auto()  # URLs
    too_large = auto()  # bytes
    damaged = auto()  # its compression
    truncated = auto()  # its end is missing


class Entry(Struct, frozen=True, gc=False):
    """A URL as it is written: it may be relative, or not even a URL."""

    url: str
    lastmod: str | None = None  # as written, every format has its own
    priority: float | None = None  # 0 to 1


class Sitemap(Struct, frozen=True):
    """What a sitemap names."""

    entries: tuple[Entry, ...] = ()
    children: tuple[Entry, ...] = ()  # sitemaps, of an index
    problem: Problem | None = None


def read(body: bytes, max_urls: int = MAX_URLS, max_bytes: int = MAX_BYTES) -> Sitemap:
    """What a body names, compressed with gzip or not. 50 MB take about half a second."""
    found = _Found(max_urls)
    reader: _Xml | _Lines | None = None
    for chunk in _utf8(_chunks(body, max_bytes)):
        if isinstance(chunk, Problem):
            if reader is not None:
                reader.cut()
            found.problem = found.problem or chunk
            break
        if reader is None and chunk.strip():
            reader = _reader(chunk, found)
        if reader is not None:
            reader.feed(chunk)
        if found.problem:
            break
    else:
        (reader or _Lines(found)).close()
    return Sitemap(tuple(found.entries), tuple(found.children), found.problem)


class _Found:
    def __init__(self, limit: int) -> None:
        self.entries: list[Entry] = []
        self.children: list[Entry] = []
        self.problem: Problem | None = None
        self._left = limit

    def add(self, entries: list[Entry], entry: Entry) -> None:
        if not entry.url or len(entry.url) > MAX_LENGTH:
            return  # nothing that could be fetched
        if self._left == 0:
            self.problem = Problem.too_many
            return
        self._left -= 1
        entries.append(entry)

    def refuse(self, problem: Problem) -> None:
        self.entries.clear()
        self.children.clear()
        self.problem = problem

    def close(self) -> None:
        if not self.entries and not self.children:
            self.problem = self.problem or Problem.not_a_sitemap


# --- bytes ---


def _chunks(body: bytes, max_bytes: int) -> Iterator[bytes | Problem]:
    """The decompressed body; a problem is the last of the chunks."""
    room = max_bytes
    for chunk in _inflated(body) if body.startswith(_GZIP) else _sliced(body):
        if isinstance(chunk, Problem):
            yield chunk
            return
        yield chunk[:room]
        room -= len(chunk)
        if room < 0:
            yield Problem.too_large
            return


_GZIP = b"\x1f\x8b"  # whatever the headers say: they are often wrong about it


def _sliced(body: bytes) -> Iterator[bytes]:
    for at in range(0, len(body), CHUNK):
        yield body[at : at + CHUNK]


def _inflated(body: bytes) -> Iterator[bytes | Problem]:
    at = 0
    for _ in range(MAX_GZIP_MEMBERS):
        inflater = zlib.decompressobj(wbits=16 + zlib.MAX_WBITS)
        while not inflater.eof:
            packed = inflater.unconsumed_tail
            if not packed:
                packed = body[at : at + CHUNK]
                at += len(packed)
            try:
                chunk = inflater.decompress(packed, CHUNK)
            except zlib.error:
                yield Problem.damaged
                return
            if chunk:
                yield chunk
            elif not packed:
                yield Problem.truncated
                return
        at -= len(inflater.unused_data)
        if not body.startswith(_GZIP, at):
            return  # the end, or padding, as tapes need it
    yield Problem.damaged


def _utf8(chunks: Iterable[bytes | Problem]) -> Iterator[bytes | Problem]:
    """The chunks with UTF-16 made UTF-8. Declared encodings are not believed: they are wrong as
    often as right, and URLs are ASCII but for a few."""
    decoder: codecs.IncrementalDecoder | None = None
    for number, chunk in enumerate(chunks):
        if isinstance(chunk, Problem):
            yield chunk
            continue
        if number == 0:
            chunk = chunk.removeprefix(codecs.BOM_UTF8)
            encoding = _UTF16.get(chunk[:2])
            decoder = codecs.getincrementaldecoder(encoding)("replace") if encoding else None
        yield decoder.decode(chunk).encode() if decoder else chunk


_UTF16 = {
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
    b"<\x00": "utf-16-le",
    b"\x00<": "utf-16-be",
}


# --- formats ---


def _reader(head: bytes, found: _Found) -> "_Xml | _Lines":
    # Some servers print a warning before the document, so that it does not begin with its root.
    if head.lstrip().startswith(b"<") or _ROOT.search(head, 0, 4096):
        return _Xml(found)
    return _Lines(found)


class _Lines:
    """A list: every line is a URL. Other lines are left out."""

    def __init__(self, found: _Found) -> None:
        self._found = found
        self._rest = b""

    def feed(self, chunk: bytes) -> None:
        *lines, rest = (self._rest + chunk).replace(b"\r", b"\n").split(b"\n")
        self._rest = rest[: MAX_LENGTH + 1]  # too long is too long
        for line in lines:
            if self._found.problem:
                return
            self._add(line)

    def _add(self, line: bytes) -> None:
        line = line.strip()
        if line[:8].lower().startswith((b"https://", b"http://")):
            self._found.add(self._found.entries, Entry(_decoded(line)))

    def cut(self) -> None:
        """The last line is not whole: part of a URL is another URL."""

    def close(self) -> None:
        self._add(self._rest)
        self._found.close()


_PREFIX = rb"(?:([\w.-]+):)?"
_ROOT_NAMES = rb"urlset|sitemapindex|rss|feed|rdf"
_ROOT = re.compile(rb"<" + _PREFIX + rb"(" + _ROOT_NAMES + rb")[\s>]", re.IGNORECASE)


def _tokens(records: bytes, fields: bytes) -> re.Pattern[bytes]:
    """Finds what matters and passes over the rest: every token begins with `<`, ends before the
    next one, and is tried once from there, so that the time is linear."""
    attributes = rb"(\s[^<>]*|/)?>"
    return re.compile(
        rb"<(?:(!--|!\[CDATA\[|!)"
        rb"|(/?)" + _PREFIX + rb"(" + _ROOT_NAMES + rb"|" + records + rb")" + attributes + rb"|"
        # A text counts only if something follows it: part of a URL is another URL.
        + _PREFIX + rb"(" + fields + rb")" + attributes + rb"(?:\s*<!\[CDATA\[)?([^<]*)(?=<))",
        re.IGNORECASE,
    )


_SITEMAP_TOKENS = _tokens(rb"url|sitemap", rb"loc|lastmod|priority")
_FEED_TOKENS = _tokens(rb"item|entry", rb"link|guid|pubdate|updated|date")
_TOKENS = {
    b"urlset": _SITEMAP_TOKENS,
    b"sitemapindex": _SITEMAP_TOKENS,
    b"rss": _FEED_TOKENS,
    b"feed": _FEED_TOKENS,
    b"rdf": _FEED_TOKENS,
}
