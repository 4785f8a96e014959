"""Lists of URLs and pages, with filters, in parts that do not shift while the crawl goes on."""

import re
from collections.abc import Iterable, Iterator, Mapping
from csv import writer
from io import StringIO
from typing import Any

import msgspec
from fastapi import APIRouter, Request
from msgspec.structs import replace
from starlette.responses import Response, StreamingResponse

from freki.ledger import details, order, read
from freki.ledger.jobs.orders import Job
from freki.messages import Reason, State
from freki.serve.callers import Books
from freki.serve.office import Office
from freki.serve.requests import CURSOR, MAX_TEXT, statuses
from freki.serve.views.shell import page
from freki.serve.views.visitors import Visitor
from freki.sinks.cells import cell

routes = APIRouter(prefix="/app/crawls/{id}", include_in_schema=False)

PART = 100

URL_COLUMNS = ("url", "state", "reason", "status", "depth", "parent", "via", "detail", "found_at")
PAGE_COLUMNS = ("url", "status", "title", "content_type", "bytes", "depth", "fetched_at")

LISTS: dict[str, order.What] = {name: name for name in order.SORTS}

STATUS = re.compile(r"[1-5](?:xx|\d\d)", re.ASCII)
_CURSOR = re.compile(CURSOR)


@routes.get("/urls")
def urls(request: Request, id: str, office: Books, visitor: Visitor) -> Response:
    """Everything that was discovered."""
    return _table(request, office, office.job(visitor, id), "urls")


@routes.get("/pages")
def pages(request: Request, id: str, office: Books, visitor: Visitor) -> Response:
    """What was stored."""
    return _table(request, office, office.job(visitor, id), "pages")


@routes.get("/{what}.{format}")
def download(
    request: Request,
    id: str,
    what: str,
    format: str,
    office: Books,
    visitor: Visitor,
) -> Response:
    """Exactly what the filters leave, as a file."""
    job = office.job(visitor, id)
    list_ = LISTS.get(what)
    if list_ is None or format not in ("csv", "jsonl"):
        return page(request, "missing.html", 404)
    asked = filters(request.query_params, list_)
    columns = URL_COLUMNS if what == "urls" else PAGE_COLUMNS
    lines = _rows(office, job, list_, replace(asked, after=0, place=None, limit=-1))
    body = _csv(lines, columns) if format == "csv" else _jsonl(lines)
    kind = "text/csv; charset=utf-8" if format == "csv" else "application/jsonl"
    name = f'attachment; filename="{what}.{format}"'
    return StreamingResponse(body, 200, {"Content-Disposition": name}, kind)


def filters(query: Mapping[str, str], what: order.What) -> read.Filter:
    """What the form above a list asks for; what is no such thing is not asked for."""
    state, reason = query.get("state", ""), query.get("reason", "")
    status = query.get("status", "").strip()
    depth, sort = query.get("depth", ""), query.get("sort", "")
    wanted = read.Filter(
        state=State[state] if state in State.__members__ else None,
        reason=Reason[reason] if reason in Reason.__members__ else None,
        status=statuses(status) if STATUS.fullmatch(status) else None,
        origin=query.get("host", "").strip() or None,
        depth=int(depth) if is_number(depth) else None,
        content_type=query.get("type", "").strip() or None,
        message=query["message"][: details.LENGTH] if "message" in query else None,
        text=query.get("text", "").strip()[:MAX_TEXT] or None,
        sort=sort if sort in order.SORTS[what] else None,
        descending=query.get("descending", "") != "",
        limit=PART + 1,
    )
    after = query.get("after", "")
    try:
        return order.after(wanted, after) if _CURSOR.fullmatch(after) else wanted
    except ValueError:
        return wanted


def is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) < 16


def _table(request: Request, office: Office, job: Job, what: order.What) -> Response:
    asked = filters(request.query_params, what)
    rows: list[order.Listed] = []
    unread = 0
    with office.results(job) as found:
        if found is not None:
            asked, unread = office.searched(job, found, asked)
            rows = list(order.listed(found.db, found.crawl.id, what, asked))
    query = {
        name: text
        for name, text in request.query_params.items()
        if name != "after" and (text or name == "message")
    }
    return page(
        request, f"{what}.html",
        job=job, here=what, rows=[(row.number, row.line) for row in rows[:PART]], query=query,
        sort=asked.sort, descending=asked.descending, unread=unread,
        next_after=rows[PART - 1].cursor if len(rows) > PART else None,
        is_first=asked.after == 0, states=list(State.__members__), reasons=list(Reason.__members__),
    )  # fmt: skip


def _rows(office: Office, job: Job, what: order.What, asked: read.Filter) -> Iterator[Any]:
    """Every line that the filters leave; for a search, all is read first."""
    with office.results(job) as found:
        if found is None:
            return
        asked, _ = office.searched(job, found, asked, patience=None)
        for row in order.listed(found.db, found.crawl.id, what, asked):
            yield row.line


def _csv(rows: Iterable[Any], columns: tuple[str, ...]) -> Iterator[str]:
    yield _line(columns)
    for row in rows:
        yield _line([cell(getattr(row, column)) for column in columns])


def _line(cells: Iterable[str]) -> str:
    text = StringIO()
    writer(text, lineterminator="\r\n").writerow(cells)
    return text.getvalue()


def _jsonl(rows: Iterable[Any]) -> Iterator[bytes]:
    for row in rows:
        yield msgspec.json.encode(row) + b"\n"
