"""What all pages have in common: the templates, their files, and what browsers are told.

Everything that came from the web is hostile. Templates escape whatever they show; links lead
nowhere but to http and https; no script runs but those beside this module.
"""

from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from fastapi import APIRouter, Request
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.responses import RedirectResponse, Response, StreamingResponse

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

# What a template says where all it has said shall be shown.
FLUSH = "\0"

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
    made.globals |= {"version": __version__, "flush": FLUSH}
    return made


def page(
    request: Request, template: str, code: int = 200, headers: Mapping[str, str] | None = None,
    **facts: Any,
) -> Response:  # fmt: skip
    """A page of the web app."""
    text = templates().get_template(template).render(_shown(request, facts))
    kept = {**HEADERS, **(headers or {})}
    return Response(text.encode("utf-8", "replace"), code, kept, "text/html; charset=utf-8")


def flowing(request: Request, template: str, code: int = 200, **facts: Any) -> Response:
    """A page of which the first part is shown while the rest is looked for.

    The template says by `flush` where that part ends, and looks by going through an iterator.
    """
    chunks = templates().get_template(template).generate(_shown(request, facts))
    return StreamingResponse(_parts(chunks), code, HEADERS, "text/html; charset=utf-8")


def _parts(chunks: Iterable[str]) -> Iterator[bytes]:
    text: list[str] = []
    for chunk in chunks:
        if chunk == FLUSH:
            yield "".join(text).encode("utf-8", "replace")
            text = []
        else:
            text.append(chunk)
    yield "".join(text).encode("utf-8", "replace")


def _shown(request: Request, facts: Mapping[str, Any]) -> dict[str, Any]:
    office = request.app.state.office
    return {
        "path": request.url.path,
        "needs_key": office.needs_key(),
        "request_host": request.headers.get("host", ""),
        **facts,
    }


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
