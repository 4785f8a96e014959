"""Two pictures of a crawl, one over the other, with what changed in frames."""

from threading import Lock

from fastapi import APIRouter, Request
from msgspec import Struct
from starlette.responses import Response

from freki.errors import BrowserMissing
from freki.fetch.browser.compare import Difference, compare
from freki.ledger import captures
from freki.pictures import Picture
from freki.serve.callers import Books
from freki.serve.office import Results
from freki.serve.problems import Problem
from freki.serve.results import DIGEST
from freki.serve.views.shell import page
from freki.serve.views.visitors import Visitor

routes = APIRouter(prefix="/app/crawls/{id}", include_in_schema=False)

# Pixels of both pictures together that are looked at for changes: a few seconds at most.
MOST_PIXELS = 60_000_000

# Large pictures are decoded for one visitor at a time.
_one_at_a_time = Lock()


class Side(Struct, frozen=True):
    """One of the two pictures."""

    name: str  # of its file
    width: int
    height: int


@routes.get("/compare")
def compared(request: Request, id: str, office: Books, visitor: Visitor) -> Response:
    """The earlier and the later one, as they were picked in the gallery."""
    job = office.job(visitor, id)
    picked = request.query_params.getlist("capture")
    if len(picked) != 2:
        return page(request, "compare.html", 422, job=job, here="gallery", sides=None)
    with office.results(job) as found:
        pictures = [_picture(found, digest) for digest in picked]
    sides = [
        Side(f"{digest}.{picture.format}", picture.width, picture.height)
        for digest, picture in zip(picked, pictures, strict=True)
    ]
    difference, trouble = _difference(*pictures)
    return page(
        request, "compare.html",
        job=job, here="gallery", sides=sides, difference=difference, trouble=trouble,
        width=max(side.width for side in sides), height=max(side.height for side in sides),
    )  # fmt: skip


def _picture(found: Results | None, digest: str) -> Picture:
    picture = None
    if found is not None and DIGEST.fullmatch(digest):
        picture = captures.picture(found.db, bytes.fromhex(digest), found.crawl.id)
    if picture is None or picture.format == "pdf":
        raise Problem("not_found", "there is no such picture")
    return picture


def _difference(first: Picture, second: Picture) -> tuple[Difference | None, str]:
    """What changed, or why that cannot be told."""
    if first.width * first.height + second.width * second.height > MOST_PIXELS:
        return None, "these pictures are too large to look for what changed"
    try:
        with _one_at_a_time:
            return compare(first.data, second.data), ""
    except BrowserMissing as error:
        return None, str(error)
    except (OSError, ValueError):
        return None, "one of these is no picture that can be read"
