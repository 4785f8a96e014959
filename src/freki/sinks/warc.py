"""Answers as WARC 1.1 (ISO 28500:2017): bytes that are only ever added to. Pure.

The store keeps a body with its content coding undone and no chunks, and HTTP/2 has no text to
keep. So an answer is written as HTTP/1.1 with the body as it was read; headers that told of the
way it came are kept as X-Orig-…, which is what archives of browsers do. A request is written as
this crawl sends it; cookies are not kept.
"""

import zlib
from collections import OrderedDict
from hashlib import sha256
from http import HTTPStatus
from typing import Final, NamedTuple
from uuid import NAMESPACE_URL, uuid5

from freki.ledger.read import Arrival
from freki.messages import Request
from freki.url import split
from freki.version import __version__

# Bodies that are remembered: of one that comes again only a reference is written. One that was
# forgotten is written again, so this bounds memory (about 25 MB) and nothing else.
REMEMBERED: Final = 65_536

# A page of 28 KB takes 0.35 ms; level 9 takes three times that and saves 4 %.
LEVEL: Final = 5

# They told how the body came, and do not fit what is written.
_OF_THE_WAY: Final = frozenset({"content-encoding", "transfer-encoding", "content-length"})

_REVISIT: Final = "http://netpreservation.org/warc/1.1/revisit/identical-payload-digest"
_HTTP_RESPONSE: Final = "application/http; msgtype=response"
_HTTP_REQUEST: Final = "application/http; msgtype=request"

Fields = list[tuple[str, str]]


class First(NamedTuple):
    """Where a body was seen first."""

    url: str
    date: str
    record: str


class Warc:
    """Makes the records of one archive."""

    def __init__(self, job: str, sent: Fields, *, compressed: bool) -> None:
        self._job = job
        self._sent = sent  # headers of every request
        self._compressed = compressed
        self._info = ""
        self._seen: OrderedDict[str, First] = OrderedDict()

    def __repr__(self) -> str:
        return f"<Warc bodies={len(self._seen)}>"

    def head(self, name: str, date: str) -> bytes:
        """The record that says what the file is; the first one of each file."""
        self._info = self._id(f"info/{name}")
        block = (
            f"software: Freki/{__version__}\r\n"
            "format: WARC File Format 1.1\r\n"
            "conformsTo: http://iipc.github.io/warc-specifications/"
            "specifications/warc-format/warc-1.1/\r\n"
            "description: bodies are written with their codings undone, "
            "requests without cookies\r\n"
        ).encode()
        fields = [("WARC-Filename", name)]
        return self._record("warcinfo", self._info, date, "application/warc-fields", fields, block)

    def records(self, arrival: Arrival) -> bytes:
        """An answer and the request for it, or a reference where the same body came before."""
        page, body = arrival.page, arrival.body or b""
        record = self._id(f"{arrival.id}/response")
        head = response_head(arrival)
        fields = self._common(page.url, page.address)
        if page.http in ("2", "3"):
            fields.append(("WARC-Protocol", f"h{page.http}"))
        fields.append(("WARC-Payload-Digest", f"sha256:{page.sha256}"))
        first = self._first(page.sha256) if body else None
        if first is not None:
            fields += [
                ("WARC-Profile", _REVISIT),
                ("WARC-Refers-To", first.record),
                ("WARC-Refers-To-Target-URI", first.url),
                ("WARC-Refers-To-Date", first.date),
            ]
            answer = self._record("revisit", record, page.fetched_at, _HTTP_RESPONSE, fields, head)
        else:
            self._remember(page.sha256, First(page.url, page.fetched_at, record))
            if _is_cut(arrival):
                fields.append(("WARC-Truncated", "unspecified"))
            answer = self._record(
                "response", record, page.fetched_at, _HTTP_RESPONSE, fields, head + body
            )
        return answer + self._request(arrival, record)

    def _request(self, arrival: Arrival, answer: str) -> bytes:
        page = arrival.page
        block = request_block(page.url, arrival.request or Request(), self._sent)
        fields = self._common(page.url, page.address)
        fields.append(("WARC-Concurrent-To", answer))
        record = self._id(f"{arrival.id}/request")
        return self._record("request", record, page.fetched_at, _HTTP_REQUEST, fields, block)

    def _common(self, url: str, address: str) -> Fields:
        fields = [("WARC-Target-URI", url), ("WARC-Warcinfo-ID", self._info)]
        if address:
            fields.append(("WARC-IP-Address", address))
        return fields

    def _record(
        self, type_: str, id_: str, date: str, content_type: str, fields: Fields, block: bytes
    ) -> bytes:
        lines = [
            "WARC/1.1",
            f"WARC-Type: {type_}",
            f"WARC-Record-ID: {id_}",
            f"WARC-Date: {date}",
            *(f"{name}: {_one_line(value)}" for name, value in fields),
            f"WARC-Block-Digest: sha256:{sha256(block).hexdigest()}",
            f"Content-Type: {content_type}",
            f"Content-Length: {len(block)}",
        ]
        record = b"%s\r\n\r\n%s\r\n\r\n" % ("\r\n".join(lines).encode(), block)
        if not self._compressed:
            return record
        gzip = zlib.compressobj(LEVEL, zlib.DEFLATED, 31)
        return gzip.compress(record) + gzip.flush()

    def _id(self, what: str) -> str:
        """The same for the same answer of the same crawl, so that an export can be repeated."""
        return f"<urn:uuid:{uuid5(NAMESPACE_URL, f'{self._job}/{what}')}>"

    def _first(self, digest: str) -> First | None:
        first = self._seen.get(digest)
        if first is not None:
            self._seen.move_to_end(digest)
        return first

    def _remember(self, digest: str, first: First) -> None:
        self._seen[digest] = first
        if len(self._seen) > REMEMBERED:
            self._seen.popitem(last=False)


def response_head(arrival: Arrival) -> bytes:
    """Status line and headers, right for the body as it was read."""
    page, size = arrival.page, len(arrival.body or b"")
    fits = not any(
        name in ("content-encoding", "transfer-encoding")
        or (name == "content-length" and value != str(size))
        for name, value in page.headers
    )
    lines = [f"HTTP/1.1 {page.status} {_phrase(page.status)}"]
    for name, value in page.headers:
        original = "X-Orig-" if name in _OF_THE_WAY and not fits else ""
        lines.append(f"{original}{name}: {_one_line(value)}")
    if not fits:
        lines.append(f"content-length: {size}")
    return "\r\n".join([*lines, "", ""]).encode("latin-1", "replace")


def request_block(url: str, request: Request, sent: Fields) -> bytes:
    """A request as HTTP/1.1."""
    origin, path = split(url)
    given = {name.lower() for name, _ in request.headers}
    headers = [("Host", origin.partition("://")[2])]
    headers += [field for field in sent if field[0].lower() not in given]
    headers += request.headers
    if request.body:
        headers.append(("Content-Length", str(len(request.body))))
    lines = [f"{request.method} {path.partition('#')[0]} HTTP/1.1"]
    lines += [f"{name}: {_one_line(value)}" for name, value in headers]
    return "\r\n".join([*lines, "", ""]).encode("latin-1", "replace") + request.body


def _is_cut(arrival: Arrival) -> bool:
    """Of a redirect the body is not read."""
    told = next((value for name, value in arrival.page.headers if name == "content-length"), "0")
    return not arrival.body and 300 <= arrival.page.status < 400 and told != "0"


def _phrase(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return "Unknown"


def _one_line(text: str) -> str:
    """A header that contained a line break would begin another one."""
    return text.replace("\r", " ").replace("\n", " ")
