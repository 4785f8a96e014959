"""Time that costs nothing: an event loop whose clock jumps to whatever comes next.

A crawl that waits ten minutes for a host is over in a millisecond, and takes exactly ten minutes
by `loop.time()`. Whatever a thread or the network does takes no time here, so a test that uses
either is not repeatable: give `Buffered` no executor, and fetch from a `FakeWeb`.
"""

import asyncio
import selectors
from collections.abc import Coroutine
from typing import Any, TypeVar

# What runs longer than this by its own clock will not end.
A_DAY = 86_400.0

T = TypeVar("T")


class Stuck(Exception):
    """Everything waits for something that nothing will ever bring about."""


def run(coroutine: Coroutine[Any, Any, T], *, limit: float = A_DAY) -> T:
    """The result of a coroutine; raises `TimeoutError` when it takes longer than `limit`."""

    async def bounded() -> T:
        async with asyncio.timeout(limit):
            return await coroutine

    with asyncio.Runner(loop_factory=Loop) as runner:
        return runner.run(bounded())


class Loop(asyncio.SelectorEventLoop):
    """An event loop that jumps to the next timer when nothing is ready."""

    def __init__(self) -> None:
        # From 0, not from a date: by then floats are coarser than the loop's resolution, and a
        # timer would never be quite due.
        self._now = 0.0
        super().__init__(_Jump(self))

    def time(self) -> float:
        return self._now

    def pass_time(self, seconds: float) -> None:
        """Let time go by in one step, as a loop that is blocked would."""
        self._now += seconds


class _Jump(selectors.SelectSelector):
    """Where other loops sleep until a timer is due, this one makes it be due."""

    def __init__(self, loop: Loop) -> None:
        super().__init__()
        self._loop = loop

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        ready = super().select(0)
        if not ready:
            if timeout is None:
                raise Stuck("nothing is ready, and no timer is set")
            self._loop.pass_time(timeout)
        return ready
