"""`POST /fetch`: one page, while the caller waits."""

import asyncio
import time

from anyio import to_thread
from fastapi import APIRouter, Request
from msgspec import Struct
from starlette.responses import Response

from freki.extract import reading
from freki.ledger import read
from freki.ledger.jobs.keys import Key
from freki.ledger.jobs.orders import ENDED, Job, Order
from freki.serve.answers import json
from freki.serve.callers import Books, Submitter
from freki.serve.crawls import TAKING
from freki.serve.fetching import ONE_PAGE
from freki.serve.gate import refuse_private
from freki.serve.office import Office, Results
from freki.serve.problems import Problem, documented
from freki.serve.requests import seeds_of, shown
from freki.serve.results import response_of
from freki.serve.shapes import model_of
from freki.serve.shots import Screenshot, shots_of
from freki.serve.streams import Watch
from freki.serve.wishes import FetchRequest, refuse_rude
from freki.url import hostname

routes = APIRouter(tags=["fetch"])

LOOK_ANYWAY = 0.5


class Fetched(Struct, frozen=True):
    """A page, in the forms that were asked for."""

    url: str
    final_url: str
    status: int
    page: read.PageLine
    html: str | None
    markdown: str | None
    main: str | None
    text: str | None
    screenshot: Screenshot | None


FAILING = documented("deadline", "not_fetched")


@routes.post("/fetch", responses={200: {"model": model_of(Fetched)}, **TAKING, **FAILING})
async def fetch_a_page(
    asked: FetchRequest, request: Request, office: Books, caller: Submitter
) -> Response:
    """Fetch one page, and wait for it. Redirects of the same site are followed."""
    order = _order(asked, caller, office)
    accepted = await to_thread.run_sync(office.accept, order, caller)
    watch: Watch = request.app.state.watch
    try:
        job = await _ended(office, accepted.job, watch, asked.deadline)
        return json(await to_thread.run_sync(_fetched, office, job, asked))
    finally:
        if not asked.screenshot:
            with_files = asyncio.shield(to_thread.run_sync(office.delete, accepted.job))
            await with_files


def _order(asked: FetchRequest, caller: Key, office: Office) -> Order:
    (url,) = seeds_of([asked.url], "url")
    refuse_private([url], office.terms)
    refuse_rude(asked.ignore_robots, caller)
    settings = {part: dict(fields) for part, fields in ONE_PAGE.items()}
    settings["politeness"] = {"ignore_robots": asked.ignore_robots, "delay": 0.0}
    settings["fetching"]["timeout"] = asked.deadline
    if asked.screenshot:
        settings["plan"] = {}
    return Order("fetch", hostname(url), shown(asked), [url], settings, pages=1)


async def _ended(office: Office, job: Job, watch: Watch, seconds: float) -> Job:
    """The job when it has ended; not later than the caller wants to wait."""
    until = time.monotonic() + seconds
    watch.streams += 1
    try:
        while time.monotonic() < until:
            await watch.change(min(LOOK_ANYWAY, max(0.01, until - time.monotonic())))
            state = await to_thread.run_sync(office.state_of, job.id)
            if state in ENDED:
                return await to_thread.run_sync(office.job_of, job.id)
    finally:
        watch.streams -= 1
    raise Problem("deadline", f"the page was not there within {seconds:g} seconds")


def _fetched(office: Office, job: Job, asked: FetchRequest) -> Fetched:
    with office.results(job) as found:
        page = _page(found) if job.state == "done" else None
        if found is None or page is None:
            raise Problem("not_fetched", f"{job.reason}: {_why(found) or job.detail}")
        number, line = page
        answer, forms = response_of(line, read.body(found.db, number) or b""), asked.formats
        shots = shots_of(job, office, found) if asked.screenshot else []
        return Fetched(
            url=job.seeds[0],
            final_url=line.url,
            status=line.status,
            page=line,
            html=reading.html(answer) if "html" in forms else None,
            markdown=reading.markdown(answer) if "markdown" in forms else None,
            main=reading.main_markdown(answer) if "main" in forms else None,
            text=reading.text(answer) if "text" in forms else None,
            screenshot=shots[0] if shots else None,
        )


def _page(found: Results | None) -> tuple[int, read.PageLine] | None:
    if found is None:
        return None
    wanted = read.Filter(limit=1)
    return next(read.numbered_pages(found.db, found.crawl.id, wanted, with_links=True), None)


def _why(found: Results | None) -> str | None:
    """The detail of what went wrong with the page itself."""
    if found is None:
        return None
    lines = read.urls(found.db, found.crawl.id, read.Filter())
    return next((line.detail for line in lines if line.outcome == "failed" and line.detail), None)
