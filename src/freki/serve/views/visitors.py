"""Who looks: whoever is on this machine, or the holder of a key, remembered by a cookie.

The cookie is the key itself, kept from scripts and from other sites' pages. It counts for reading
and for the forms of the web app, which take nothing from other sites.
"""

from typing import Annotated

from anyio import to_thread
from fastapi import APIRouter, Depends, Request
from starlette.datastructures import QueryParams
from starlette.responses import Response

from freki.ledger.jobs.keys import ANYBODY, Key
from freki.serve.callers import COOKIE, office_of
from freki.serve.problems import Problem
from freki.serve.views.shell import go_to, page

routes = APIRouter(include_in_schema=False)

DAY = 86_400


class NobodyYet(Exception):
    """A key is needed, and there is none, or one that lets nobody in."""


def visitor_of(request: Request) -> Key:
    """Whose request this is."""
    office = office_of(request)
    if not office.needs_key():
        return ANYBODY
    key = office.holder(request.cookies.get(COOKIE, ""))
    if key is None or not key.may("read"):
        raise NobodyYet
    request.state.caller = key.id
    return key


def submitter_of(request: Request) -> Key:
    """The same for who changes something."""
    key = visitor_of(request)
    if not key.may("submit"):
        raise Problem("scope", "this needs a key with the scope submit")
    return key


Visitor = Annotated[Key, Depends(visitor_of)]
Doer = Annotated[Key, Depends(submitter_of)]


async def form_of(request: Request) -> dict[str, str]:
    """The fields of a form, the last of each name."""
    text = (await request.body()).decode("utf-8", "replace")
    return dict(QueryParams(text))


Form = Annotated[dict[str, str], Depends(form_of)]


async def ask_for_key(request: Request, _error: Exception) -> Response:
    """Instead of a page: where to give a key."""
    return await to_thread.run_sync(lambda: page(request, "login.html", 401, wrong=False))


@routes.get("/app/login")
def ask() -> Response:
    """Who asks for it by itself sees it on the way in, or is in."""
    return go_to("/app/")


@routes.post("/app/login")
def come_in(request: Request, form: Form) -> Response:
    """Take a key, if it is one."""
    token = form.get("key", "").strip()
    key = office_of(request).holder(token)
    if key is None or not key.may("read"):
        return page(request, "login.html", 401, wrong=True)
    response = go_to("/app/")
    is_secure = request.url.scheme == "https"
    response.set_cookie(
        COOKIE, token, max_age=30 * DAY, httponly=True, samesite="strict", secure=is_secure,
        path="/",
    )  # fmt: skip
    return response


@routes.post("/app/logout")
def go_away() -> Response:
    """Forget the key."""
    response = go_to("/app/")
    response.delete_cookie(COOKIE, path="/")
    return response
