"""Whether the service lives, whether it can take work, and its numbers."""

from anyio import to_thread
from fastapi import APIRouter, Request
from msgspec import Struct
from starlette.responses import Response

from freki.errors import StoreError
from freki.serve.answers import json
from freki.serve.callers import Books, caller_of
from freki.serve.office import Office
from freki.serve.problems import Problem, documented
from freki.serve.shapes import model_of
from freki.version import __version__

routes = APIRouter(tags=["health"])

# Bytes of room below which no more work is taken.
LEAST_ROOM = 200 * 2**20


class Alive(Struct, frozen=True):
    """The process answers."""

    status: str
    version: str


class Ready(Struct, frozen=True):
    """Whether work would be done."""

    ready: bool
    checks: dict[str, str]  # what is looked at, and `ok` or what is wrong


@routes.get("/isalive", responses={200: {"model": model_of(Alive)}})
async def isalive() -> Response:
    """Liveness only: asks nothing of anything else, and is as quick when there is much to do."""
    return json(Alive("ok", __version__))


@routes.get(
    "/readyz",
    responses={200: {"model": model_of(Ready)}, 503: {"model": model_of(Ready)}},
)
async def readyz(office: Books) -> Response:
    """Can work be taken, and will somebody do it?"""
    checks = await to_thread.run_sync(_checks, office)
    ready = all(result == "ok" for result in checks.values())
    return json(Ready(ready, checks), 200 if ready else 503)


@routes.get(
    "/metrics",
    response_class=Response,
    responses={
        200: {"content": {"text/plain": {"schema": {"type": "string"}}}},
        **documented("no_key", "bad_key", "scope"),
    },
)
def metrics(request: Request) -> Response:
    """Numbers for Prometheus."""
    if not caller_of(request).may("metrics"):
        raise Problem("scope", "this needs a key with the scope metrics")
    state = request.app.state
    state.metrics.streams = state.watch.streams
    kind = "text/plain; version=0.0.4; charset=utf-8"
    return Response(state.metrics.text(), media_type=kind)


def _checks(office: Office) -> dict[str, str]:
    checks = {}
    try:
        standing = office.standing()
    except StoreError as error:
        return {"store": type(error).__name__}
    checks["store"] = "ok"
    checks["workers"] = "ok" if standing.workers else "no worker is up"
    full = standing.queued >= office.terms.max_queued
    checks["queue"] = "full" if full else "ok"
    if (room := office.place.room()) is not None:
        checks["disk"] = "ok" if room >= LEAST_ROOM else "nearly full"
    return checks
