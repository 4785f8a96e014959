"""Lists of URLs and pages, with filters, in parts that do not shift while the crawl goes on."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from csv import writer
from io import StringIO
from typing import Any

import msgspec
from fastapi import APIRouter, Request
from starlette.responses import Response, StreamingResponse

from freki.ledger import read
from freki.ledger.jobs.orders import Job
from freki.messages import Reason, State
from freki.serve.callers import Books
from freki.serve.office import Office
from freki.serve.requests import statuses
from freki.serve.views.shell import page
from freki.serve.views.visitors import Visitor
from freki.sinks.cells import cell

routes = APIRouter(prefix="/app/crawls/{id}", include_in_schema=False)

PART = 100

# Of what is searched for, so many characters count.
MOST_TEXT = 200

URL_COLUMNS = ("url", "state", "reason", "status", "depth", "parent", "via", "detail", "found_at")
PAGE_COLUMNS = ("url", "status", "title", "content_type", "bytes", "depth", "fetched_at")

# What the rows that are shown can be sorted by, the largest first.
SORTS: dict[str, Callable[[read.PageLine], float]] = {
    "size": lambda row: row.bytes,
    "time": lambda row: row.timings.get("total", 0.0),
    "depth": lambda row: row.depth,
}

STATUS = re.compile(r"[1-5](?:xx|\d\d)", re.ASCII)


@routes.get("/urls")
def urls(request: Request, id: str, office: Books, visitor: Visitor) -> Response:  # noqa: A002
    """Everything that was discovered."""
    return _table(request, office, office.job(visitor, id), "urls")


@routes.get("/pages")
def pages(request: Request, id: str, office: Books, visitor: Visitor) -> Response:  # noqa: A002
    """What was stored."""
    return _table(request, office, office.job(visitor, id), "pages")


@routes.get("/{what}.{format}")
def download(
    request: Request,
    id: str,  # noqa: A002
    what: str,
    format: str,  # noqa: A002
    office: Books,
    visitor: Visitor,
) -> Response:
    """Exactly what the filters leave, as a file."""
    job = office.job(visitor, id)
    if what not in ("urls", "pages") or format not in ("csv", "jsonl"):
        return page(request, "missing.html", 404)
    asked = filters(request.query_params)
    columns = URL_COLUMNS if what == "urls" else PAGE_COLUMNS
    lines = _rows(office, job, what, msgspec.structs.replace(asked, after=0, limit=-1))
    body = _csv(lines, columns) if format == "csv" else _jsonl(lines)
    kind = "text/csv; charset=utf-8" if format == "csv" else "application/jsonl"
    name = f'attachment; filename="{what}.{format}"'
    return StreamingResponse(body, 200, {"Content-Disposition": name}, kind)


def filters(query: Mapping[str, str]) -> read.Filter:
    """What the form above a list asks for; what is no such thing is not asked for."""
    state, reason = query.get("state", ""), query.get("reason", "")
    status = query.get("status", "").strip()
    depth, after = query.get("depth", ""), query.get("after", "")
    return read.Filter(
        state=State[state] if state in State.__members__ else None,
        reason=Reason[reason] if reason in Reason.__members__ else None,
        status=statuses(status) if STATUS.fullmatch(status) else None,
        origin=query.get("host", "").strip() or None,
        depth=int(depth) if is_number(depth) else None,
        content_type=query.get("type", "").strip() or None,
        message=query["message"][: read.MESSAGE] if "message" in query else None,
        text=query.get("text", "").strip()[:MOST_TEXT] or None,
        after=int(after) if is_number(after) else 0,
        limit=PART + 1,
    )


def is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) < 16


def _table(request: Request, office: Office, job: Job, what: str) -> Response:
    asked = filters(request.query_params)
    rows: list[tuple[int, Any]] = list(_rows(office, job, what, asked))
    query = {name: text for name, text in request.query_params.items() if text and name != "after"}
    shown, sort = rows[:PART], query.get("sort", "")
    if what == "pages" and sort in SORTS:
        shown.sort(key=lambda row: SORTS[sort](row[1]), reverse=True)
    return page(
        request, f"{what}.html",
        job=job, here=what, rows=shown, query=query, after=asked.after, sort=sort,
        next_after=rows[PART - 1][0] if len(rows) > PART else None,
        is_first=asked.after == 0, states=list(State.__members__), reasons=list(Reason.__members__),
    )  # fmt: skip


def _rows(
    office: Office, job: Job, what: str, asked: read.Filter
) -> Iterator[tuple[int, read.UrlLine | read.PageLine]]:
    with office.results(job) as found:
        if found is None:
            return
        listing: Any = read.numbered_urls if what == "urls" else read.numbered_pages
        yield from listing(found.db, found.crawl.id, asked)


def _csv(rows: Iterable[tuple[int, Any]], columns: tuple[str, ...]) -> Iterator[str]:
    yield _line(columns)
    for _, row in rows:
        yield _line([cell(getattr(row, column)) for column in columns])


def _line(cells: Iterable[str]) -> str:
    text = StringIO()
    writer(text, lineterminator="\r\n").writerow(cells)
    return text.getvalue()


def _jsonl(rows: Iterable[tuple[int, Any]]) -> Iterator[bytes]:
    for _, row in rows:
        yield msgspec.json.encode(row) + b"\n"
