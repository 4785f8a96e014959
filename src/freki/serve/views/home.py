"""The first page: what is going on, and a form to begin a crawl."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from fastapi import APIRouter, Request
from msgspec import Struct
from pydantic import ValidationError
from starlette.responses import Response

from freki.ledger.jobs.keys import Key
from freki.ledger.jobs.orders import Job
from freki.serve.callers import Books
from freki.serve.crawls import crawl_order
from freki.serve.office import Office, Standing
from freki.serve.problems import Problem
from freki.serve.requests import CrawlRequest
from freki.serve.views.shell import go_to, page
from freki.serve.views.visitors import Doer, Form, Visitor

routes = APIRouter(include_in_schema=False)

SHOWN = 50

# Options of the form, and what their choices mean. Most people want the first two; the others are
# one click away.
CHOICES = {
    "scope": {
        "site": "with its subdomains",
        "host": "this host alone",
        "folder": "this folder alone",
        "page": "this page alone",
        "any": "wherever links lead",
    },
    "sitemap": {
        "also": "read as well",
        "only": "only what they list",
        "no": "left out",
    },
    "order": {
        "breadth": "what is near",
        "depth": "what is far",
        "best": "what promises most",
    },
    "render": {
        "never": "no",
        "auto": "where it is empty else",
        "always": "for every page",
    },
}
DEFAULTS = {"sitemap": "also", "order": "breadth", "render": "never"}
WHOLE = ("depth", "max_pages")
LISTS = ("include", "exclude")
DECIMAL = ("delay",)
SWITCHES = ("check_external", "screenshot")
FIELDS = (*WHOLE, *CHOICES, *LISTS, *DECIMAL, *SWITCHES)


@routes.get("/app/")
def home(request: Request, office: Books, visitor: Visitor) -> Response:
    """Crawls, and how the service is."""
    return shown(request, office, visitor, {}, "")


@routes.post("/app/crawls")
def begin(request: Request, office: Books, visitor: Doer, form: Form) -> Response:
    """Begin a crawl as the form describes it, or say what is wrong with it."""
    try:
        asked = CrawlRequest.model_validate(wanted(form))
        job = office.accept(crawl_order(asked, visitor, office), visitor).job
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(str(part) for part in first["loc"][:1])
        return shown(request, office, visitor, form, f"{field}: {first['msg']}")
    except ValueError as error:
        return shown(request, office, visitor, form, str(error))
    except Problem as problem:
        return shown(request, office, visitor, form, problem.detail or problem.reason)
    return go_to(f"/app/crawls/{job.id}")


def wanted(form: Mapping[str, str]) -> dict[str, Any]:
    """A form as a request for a crawl: what is empty was not asked for."""
    given = {name: text.strip() for name, text in form.items() if text.strip()}
    found: dict[str, Any] = {"urls": given.get("urls", "").split()}
    if "name" in given:
        found["name"] = given["name"]
    for name in FIELDS:
        if name in given and given[name] != DEFAULTS.get(name):
            found[name] = _value(name, given[name])
    return found


def _value(name: str, text: str) -> object:
    if name in WHOLE or name in DECIMAL:
        try:
            return int(text) if name in WHOLE else float(text)
        except ValueError:
            raise ValueError(f"{name}: {text!r} is no number") from None
    if name in LISTS:
        return text.split()
    return True if name in SWITCHES else text


def shown(
    request: Request, office: Office, visitor: Key, form: Mapping[str, str], wrong: str
) -> Response:
    """The page, with what was typed before where something was wrong with it."""
    jobs = office.jobs(visitor, None, None, None, SHOWN)
    standing = office.standing()
    return page(
        request, "home.html", 422 if wrong else 200,
        jobs=jobs, standing=standing, health=_health(office, standing, jobs), form=form,
        wrong=wrong, choices=CHOICES, may_begin=visitor.may("submit"),
    )  # fmt: skip


class Health(Struct, frozen=True):
    """How the service is, in numbers."""

    speed: float  # pages a second of all crawls that are shown
    failed: float  # the share of all URLs that were ever tried
    browsers: int
    memory: float  # of workers and their browsers
    room: int | None


def _health(office: Office, standing: Standing, jobs: Sequence[Job]) -> Health:
    counted: defaultdict[str, float] = defaultdict(float)
    for (name, _), value in office.counters().items():
        counted[name] += value
    tried = counted["pages"] + counted["errors"]
    numbers: defaultdict[str, float] = defaultdict(float)
    for worker in standing.workers:
        for name, value in worker.statistics.items():
            numbers[name] += value
    running = (job.progress.get("pages_per_second", 0) for job in jobs if job.state == "running")
    return Health(
        speed=sum(each for each in running if isinstance(each, int | float)),
        failed=counted["errors"] / tried if tried else 0.0,
        browsers=int(numbers["browsers"]),
        memory=numbers["memory"] + numbers["browser_memory"],
        room=office.place.room(),
    )
