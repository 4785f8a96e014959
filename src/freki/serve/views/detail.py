"""One page, and the story of any URL."""

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from fastapi import APIRouter, Request
from msgspec import Struct
from starlette.responses import Response

from freki.errors import BadUrl
from freki.extract import reading
from freki.ledger import captures, read
from freki.ledger.jobs.keys import Key
from freki.ledger.jobs.orders import Job
from freki.ledger.story import (
    MAX_MOTHERS,
    Mother,
    Story,
    alike,
    mothers,
    number_of,
    outlines,
)
from freki.serve.callers import Books
from freki.serve.office import Office, Results, page_of
from freki.serve.results import response_of
from freki.serve.views.shell import flowing, page
from freki.serve.views.visitors import Visitor
from freki.url import parse, split

routes = APIRouter(prefix="/app/crawls/{id}", include_in_schema=False)

# Characters of a text that are shown; the whole is a download.
SHOWN = 200_000
LINKS = 500
RENDERINGS = 5
VISITS = 20

# Other crawls among which visits of the same page are looked for.
JOBS = 50

PHASES = (("dns", "name"), ("connect", "connection"), ("tls", "TLS"), ("first_byte", "answer"),
          ("total", "body"))  # fmt: skip


class Bar(Struct, frozen=True):
    """A phase of the waterfall, in thousandths of the whole."""

    name: str
    at: float
    width: float
    seconds: float


@routes.get("/pages/{number}")
def one_page(
    request: Request,
    id: str,
    number: int,
    office: Books,
    visitor: Visitor,
) -> Response:
    """What is known of a page, and what it says."""
    job = office.job(visitor, id)
    with office.results(job) as found:
        line = page_of(found, number, with_links=True) if found and 0 < number < 2**53 else None
        if found is None or line is None:
            return page(request, "missing.html", 404)
        contents = _contents(found, number, line)
        known = outlines(found.db, line.url, job.crawl)
        visits = _other_visits(office, visitor, job, line.url)
        seen = list(captures.renderings_of(found.db, number))[-RENDERINGS:]
    return flowing(
        request, "page.html", job=job, here="pages", number=number, line=line,
        story=known[-1] if known else None, visits=visits,
        mothers=_mothers(office, job, line.url), most=MAX_MOTHERS,
        bars=waterfall(line.timings), renderings=seen, links_shown=LINKS, **contents,
    )  # fmt: skip


@routes.get("/explain")
def explain(request: Request, id: str, office: Books, visitor: Visitor) -> Response:
    """Where a URL was found, what was decided, tried and answered; or that nobody knows it."""
    job = office.job(visitor, id)
    wanted = request.query_params.get("url", "").strip()
    try:
        url = parse(_whole(wanted, job))
    except BadUrl as error:
        return page(request, "explain.html", 422, job=job, here="urls", url=wanted, story=None,
                    number=None, near=[], wrong=str(error))  # fmt: skip
    with office.results(job) as found:
        known = outlines(found.db, url, job.crawl) if found else []
        near = alike(found.db, url, job.crawl) if found and not known else []
        has_page = found is not None and bool(known) and known[-1].content_type is not None
        number = number_of(found.db, url, job.crawl) if found and has_page else None
    story = known[-1] if known else None
    may_retry = story is not None and retryable(story, job, visitor)
    return flowing(
        request, "explain.html", 200 if known else 404, job=job, here="urls", url=url,
        story=story, number=number, near=near, wrong="", may_retry=may_retry,
        mothers=_mothers(office, job, url), most=MAX_MOTHERS,
    )  # fmt: skip


def _mothers(office: Office, job: Job, url: str) -> Iterator[Mother]:
    """Who links to a URL, looked for when the page has come so far."""
    with office.results(job) as found:
        yield from mothers(found.db, url, job.crawl) if found else ()


def retryable(story: Story, job: Job, visitor: Key) -> bool:
    """Whether a URL ended without a page, and who looks may have it tried again."""
    is_missing = story.outcome in ("failed", "refused") or story.reason == "http_error"
    return is_missing and job.kind == "crawl" and visitor.may("submit")


def _whole(typed: str, job: Job) -> str:
    """What was typed as a URL: a path is one of the start page's host, and schemes are left out."""
    begun = split(job.seeds[0]).origin
    if typed.startswith("/"):
        return begun + typed
    return typed if "://" in typed or not typed else f"{begun.partition('://')[0]}://{typed}"


class Another(Struct, frozen=True):
    """A visit of the same page by another crawl."""

    job: Job
    number: int
    line: read.PageLine


def _other_visits(office: Office, visitor: Key, job: Job, url: str) -> list[Another]:
    """What other crawls with the same start saw there, the latest first."""
    found = []
    for other in office.jobs(visitor, "crawl", None, None, JOBS):
        if other.crawl == job.crawl or other.seeds != job.seeds:
            continue
        with office.results(other) as results:
            number = number_of(results.db, url, other.crawl) if results else None
            line = page_of(results, number) if results and number else None
        if number is not None and line is not None:
            found.append(Another(other, number, line))
    return found[:VISITS]


def waterfall(timings: dict[str, float]) -> list[Bar]:
    """Each phase begins where the one before it ended; one that took no time is left out."""
    whole = max(timings.get("total", 0.0), 1e-6)
    ends = [(name, timings.get(key, 0.0)) for key, name in PHASES]
    ends = [("", 0.0), *[(name, end) for name, end in ends if end > 0.0]]
    return [
        Bar(name, 1000 * begin / whole, max(2.0, 1000 * (end - begin) / whole), end - begin)
        for (_, begin), (name, end) in pairwise(ends)
    ]


def _contents(found: Results, number: int, line: read.PageLine) -> dict[str, Any]:
    """The body as it came, as text and as Markdown: all of them are only text here."""
    body = read.body(found.db, number)
    if body is None:
        return {"body": None, "text": None, "markdown": None, "is_cut": False}
    answer = response_of(line, body)
    told = {"body": reading.html, "text": reading.text, "markdown": reading.markdown}
    found_in = {name: turn(answer) for name, turn in told.items()}
    cut = {name: text[:SHOWN] if text else None for name, text in found_in.items()}
    return {**cut, "is_cut": len(body) > SHOWN}
