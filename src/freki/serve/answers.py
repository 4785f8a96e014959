"""What is answered: jobs and lists as callers see them."""

from collections.abc import Mapping, Sequence
from typing import Annotated

import msgspec
from msgspec import Meta, Struct
from starlette.responses import Response

from freki.ledger.jobs.events import Line
from freki.ledger.jobs.orders import Job
from freki.ledger.read import ItemLine, PageLine, UrlLine, iso


class Sums(Struct, frozen=True):
    """How far a crawl is. `discovered` is what done, failed, refused, waiting and leased make."""

    discovered: int = 0
    done: int = 0
    failed: int = 0
    refused: int = 0
    waiting: int = 0
    leased: int = 0
    pages: int = 0
    wire_bytes: int = 0
    pages_per_second: float = 0.0
    reasons: dict[str, dict[str, int]] = {}


class CrawlAnswer(Struct, frozen=True):
    """A crawl: what was asked for, and how far it is."""

    id: str
    name: str
    status: Annotated[str, Meta(description="queued, running, paused, done, failed or cancelled")]
    reason: Annotated[str | None, Meta(description="why it ended so; limit: URLs are left")]
    detail: str | None
    request: dict[str, object]
    created_at: str
    started_at: str | None
    ended_at: str | None
    progress: Sums
    bytes: Annotated[int, Meta(description="that it takes on disk")]
    dropped: Annotated[
        list[str], Meta(description="secrets that went when it ended; a retry gives them anew")
    ]
    links: dict[str, str]


class RetryAnswer(Struct, frozen=True):
    """What will be tried again, and the crawl that goes on with it."""

    urls: Annotated[int, Meta(description="that have ended so")]
    crawl: CrawlAnswer


class DeliveryAnswer(Struct, frozen=True):
    """A message to a webhook, and what became of it."""

    id: int
    event: str
    at: str
    attempts: int
    next_at: Annotated[str | None, Meta(description="when it is tried again; null: no more")]
    outcome: str | None


def numbered(kind: type[Struct], name: str) -> type[Struct]:
    """A line of a list with the number of its row before it."""
    fields = [(field.name, field.type) for field in msgspec.structs.fields(kind)]
    doc = {"__doc__": kind.__doc__}
    return msgspec.defstruct(name, [("id", int), *fields], frozen=True, namespace=doc)


def list_of(kind: type[Struct], name: str) -> type[Struct]:
    """A part of a list, and where the next part is."""
    cursor = Annotated[
        str | None, Meta(description="ask for the next part with it; null: all seen")
    ]
    fields = [("items", list[kind]), ("next", str | None), ("cursor", cursor)]  # type: ignore[valid-type]
    doc = {"__doc__": "A part of a list, and where the next one is."}
    return msgspec.defstruct(name, fields, frozen=True, namespace=doc)


def searched(kind: type[Struct], name: str) -> type[Struct]:
    """A part of a list that may have been searched."""
    unread = Annotated[
        int, Meta(description="pages that were not searched yet; the same again finds more")
    ]
    fields = [(field.name, field.type) for field in msgspec.structs.fields(list_of(kind, name))]
    doc = {"__doc__": "A part of a list, and where the next one is."}
    return msgspec.defstruct(name, [*fields, ("unread", unread)], frozen=True, namespace=doc)


UrlRow = numbered(UrlLine, "UrlRow")
PageRow = numbered(PageLine, "PageRow")

CrawlList = list_of(CrawlAnswer, "CrawlList")
UrlList = searched(UrlRow, "UrlList")
PageList = searched(PageRow, "PageList")
ErrorList = list_of(UrlRow, "ErrorList")
ItemList = list_of(ItemLine, "ItemList")
DeliveryList = list_of(DeliveryAnswer, "DeliveryList")


def json(value: object, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """An answer that no store shall keep: it is one caller's, and old in a second."""
    kept = {"Cache-Control": "no-store", **(headers or {})}
    return Response(msgspec.json.encode(value), status, kept, "application/json")


def part(
    path: str, rows: Sequence[tuple[int, Struct]], limit: int, query: Mapping[str, str],
    cursors: Sequence[str] = (),
) -> dict[str, object]:  # fmt: skip
    """At most `limit` of the rows; one more of them tells that there is another part.

    Rows in another order than that of their numbers have cursors of their own.
    """
    shown = rows[:limit]
    cursor = None
    if len(rows) > limit:
        cursor = cursors[limit - 1] if cursors else str(shown[-1][0])
    items = [
        line
        if hasattr(line, "id") or hasattr(line, "task_id")
        else {"id": number, **msgspec.structs.asdict(line)}
        for number, line in shown
    ]
    following = None
    if cursor is not None:
        following = f"{path}?{encoded({**query, 'cursor': cursor, 'limit': str(limit)})}"
    return {"items": items, "next": following, "cursor": cursor}


def encoded(query: Mapping[str, str]) -> str:
    """Parameters as they stand in a URL."""
    return "&".join(f"{name}={_quoted(value)}" for name, value in query.items())


def _quoted(text: str) -> str:
    plain = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~"
    return "".join(
        chr(byte) if byte in plain else f"%{byte:02X}" for byte in text.encode("utf-8", "replace")
    )


def crawl_answer(job: Job, public_url: str) -> CrawlAnswer:
    """A crawl as its caller sees it."""
    here = f"{public_url}/crawls/{job.id}"
    names = ("urls", "pages", "items", "captures", "errors", "events", "deliveries")
    return CrawlAnswer(
        id=job.id,
        name=job.name,
        status=job.state,
        reason=job.reason,
        detail=job.detail,
        request=job.request,
        created_at=iso(job.created_at),
        started_at=date(job.started_at),
        ended_at=date(job.ended_at),
        progress=sums_of(job),
        bytes=job.bytes,
        dropped=job.dropped,
        links={"self": here, **{name: f"{here}/{name}" for name in names}},
    )


def sums_of(job: Job) -> Sums:
    """The sums that were told last."""
    known = {name: job.progress[name] for name in Sums.__struct_fields__ if name in job.progress}
    return msgspec.convert(known, Sums)


def delivery_answer(line: Line) -> DeliveryAnswer:
    return DeliveryAnswer(
        line.id, line.kind, iso(line.at), line.attempts, date(line.due), line.outcome
    )


def date(seconds: float | None) -> str | None:
    return None if seconds is None else iso(seconds)
