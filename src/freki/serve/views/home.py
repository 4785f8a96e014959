"""The first page: what is going on, and a form to begin a crawl."""

from collections.abc import Mapping
from typing import Any

from fastapi import APIRouter, Request
from pydantic import ValidationError
from starlette.responses import Response

from freki.config import options
from freki.ledger.jobs.keys import Key
from freki.serve.callers import Books
from freki.serve.crawls import crawl_order
from freki.serve.office import Office
from freki.serve.problems import Problem
from freki.serve.requests import CrawlRequest
from freki.serve.views.shell import go_to, page
from freki.serve.views.visitors import Doer, Form, Visitor

routes = APIRouter(include_in_schema=False)

SHOWN = 50

# Options of the form. Most people want the first two; the others are one click away.
CHOICES = {
    "scope": ("site", "host", "folder", "page", "any"),
    "sitemap": ("also", "only", "no"),
    "order": ("breadth", "depth", "best"),
}
WHOLE = ("depth", "max_pages")
LISTS = ("include", "exclude")
DECIMAL = ("delay",)
SWITCHES = ("check_external",)
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
        if name in given:
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
    helps = {option.name: option.help for option in options() if option.name in FIELDS}
    return page(
        request,
        "home.html",
        422 if wrong else 200,
        jobs=office.jobs(visitor, None, None, None, SHOWN),
        standing=office.standing(),
        room=office.place.room(),
        form=form,
        wrong=wrong,
        helps=helps,
        choices=CHOICES,
        may_begin=visitor.may("submit"),
    )
