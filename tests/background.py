"""A server beside the test: in the loop of a thread of its own."""

import asyncio
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import AbstractAsyncContextManager, contextmanager
from functools import partial
from typing import Any, TypeVar

T = TypeVar("T")


@contextmanager
def background(serving: AbstractAsyncContextManager[T]) -> Iterator[T]:
    """Keeps the context open until the block ends; what it raises is raised here."""
    opened: Future[tuple[T, Callable[[], object]]] = Future()

    async def stay() -> None:
        end = asyncio.Event()
        async with serving as value:
            loop = asyncio.get_running_loop()
            opened.set_result((value, partial(loop.call_soon_threadsafe, end.set)))
            await end.wait()

    with ThreadPoolExecutor(1, "background") as thread:
        running = thread.submit(lambda: asyncio.run(stay()))
        both: list[Future[Any]] = [opened, running]
        wait(both, return_when=FIRST_COMPLETED)
        if running.done():
            running.result()
        value, end = opened.result()
        try:
            yield value
        finally:
            end()
            running.result()
