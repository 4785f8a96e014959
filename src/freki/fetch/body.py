"""Takes in an answer as it arrives, within limits. Pure: bytes in, a `Response` out."""

from freki.messages import Response, Timings

# libcurl stops at 300 KiB of headers by itself; this bounds what we keep of many small ones.
MAX_HEADERS = 1000

# Header values are bytes on the wire; RFC 9110 5.5 allows the upper half as opaque data.
_HEADER_CODEC = "latin-1"


class Intake:
    """One answer. libcurl calls `header` per line and `write` per piece of the decoded body."""

    __slots__ = ("_lines", "_pieces", "_status_line", "_wanted", "enough", "limit", "size", "too_large", "unwanted")

    def __init__(self, limit: int, wanted: tuple[str, ...] = ()) -> None:
        self.limit = limit
        self._lines: list[bytes] = []
        self._pieces: list[bytes] = []
        self.size = 0
        self._status_line = b""
        self._wanted = wanted
        self.too_large = False
        self.unwanted = ""  # the content type that nobody asked for
        self.enough = False  # a limit of nothing: the headers were all that was wanted

    def header(self, line: bytes) -> None:
        """A status line begins a new block: answers like 103 come before the real one."""
        if line.startswith(b"HTTP/"):
            self._lines.clear()
            self._status_line = line
        elif len(self._lines) < MAX_HEADERS:
            self._lines.append(line)

    def write(self, piece: bytes) -> int:
        """The number of bytes taken; fewer than offered ends the transfer."""
        if not self.size and self._wanted and self._is_unwanted():
            return -1
        self.size += len(piece)
        if self.size > self.limit:
            self.enough = self.limit == 0
            self.too_large = not self.enough
            self._pieces.clear()
            return -1
        self._pieces.append(piece)
        return len(piece)

    def _is_unwanted(self) -> bool:
        """Only what a page is counts: redirects and errors are kept whatever they are."""
        if self._status_line[9:10] != b"2":
            return False
        kind = self.content_type()
        if kind.lower().startswith(self._wanted):
            return False
        self.unwanted = kind or "none"
        return True

    def content_type(self) -> str:
        """Of several the last one (Fetch standard, "extract a MIME type")."""
        types = [value for name, value in self.headers() if name == "content-type"]
        return types[-1] if types else ""

    def headers(self) -> tuple[tuple[str, str], ...]:
        """Names lower-cased, in order of arrival; lines that are no header are left out."""
        found: list[tuple[str, str]] = []
        for line in self._lines:
            name, colon, value = line.decode(_HEADER_CODEC).partition(":")
            if colon:
                found.append((name.strip().lower(), value.strip()))
            elif found and line[:1] in b" \t" and line.strip():
                # RFC 9112 5.2: an obsolete folded line continues the one before.
                name, value = found[-1]
                found[-1] = (name, f"{value} {line.decode(_HEADER_CODEC).strip()}")
        return tuple(found)

    def response(
        self, url: str, status: int, timings: Timings, wire_bytes: int, http: str, address: str
    ) -> Response:
        headers = self.headers()
        types = [value for name, value in headers if name == "content-type"]
        return Response(
            url,
            status,
            headers,
            b"".join(self._pieces),
            types[-1] if types else "",
            timings,
            wire_bytes,
            http,
            address,
        )
