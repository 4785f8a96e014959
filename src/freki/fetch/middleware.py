"""What can be put around a fetch: functions from `Fetch` to `Fetch`. The order is in `build.py`."""

import asyncio
from collections.abc import Awaitable, Callable
from functools import reduce

from freki.messages import Claim, Failure, Reason, Response
from freki.steps import Fetch, Middleware

# A crawl of many hosts collects cookies of all of them, which nobody logged in for.
MOST_COOKIES = 300


def compose(fetch: Fetch, *middlewares: Middleware) -> Fetch:
    """Nest middlewares around a fetch, the first one outermost."""
    return reduce(lambda inner, wrap: wrap(inner), reversed(middlewares), fetch)


def with_deadline(seconds: float) -> Middleware:
    """No fetch takes longer, whatever the client inside believes."""

    def wrap(fetch: Fetch) -> Fetch:
        async def call(claim: Claim) -> Response | Failure:
            try:
                async with asyncio.timeout(seconds):
                    return await fetch(claim)
            except TimeoutError:
                return Failure(Reason.timeout, f"no answer within {seconds:g} seconds")

        return call

    return wrap


def keeping_cookies(
    cookies: Callable[[], list[str]], keep: Callable[[list[str]], Awaitable[None]]
) -> Middleware:
    """Has cookies stored before the answer that set them is, so that none is missed later."""
    kept: list[str] = []

    def wrap(fetch: Fetch) -> Fetch:
        async def call(claim: Claim) -> Response | Failure:
            nonlocal kept
            answer = await fetch(claim)
            if isinstance(answer, Response) and answer.header("set-cookie") is not None:
                now = cookies()
                if now != kept and len(now) <= MOST_COOKIES:
                    kept = now
                    await keep(now)
            return answer

        return call

    return wrap
