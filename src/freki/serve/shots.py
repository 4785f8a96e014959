"""Screenshots over HTTP: asked for, followed while they are made, shown."""

from typing import Annotated, Any

from fastapi import APIRouter, Query
from msgspec import Struct, structs
from starlette.responses import Response

from freki.ledger import captures
from freki.ledger.captures import CaptureLine, RenderingLine
from freki.ledger.jobs.orders import Job
from freki.ledger.jobs.retries import Anew
from freki.ledger.read import Filter
from freki.messages import Reason
from freki.serve.answers import date, json, list_of, part
from freki.serve.callers import Books, Reader, Submitter
from freki.serve.crawls import GOING, MISSING, RETRYING, TAKING, IdempotencyKey, repeat_of
from freki.serve.gate import refuse_private
from freki.serve.office import Office, Results
from freki.serve.problems import documented
from freki.serve.requests import JobListing, hook_of
from freki.serve.results import image
from freki.serve.shapes import model_of
from freki.serve.wishes import LookAgain, ScreenshotRequest, screenshot_order, secrets_of

routes = APIRouter(prefix="/screenshots", tags=["screenshots"])


class Thumbnail(Struct, frozen=True):
    """A small picture."""

    width: int
    sha256: str
    image_url: str


class Capture(Struct, frozen=True):
    """A picture of a page, or of one tile of it."""

    image_url: str
    thumbnail_url: str | None
    thumbnails: list[Thumbnail]
    format: str
    width: int
    height: int
    bytes: int
    sha256: str
    viewport: str
    tile: int
    tiles: int
    truncated: bool
    blank: bool
    phash: str | None


class Trouble(Struct, frozen=True):
    """Why there is no picture."""

    reason: str
    detail: str


class Seconds(Struct, frozen=True):
    """What took how long."""

    queue: float
    navigate: float
    settle: float
    capture: float


class Screenshot(Struct, frozen=True):
    """A page, and its pictures as far as they are there."""

    url: str
    final_url: str | None
    state: str  # queued, running, done or failed
    status: int | None
    title: str | None
    error: Trouble | None
    captures: list[Capture]
    timings: Seconds | None


class ScreenshotTask(Struct, frozen=True):
    """A request for screenshots, and what has come of it so far."""

    task_id: str
    status: str  # queued, running, done, failed or cancelled
    status_url: str
    reason: str | None
    detail: str | None
    start_url: str
    number_of_links: int
    requested: int
    attempted: int
    captured: int
    cached: bool
    request: dict[str, object]
    created_at: str
    started_at: str | None
    ended_at: str | None
    dropped: list[str]  # secrets that went when it ended
    screenshots: list[Screenshot]


TaskList = list_of(ScreenshotTask, "ScreenshotTaskList")

A_TASK = {"model": model_of(ScreenshotTask)}


@routes.post("", status_code=202, responses={202: A_TASK, **TAKING})
def ask_for_screenshots(
    asked: ScreenshotRequest,
    office: Books,
    caller: Submitter,
    idempotency_key: IdempotencyKey = None,
) -> Response:
    """Take pictures of a page, and of as many pages of the same site that it links to.

    They are taken in the order of the page; where one fails, the next link takes its place.
    """
    order = screenshot_order(asked, caller, office.terms, office.now())
    accepted = office.accept(order, caller, repeat_of(idempotency_key, asked))
    headers = {"Location": path_of(accepted.job, office)}
    if accepted.repeated:
        headers["Idempotency-Replayed"] = "true"
    return json(task(accepted.job, office), 202, headers)


@routes.get("", responses={200: {"model": model_of(TaskList)}, **documented("invalid")})
def list_screenshots(
    wanted: Annotated[JobListing, Query()], office: Books, caller: Reader
) -> Response:
    """Your requests for screenshots, newest first, without the pictures."""
    before = int(wanted.cursor) if wanted.cursor else None
    jobs = office.jobs(caller, "screenshots", wanted.state, before, wanted.limit + 1)
    rows = [(job.seq, _task(job, office, [])) for job in jobs]
    query = {"state": wanted.state} if wanted.state else {}
    listed = part(f"{office.terms.public_url}/screenshots", rows, wanted.limit, query)
    return json(listed)


@routes.get("/{task_id}", responses={200: A_TASK, **MISSING})
def read_screenshots(task_id: str, office: Books, caller: Reader) -> Response:
    """How far it is, with all pictures that are there already."""
    return json(task(office.job(caller, task_id, "screenshots"), office))


@routes.post("/{task_id}/cancel", responses={200: A_TASK, **GOING})
def cancel_screenshots(task_id: str, office: Books, caller: Submitter) -> Response:
    """End it. Pictures that were taken stay."""
    job = office.cancel(office.job(caller, task_id, "screenshots"))
    return json(task(job, office))


@routes.post("/{task_id}/retry", responses={200: A_TASK, **RETRYING})
def retry_screenshots(task_id: str, asked: LookAgain, office: Books, caller: Submitter) -> Response:
    """Look again at pages of which there is no picture, where fewer are there than were asked for.

    Headers and cookies were deleted when it ended, and have to be given again.
    """
    hook = hook_of(asked.webhook)
    if hook is not None:
        refuse_private([hook.url], office.terms)
    job = office.job(caller, task_id, "screenshots")
    wanted = Filter(reason=Reason[asked.reason] if asked.reason else None)
    job, _ = office.retry(job, wanted, caller, Anew(hook, secrets_of(asked)))
    return json(task(job, office))


@routes.delete("/{task_id}", status_code=204, responses=MISSING)
def delete_screenshots(task_id: str, office: Books, caller: Submitter) -> Response:
    """Delete it with its pictures."""
    office.delete(office.job(caller, task_id, "screenshots"))
    return Response(status_code=204)


@routes.get(
    "/{task_id}/images/{name}",
    response_class=Response,
    responses={200: {"content": {"image/webp": {}}}, **MISSING},
)
def read_a_picture(task_id: str, name: str, office: Books, caller: Reader) -> Response:
    """A picture. It never changes, and may be kept for ever."""
    return image(office, office.job(caller, task_id), name)


def path_of(job: Job, office: Office) -> str:
    return f"{office.terms.public_url}/screenshots/{job.id}"


def task(job: Job, office: Office) -> ScreenshotTask:
    """A task with everything that is there."""
    with office.results(job) as found:
        return _task(job, office, shots_of(job, office, found))


def _task(job: Job, office: Office, shots: list[Screenshot]) -> ScreenshotTask:
    links = _number(job.settings["plan"]["links"])
    return ScreenshotTask(
        task_id=job.id,
        status=job.state,
        status_url=path_of(job, office),
        reason=job.reason,
        detail=job.detail,
        start_url=job.seeds[0],
        number_of_links=links,
        requested=1 + links,
        attempted=_number(job.progress.get("attempted")),
        captured=_number(job.progress.get("captured")),
        cached=job.crawl != job.id,
        request=job.request,
        created_at=date(job.created_at) or "",
        started_at=date(job.started_at),
        ended_at=date(job.ended_at),
        dropped=job.dropped,
        screenshots=shots,
    )


def shots_of(job: Job, office: Office, found: Results | None) -> list[Screenshot]:
    """What was seen, in the order of the plan; then what is looked at now."""
    lines: dict[str, RenderingLine] = {}
    plan = job.seeds
    if found is not None:
        seen = captures.renderings(found.db, captures.Wanted(crawl=found.crawl.id))
        lines = {line.url: line for line in seen}
        plan = found.crawl.seeds
    place = {url: number for number, url in enumerate(plan)}
    shots = [
        _shot(line, path_of(job, office))
        for line in sorted(lines.values(), key=lambda line: place.get(line.url, len(place)))
    ]
    if job.has_ended:
        return shots
    current = job.progress.get("current", [])
    assert isinstance(current, list)
    waiting = [] if plan[0] in lines or plan[0] in current else [plan[0]]
    shots += [_not_yet(url, "running") for url in current if url not in lines]
    return shots + [_not_yet(url, "queued") for url in waiting]


def _shot(line: RenderingLine, here: str) -> Screenshot:
    well = line.reason == "ok"
    return Screenshot(
        url=line.url,
        final_url=line.final_url or None,
        state="done" if well else "failed",
        status=line.status or None,
        title=line.title or None,
        error=None if well else Trouble(line.reason, line.detail),
        captures=[_capture(capture, here) for capture in line.captures],
        timings=Seconds(**structs.asdict(line.phases)),
    )


def _capture(line: CaptureLine, here: str) -> Capture:
    small = [
        Thumbnail(each.width, each.sha256, f"{here}/images/{each.sha256}.webp")
        for each in line.thumbnails
    ]
    view = line.viewport
    return Capture(
        image_url=f"{here}/images/{line.sha256}.{line.format}",
        thumbnail_url=small[-1].image_url if small else None,
        thumbnails=small,
        format=line.format,
        width=line.width,
        height=line.height,
        bytes=line.bytes,
        sha256=line.sha256,
        viewport=view.name or f"{view.width}x{view.height}",
        tile=line.tile,
        tiles=line.tiles,
        truncated=line.truncated,
        blank=line.blank,
        phash=line.phash,
    )


def _not_yet(url: str, state: str) -> Screenshot:
    return Screenshot(url, None, state, None, None, None, [], None)


def _number(value: Any) -> int:
    return int(value or 0)
