"""Keys, limits, how long things are kept, and the version."""

from fastapi import APIRouter, Request
from starlette.responses import Response

from freki.ledger.jobs.keys import SCOPES, Key
from freki.serve.callers import Books
from freki.serve.office import Office
from freki.serve.problems import Problem
from freki.serve.views.shell import page
from freki.serve.views.visitors import Form, Visitor

routes = APIRouter(include_in_schema=False)


@routes.get("/app/settings")
def settings(request: Request, office: Books, visitor: Visitor) -> Response:
    """How the service is run; keys for who may see them."""
    return shown(request, office, visitor, None)


@routes.post("/app/settings/keys")
def change_keys(request: Request, office: Books, visitor: Visitor, form: Form) -> Response:
    """A new key, which is shown once, or one that ends."""
    if not visitor.may("admin"):
        raise Problem("scope", "this needs a key with the scope admin")
    if revoked := form.get("revoke"):
        office.revoke_key(revoked)
        return shown(request, office, visitor, None)
    scopes = tuple(scope for scope in SCOPES if form.get(scope))
    name = form.get("name", "").strip()[:100] or "a key"
    token = office.new_key(name, scopes or ("read",))
    return shown(request, office, visitor, token)


def shown(request: Request, office: Office, visitor: Key, token: str | None) -> Response:
    known = office.known_keys() if visitor.may("admin") else []
    return page(
        request, "settings.html",
        terms=office.terms, keys=known, token=token, visitor=visitor, scopes=SCOPES,
        standing=office.standing(), room=office.place.room(),
    )  # fmt: skip
