"""What can be put around a fetch: functions from `Fetch` to `Fetch`. The order is in `build.py`."""

import asyncio
from functools import reduce

from freki.messages import Claim, Failure, Reason, Response
from freki.steps import Fetch, Middleware


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
