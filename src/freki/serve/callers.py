"""Who calls, and what they may."""

from collections.abc import Callable
from typing import Annotated

from fastapi import Depends, Request

from freki.ledger.jobs.keys import ANYBODY, Key, Scope
from freki.serve.office import Office
from freki.serve.problems import Problem

COOKIE = "freki_key"


def office_of(request: Request) -> Office:
    """The service's books."""
    office: Office = request.app.state.office
    return office


def caller_of(request: Request) -> Key:
    """Whose request this is; without keys in the books, whoever is on this machine."""
    office = office_of(request)
    token = token_of(request)
    if token is None:
        if office.needs_key():
            raise Problem("no_key", "send it as: Authorization: Bearer freki_…")
        return ANYBODY
    key = office.holder(token)
    if key is None:
        raise Problem(
            "bad_key", "it is wrong or was revoked; freki keys list shows those there are"
        )
    request.state.caller = key.id
    return key


def token_of(request: Request) -> str | None:
    """The key of a request: in a header, never in the URL, which others see.

    To read, the cookie of the web app will do: its pages show pictures and follow events.
    """
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() == "bearer" and token:
        return token.strip()
    if (token := request.headers.get("x-api-key", "")) or request.method not in ("GET", "HEAD"):
        return token or None
    return request.cookies.get(COOKIE)


def with_scope(scope: Scope) -> Callable[[Key], Key]:
    """A caller who may do this."""

    def check(caller: Annotated[Key, Depends(caller_of)]) -> Key:
        if not caller.may(scope):
            raise Problem("scope", f"this needs a key with the scope {scope}")
        return caller

    return check


Books = Annotated[Office, Depends(office_of)]
Reader = Annotated[Key, Depends(with_scope("read"))]
Submitter = Annotated[Key, Depends(with_scope("submit"))]
