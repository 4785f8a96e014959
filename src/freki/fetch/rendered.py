"""Requests that are to be made by a browser, because the page is made by its scripts."""

import asyncio
from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import Self

from freki.config import Fetching
from freki.messages import Claim, Failure, Request, Response, Timings
from freki.pictures import Rendering, Shot
from freki.steps import Fetch, Middleware, Render

HTML = "text/html; charset=utf-8"


def by_browser(render: Callable[[], Awaitable[Render]], seconds: float) -> Middleware:
    """Lets a browser make the requests that say so; `render` is asked for with the first one."""

    def wrap(fetch: Fetch) -> Fetch:
        async def call(claim: Claim) -> Response | Failure:
            if claim.request is None or not claim.request.render:
                return await fetch(claim)
            return await _visit(claim, claim.request, await render(), seconds)

        return call

    return wrap


async def _visit(
    claim: Claim, request: Request, render: Render, seconds: float
) -> Response | Failure:
    """What the browser made of a page, as if the server had sent it so."""
    clock = asyncio.get_running_loop().time
    started = clock()
    shot = Shot(url=claim.url, pictures=False, html=True, headers=request.headers, seconds=seconds)
    seen = await render(shot)
    timings = Timings(total=clock() - started)
    if not isinstance(seen, Rendering):
        return Failure(seen.reason, seen.detail, timings)
    headers = (("content-type", HTML),)
    return Response(seen.final_url, seen.status, headers, seen.html.encode(), HTML, timings)


class Browsers:
    """Browsers from the first wish to the end of the block. Without any, who asks hears why."""

    def __init__(
        self,
        settings: Fetching,
        agent: str,
        there: Callable[[], Awaitable[Render]] | None = None,
    ) -> None:
        self._there = there  # somebody else's, in place of our own
        self._egress = settings.allow_private, settings.allow_address
        self._program = settings.browser
        self._insecure = settings.insecure
        self._agent = agent
        self._wanted = asyncio.Event()
        self._render: asyncio.Future[Render] = asyncio.get_running_loop().create_future()
        self._running: asyncio.Task[None] | None = None

    def __repr__(self) -> str:
        return f"<Browsers wanted={self._wanted.is_set()}>"

    async def __aenter__(self) -> Self:
        self._running = asyncio.create_task(self._run())
        return self

    async def __aexit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:  # fmt: skip
        assert self._running is not None
        self._running.cancel()
        await asyncio.wait([self._running])

    async def render(self) -> Render:
        """The browsers, started if they are not there yet; raises `BrowserMissing`."""
        if self._there is not None:
            return await self._there()
        self._wanted.set()
        return await asyncio.shield(self._render)

    async def _run(self) -> None:
        """A task of its own: a pool is left by the task that entered it."""
        await self._wanted.wait()
        try:
            await self._have_some()
        except Exception as error:
            if self._render.done():
                raise
            self._render.set_exception(error)
            raise

    async def _have_some(self) -> None:
        # Loaded late: a crawl without browsers needs none of it.
        from freki.fetch.browser import pool, process  # noqa: PLC0415
        from freki.fetch.browser.find import find  # noqa: PLC0415
        from freki.fetch.egress import Egress  # noqa: PLC0415

        size, memory = pool.size_here()
        terms = process.Terms(
            found=find(self._program), agent=self._agent, insecure=self._insecure, memory=memory
        )
        async with pool.pool(terms, size, Egress(*self._egress)) as render:
            self._render.set_result(render)
            await asyncio.Event().wait()
