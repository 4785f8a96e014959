"""What browsers saw of a crawl: thumbnails, alike ones stacked, blank ones flagged.

The pictures come in parts. Who has JavaScript sees one long list, of which the browser holds
only what is looked at (`gallery.js`); who has none leafs through the parts.
"""

from collections.abc import Mapping

import msgspec
from fastapi import APIRouter, Request
from msgspec import Struct
from starlette.datastructures import QueryParams
from starlette.responses import Response

from freki.ledger import captures
from freki.ledger.captures import CaptureLine, RenderingLine, Wanted
from freki.serve.answers import json
from freki.serve.callers import Books
from freki.serve.office import Results
from freki.serve.requests import MAX_TEXT, statuses
from freki.serve.views.shell import page
from freki.serve.views.tables import STATUS, is_number
from freki.serve.views.visitors import Visitor
from freki.serve.views.words import reason

routes = APIRouter(prefix="/app/crawls/{id}", include_in_schema=False)

PART = 120

# What is shown of all pictures, and how it is called.
CHOICES = (
    ("", "One of each kind"),
    ("all", "All"),
    ("blank", "Blank ones"),
    ("failed", "Without a picture"),
)
FIELDS = ("only", "like", "text", "status")


class Tile(Struct, frozen=True):
    """A picture in the gallery, or why there is none."""

    link: str
    small: str
    name: str
    address: str
    reason: str
    is_blank: bool
    alike: int  # how many look like this one, itself included
    stack: str  # where all of them are
    digest: str  # by which it is compared


@routes.get("/gallery")
def gallery(request: Request, id: str, office: Books, visitor: Visitor) -> Response:
    """A part of the pictures, and where the others begin."""
    job = office.job(visitor, id)
    query = {name: request.query_params.get(name, "").strip() for name in FIELDS}
    part = request.query_params.get("part", "")
    with office.results(job) as found:
        ids, in_all = _numbers(found, query) if found else ([], 0)
        starts = ids[::PART]
        at = min(int(part) - 1 if is_number(part) and int(part) else 0, max(0, len(starts) - 1))
        tiles = _tiles(found, id, query, starts[at]) if found and starts else []
    return page(
        request, "gallery.html",
        job=job, here="gallery", tiles=tiles, total=len(ids), in_all=in_all, starts=starts, at=at,
        size=PART, choices=CHOICES, query={name: text for name, text in query.items() if text},
    )  # fmt: skip


@routes.get("/gallery/part")
def part_of_gallery(
    request: Request,
    id: str,
    office: Books,
    visitor: Visitor,
) -> Response:
    """The tiles from a visit on, as data."""
    job = office.job(visitor, id)
    start = request.query_params.get("start", "")
    with office.results(job) as found:
        known = found is not None and is_number(start)
        tiles = _tiles(found, id, request.query_params, int(start)) if found and known else []
    return json(tiles)


def _numbers(found: Results, query: Mapping[str, str]) -> tuple[list[int], int]:
    """The visits that are shown, and how many there are where alike ones are not stacked."""
    asked = wanted(found, query)
    ids = captures.numbers(found.db, asked)
    if not asked.stacked:
        return ids, len(ids)
    return ids, len(captures.numbers(found.db, msgspec.structs.replace(asked, stacked=None)))


def wanted(found: Results, query: Mapping[str, str]) -> Wanted:
    """What the form above the pictures asks for; what is no such thing is not asked for."""
    only, like = query.get("only", ""), query.get("like", "")
    status = query.get("status", "").strip()
    stack = int(like) if is_number(like) else None
    return Wanted(
        crawl=found.crawl.id,
        blank=True if only == "blank" else None,
        failed=True if only == "failed" else None,
        stacked=True if not only and stack is None else None,
        likeness=stack,
        text=query.get("text", "").strip()[:MAX_TEXT] or None,
        status=statuses(status) if STATUS.fullmatch(status) else None,
    )


def _tiles(found: Results, crawl: str, query: Mapping[str, str], start: int) -> list[Tile]:
    asked = msgspec.structs.replace(wanted(found, query), after=start - 1, limit=PART)
    lines = list(captures.renderings(found.db, asked))
    leaders = {line.captures[0].likeness for line in lines if line.captures}
    alike = captures.stacks(found.db, [each for each in leaders if each is not None])
    return [_tile(line, f"/app/crawls/{crawl}", alike) for line in lines]


def _tile(line: RenderingLine, crawl: str, alike: Mapping[int, int]) -> Tile:
    name = line.title or line.url
    if not line.captures:
        link = f"{crawl}/explain?{QueryParams({'url': line.url})}"
        return Tile(link, "", name, line.url, reason(line.reason), False, 1, "", "")
    capture = line.captures[0]
    like = capture.likeness or 0
    picture = f"{capture.sha256}.{capture.format}"
    return Tile(
        link=f"{crawl.removeprefix('/app')}/images/{picture}",
        small=f"{crawl.removeprefix('/app')}/images/{_small(capture)}",
        name=name,
        address=line.url,
        reason="",
        is_blank=capture.blank,
        alike=alike.get(like, 1),
        stack=f"{crawl}/gallery?like={like}",
        digest="" if capture.format == "pdf" else capture.sha256,
    )


def _small(capture: CaptureLine) -> str:
    """The picture that fits a tile: a thumbnail of a card's size, where there is one."""
    if not capture.thumbnails:
        return f"{capture.sha256}.{capture.format}"
    return f"{capture.thumbnails[-1].sha256}.webp"
