"""Which characters the bytes of an answer are, by the rules that browsers follow.

WHATWG HTML 13.2.3.2, first answer wins: a byte-order mark, the charset of the
HTTP header, what the first 1024 bytes declare, a guess from the bytes. The mark,
`<meta>` and the guess are the parser's own; here is what it leaves to its caller.
Names are those of the WHATWG Encoding standard: `UTF-8`, `windows-1252`.
"""

import re
from functools import lru_cache

from turbohtml import parse
from turbohtml.detect import detect

_PRESCAN = 1024  # bytes in which a declaration must stand

_PARAMETER = re.compile(r';\s*+charset\s*+=\s*+["\']?([^;"\']{1,40}+)', re.IGNORECASE)
_XML_ENCODING = re.compile(rb"<\?xml[^>]*?\sencoding\s*=\s*[\"']([!-~]{1,40}?)[\"']")
_XML_STARTS = (b"<?xml", b"<\0?\0x\0", b"\0<\0?\0x")
_FOREIGN = re.compile(r"[^\x00-\x7f]+")
_UNICODE = {"UTF-8", "UTF-16LE", "UTF-16BE", "replacement"}  # their queries are UTF-8
_KEPT = frozenset(range(0x21, 0x7F)) - frozenset(b"\"#<>'")

# What Python calls the charsets whose names it does not know, or means something smaller by.
_CODECS = {
    "Shift_JIS": "cp932",
    "EUC-KR": "cp949",
    "Big5": "big5hkscs",
    "ISO-8859-8-I": "iso8859-8",
    "windows-874": "cp874",
    "x-mac-cyrillic": "mac_cyrillic",
}

# The first word "charset" of a page in a plain `<meta>`. Nothing before it has a "<" or ">" where
# it would have to be known whether it stands in a comment, a script or a value.
_PLAINLY_TOLD = re.compile(
    rb"""
    (?: (?!charset) [^<>]
      | <!-- (?: (?!charset|--) [^<>] )*+ -->
      | < (?: \? | !(?!--) ) (?: (?!charset) [^<>] )*+ >
      | <title> (?: (?!charset) [^<>] )*+ </title>
      | < (?!!--|meta[\s/]+(?:http-equiv|charset)|title|style|script|textarea|xmp|iframe|no|template
             |plaintext|svg|math) [a-z/]
        (?: (?!charset) [^<>"'=]
          | = \s*+ (?: "(?: (?!charset) [^<>"] )*+" | '(?: (?!charset) [^<>'] )*+'
                     | (?!charset) [^<>"'\s] )
        )*+ >
    )*+
    <meta \s++
    (?: charset= (?: "([\w-]{3,20})" | '([\w-]{3,20})' | ([\w-]{3,20}) )
      | http-equiv= (?: "content-type" | 'content-type' | content-type ) \s++
        content= (?: "[a-z/+]++ ; \s*+ charset=([\w-]{3,20})"
                   | '[a-z/+]++ ; \s*+ charset=([\w-]{3,20})' ) )
    \s*+ /? >
    """,
    re.IGNORECASE | re.VERBOSE,
)
# What the guess finds in nothing but ASCII, and what could make it find something else.
_ASCII = "windows-1252"
_TOLD_OTHERWISE = re.compile(rb"charset|[\0-\x08\x0e-\x1f\x7f~]", re.IGNORECASE)

# What is markup to one who reads ASCII is markup in all others.
_UNLIKE_ASCII = {"UTF-16LE", "UTF-16BE", "ISO-2022-JP", "replacement", "x-user-defined"}

_MARKS = (b"\xef\xbb\xbf", b"\xfe\xff", b"\xff\xfe")


@lru_cache(maxsize=1024)
def declared(content_type: str) -> str | None:
    """The charset a Content-Type header names; None where it names none that browsers know."""
    parameter = _PARAMETER.search(content_type)
    return _known(parameter[1]) if parameter else None


def announced(body: bytes, content_type: str) -> str | None:
    """What header or XML declaration say; None leaves it to mark, `<meta>` and guess."""
    return declared(content_type) or _by_xml_declaration(body)


def told(body: bytes, content_type: str) -> str | None:
    """The charset of a body, where it is told so plainly that no parser has to be asked.

    None where it is not, or where markup is not written as in ASCII.
    """
    if body.startswith(_MARKS):
        return "UTF-8" if body.startswith(_MARKS[0]) else None
    name = announced(body, content_type)
    if name is None:
        meta = _PLAINLY_TOLD.match(body[:_PRESCAN])
        if meta is not None:
            name = _known(meta[meta.lastindex or 0].decode("ascii"))
        elif body.isascii() and _TOLD_OTHERWISE.search(body) is None:
            name = _ASCII
    return None if name in _UNLIKE_ASCII else name


def decode(body: bytes, content_type: str) -> tuple[str, str]:
    """The text of a body and the name of its charset; what is no character becomes U+FFFD."""
    marked = body.startswith(_MARKS)
    name = None if marked else announced(body, content_type)
    if name is None:
        name = _sniffed(body, content_type)
    text = body.decode(f"whatwg-{name}")  # a codec that `turbohtml.detect` brings
    return text.removeprefix("\ufeff") if marked else text, name


def spelled(href: str, encoding: str | None) -> str:
    """A link as a page of this charset means it: the letters of its query are the page's bytes.

    WHATWG URL, "percent-encode after encoding": a server that speaks windows-1251 finds nothing
    for the same word in UTF-8. Paths are UTF-8 on every page.
    """
    if encoding is None or encoding in _UNICODE or href.isascii():
        return href
    address, mark, fragment = href.partition("#")
    path, question, query = address.partition("?")
    if query.isascii():
        return href
    codec = _CODECS.get(encoding, encoding)
    query = _FOREIGN.sub(lambda letters: _escaped(letters[0], codec), query)
    return f"{path}{question}{query}{mark}{fragment}"


def _escaped(letters: str, codec: str) -> str:
    try:
        raw = letters.encode(codec)
    except (UnicodeError, LookupError):
        if len(letters) > 1:
            return "".join(_escaped(letter, codec) for letter in letters)
        return f"%26%23{ord(letters)}%3B"  # what browsers send for a letter the charset has not
    return "".join(chr(byte) if byte in _KEPT else f"%{byte:02X}" for byte in raw)


@lru_cache(maxsize=1024)
def _known(label: str) -> str | None:
    # Not `codecs.lookup`: it imports a module by that name, and remembers each name for ever.
    try:
        return parse(b"", encoding=label).encoding
    except (LookupError, ValueError):
        return None


def _by_xml_declaration(body: bytes) -> str | None:
    """WHATWG HTML 13.2.3.2, "get an XML encoding"; a `<meta>` beside it wins."""
    if not body.startswith(_XML_STARTS):
        return None
    if b"\0" in body[:2]:
        return "UTF-16BE" if body.startswith(b"\0") else "UTF-16LE"
    head = body[:_PRESCAN]
    declaration = _XML_ENCODING.match(head)
    if declaration is None or b"charset" in head.lower():
        return None
    name = _known(declaration[1].decode("ascii"))
    # The declaration could be read as ASCII, so it cannot be true.
    return "UTF-8" if name in ("UTF-16LE", "UTF-16BE") else name


def _sniffed(body: bytes, content_type: str) -> str:
    # A `<meta>` behind the prescan counts all the same (13.2.3.5), and only the parser knows
    # one. It takes 4 ns for a byte and much memory, so it is not asked about other texts.
    if "html" in content_type.lower():
        name = parse(body, detect_encoding=True, positions=False).encoding
    else:
        name = detect(body).encoding
    return (name or "UTF-8").removesuffix("-SIG")
