"""One crawl: how far it is, live, and what can be done with it."""

from fastapi import APIRouter, Request
from starlette.responses import Response

from freki.ledger import read
from freki.ledger.jobs.orders import Job
from freki.serve.callers import Books
from freki.serve.office import Office, changed
from freki.serve.problems import Problem
from freki.serve.views.shell import go_to, page
from freki.serve.views.visitors import Doer, Form, Visitor

routes = APIRouter(prefix="/app/crawls/{id}", include_in_schema=False)

HOSTS = 15

# What may become of a URL, in the order in which it is shown, and its colour.
OUTCOMES = (("done", "good"), ("failed", "bad"), ("refused", "warn"), ("waiting", "info"))

LIMITS = ("depth", "max_pages")


@routes.get("")
def overview(request: Request, id: str, office: Books, visitor: Visitor) -> Response:  # noqa: A002
    """Progress, outcomes, hosts, and the latest pages."""
    return shown(request, office, office.job(visitor, id), "")


@routes.post("/act")
def act(request: Request, id: str, office: Books, visitor: Doer, form: Form) -> Response:  # noqa: A002
    """Pause, resume, cancel, change the limits, or delete."""
    job = office.job(visitor, id)
    deeds = {"pause": office.pause, "resume": office.resume, "cancel": office.cancel}
    deed = form.get("do", "")
    try:
        if deed == "delete":
            office.delete(job)
            return go_to("/app/")
        if deed == "limits":
            limits = _limits(form)
            request_ = {**job.request, **limits}
            office.change(job, changed(job, {"scope": dict(limits)}), request_)
        elif deed in deeds:
            deeds[deed](job)
    except (Problem, ValueError) as error:
        told = error.detail if isinstance(error, Problem) else str(error)
        return shown(request, office, office.job(visitor, id), told)
    return go_to(f"/app/crawls/{id}")


def shown(request: Request, office: Office, job: Job, wrong: str) -> Response:
    """The overview, and what went wrong with what was asked."""
    status, hosts = read.Status(0, 0, 0, 0, 0, 0, {}, 0), []
    with office.results(job) as found:
        if found is not None:
            status = read.status(found.db, found.crawl.id)
            hosts = read.hosts(found.db, found.crawl.id, HOSTS)
    return page(
        request, "crawl.html", 422 if wrong else 200,
        job=job, here="overview", status=status, hosts=hosts, outcomes=OUTCOMES, wrong=wrong,
        told_after=office.last_event(), shares=_shares(status), retried=_retried(request),
    )  # fmt: skip


def _retried(request: Request) -> int:
    """How many URLs the button was for that led here."""
    text = request.query_params.get("retried", "")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 16 else 0


def _shares(status: read.Status) -> list[tuple[str, str, float, float]]:
    """The bar of outcomes: name, colour, where it begins and how wide it is, of 1000."""
    counts = {"done": status.done, "failed": status.failed, "refused": status.refused}
    counts["waiting"] = status.waiting + status.leased
    total = max(1, status.discovered)
    bars, at = [], 0.0
    for name, colour in OUTCOMES:
        width = 1000 * counts[name] / total
        bars.append((name, colour, at, width))
        at += width
    return bars


def _limits(form: dict[str, str]) -> dict[str, object]:
    limits: dict[str, object] = {}
    for name in LIMITS:
        text = form.get(name, "").strip()
        if text and (not text.isascii() or not text.isdigit()):
            raise ValueError(f"{name}: {text!r} is no number")
        limits[name] = int(text) if text else None
    return limits
