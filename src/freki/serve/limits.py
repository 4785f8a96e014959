"""What stands around every request: its number, its limits, what browsers are told, its log line.

Plain ASGI functions around each other; their order is the list in `app.py`.
"""

import asyncio
import secrets
import time
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from freki.serve import logs
from freki.serve.metrics import Metrics
from freki.serve.problems import Problem
from freki.serve.terms import BODY_SECONDS, MAX_BODY, MAX_HEAD, Terms, host_is_ours

SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})

# What browsers are told about everything from here. Nothing is ever framed, guessed or run.
HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
}

Around = Callable[[ASGIApp], ASGIApp]


def numbered(metrics: Metrics) -> Around:
    """Gives a request its number, and writes one line about it when it is over."""

    def around(app: ASGIApp) -> ASGIApp:
        async def call(scope: Scope, receive: Receive, send: Send) -> None:
            if scope["type"] != "http":
                await app(scope, receive, send)
                return
            state = scope.setdefault("state", {})
            state["request_id"] = request_id = secrets.token_hex(8)
            started, status = time.perf_counter(), 500

            async def sending(message: Message) -> None:
                nonlocal status
                if message["type"] == "http.response.start":
                    status = message["status"]
                    MutableHeaders(scope=message)["X-Request-ID"] = request_id
                await send(message)

            try:
                await app(scope, receive, sending)
            finally:
                seconds = time.perf_counter() - started
                route = _route(scope)
                metrics.request(scope["method"], route, status, seconds)
                logs.event(
                    "request", request=request_id, method=scope["method"], route=route,
                    status=status, ms=round(seconds * 1000, 1), caller=state.get("caller"),
                )  # fmt: skip

        return call

    return around


def with_headers(app: ASGIApp) -> ASGIApp:
    """Tells browsers what they may do; a route may say it more exactly."""

    async def call(scope: Scope, receive: Receive, send: Send) -> None:
        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        await app(scope, receive, sending)

    return call


def with_problems(app: ASGIApp) -> ASGIApp:
    """Answers with the problems that are found before any route is."""

    async def call(scope: Scope, receive: Receive, send: Send) -> None:
        begun = False

        async def sending(message: Message) -> None:
            nonlocal begun
            begun = True
            await send(message)

        try:
            await app(scope, receive, sending)
        except Problem as problem:
            if begun:
                raise
            response = problem.response(_state(scope).get("request_id", ""))
            await response(scope, receive, send)

    return call


def from_our_own(terms: Terms) -> Around:
    """Refuses what pages of other sites make a browser on this machine send.

    A page can have its own name lead to our address, and can post forms anywhere. Its name is then
    in `Host`, or in `Origin`.
    """

    def around(app: ASGIApp) -> ASGIApp:
        async def call(scope: Scope, receive: Receive, send: Send) -> None:
            if scope["type"] == "http":
                headers = Headers(scope=scope)
                if not terms.is_open and not host_is_ours(headers.get("host", ""), terms):
                    raise Problem("foreign_host", "name it with --known-as, if it is one of yours")
                if scope["method"] not in SAFE_METHODS:
                    _refuse_cross_site(headers)
            await app(scope, receive, send)

        return call

    return around


def _refuse_cross_site(headers: Headers) -> None:
    if headers.get("sec-fetch-site", "none") not in ("none", "same-origin"):
        raise Problem("cross_site")
    origin = headers.get("origin")
    if origin is not None and origin.partition("://")[2] != headers.get("host"):
        raise Problem("cross_site")


def with_room(most: int) -> Around:
    """Answers so many requests at once; whether it lives is answered always."""
    under_way = 0

    def around(app: ASGIApp) -> ASGIApp:
        async def call(scope: Scope, receive: Receive, send: Send) -> None:
            nonlocal under_way
            if scope["type"] != "http" or scope["path"] == "/isalive":
                await app(scope, receive, send)
                return
            if under_way >= most:
                raise Problem("busy", "ask again later", retry_after=2)
            under_way += 1
            try:
                await app(scope, receive, send)
            finally:
                under_way -= 1

        return call

    return around


def with_small_heads(app: ASGIApp) -> ASGIApp:
    """A head that came in one piece is bounded here; the server bounds what is still coming."""

    async def call(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            fields = sum(len(name) + len(value) for name, value in scope["headers"])
            if fields + len(scope["raw_path"]) + len(scope["query_string"]) > MAX_HEAD:
                raise Problem("head_too_large", f"at most {MAX_HEAD} bytes are taken")
        await app(scope, receive, send)

    return call


def with_small_bodies(app: ASGIApp) -> ASGIApp:
    """A body is bounded, comes in time, and is JSON."""

    async def call(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] in SAFE_METHODS:
            await app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        length = headers.get("content-length", "0")
        if length.isdigit() and int(length) > MAX_BODY:
            raise Problem("too_large", f"at most {MAX_BODY} bytes are taken")
        body = await _whole(receive)
        kind = headers.get("content-type", "").partition(";")[0].strip().lower()
        if body and kind != "application/json" and _wants_json(scope):
            raise Problem("not_json", "send it with Content-Type: application/json")
        await app(scope, _again(body, receive), send)

    return call


def _wants_json(scope: Scope) -> bool:
    """Forms of the web app are no JSON, and have a guard of their own."""
    return not str(scope["path"]).startswith("/app/")


async def _whole(receive: Receive) -> bytes:
    body = bytearray()
    try:
        async with asyncio.timeout(BODY_SECONDS):
            while True:
                message = await receive()
                body += message.get("body", b"")
                if len(body) > MAX_BODY:
                    raise Problem("too_large", f"at most {MAX_BODY} bytes are taken")
                if message["type"] == "http.disconnect" or not message.get("more_body"):
                    return bytes(body)
    except TimeoutError:
        raise Problem("slow_body") from None


def _again(body: bytes, receive: Receive) -> Callable[[], Awaitable[Message]]:
    """The body that was read, and then what the connection says."""
    given = False

    async def call() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return call


def _state(scope: Scope) -> MutableMapping[str, Any]:
    state: MutableMapping[str, Any] = scope.setdefault("state", {})
    return state


def _route(scope: Scope) -> str:
    """The path as it is declared: the paths that callers make up are without number."""
    route = scope.get("route")
    return str(getattr(route, "path_format", getattr(route, "path", "other")))
