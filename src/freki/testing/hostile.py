"""How a server misbehaves: a table of generators that know no socket and no loop.

A behaviour yields bytes to send, seconds to wait, and None to reset the
connection, which ends when the behaviour does. `/hostile/NAME` asks for one.
"""

import gzip
import re
import time
import zlib
from collections.abc import Callable, Iterator
from email.utils import formatdate
from itertools import chain, cycle, repeat

_EVERY = re.compile(r"[?&]every=(\d{1,5}(?:\.\d{1,5})?)", re.ASCII)

Step = bytes | float | None
Behaviour = Callable[[str, float], Iterator[Step]]
"""Takes the path asked for, and the seconds between its steps (`?every=`, 1 by default)."""


def script(name: str, path: str) -> Iterator[Step]:
    """What the server does for a request of `/hostile/NAME`."""
    every = _EVERY.search(path)
    behaviour = HOSTILE.get(name, _say(_NOT_FOUND))
    return behaviour(path, float(every[1]) if every else 1.0)


_OK = b"HTTP/1.1 200 OK\r\ncontent-type: text/html\r\n"
_PAGE = b"<!doctype html><title>Hostile</title><p>Nothing to see here.</p>\n" * 8
_WHOLE = b"content-length: %d\r\n\r\n%b" % (len(_PAGE), _PAGE)
_NOT_FOUND = b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n"
_MIB = bytes(2**20)


def _say(*steps: Step) -> Behaviour:
    return lambda path, every: iter(steps)


def _for_ever(first: bytes, again: bytes) -> Behaviour:
    """As fast as the client takes it."""
    return lambda path, every: chain([first], repeat(again))


def _drip(first: bytes, drop: bytes) -> Behaviour:
    """Slowly."""
    return lambda path, every: chain([first], cycle([every, drop]))


def _silence(path: str, every: float) -> Iterator[Step]:
    return repeat(every)


def _chunk(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)


def _bomb(head: bytes, wbits: int) -> Behaviour:
    """A thousand zeros for every byte, without end, for the price of two compressions.

    A full flush makes the compressor forget what was before, so that the same
    bytes stand for a further mebibyte wherever they are repeated.
    """

    def explode(path: str, every: float) -> Iterator[Step]:
        squeeze = zlib.compressobj(9, wbits=wbits)
        fuse = squeeze.compress(_MIB) + squeeze.flush(zlib.Z_FULL_FLUSH)
        charge = squeeze.compress(_MIB) + squeeze.flush(zlib.Z_FULL_FLUSH)
        yield head + b"transfer-encoding: chunked\r\n\r\n" + _chunk(fuse)
        yield from repeat(_chunk(charge))

    return explode


def _truncated_gzip(path: str, every: float) -> Iterator[Step]:
    half = gzip.compress(_PAGE)[:-30]
    yield _OK + b"content-encoding: gzip\r\ncontent-length: %d\r\n\r\n%b" % (len(half), half)


def _redirect(location: str) -> Behaviour:
    head = f"HTTP/1.1 302 Found\r\nlocation: {location}\r\ncontent-length: 0\r\n\r\n"
    return _say(head.encode())


def _growing(path: str, every: float) -> Iterator[Step]:
    return _redirect(f"{path}{'&' if '?' in path else '?'}again=and")(path, every)


def _later(status: int, when: str | None) -> Behaviour:
    """The date of None is two seconds ahead."""

    def answer(path: str, every: float) -> Iterator[Step]:
        after = when or formatdate(time.time() + 2, usegmt=True)
        head = f"HTTP/1.1 {status} Later\r\ncontent-length: 0\r\nretry-after: {after}\r\n\r\n"
        yield head.encode()

    return answer


HOSTILE: dict[str, Behaviour] = {
    # Time.
    "silence": _silence,
    "slow-headers": _drip(b"HTTP/1.1 200 OK\r\nx-slow: ", b"a"),
    "slow-body": _drip(_OK + b"content-length: 1000000\r\n\r\n", b"a"),
    "slow-chunks": _drip(_OK + b"transfer-encoding: chunked\r\n\r\n", _chunk(b"a")),
    # Amount.
    "endless-body": _for_ever(_OK + b"transfer-encoding: chunked\r\n\r\n", _chunk(_PAGE * 32)),
    "endless-body-without-length": _for_ever(_OK + b"\r\n", _PAGE * 32),
    "endless-interim": _for_ever(
        b"HTTP/1.1 100 Continue\r\n\r\n", b"HTTP/1.1 102 Wait\r\n\r\n" * 99
    ),
    "endless-headers": _for_ever(_OK, b"x-more: and more\r\n" * 999),
    "endless-header-line": _for_ever(_OK + b"x-long: ", b"a" * 9999),
    "endless-chunk-extension": _for_ever(
        _OK + b"transfer-encoding: chunked\r\n\r\n5;", b"a" * 9999
    ),
    "endless-trailers": _for_ever(
        _OK + b"transfer-encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n",
        b"x-more: and more\r\n" * 999,
    ),
    "huge-headers": _say(_OK, b"x-more: and more\r\n" * 60_000, _WHOLE),
    "gzip-bomb": _bomb(_OK + b"content-encoding: gzip\r\n", 31),
    "deflate-bomb": _bomb(_OK + b"content-encoding: deflate\r\n", 15),
    "raw-deflate-bomb": _bomb(_OK + b"content-encoding: deflate\r\n", -15),
    "redirect-bomb": _bomb(b"HTTP/1.1 302 Found\r\nlocation: /\r\ncontent-encoding: gzip\r\n", 31),
    # Ends and lengths that lie.
    "close-at-once": _say(),
    "reset-at-once": _say(None),
    "reset": _say(_OK + b"content-length: 1000000\r\n\r\n" + _PAGE, 0.01, None),
    "length-too-long": _say(_OK + b"content-length: 1000000\r\n\r\n" + _PAGE),
    "length-too-short": _say(_OK + b"content-length: 10\r\n\r\n" + _PAGE),
    "length-beyond-numbers": _say(_OK + b"content-length: 9" + b"9" * 30 + b"\r\n\r\n" + _PAGE),
    "length-negative": _say(_OK + b"content-length: -5\r\n\r\n" + _PAGE),
    "two-lengths": _say(_OK + b"content-length: 10\r\n" + _WHOLE),
    "length-and-chunked": _say(_OK + b"transfer-encoding: chunked\r\n" + _WHOLE),
    "chunk-size-nonsense": _say(_OK + b"transfer-encoding: chunked\r\n\r\nzz\r\n" + _PAGE),
    "chunk-size-huge": _say(
        _OK + b"transfer-encoding: chunked\r\n\r\n" + b"f" * 17 + b"\r\n" + _PAGE
    ),
    # Content codings that lie.
    "truncated-gzip": _truncated_gzip,
    "not-gzip": _say(_OK + b"content-encoding: gzip\r\n" + _WHOLE),
    "unknown-coding": _say(_OK + b"content-encoding: x-rot13\r\n" + _WHOLE),
    "many-codings": _say(_OK + b"content-encoding: " + b"gzip, " * 99 + b"gzip\r\n" + _WHOLE),
    # Grammar.
    "status-line-nonsense": _say(b"SSH-2.0-OpenSSH_9.9\r\n"),
    "status-nonsense": _say(b"HTTP/1.1 abc OK\r\n" + _WHOLE),
    "status-too-large": _say(b"HTTP/1.1 99999 OK\r\n" + _WHOLE),
    "no-head": _say(_PAGE),
    "header-without-colon": _say(_OK + b"this is no header\r\n" + _WHOLE),
    "header-folded": _say(_OK + b"x-folded: one\r\n two\r\n" + _WHOLE),
    "header-bare-cr": _say(_OK + b"x-one: a\rset-cookie: cr=1\r\n" + _WHOLE),
    "header-bare-lf": _say(_OK + b"x-one: a\nset-cookie: lf=1\n" + _WHOLE),
    "header-nul": _say(_OK + b"x-nul: a\0b\r\n" + _WHOLE),
    # Redirects.
    "redirect-self": _redirect("/hostile/redirect-self"),
    "redirect-loop": _redirect("/hostile/redirect-loop-back"),
    "redirect-loop-back": _redirect("/hostile/redirect-loop"),
    "redirect-growing": _growing,
    "redirect-huge": _redirect("/" + "a" * 2**20),
    "redirect-fragment": _redirect("#here"),
    "redirect-nowhere": _redirect(""),
    "redirect-not-a-url": _redirect("http://[::1"),
    "redirect-file": _redirect("file:///etc/passwd"),
    # Later, perhaps.
    **{
        f"{status}-{name}": _later(status, when)
        for status in (429, 503)
        for name, when in (
            ("seconds", "1"),
            ("date", None),
            ("negative", "-5"),
            ("absurd", "1" + "0" * 30),
        )
    },
}
"""Every misbehaviour by the name it has in `/hostile/NAME`."""
