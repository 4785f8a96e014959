"""What all pages have in common: the templates, their files, and what browsers are told.

Everything that came from the web is hostile. Templates escape whatever they show; links lead
nowhere but to http and https; no script runs but those beside this module.
"""

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from fastapi import APIRouter, Request
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.responses import RedirectResponse, Response

from freki.serve.problems import Problem
from freki.serve.views import words
from freki.version import __version__

HERE = Path(__file__).parent
STATIC = HERE / "static"

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "Cache-Control": "no-store",
    "Referrer-Policy": "same-origin",  # without any, browsers do not say where a form comes from
}

KINDS = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}

routes = APIRouter(include_in_schema=False)


@lru_cache(maxsize=1)
def templates() -> Environment:
    """Made when the first page is asked for."""
    made = Environment(
        loader=FileSystemLoader(HERE / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= words.FILTERS
    made.globals["version"] = __version__
    return made


def page(
    request: Request, template: str, code: int = 200, headers: Mapping[str, str] | None = None,
    **facts: Any,
) -> Response:  # fmt: skip
    """A page of the web app."""
    office = request.app.state.office
    shown = {
        "path": request.url.path,
        "needs_key": office.needs_key(),
        "request_host": request.headers.get("host", ""),
        **facts,
    }
    text = templates().get_template(template).render(shown)
    kept = {**HEADERS, **(headers or {})}
    return Response(text.encode("utf-8", "replace"), code, kept, "text/html; charset=utf-8")


def go_to(path: str) -> Response:
    """After a form: a page that can be loaded again without doing it twice."""
    return RedirectResponse(path, 303)


@routes.get("/")
def front() -> Response:
    """Who opens the address in a browser wants to see something."""
    return RedirectResponse("/app/", 307)


@routes.get("/app/static/{name}")
def static(name: str) -> Response:
    """The files of the web app, by name: nothing else is there."""
    found = _files().get(name)
    if found is None:
        raise Problem("not_found")
    body, kind = found
    return Response(body, 200, {"Cache-Control": "max-age=300"}, kind)


@lru_cache(maxsize=1)
def _files() -> dict[str, tuple[bytes, str]]:
    return {
        file.name: (file.read_bytes(), KINDS[file.suffix])
        for file in STATIC.iterdir()
        if file.suffix in KINDS
    }
