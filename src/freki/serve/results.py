"""What a crawl has found: lists that do not shift while it goes on, and contents of pages."""

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from heapq import merge
from itertools import islice
from operator import itemgetter
from typing import Annotated, Literal, TypeVar

import msgspec
from fastapi import APIRouter, Query
from msgspec import Struct
from msgspec.structs import replace
from starlette.responses import Response

from freki.extract import reading
from freki.ledger import captures, order, read
from freki.ledger.jobs.orders import Job
from freki.messages import Reason, State
from freki.messages import Response as Answer
from freki.pictures import MEDIA_TYPES
from freki.serve.answers import (
    ErrorList,
    ItemList,
    PageList,
    PageRow,
    UrlList,
    json,
    list_of,
    part,
)
from freki.serve.callers import Books, Reader
from freki.serve.office import Office, Results, page_of
from freki.serve.problems import Problem, documented
from freki.serve.requests import Listing, PageListing, UrlListing, statuses
from freki.serve.shapes import model_of

routes = APIRouter(prefix="/crawls/{id}", tags=["results"])

Line = TypeVar("Line", bound=Struct)

MISSING = documented("not_found", "invalid", "not_ready", "storage")
DIGEST = re.compile(r"[0-9a-f]{64}")

# Bytes of a body that are turned into text or Markdown.
MOST_READ = 2_000_000

# What came from the web is shown by no browser as if it were ours.
SANDBOX = {
    "Content-Security-Policy": "sandbox; default-src 'none'",
    "X-Content-Type-Options": "nosniff",
}
# A picture is named by its digest, so what is behind its URL never changes.
FOR_EVER = {"Cache-Control": "private, max-age=31536000, immutable"}

CaptureList = list_of(captures.RenderingLine, "CaptureList")


@routes.get("/urls", responses={200: {"model": model_of(UrlList)}, **MISSING})
def list_urls(
    id: str,
    wanted: Annotated[UrlListing, Query()],
    office: Books,
    caller: Reader,
) -> Response:
    """Every URL that was discovered, with its state, outcome and reason."""
    job = office.job(caller, id)
    filter_ = read.Filter(
        state=State[wanted.state] if wanted.state else None,
        reason=Reason[wanted.reason] if wanted.reason else None,
        status=statuses(wanted.status),
        origin=wanted.host,
        depth=wanted.depth,
        message=wanted.message,
    )
    return _listed(office, job, "urls", filter_, wanted)


@routes.get("/errors", responses={200: {"model": model_of(ErrorList)}, **MISSING})
def list_errors(
    id: str,
    wanted: Annotated[Listing, Query()],
    office: Books,
    caller: Reader,
) -> Response:
    """URLs that gave no page: failed ones, and answers with a status of 400 and above."""
    job = office.job(caller, id)
    after, limit = int(wanted.cursor or 0), wanted.limit + 1
    kinds = (
        read.Filter(state=State.failed, after=after, limit=limit),
        read.Filter(reason=Reason.http_error, after=after, limit=limit),
    )
    with office.results(job) as found:
        lists = [read.numbered_urls(found.db, found.crawl.id, kind) for kind in kinds if found]
        rows = list(islice(merge(*lists, key=itemgetter(0)), limit))
    return _part(office, job, "errors", rows, wanted)


@routes.get("/pages", responses={200: {"model": model_of(PageList)}, **MISSING})
def list_pages(
    id: str,
    wanted: Annotated[PageListing, Query()],
    office: Books,
    caller: Reader,
) -> Response:
    """The pages; in order of discovery, later parts hold what was found later."""
    job = office.job(caller, id)
    filter_ = read.Filter(
        status=statuses(wanted.status),
        origin=wanted.host,
        content_type=wanted.content_type,
        url=wanted.url,
        redirects=wanted.redirects,
    )
    return _listed(office, job, "pages", filter_, wanted)


@routes.get("/items", responses={200: {"model": model_of(ItemList)}, **MISSING})
def list_items(
    id: str,
    wanted: Annotated[Listing, Query()],
    office: Books,
    caller: Reader,
) -> Response:
    """What was taken out of pages."""
    job = office.job(caller, id)
    after, limit = int(wanted.cursor or 0), wanted.limit + 1
    with office.results(job) as found:
        lines = list(
            read.items(found.db, found.crawl.id, after=after, limit=limit) if found else ()
        )
    return _part(office, job, "items", [(line.id, line) for line in lines], wanted)


@routes.get("/captures", responses={200: {"model": model_of(CaptureList)}, **MISSING})
def list_captures(
    id: str,
    wanted: Annotated[Listing, Query()],
    office: Books,
    caller: Reader,
) -> Response:
    """What browsers saw. A picture is at `images/`, its `sha256`, a dot and its format."""
    job = office.job(caller, id)
    after, limit = int(wanted.cursor or 0), wanted.limit + 1
    with office.results(job) as found:
        lines: Iterable[captures.RenderingLine] = ()
        if found:
            seen = captures.Wanted(crawl=found.crawl.id, after=after, limit=limit)
            lines = list(captures.renderings(found.db, seen))
    return _part(office, job, "captures", [(line.id, line) for line in lines], wanted)


@routes.get(
    "/images/{name}",
    response_class=Response,
    responses={200: {"content": {"image/webp": {}}}, 304: {"description": "Unchanged"}, **MISSING},
)
def read_an_image(id: str, name: str, office: Books, caller: Reader) -> Response:
    """A picture, by its digest and format. It never changes, and may be kept for ever."""
    return image(office, office.job(caller, id), name)


@routes.get("/pages/{page}", responses={200: {"model": model_of(PageRow)}, **MISSING})
def read_a_page(id: str, page: int, office: Books, caller: Reader) -> Response:
    """A page with its links."""
    with _page(office, office.job(caller, id), page) as (_, line):
        return json({"id": page, **msgspec.structs.asdict(line)})


@routes.get(
    "/pages/{page}/{form}",
    response_class=Response,
    responses={200: {"content": {"text/plain": {}, "text/markdown": {}}}, **MISSING},
)
def read_contents(
    id: str,
    page: int,
    form: Literal["body", "text", "markdown", "main"],
    office: Books,
    caller: Reader,
) -> Response:
    """The contents of a page: bytes as they came, text, Markdown, Markdown of the main part."""
    with _page(office, office.job(caller, id), page) as (found, line):
        body = read.body(found.db, page)
    if body is None:
        raise Problem("not_found", "the body of this page was not kept")
    if form == "body":
        headers = {
            **SANDBOX,
            "Content-Disposition": f'attachment; filename="{line.sha256[:16]}.bin"',
            "ETag": f'"{line.sha256}"',
        }
        return Response(body, 200, headers, "application/octet-stream")
    turned = {"text": reading.text, "markdown": reading.markdown, "main": reading.main_markdown}
    text = turned[form](response_of(line, body))
    if text is None:
        raise Problem("not_found", "this page is no text")
    kind = "text/plain" if form == "text" else "text/markdown"
    return Response(text.encode("utf-8", "replace"), 200, SANDBOX, f"{kind}; charset=utf-8")


def response_of(line: read.PageLine, body: bytes) -> Answer:
    """A page as an answer again, for what reads answers."""
    headers = tuple((name, value) for name, value in line.headers)
    return Answer(line.url, line.status, headers, body[:MOST_READ], line.content_type or "")


def image(office: Office, job: Job, name: str) -> Response:
    """A picture of a job, by its digest and format."""
    digest, _, format_ = name.partition(".")
    if DIGEST.fullmatch(digest) is None:
        raise Problem("not_found")
    with office.results(job) as found:
        picture = None
        if found is not None:
            picture = captures.picture(found.db, bytes.fromhex(digest), found.crawl.id)
    if picture is None or picture.format != format_:
        raise Problem("not_found")
    kind = MEDIA_TYPES[picture.format]
    headers = {**SANDBOX, **FOR_EVER, "ETag": f'"{digest}"'}
    return Response(picture.data, 200, headers, kind)


@contextmanager
def _page(office: Office, job: Job, page: int) -> Iterator[tuple[Results, read.PageLine]]:
    """The store of a job and one of its pages."""
    with office.results(job) as found:
        line = None
        if found is not None and 0 < page <= 2**53:
            line = page_of(found, page, with_links=True)
        if found is None or line is None:
            raise Problem("not_found")
        yield found, line


def _listed(
    office: Office, job: Job, what: order.What, filter_: read.Filter,
    wanted: UrlListing | PageListing,
) -> Response:  # fmt: skip
    filter_ = replace(
        filter_, text=wanted.text, sort=wanted.sort, descending=wanted.descending,
        limit=wanted.limit + 1,
    )  # fmt: skip
    rows, unread = [], 0
    try:
        filter_ = order.after(filter_, wanted.cursor) if wanted.cursor else filter_
    except ValueError as error:
        raise Problem("invalid", f"cursor: {error}") from None
    with office.results(job) as found:
        if found is not None:
            filter_, unread = office.searched(job, found, filter_)
            rows = list(order.listed(found.db, found.crawl.id, what, filter_))
    lines = [(row.number, row.line) for row in rows]
    cursors = [row.cursor for row in rows]
    listed = part(_path(office, job, what), lines, wanted.limit, _query(wanted), cursors)
    return json({**listed, "unread": unread})


def _part(
    office: Office, job: Job, what: str, rows: Iterable[tuple[int, Line]], wanted: Listing
) -> Response:
    return json(part(_path(office, job, what), list(rows), wanted.limit, _query(wanted)))


def _path(office: Office, job: Job, what: str) -> str:
    return f"{office.terms.public_url}/crawls/{job.id}/{what}"


def _query(wanted: Listing) -> dict[str, str]:
    return {
        name: str(value)
        for name, value in wanted.model_dump(exclude={"cursor", "limit"}).items()
        if value not in (None, False)
    }
