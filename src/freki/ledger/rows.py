"""Turns a batch into rows: everything that needs no database, so that no lock waits for it."""

from collections import Counter
from collections.abc import Callable
from hashlib import sha256

import msgspec
from msgspec import Struct
from msgspec.structs import replace
from zstandard import ZstdCompressor, ZstdDecompressor

from freki.ledger.blobs import Blobs, Kind
from freki.messages import (
    PAGES,
    Batch,
    Claim,
    Fate,
    HostRules,
    Link,
    Outcome,
    Request,
    State,
    Visit,
)

# Level 1 costs 35 µs for a page of 28 KB; level 3 saves 4 % more room for 10 µs more.
LEVEL = 1

# In place of bytes that are in the blob store.
ELSEWHERE = b""

_LINKS = msgspec.json.Decoder(list[Link])
_REQUEST = msgspec.msgpack.Decoder(Request)
_encode = msgspec.json.encode

NOINDEX, NOFOLLOW = 1, 2


class Rows(Struct):
    """A batch, ready to be written. The columns are those of the statements in ledger.sql."""

    ends: list[tuple[object, ...]] = []
    bodies: list[tuple[bytes, bytes | None]] = []
    pages: list[tuple[object, ...]] = []
    attempts: list[tuple[object, ...]] = []
    items: list[tuple[object, ...]] = []
    rules: list[tuple[object, ...]] = []
    stored: Counter[int] = msgspec.field(default_factory=Counter)  # pages by host
    waiting_hosts: list[int] = []  # of the URLs that will be tried again
    ended: Counter[tuple[int, int]] = msgspec.field(default_factory=Counter)
    wire_bytes: int = 0


class Packer:
    """Makes `Rows`; holds the compressor, which is costly to make."""

    def __init__(self, keep: str, blobs: Blobs | None = None) -> None:
        self._keep = keep
        self._blobs = blobs
        self._zstd = ZstdCompressor(level=LEVEL)

    def pack(self, batch: Batch) -> Rows:
        rows = Rows()
        for outcome in batch.outcomes:
            self._pack_outcome(outcome, rows)
        if self._blobs is not None:
            self._blobs.keep(Kind.body, {digest: data for digest, data in rows.bodies if data})
            rows.bodies = [(digest, data and ELSEWHERE) for digest, data in rows.bodies]
        rows.rules = [
            (self._zstd.compress(rules.body), rules.at, rules.status, rules.tries, rules.host)
            for rules in batch.rules
        ]
        return rows

    def _pack_outcome(self, outcome: Outcome, rows: Rows) -> None:
        url = outcome.claim.id
        if outcome.state is State.waiting:
            rows.ends.append((State.waiting, None, None, outcome.due, url))
            rows.ended[(State.waiting, 0)] += 1
            rows.waiting_hosts.append(outcome.claim.host)
        else:
            detail = outcome.detail or None
            rows.ends.append((outcome.state, outcome.reason, detail, None, url))
            rows.ended[(outcome.state, outcome.reason)] += 1
            rows.stored[outcome.claim.host] += outcome.reason in PAGES
        for item in outcome.items:
            rows.items.append(
                (
                    url, outcome.at, item.fate, item.kind, item.data.decode(),
                    item.detail or None, item.key if item.fate is Fate.kept else None,
                )
            )  # fmt: skip
        if outcome.visit is not None:
            self._pack_visit(url, outcome.visit, rows)
        elif outcome.state is not State.refused:
            timings = _encode(outcome.timings).decode()
            rows.attempts.append((url, outcome.at, outcome.reason, outcome.detail, timings))

    def _pack_visit(self, url: int, visit: Visit, rows: Rows) -> None:
        response, page = visit.response, visit.page
        digest = sha256(response.body).digest()
        html = "html" in response.content_type.lower()
        kept = self._keep == "all" or (self._keep == "html" and html)
        rows.bodies.append((digest, self._zstd.compress(response.body) if kept else None))
        rows.wire_bytes += response.wire_bytes
        rows.pages.append(
            (
                url,
                visit.at,
                response.status,
                response.content_type,
                page.charset,
                page.title,
                page.description,
                page.canonical,
                page.language,
                page.noindex * NOINDEX | page.nofollow * NOFOLLOW,
                response.http,
                response.address,
                _encode(response.headers).decode(),
                _encode(response.timings).decode(),
                response.wire_bytes,
                len(response.body),
                digest,
                self._zstd.compress(_encode(page.links)) if page.links else None,
            )
        )


def unpack_links(packed: bytes | None) -> list[Link]:
    """The links of a page, as they were stored."""
    return _LINKS.decode(ZstdDecompressor().decompress(packed)) if packed else []


def links_to(url: str) -> Callable[[bytes], list[Link]]:
    """Finds the links of a page that lead to one URL; a page that has none costs little."""
    unzip = ZstdDecompressor().decompress
    written = _encode(url)

    def find(packed: bytes) -> list[Link]:
        raw = unzip(packed)
        return [link for link in _LINKS.decode(raw) if link.url == url] if written in raw else []

    return find


def pack_request(request: Request) -> bytes:
    """What a request is beyond its address, as it is stored."""
    return msgspec.msgpack.encode(request)


def unpack_request(packed: bytes) -> Request:
    """What a request is beyond its address."""
    return _REQUEST.decode(packed)


def asked(claim: Claim, request: bytes) -> Claim:
    """A claim with what its request is beyond the address; its mark is not sent."""
    return replace(claim, url=claim.url.partition("#")[0], request=unpack_request(request))


def unpack_rules(
    host: int,
    origin: str,
    body: bytes | None,
    at: float | None,
    status: int | None,
    tries: int | None,
) -> HostRules | None:
    """What is known of a host's robots.txt, or None where it was never asked."""
    if at is None or body is None or status is None or tries is None:
        return None
    return HostRules(host, origin, at, status, ZstdDecompressor().decompress(body), tries)


def unpack_body(packed: bytes) -> bytes:
    """A body, as it was stored."""
    return ZstdDecompressor().decompress(packed)
