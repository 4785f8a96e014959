"""What browsers saw of a crawl: thumbnails, alike ones stacked, blank ones flagged."""

from fastapi import APIRouter, Request
from starlette.responses import Response

from freki.ledger import captures
from freki.serve.callers import Books
from freki.serve.views.shell import page
from freki.serve.views.visitors import Visitor

routes = APIRouter(prefix="/app/crawls/{id}", include_in_schema=False)

PART = 120


@routes.get("/gallery")
def gallery(request: Request, id: str, office: Books, visitor: Visitor) -> Response:  # noqa: A002
    """A part of the pictures; filters and the next part are links."""
    job = office.job(visitor, id)
    query = request.query_params
    after = query.get("after", "0")
    wanted = captures.Wanted(
        blank=True if query.get("only") == "blank" else None,
        failed=True if query.get("only") == "failed" else None,
        after=int(after) if after.isascii() and after.isdigit() and len(after) < 16 else 0,
        limit=PART + 1,
    )
    with office.results(job) as found:
        rows = list(captures.renderings(found.db, wanted)) if found else []
        stacks = dict(captures.groups(found.db, found.crawl.id)) if found else {}
    only = query.get("only", "")
    return page(
        request, "gallery.html",
        job=job, here="gallery", rows=rows[:PART], stacks=stacks, only=only,
        query={"only": only} if only else {}, is_first=after == "0",
        next_after=rows[PART - 1].id if len(rows) > PART else None,
    )  # fmt: skip
