"""Takes in an answer as it arrives, within limits. Pure: bytes in, a `Response` out."""

from freki.fetch.decode import Undecodable, beginning, decode
from freki.messages import Failure, Reason, Response, Timings

# What we keep of many small headers; of more lines than that twice, nobody reads the page.
MAX_HEADERS = 1000
MAX_LINES = 2 * MAX_HEADERS

# Answers before the real one; servers send one or two. libcurl stops at 300 KiB of headers by
# itself, but handing us the 30,000 lines of a flood takes as long as 30 pages do.
MAX_INTERIM = 50

# Header values are bytes on the wire; RFC 9110 5.5 allows the upper half as opaque data.
_HEADER_CODEC = "latin-1"

# What may stand around a value; `str.strip` would also take the last byte of a UTF-8 "à".
_BLANKS = " \t\r\n"

# Nobody reads what a redirect says beside its Location. Less than this is read all the same,
# because then the connection can be used again.
_REDIRECT_BYTES = 2**16


class Intake:
    """One answer. libcurl calls `header` per line and `write` per piece of the body."""

    __slots__ = (
        "_arrived", "_began", "_lines", "_pieces", "_status_line", "_wanted", "enough", "flood",
        "limit", "size", "too_large", "unwanted",
    )  # fmt: skip

    def __init__(self, limit: int, wanted: tuple[str, ...] = ()) -> None:
        self.limit = limit
        self._lines: list[bytes] = []
        self._pieces: list[bytes] = []
        self.size = 0
        self._status_line = b""
        self._wanted = wanted
        self._arrived = self._began = 0  # lines, and answers among them
        self.flood = ""  # what there was too much of before the body
        self.too_large = False
        self.unwanted = ""  # the content type that nobody asked for
        self.enough = False  # all that was wanted is here, and we ended the transfer

    def header(self, line: bytes) -> int | None:
        """A status line begins a new block: answers like 103 come before the real one.

        What comes after the body is not mixed with what came before it: RFC 9110 6.5.1. The
        number -1 ends the transfer.
        """
        self._arrived += 1
        if self._arrived > MAX_LINES:
            return self._flooded(f"more than {MAX_LINES} header lines")
        if self.size:
            return None
        if line.startswith(b"HTTP/"):
            self._began += 1
            if self._began > MAX_INTERIM + 1:
                return self._flooded(f"more than {MAX_INTERIM} interim answers")
            self._lines.clear()
            self._status_line = line
        elif len(self._lines) < MAX_HEADERS:
            self._lines.append(line)
        return None

    def _flooded(self, why: str) -> int:
        self.flood = why
        return -1

    def write(self, piece: bytes) -> int:
        """The number of bytes taken; fewer than offered ends the transfer."""
        if not self.size and self._is_unwanted():
            return -1
        self.size += len(piece)
        if self._kind == b"3":
            self.enough = self.size > _REDIRECT_BYTES
            return -1 if self.enough else len(piece)
        if self.size > self.limit:
            self.enough = self.limit == 0  # the headers were all that was wanted
            self.too_large = not self.enough
            self._pieces.clear()
            return -1
        self._pieces.append(piece)
        return len(piece)

    @property
    def _kind(self) -> bytes:
        """The first digit of the status: `HTTP/1.1 200` and `HTTP/2 200`."""
        return self._status_line.partition(b" ")[2][:1]

    def _is_unwanted(self) -> bool:
        """Only what a page is counts: redirects and errors are kept whatever they are."""
        if not self._wanted or self._kind != b"2":
            return False
        kind = _last(self.headers(), "content-type")
        if kind.lower().startswith(self._wanted):
            return False
        self.unwanted = kind or "none"
        return True

    def headers(self) -> tuple[tuple[str, str], ...]:
        """Names lower-cased, in order of arrival; lines that are no header are left out."""
        found: list[tuple[str, str]] = []
        for line in self._lines:
            text = line.decode(_HEADER_CODEC)
            name, colon, value = text.partition(":")
            if text.startswith((" ", "\t")):
                # RFC 9112 5.2: an obsolete folded line continues the one before.
                if found and text.strip(_BLANKS):
                    name, value = found[-1]
                    found[-1] = (name, f"{value} {text.strip(_BLANKS)}")
            elif colon and name.strip(_BLANKS):
                found.append((name.strip(_BLANKS).lower(), value.strip(_BLANKS)))
        return tuple(found)

    def response(
        self, url: str, status: int, timings: Timings, wire_bytes: int, http: str, address: str
    ) -> Response | Failure:
        """The answer with its codings undone, or why they cannot be."""
        headers = self.headers()
        body = b"".join(self._pieces)
        codings = ", ".join(value for name, value in headers if name == "content-encoding")
        if codings:
            try:
                body = self._decode(body, codings)
            except Undecodable as error:
                return Failure(error.reason, error.detail, timings, status)
        kind = _last(headers, "content-type")
        return Response(url, status, headers, body, kind, timings, wire_bytes, http, address)

    def _decode(self, body: bytes, codings: str) -> bytes:
        return decode(body, codings, self.limit)

    def failure(self, reason: Reason, detail: str, timings: Timings, status: int) -> Failure:
        """Why there is no answer: what we stopped ourselves says more than what libcurl saw."""
        if self.unwanted:
            reason, detail = Reason.not_wanted, f"content type {self.unwanted}"
        elif self.too_large:
            reason, detail = Reason.too_large, f"the body is larger than {self.limit} bytes"
        elif self.flood:
            reason, detail = Reason.too_large, self.flood
        return Failure(reason, detail, timings, status)


class Beginning(Intake):
    """An answer of which only the first bytes count, so it is never too large."""

    # Nothing grows by being compressed, so these many hold all that counts.
    _WIRE_FACTOR = 2

    def write(self, piece: bytes) -> int:
        self.size += len(piece)
        self._pieces.append(piece)
        self.enough = self.size > self._WIRE_FACTOR * self.limit
        return -1 if self.enough else len(piece)

    def _decode(self, body: bytes, codings: str) -> bytes:
        return beginning(body, codings, self.limit)


def _last(headers: tuple[tuple[str, str], ...], name: str) -> str:
    """Of several content types the last one counts (Fetch standard, "extract a MIME type")."""
    values = [value for key, value in headers if key == name]
    return values[-1] if values else ""
