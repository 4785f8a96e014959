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
from collections.abc import Callable, Iterator
from enum import StrEnum, auto

from msgspec import Struct

from freki.url import MAX_LENGTH

# What sitemaps.org allows one file to have.
MAX_URLS = 50_000
MAX_BYTES = 50 * 1024 * 1024  # decompressed

# Twice what is in 50 MB of honest XML; as many `<` as fit in would take 7 seconds instead of 2.
MAX_TAGS = 3_000_000

# Parallel compressors write one member per 64 KiB or more. A hostile body could consist of
# millions, and each costs some microseconds, however little is in it.
MAX_GZIP_MEMBERS = 1024

GZIP = b"\x1f\x8b"  # how what it packed begins
CHUNK = 128 * 1024  # bytes that are decompressed and read at once


class Problem(StrEnum):
    """What was wrong. What was read before it is kept, except where a document is refused."""

    doctype = auto()  # refused: it declares a document type
    not_a_sitemap = auto()
    too_many = auto()  # URLs
    too_large = auto()  # bytes or tags
    damaged = auto()  # its compression
    truncated = auto()  # its end is missing


class Entry(Struct, frozen=True, gc=False):
    """A URL as it is written: it may be relative, or not even a URL."""

    url: str
    lastmod: str | None = None  # as written: every format has its own
    priority: float | None = None  # 0 to 1


class Sitemap(Struct, frozen=True):
    """What a sitemap names."""

    entries: tuple[Entry, ...] = ()
    children: tuple[Entry, ...] = ()  # the sitemaps of an index
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

    def refuse(self) -> None:
        self.entries.clear()
        self.children.clear()
        self.problem = Problem.doctype

    def expect_something(self) -> None:
        if not self.entries and not self.children:
            self.problem = self.problem or Problem.not_a_sitemap


# --- bytes ---


def _chunks(body: bytes, max_bytes: int) -> Iterator[bytes | Problem]:
    """The decompressed body. A problem comes last."""
    room = max_bytes
    # The headers are not asked: they are wrong too often, in both directions.
    for chunk in _inflated(body) if body.startswith(GZIP) else _sliced(body):
        yield chunk if isinstance(chunk, Problem) else chunk[:room]
        room -= len(chunk)
        if room < 0:
            yield Problem.too_large
            return


_PACKED = 1024  # bytes decompressed at once: what an error makes unreadable


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
                packed = body[at : at + _PACKED]
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
        if not body.startswith(GZIP, at):
            return  # the end, or padding
    yield Problem.damaged


def _utf8(chunks: Iterator[bytes | Problem]) -> Iterator[bytes | Problem]:
    # Declared encodings are not asked either. What is neither UTF-16 nor UTF-8 is taken for
    # Latin-1, text by text; that only matters for the few URLs that are not ASCII.
    decode: Callable[[bytes], str] | None = None
    for number, chunk in enumerate(chunks):
        if number == 0 and not isinstance(chunk, Problem) and chunk[:2] in _UTF16:
            decode = codecs.getincrementaldecoder(_UTF16[chunk[:2]])("replace").decode
        yield chunk if decode is None or isinstance(chunk, Problem) else decode(chunk).encode()


_UTF16 = {codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}
_UTF16 |= {b"<\x00": "utf-16-le", b"\x00<": "utf-16-be"}


# --- formats ---


def _reader(head: bytes, found: _Found) -> "_Xml | _Lines":
    # The second question is for servers that print a warning before the document.
    if head.removeprefix(codecs.BOM_UTF8).lstrip().startswith(b"<") or _ROOT.search(head, 0, 4096):
        return _Xml(found)
    return _Lines(found)


class _Lines:
    """A list: every line is a URL, and what is none is left out."""

    def __init__(self, found: _Found) -> None:
        self._found = found
        self._rest = b""

    def feed(self, chunk: bytes) -> None:
        *lines, rest = (self._rest + chunk).replace(b"\r", b"\n").split(b"\n")
        self._rest = rest[: MAX_LENGTH + 1]  # then it is too long, and stays it
        for line in lines:
            self._add(line)

    def _add(self, line: bytes) -> None:
        line = line.removeprefix(codecs.BOM_UTF8).strip()
        if line[:8].lower().startswith((b"https://", b"http://")):
            self._found.add(self._found.entries, Entry(_decoded(line)))

    def cut(self) -> None:
        """Leaves out the last line: the beginning of a URL is another URL."""

    def close(self) -> None:
        self._add(self._rest)
        self._found.expect_something()


_ROOTS = rb"urlset|sitemapindex|rss|feed|rdf"
_ROOT = re.compile(rb"<(?:[\w.-]+:)?(?:" + _ROOTS + rb")[\s>]", re.IGNORECASE)


def _tokens(records: bytes, fields: bytes) -> re.Pattern[bytes]:
    """Finds what matters and passes over the rest. Each token begins with `<` and ends before the
    next one, so that nothing is looked at twice. A field counts only if something follows its
    text: the beginning of a URL is another URL."""
    elements = _ROOTS + rb"|" + records
    return re.compile(
        rb"""<(?:
            (%b|[\w.-]+:(?:%b)) (\s[^<>]*|/)? > (?:\s*<!\[CDATA\[)? ([^<]*) (?=<)
          | (/?) (%b|[\w.-]+:(?:%b)) (?:\s[^<>]*|/)? >
          | (!--|!\[CDATA\[|!(?:DOCTYPE|ENTITY|ELEMENT|ATTLIST|NOTATION)\b)
        )"""
        % (fields, fields, elements, elements),
        re.IGNORECASE | re.VERBOSE,
    )


_SITEMAP = _tokens(rb"url|sitemap", rb"loc|lastmod|priority")
_FEED = _tokens(rb"item|entry", rb"link|guid|pubdate|updated")
_TOKENS = {b"urlset": _SITEMAP, b"sitemapindex": _SITEMAP}
_TOKENS |= {b"rss": _FEED, b"feed": _FEED, b"rdf": _FEED}
_ENDS = {b"!--": b"-->", b"![CDATA[": b"]]>"}


class _Xml:
    """Records such as `url` and `item` with their fields, wherever in a document they are.

    A field has the namespace prefix of its record: that tells `loc` from `image:loc`.
    """

    def __init__(self, found: _Found) -> None:
        self._found = found
        self._tokens = _SITEMAP
        self._tags = 0
        self._root: bytes | None = None  # empty after its end
        self._record = b""  # while it is open
        self._prefix = b""  # of the record
        self._fields: dict[bytes, bytes] = {}
        self._until = b""  # the end of the comment or CDATA section we are in
        self._rest = b""

    def feed(self, chunk: bytes) -> None:
        self._tags += chunk.count(b"<")
        if self._tags > MAX_TAGS:
            self._found.problem = Problem.too_large
            return
        text = self._rest + chunk
        # What stands before a closing tag is whole. The first byte was where we stopped before.
        end = text.rfind(b"</", 1)
        if end > 0:
            self._read(text, end + 1)
            self._rest = text[end:]
        elif len(text) <= CHUNK:
            self._rest = text
        else:
            self._read(text, len(text))
            self._rest = text[-2:]  # may be the beginning of "-->"

    def cut(self) -> None:
        self._read(self._rest, len(self._rest))
        self._end_record()

    def close(self) -> None:
        self.cut()
        if self._root and not self._found.problem:
            self._found.problem = Problem.truncated
        if self._root is None:
            self._found.expect_something()

    def _read(self, text: bytes, end: int) -> None:
        at = 0
        while not self._found.problem:
            if self._until:
                at = text.find(self._until, at, end)
                if at < 0:
                    return
                self._until = b""
            token = self._tokens.search(text, at, end)
            if token is None:
                return
            at = token.end()
            self._take(token)

    def _take(self, token: re.Match[bytes]) -> None:
        field, attributes, text, slash, element, special = token.groups(b"")
        prefix, _, name = (field or element).lower().rpartition(b":")
        if field:
            if self._record and prefix == self._prefix:
                self._add(name, attributes, text)
        elif slash:
            self._end(name)
        elif element:
            self._begin(name, prefix)
            if token[0].endswith(b"/>"):
                self._end(name)
        elif special.upper() in _ENDS:
            self._until = _ENDS[special.upper()]
        else:
            self._found.refuse()

    def _begin(self, name: bytes, prefix: bytes) -> None:
        if name not in _TOKENS:
            self._end_record()
            self._record, self._prefix = name, prefix
        elif not self._root:
            self._root = name
            self._tokens = _TOKENS[name]

    def _end(self, name: bytes) -> None:
        if name == self._record:
            self._end_record()
        elif name == self._root:
            self._end_record()
            self._root = b""

    def _add(self, field: bytes, attributes: bytes, text: bytes) -> None:
        if field == b"link" and self._record == b"entry":
            text = _alternate(attributes)
        elif field == b"guid" and b"false" in attributes.lower():
            return  # isPermaLink="false"
        if text.strip() and len(text) <= _MAX_TEXT:
            self._fields.setdefault(field, text)

    def _end_record(self) -> None:
        fields = self._fields
        if fields:
            url = fields.get(b"loc") or fields.get(b"link") or fields.get(b"guid", b"")
            date = fields.get(b"lastmod") or fields.get(b"pubdate") or fields.get(b"updated", b"")
            entry = Entry(
                _text(url), _text(date[:_MAX_DATE]) or None, _priority(fields.get(b"priority", b""))
            )
            entries = self._found.children if self._record == b"sitemap" else self._found.entries
            self._found.add(entries, entry)
            self._fields = {}
        self._record = b""


_MAX_TEXT = 8 * MAX_LENGTH  # roughly a URL in which every character is a reference
_MAX_DATE = 100  # no format is half as long

_ATTRIBUTE = re.compile(rb"""\s(rel|href)\s*=\s*(?:"([^"]*)"|'([^']*)')""", re.IGNORECASE)


def _alternate(attributes: bytes) -> bytes:
    """The target of an Atom link, if it is the page that the entry is about."""
    values: dict[bytes, bytes] = {
        name.lower(): double or single for name, double, single in _ATTRIBUTE.findall(attributes)
    }
    is_alternate = values.get(b"rel", b"alternate").strip().lower() == b"alternate"
    return values.get(b"href", b"") if is_alternate else b""


def _priority(raw: bytes) -> float | None:
    try:
        priority = float(raw)
    except ValueError:
        return None
    return priority if 0.0 <= priority <= 1.0 else None


def _text(raw: bytes) -> str:
    inner, is_cdata, _ = raw.partition(b"]]>")
    text = _decoded(inner.strip())
    return text if is_cdata else _REFERENCE.sub(_character, text)


def _decoded(raw: bytes) -> str:
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return raw.decode("latin-1")


# These five and numbers are all that exist without a type declaration.
_NAMED = {"amp": "&", "lt": "<", "gt": ">", "quot": '"', "apos": "'"}
_REFERENCE = re.compile(
    r"&(?:(amp|lt|gt|quot|apos)|#([0-9]{1,7})|#x([0-9a-f]{1,6}));", re.IGNORECASE
)


def _character(reference: re.Match[str]) -> str:
    name, decimal, hexadecimal = reference.groups()
    if name:
        return _NAMED[name.lower()]
    code = int(decimal) if decimal else int(hexadecimal, 16)
    is_character = 0x20 <= code < 0xD800 or 0xE000 <= code <= 0x10FFFF
    return chr(code) if is_character else reference[0]
