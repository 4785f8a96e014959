"""The application: routes, what stands around them, and how errors are answered."""

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from difflib import get_close_matches
from itertools import chain
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.routing import Match, Route
from starlette.types import ASGIApp

from freki.errors import StoreError
from freki.serve import crawls, downloads, health, logs, now, results, shots, streams
from freki.serve.limits import (
    from_our_own,
    numbered,
    with_headers,
    with_problems,
    with_room,
    with_small_bodies,
    with_small_heads,
)
from freki.serve.metrics import Metrics
from freki.serve.office import Office
from freki.serve.problems import FieldError, Problem, ProblemAnswer, documented
from freki.serve.shapes import model_of
from freki.serve.streams import Watch
from freki.serve.terms import MOST_AT_ONCE, Terms
from freki.serve.views import (
    compare,
    crawl,
    detail,
    gallery,
    home,
    settings,
    shell,
    structure,
    tables,
    visitors,
    wrong,
)
from freki.version import __version__

ABOUT = """\
Crawls over HTTP. Every job is stored before it is answered, and survives whatever happens to the
processes that work on it. Errors are `application/problem+json`, with a `reason` for programs.
"""

ROUTES = (
    health.routes,
    crawls.routes,
    streams.routes,
    results.routes,
    downloads.routes,
    shots.routes,
    now.routes,
)

VIEWS = (
    shell, home, visitors, crawl, tables, detail, wrong, gallery, compare, structure, settings,
)  # fmt: skip

FOR_EVERYBODY = ("/isalive", "/readyz")

_QUOTED = re.compile("'([^']+)'")

BY_STATUS = {404: "not_found", 405: "method", 400: "bad_request", 413: "too_large"}


def application(terms: Terms) -> ASGIApp:
    """The whole application, with everything around it."""
    app = api(terms)
    return around(app, terms)


def api(terms: Terms) -> FastAPI:
    """The routes alone."""
    office = Office(terms)
    app = FastAPI(
        title="Freki",
        version=__version__,
        description=ABOUT,
        docs_url=None,  # their scripts would come from a network of others
        redoc_url=None,
        lifespan=_lifespan,
        responses=documented("no_key", "bad_key", "scope", "bug", "storage"),
        generate_unique_id_function=lambda route: route.name,
    )
    app.state.office = office
    app.state.terms = terms
    app.state.metrics = Metrics(office)
    for routes in ROUTES:
        app.include_router(routes)
    for view in VIEWS:
        app.include_router(view.routes)
    app.add_exception_handler(visitors.NobodyYet, visitors.ask_for_key)
    app.add_exception_handler(Problem, _on_problem)
    app.add_exception_handler(RequestValidationError, _on_invalid)
    app.add_exception_handler(HTTPException, _on_http)
    app.add_exception_handler(StoreError, _on_store)
    app.add_exception_handler(Exception, _on_bug)
    _document(app)
    return app


def around(app: FastAPI, terms: Terms) -> ASGIApp:
    """What every request goes through, the outermost first."""
    made: ASGIApp = app
    for each in reversed(
        [
            numbered(app.state.metrics),
            with_headers,
            with_problems,
            from_our_own(terms),
            with_room(MOST_AT_ONCE),
            with_small_heads,
            with_small_bodies,
        ]
    ):
        made = each(made)
    return made


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    office: Office = app.state.office
    app.state.watch = watch = Watch(office)
    async with asyncio.TaskGroup() as group:
        looking = group.create_task(watch.run())
        yield
        watch.end()
        looking.cancel()
    office.close()


# Errors


async def _on_problem(request: Request, problem: Exception) -> Response:
    assert isinstance(problem, Problem)
    return problem.response(_number(request))


async def _on_invalid(request: Request, error: Exception) -> Response:
    """Which field is wrong, and what was probably meant by one that there is not."""
    assert isinstance(error, RequestValidationError)
    found = error.errors()
    if any(each["type"] == "json_invalid" for each in found):
        return Problem("bad_json", "the body is not valid JSON").response(_number(request))
    errors = [_field_error(each, request) for each in found[:20]]
    first = errors[0]
    detail = f"{first.field}: {first.message}"
    return Problem("invalid", detail, errors).response(_number(request))


def _field_error(error: dict[str, Any], request: Request) -> FieldError:
    where = [str(part) for part in error["loc"][1:]] or [str(error["loc"][0])]
    name = ".".join(where)[:200]
    if error["type"] == "literal_error":
        return _not_one_of(name, error)
    if error["type"] != "extra_forbidden":
        return FieldError(name, str(error["msg"])[:300])
    near = get_close_matches(where[-1], _known_fields(request, error["loc"]), n=1)
    message = "there is no such field" + (f"; did you mean {near[0]}?" if near else "")
    return FieldError(name, message, near[0] if near else None)


def _not_one_of(name: str, error: dict[str, Any]) -> FieldError:
    known = _QUOTED.findall(str(error["ctx"]["expected"]))
    near = get_close_matches(str(error["input"])[:100], known, n=1)
    hint = f"; did you mean {near[0]}?" if near else f": {', '.join(known)[:300]}"
    return FieldError(name, f"it is none of those there are{hint}", near[0] if near else None)


def _known_fields(request: Request, place: tuple[object, ...]) -> list[str]:
    """The fields of whatever model stands at this place of a request."""
    dependant = request.scope["route"].dependant
    parameters = dependant.body_params if place[0] == "body" else dependant.query_params
    model: Any = next((each.field_info.annotation for each in parameters), None)
    for part in place[1:-1]:
        model = _inner(model, str(part))
    return list(model.model_fields) if _is_model(model) else []


def _inner(model: Any, name: str) -> Any:
    if not _is_model(model) or name not in model.model_fields:
        return None
    kind = model.model_fields[name].annotation
    parts = getattr(kind, "__args__", (kind,))
    return next((part for part in parts if _is_model(part)), None)


def _is_model(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, BaseModel)


async def _on_http(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    reason = BY_STATUS.get(error.status_code, "bad_request")
    response = Problem(reason).response(_number(request))
    if error.status_code == 405:
        response.headers["Allow"] = ", ".join(_methods(request))
    return response


def _methods(request: Request) -> list[str]:
    """What can be done with a path; several routes may have it."""
    found: set[str] = set()
    for route in chain.from_iterable(
        router.routes for router in (*ROUTES, *(view.routes for view in VIEWS))
    ):
        match, _ = route.matches(request.scope)
        if match is not Match.NONE and isinstance(route, Route):
            found |= route.methods or set()
    return sorted(found)


async def _on_store(request: Request, error: Exception) -> Response:
    logs.failure("store", request=_number(request))
    return Problem("storage", type(error).__name__, retry_after=5).response(_number(request))


async def _on_bug(request: Request, error: Exception) -> Response:
    """What went wrong is for the log; the caller gets the number under which it is there."""
    logs.failure("bug", request=_number(request))
    return Problem("bug", "the log has it under the request_id").response(_number(request))


def _number(request: Request) -> str:
    return str(request.scope.get("state", {}).get("request_id", ""))


# The document


def _document(app: FastAPI) -> None:
    """OpenAPI, with how callers show who they are and how errors look."""
    make = app.openapi

    def openapi() -> dict[str, Any]:
        if app.openapi_schema:
            return app.openapi_schema
        document = make()
        components = document.setdefault("components", {})
        schemas = components.setdefault("schemas", {})
        problem = model_of(ProblemAnswer).model_json_schema(
            ref_template="#/components/schemas/{model}"
        )
        schemas.update(problem.pop("$defs", {}))
        schemas["Problem"] = problem
        components["securitySchemes"] = {
            "key": {"type": "http", "scheme": "bearer", "description": "a key of `freki keys add`"}
        }
        document["security"] = [{"key": []}]
        for path, operations in document["paths"].items():
            for operation in operations.values():
                _mend(operation)
                if path in FOR_EVERYBODY:
                    operation["security"] = []
                    for status in ("401", "403"):
                        del operation["responses"][status]
        return document

    app.openapi = openapi  # type: ignore[method-assign]  # as FastAPI's own documentation does


def _mend(operation: dict[str, Any]) -> None:
    """What FastAPI says of invalid requests by itself is not how we answer them."""
    answers = operation["responses"]
    invalid = answers.get("422", {}).get("content", {})
    if "application/json" in invalid:
        answers["422"] = documented("invalid")[422]
