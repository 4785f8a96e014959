"""What browsers saw, kept and read. A picture is stored once, however often it was taken.

Captures that look alike share the first one's number as their `likeness`. It is found when a
capture is stored: hashes that differ in five bits or fewer agree in at least one of six bands,
so an index answers with the few that must be compared.
"""

from collections.abc import Iterator, Sequence
from typing import Any, Final

import msgspec
from msgspec import Struct

from freki.ledger.blobs import Kind, Shelf, blobs_of
from freki.ledger.database import Database, named, transaction
from freki.ledger.read import iso
from freki.ledger.rows import ELSEWHERE
from freki.ledger.statements import statements
from freki.messages import Reason
from freki.pictures import (
    Capture,
    FailedRequest,
    Phases,
    Picture,
    Rendering,
    Unrendered,
    Viewport,
    likeness,
)

SQL: Final = statements("captures.sql")

# Bits in which the hashes of pictures that count as alike differ at most. Beyond 10, hashes of
# pages in one style run together.
ALIKE = 5

_BANDS = (11, 11, 11, 11, 10, 10)  # bits of each
_BAND_SHIFT = 16
_SIGN = 1 << 63

# Visits that are read by one statement.
_AT_ONCE = 500

_encode = msgspec.json.encode


class ThumbnailLine(Struct, frozen=True):
    """A small picture of a capture."""

    width: int
    height: int
    sha256: str
    bytes: int


class CaptureLine(Struct, frozen=True):
    """A capture as it is shown."""

    id: int
    viewport: Viewport
    tile: int
    tiles: int
    top: int
    truncated: bool
    blank: bool
    phash: str | None
    likeness: int | None  # the first capture that looks like this one
    format: str
    width: int
    height: int
    bytes: int
    sha256: str
    thumbnails: list[ThumbnailLine]


class RenderingLine(Struct, frozen=True):
    """A visit by a browser as it is shown, with its captures."""

    id: int
    url: str
    final_url: str
    at: str
    status: int
    reason: str  # ok, or why there is no picture
    detail: str
    title: str
    settled: bool
    phases: Phases
    console: list[str]
    failed_requests: list[FailedRequest]
    requests: int
    blocked: int
    captures: list[CaptureLine]


class Wanted(Struct, frozen=True):
    """Which visits; None is any."""

    crawl: int | None = None
    id: int | None = None
    url: int | None = None  # the row of a URL
    address: str | None = None
    reason: Reason | None = None
    status: tuple[int, int] | None = None
    text: str | None = None  # in its address or title; small ASCII letters are as good as capitals
    failed: bool | None = None
    blank: bool | None = None
    likeness: int | None = None
    stacked: bool | None = None  # of captures that look alike the first only
    after: int = 0
    limit: int = -1

    def parameters(self) -> dict[str, object]:
        status, status_to = self.status or (None, None)
        return {**msgspec.structs.asdict(self), "status": status, "status_to": status_to}


def keep(
    db: Database,
    at: float,
    seen: Rendering | Unrendered,
    crawl: int | None = None,
    url: int | None = None,
) -> int:
    """Store a visit in the transaction that is open; answers with its number."""
    reason, detail, told = Reason.ok, "", seen
    if isinstance(seen, Unrendered):
        reason, detail = seen.reason, seen.detail
        told = Rendering(url=seen.url, final_url="", status=0, settled=False, phases=seen.phases)
    assert isinstance(told, Rendering)
    row = db.execute(
        SQL["rendering_add"],
        (
            crawl,
            url,
            told.url,
            told.final_url,
            at,
            told.status,
            reason,
            detail,
            told.title,
            told.settled,
            _encode(told.phases).decode(),
            _encode(told.console).decode(),
            _encode(told.failed_requests).decode(),
            told.requests,
            told.blocked,
        ),
    ).lastrowid
    assert row is not None
    _keep_pictures(db, told)
    for capture in told.captures:
        _keep_capture(db, row, crawl or 0, capture)
    return row


def store(db: Database, at: float, seen: Rendering | Unrendered, crawl: int | None = None) -> int:
    """Store a visit in a transaction of its own."""
    with transaction(db):
        return keep(db, at, seen, crawl)


def store_of(db: Database, crawl: int, url: int, at: float, seen: Rendering | Unrendered) -> None:
    """Store the visit of a crawl's URL, in place of an earlier one: who was killed comes again."""
    with transaction(db):
        for (earlier,) in db.execute(SQL["renderings_of"], (url,)).fetchall():
            _drop(db, earlier)
        keep(db, at, seen, crawl, url)


def numbers(db: Database, wanted: Wanted) -> list[int]:
    """The numbers of visits, in the order in which they were stored."""
    return [id_ for (id_,) in db.execute(SQL["rendering_ids"], wanted.parameters())]


def renderings(db: Database, wanted: Wanted) -> Iterator[RenderingLine]:
    """Visits with their captures, in the order in which they were stored."""
    return _numbered(db, numbers(db, wanted))


def renderings_of(db: Database, url: int) -> Iterator[RenderingLine]:
    """The visits of a crawl's URL."""
    return _numbered(db, [id_ for (id_,) in db.execute(SQL["renderings_of"], (url,))])


def _numbered(db: Database, ids: Sequence[int]) -> Iterator[RenderingLine]:
    for at in range(0, len(ids), _AT_ONCE):
        some = _encode(ids[at : at + _AT_ONCE]).decode()
        yield from (_line(db, row) for row in db.execute(SQL["renderings"], (some,)).fetchall())


def _line(db: Database, row: Sequence[Any]) -> RenderingLine:
    id_, _, _, address, final_url, at, status, reason, detail, title, settled, *rest = row
    phases, console, failed, requests, blocked = rest
    return RenderingLine(
        id_,
        address,
        final_url,
        iso(at),
        status,
        Reason(reason).name,
        detail,
        title,
        bool(settled),
        msgspec.json.decode(phases, type=Phases),
        msgspec.json.decode(console),
        msgspec.json.decode(failed, type=list[FailedRequest]),
        requests,
        blocked,
        _captures(db, id_),
    )


def picture(db: Database, digest: bytes, crawl: int | None = None) -> Picture | None:
    """The picture with this SHA-256, if it is one of that crawl."""
    row = db.execute(SQL["picture_data"], {"digest": digest, "crawl": crawl}).fetchone()
    if row is None:
        return None
    stored, format_, width, height = row
    data = Shelf(db).take(Kind.picture, digest, stored)
    assert data is not None, "a picture without its bytes is not stored"
    return Picture(data=data, format=format_, width=width, height=height)


def groups(db: Database, crawl: int | None = None, limit: int = -1) -> list[tuple[int, int]]:
    """Captures that look alike: the number of the first of each group, and how many they are."""
    return db.execute(SQL["groups"], {"crawl": crawl, "limit": limit}).fetchall()


def stacks(db: Database, leaders: Sequence[int]) -> dict[int, int]:
    """How many captures look like each of these, themselves included."""
    return dict(db.execute(SQL["stacks"], (_encode(leaders).decode(),)).fetchall())


def drop(db: Database, *renderings: int) -> None:
    """Forget visits, and the pictures that no other visit has."""
    with transaction(db):
        for id_ in renderings:
            _drop(db, id_)
        db.execute(SQL["pictures_sweep"])


def _drop(db: Database, rendering: int) -> None:
    for statement in ("thumbnails_drop", "likeness_drop", "captures_drop", "rendering_drop"):
        db.execute(SQL[statement], (rendering,))


def _keep_capture(db: Database, rendering: int, scope: int, capture: Capture) -> None:
    leader = None
    if capture.phash is not None and not capture.blank:
        leader = _first_alike(db, scope, capture.phash)
    row = db.execute(
        SQL["capture_add"],
        (
            rendering,
            _encode(capture.viewport).decode(),
            capture.tile,
            capture.tiles,
            capture.top,
            capture.truncated,
            capture.blank,
            None if capture.phash is None else _signed(capture.phash),
            leader,
            _picture_id(db, capture.picture),
        ),
    ).lastrowid
    assert row is not None
    if leader is None and capture.phash is not None and not capture.blank:
        db.execute(SQL["capture_leads"], (row,))
        bands = [(scope, band, row, _signed(capture.phash)) for band in _bands(capture.phash)]
        db.executemany(SQL["likeness_add"], bands)
    for thumbnail in capture.thumbnails:
        db.execute(SQL["thumbnail_add"], (row, thumbnail.width, _picture_id(db, thumbnail)))


def _keep_pictures(db: Database, seen: Rendering) -> None:
    """Every picture of a visit, once."""
    captures = seen.captures
    pictures = [capture.picture for capture in captures]
    pictures += [thumbnail for capture in captures for thumbnail in capture.thumbnails]
    blobs = blobs_of(db) if pictures else None
    if blobs is not None:
        blobs.keep(Kind.picture, {picture.digest: picture.data for picture in pictures})
    for picture in pictures:
        size = (picture.width, picture.height, len(picture.data))
        data = picture.data if blobs is None else ELSEWHERE
        db.execute(SQL["picture_add"], (picture.digest, picture.format, *size, data))


def _picture_id(db: Database, picture: Picture) -> int:
    return int(db.execute(SQL["picture_id"], (picture.digest,)).fetchone()[0])


def _first_alike(db: Database, scope: int, phash: int) -> int | None:
    bands = _encode(_bands(phash)).decode()
    near = (
        capture
        for capture, other in db.execute(SQL["alike"], (scope, bands))
        if likeness(phash, _unsigned(other)) <= ALIKE
    )
    return next(near, None)


def _bands(phash: int) -> list[int]:
    bands = []
    for place, bits in enumerate(_BANDS):
        bands.append(place << _BAND_SHIFT | phash & ((1 << bits) - 1))
        phash >>= bits
    return bands


def _signed(number: int) -> int:
    """SQLite's whole numbers have a sign."""
    return (number ^ _SIGN) - _SIGN


def _unsigned(number: int) -> int:
    return number & (2 * _SIGN - 1)


def _captures(db: Database, rendering: int) -> list[CaptureLine]:
    return [
        CaptureLine(
            id=row["id"],
            viewport=msgspec.json.decode(row["viewport"], type=Viewport),
            tile=row["tile"],
            tiles=row["tiles"],
            top=row["top"],
            truncated=bool(row["truncated"]),
            blank=bool(row["blank"]),
            phash=None if row["phash"] is None else f"{_unsigned(row['phash']):016x}",
            likeness=row["likeness"],
            format=row["format"],
            width=row["width"],
            height=row["height"],
            bytes=row["bytes"],
            sha256=row["digest"].hex(),
            thumbnails=_thumbnails(db, row["id"]),
        )
        for row in named(db.execute(SQL["captures"], (rendering,)))
    ]


def _thumbnails(db: Database, capture: int) -> list[ThumbnailLine]:
    return [
        ThumbnailLine(width, height, digest.hex(), size)
        for width, height, digest, size in db.execute(SQL["thumbnails"], (capture,))
    ]
