"""Content codings undone, within a limit. Pure: bytes in, bytes out.

libcurl could do it while it reads, but it takes a stream that ends early for a whole one, and
the bytes as they came over the wire would be gone. A decoder here never makes more than the
limit, whatever it is fed: 34 bytes of brotli can mean eleven million.
"""

import zlib
from collections.abc import Callable

import brotli
from zstandard import ZstdDecompressor, ZstdError

from freki.messages import Reason

# What is asked for, in a request; the order means nothing to servers.
ACCEPTED = "gzip, deflate, br, zstd"

# libcurl's limit as well; nobody honest needs two.
MAX_CODINGS = 5

# RFC 8878 3.1.1.1.2 recommends to support this much and to refuse more, lest a few bytes ask
# for gigabytes of window.
ZSTD_WINDOW = 8 * 2**20

_PIECE = 2**16

# Bytes fed to zstd at once. Four of them can mean 128 KiB, so this is at most 8 MiB over the limit.
_SLICE = 256
_ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"


class Undecodable(Exception):
    """Translated to a `Failure` by the client; never leaves `fetch`."""

    def __init__(self, reason: Reason, detail: str) -> None:
        super().__init__(detail)
        self.reason = reason
        self.detail = detail


def decode(body: bytes, content_encoding: str, limit: int) -> bytes:
    """The body without its codings, the last one undone first (RFC 9110 8.4)."""
    for undo in _decoders(content_encoding):
        body = undo(body, limit) if body else body
        if len(body) > limit:
            raise Undecodable(Reason.too_large, f"the body is larger than {limit} bytes")
    return body


def beginning(body: bytes, content_encoding: str, limit: int) -> bytes:
    """The first bytes of what `decode` would make, however many there would be."""
    for undo in _decoders(content_encoding):
        body = undo(body, limit) if body else body
    return body[:limit]


def _decoders(content_encoding: str) -> list[Callable[[bytes, int], bytes]]:
    codings = [name.strip().lower() for name in content_encoding.split(",")]
    codings = [name for name in codings if name not in ("", "identity")]
    if len(codings) > MAX_CODINGS:
        raise Undecodable(Reason.decode, f"{len(codings)} content codings one over the other")
    # Like browsers: a coding that nobody knows is most often no coding at all ("utf-8").
    return [_DECODERS[name] for name in reversed(codings) if name in _DECODERS]


def _gzip(body: bytes, limit: int) -> bytes:
    """One member after another; what follows the last one is not gzip and ignored."""
    pieces: list[bytes] = []
    room = limit + 1
    while body[:2] == b"\x1f\x8b" or not pieces:
        decoder = zlib.decompressobj(31)
        piece = _inflate(decoder, body, room, "gzip")
        pieces.append(piece)
        room -= len(piece)
        if room <= 0:
            break
        body = decoder.unused_data
    return b"".join(pieces)


def _deflate(body: bytes, limit: int) -> bytes:
    """RFC 9110 8.4.1.2 means zlib, but many servers send the bare stream: 1 in 31 bytes tells."""
    is_zlib = body[0] & 0x0F == 8 and int.from_bytes(body[:2], "big") % 31 == 0
    return _inflate(zlib.decompressobj(15 if is_zlib else -15), body, limit + 1, "deflate")


def _inflate(decoder: "zlib._Decompress", body: bytes, room: int, name: str) -> bytes:
    try:
        piece = decoder.decompress(body, room)
    except zlib.error as error:
        raise Undecodable(Reason.decode, f"broken {name}: {error}") from None
    if not decoder.eof and len(piece) < room:
        raise Undecodable(Reason.incomplete, f"the {name} stream ends early")
    return piece


def _brotli(body: bytes, limit: int) -> bytes:
    decoder = brotli.Decompressor()
    pieces: list[bytes] = []
    size = 0
    try:
        while size <= limit:
            pieces.append(decoder.process(body, output_buffer_limit=_PIECE))
            size += len(pieces[-1])
            body = b""
            if decoder.is_finished() or not pieces[-1]:
                break
    except brotli.error as error:
        raise Undecodable(Reason.decode, f"broken brotli: {error}") from None
    if size <= limit and not decoder.is_finished():
        raise Undecodable(Reason.incomplete, "the brotli stream ends early")
    return b"".join(pieces)


def _zstd(body: bytes, limit: int) -> bytes:
    """One frame after another, fed in small slices: the library has no limit of its own."""
    pieces: list[bytes] = []
    size = 0
    try:
        while size <= limit and (body.startswith(_ZSTD_MAGIC) or not pieces):
            decoder = ZstdDecompressor(max_window_size=ZSTD_WINDOW).decompressobj()
            for start in range(0, len(body), _SLICE):
                pieces.append(decoder.decompress(body[start : start + _SLICE]))
                size += len(pieces[-1])
                if decoder.eof or size > limit:
                    break
            else:
                raise Undecodable(Reason.incomplete, "the zstd stream ends early")
            body = decoder.unused_data + body[start + _SLICE :]
    except ZstdError as error:
        raise Undecodable(Reason.decode, f"broken zstd: {error}") from None
    return b"".join(pieces)


_DECODERS: dict[str, Callable[[bytes, int], bytes]] = {
    "gzip": _gzip,
    "x-gzip": _gzip,
    "deflate": _deflate,
    "br": _brotli,
    "zstd": _zstd,
}
