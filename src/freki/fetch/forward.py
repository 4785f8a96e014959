"""What a forward proxy reads and writes: heads of HTTP/1.1 messages. Pure.

Only as much of HTTP as it needs to say where a request goes, and that the answer is the only one
on its connection: nobody can be sent on to a second place behind a first one that was judged.
"""

import re
from collections.abc import Iterable

from msgspec import Struct

from freki.errors import BadUrl
from freki.url import hostname, parse, port_of, split

_END = re.compile(rb"\r?\n\r?\n")
_REQUEST_LINE = re.compile(rb"([A-Z]{1,20}) ([\x21-\x7e]+) HTTP/1\.[01]")
_STATUS_LINE = re.compile(rb"HTTP/1\.[01] ([1-5]\d\d)(?: |\r?$)")
_FIELD = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+:[^\0\r\n]*")

# RFC 9110 7.6.1: for the next hop only.
_HOP_BY_HOP = frozenset((b"connection", b"keep-alive", b"proxy-connection", b"proxy-authorization"))


class Request(Struct, frozen=True):
    """Where a request wants to go, and what to send there."""

    url: str  # of its origin
    head: bytes  # nothing for a tunnel

    @property
    def host(self) -> str:
        return hostname(self.url)

    @property
    def port(self) -> int:
        return port_of(self.url)

    @property
    def is_tunnel(self) -> bool:
        return not self.head


def cut(data: bytes | bytearray) -> tuple[bytes, bytes] | None:
    """A head with the empty line that ends it, and the rest; None where it is not complete."""
    end = _END.search(data)
    return (bytes(data[: end.end()]), bytes(data[end.end() :])) if end else None


def read_request(head: bytes) -> Request | None:
    """The request in a head; None where it is none for a proxy."""
    line, *fields = head.removesuffix(b"\r\n\r\n").split(b"\r\n")
    words = _REQUEST_LINE.fullmatch(line)
    if words is None or not all(map(_FIELD.fullmatch, fields)):
        return None
    method, target = words[1], words[2]
    try:
        if method == b"CONNECT":
            return Request(_authority("https://", target.decode()), b"")
        origin, path = _absolute(target.decode())
    except BadUrl:
        return None
    return Request(origin, _sent_on(method, split(origin).origin, path, fields))


def _authority(scheme: str, text: str) -> str:
    """Its normal form, by the one parser; so a host in any spelling is what browsers make of it."""
    if re.search(r"[/\\?#@]", text):
        raise BadUrl(f"{text!r} is more than a host and a port")
    return parse(f"{scheme}{text}/")


def _absolute(target: str) -> tuple[str, str]:
    scheme, _, rest = target.partition("://")
    if scheme.lower() != "http":
        raise BadUrl(f"{target!r} is not plain HTTP")
    end = re.search(r"[/?]", rest)
    cut_at = end.start() if end else len(rest)
    path = rest[cut_at:]
    return _authority("http://", rest[:cut_at]), path if path.startswith("/") else f"/{path}"


def _sent_on(method: bytes, origin: str, path: str, fields: Iterable[bytes]) -> bytes:
    host = origin.partition("://")[2]
    kept = [field for field in fields if _name(field) not in (*_HOP_BY_HOP, b"host")]
    upgrades = any(_name(field) == b"upgrade" for field in kept)
    connection = b"Upgrade" if upgrades else b"close"
    first = b"%s %s HTTP/1.1" % (method, path.encode())
    lines = [first, b"Host: " + host.encode(), *kept, b"Connection: " + connection]
    return b"\r\n".join(lines) + b"\r\n\r\n"


def status_of(head: bytes) -> int | None:
    """The status in the head of an answer; None where it is no HTTP/1."""
    words = _STATUS_LINE.match(head.partition(b"\n")[0])
    return int(words[1]) if words else None


def last_answer(head: bytes) -> bytes:
    """The head of an answer after which the connection ends, whatever the server thinks."""
    line, *fields = head.rstrip(b"\r\n").split(b"\n")
    kept = [field.rstrip(b"\r") for field in fields if _name(field) not in _HOP_BY_HOP]
    return b"\r\n".join([line.rstrip(b"\r"), *kept, b"Connection: close"]) + b"\r\n\r\n"


def _name(field: bytes) -> bytes:
    return field.partition(b":")[0].strip().lower()
