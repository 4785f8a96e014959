"""What is wrong with a site: failures by reason, broken links, redirects, what is slow or twice."""

from collections import Counter, defaultdict
from collections.abc import Iterable

from fastapi import APIRouter, Request
from msgspec import Struct
from starlette.responses import Response

from freki.ledger import read
from freki.ledger.story import MAX_MOTHERS
from freki.messages import Reason, State
from freki.serve.callers import Books
from freki.serve.office import Results
from freki.serve.views.shell import page
from freki.serve.views.visitors import Visitor

routes = APIRouter(prefix="/app/crawls/{id}", include_in_schema=False)

# Of each kind so many are shown, and so many rows are looked at: a page is answered in a second.
SHOWN = 50
LOOKED_AT = 20_000
PAGES_LOOKED_AT = 5_000


class Group(Struct):
    """URLs that failed alike."""

    reason: str
    host: str
    detail: str
    count: int
    example: str


class Findings(Struct):
    """What was found; lists are cut, sums are not."""

    groups: list[Group]
    broken: list[tuple[str, int, str | None]]  # URL, status, a page that links to it
    redirects: list[tuple[str, str]]
    slow: list[tuple[int, str, float]]
    twins: list[tuple[list[tuple[int, str]], int]]  # pages with one body, and its size
    traps: dict[str, int]
    is_cut: bool


@routes.get("/wrong")
def wrong(request: Request, id: str, office: Books, visitor: Visitor) -> Response:  # noqa: A002
    """Everything a site's owner would mend."""
    job = office.job(visitor, id)
    with office.results(job) as found:
        findings = _look(found) if found else Findings([], [], [], [], [], {}, is_cut=False)
    return page(request, "wrong.html", job=job, here="wrong", findings=findings, most=MAX_MOTHERS)


def _look(found: Results) -> Findings:
    db, crawl = found.db, found.crawl.id
    failed = read.Filter(state=State.failed, limit=LOOKED_AT)
    errors = read.Filter(reason=Reason.http_error, limit=LOOKED_AT)
    moved = read.Filter(reason=Reason.redirect, limit=SHOWN)
    broken = [row for _, row in read.numbered_urls(db, crawl, errors)]
    pages = list(read.numbered_pages(db, crawl, read.Filter(limit=PAGES_LOOKED_AT)))
    slow = sorted(pages, key=lambda row: row[1].timings.get("total", 0.0), reverse=True)
    return Findings(
        grouped(row for _, row in read.numbered_urls(db, crawl, failed)),
        [(row.url, row.status or 0, row.parent) for row in broken[:SHOWN]],
        [(row.url, row.detail or "") for _, row in read.numbered_urls(db, crawl, moved)],
        [(number, row.url, row.timings.get("total", 0.0)) for number, row in slow[:20]],
        _twins(pages),
        read.traps(db, crawl),
        is_cut=len(pages) == PAGES_LOOKED_AT,
    )


def grouped(rows: Iterable[read.UrlLine]) -> list[Group]:
    """Failures by reason, host and message, the largest groups first."""
    counts: Counter[tuple[str, str, str]] = Counter()
    examples: dict[tuple[str, str, str], str] = {}
    for row in rows:
        host = row.url.split("/", 3)[2]
        place = (row.reason or "", host, (row.detail or "")[:120])
        counts[place] += 1
        examples.setdefault(place, row.url)
    return [Group(*place, count, examples[place]) for place, count in counts.most_common(SHOWN)]


def _twins(
    pages: Iterable[tuple[int, read.PageLine]],
) -> list[tuple[list[tuple[int, str]], int]]:
    """Pages of one and the same body, the largest families first."""
    families: defaultdict[str, list[tuple[int, read.PageLine]]] = defaultdict(list)
    for number, row in pages:
        if row.bytes and row.status == 200:
            families[row.sha256].append((number, row))
    several = [family for family in families.values() if len(family) > 1]
    several.sort(key=len, reverse=True)
    return [
        ([(number, row.url) for number, row in family[:8]], len(family)) for family in several[:20]
    ]
