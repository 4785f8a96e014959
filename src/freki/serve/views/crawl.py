"""One crawl: how far it is, live, and what can be done with it."""

from fastapi import APIRouter, Request
from msgspec import Struct
from starlette.responses import Response

from freki.ledger import read, site
from freki.ledger.jobs.keys import Key
from freki.ledger.jobs.orders import Job
from freki.serve.answers import json
from freki.serve.callers import Books
from freki.serve.office import Office, changed
from freki.serve.problems import Problem
from freki.serve.views import words
from freki.serve.views.lately import Lately
from freki.serve.views.shell import go_to, page
from freki.serve.views.tables import is_number
from freki.serve.views.visitors import Doer, Form, Visitor

routes = APIRouter(prefix="/app/crawls/{id}", include_in_schema=False)

HOSTS = 15

# Events that are told again to who opens the page: some minutes of a crawl.
REPLAYED = 400

# What may become of a URL, in the order in which it is shown, and its colour.
OUTCOMES = (("done", "good"), ("failed", "bad"), ("refused", "warn"), ("waiting", "info"))

LIMITS = ("depth", "max_pages")

# Counting answers looks at every page.
_classes: Lately[dict[int, int]] = Lately()


@routes.get("")
def overview(request: Request, id: str, office: Books, visitor: Visitor) -> Response:
    """Progress, outcomes, hosts, and the latest pages."""
    return shown(request, office, visitor, id, "")


@routes.post("/act")
def act(request: Request, id: str, office: Books, visitor: Doer, form: Form) -> Response:
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
        return shown(request, office, visitor, id, told)
    return go_to(f"/app/crawls/{id}")


@routes.get("/now")
def now(id: str, office: Books, visitor: Visitor) -> Response:
    """What no event tells: hosts as they are now, and answers by status."""
    hosts, classes = _look(office, office.job(visitor, id))
    return json({"hosts": hosts, "classes": classes})


def shown(request: Request, office: Office, visitor: Key, id_: str, wrong: str) -> Response:
    """The overview, and what went wrong with what was asked."""
    told_after = office.last_event()  # first: what happens from now on changes the page
    job = office.job(visitor, id_)
    status = read.Status(0, 0, 0, 0, 0, 0, {}, 0)
    with office.results(job) as found:
        if found is not None:
            status = read.status(found.db, found.crawl.id)
    hosts, classes = _look(office, job)
    return page(
        request, "crawl.html", 422 if wrong else 200,
        job=job, here="overview", status=status, hosts=hosts, outcomes=OUTCOMES, wrong=wrong,
        told_after=told_after, shares=_shares(status), retried=_retried(request),
        replayed_after=office.event_before_latest(job.crawl, REPLAYED),
        classes=classes, words=words.reasons(),
    )  # fmt: skip


class Host(Struct, frozen=True):
    """A host as it is now."""

    name: str
    waiting: int
    pause: str
    state: str


def _look(office: Office, job: Job) -> tuple[list[Host], dict[str, int]]:
    """The hosts with most to do, and how many answers there are of each class."""
    with office.results(job) as found:
        if found is None:
            return [], {}
        hosts = read.hosts(found.db, found.crawl.id, HOSTS)
        known = _classes.get(job.crawl, lambda: site.classes(found.db, found.crawl.id))
    return [_host(host, job) for host in hosts], {f"{first}xx": n for first, n in known.items()}


def _host(host: read.HostLine, job: Job) -> Host:
    pause = words.NOTHING if host.delay is None else f"{host.delay:.2f} s"
    return Host(host.host, host.waiting, pause, _state(host, job))


def _state(host: read.HostLine, job: Job) -> str:
    if host.failures:
        return f"out of reach or busy {host.failures} times in a row"
    if not host.waiting:
        return "all asked"
    if job.state != "running":
        return "waits"
    rest = words.seconds_until(host.next_at)
    return f"rests for {rest:.0f} s" if rest >= 1 else "is asked"


def _retried(request: Request) -> int:
    """How many URLs the button was for that led here."""
    text = request.query_params.get("retried", "")
    return int(text) if is_number(text) else 0


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
