"""Freki as a library.

    async for page in freki.crawl("https://example.com", depth=2):
        print(page.url, page.title)
"""

import asyncio
import sqlite3
import tempfile
import time
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import aclosing, closing, contextmanager
from pathlib import Path

from freki import config
from freki.admit.scope import Scope
from freki.engine.build import worker
from freki.engine.crawl import Ending
from freki.errors import BadConfig, BadInput
from freki.ledger import crawls
from freki.ledger.store import open_store
from freki.messages import Visit
from freki.url import parse

# Pages that may be fetched before the caller has looked at the first: enough to keep the
# crawl busy, little enough that a slow caller slows the crawl and not the memory.
AHEAD = 64

# Seconds for requests in flight when a caller stops early.
LAST_SECONDS = 2.0


async def crawl(
    *urls: str, store: Path | str | None = None, name: str | None = None, **options: object
) -> AsyncIterator[Visit]:
    """The pages of a crawl, as they are fetched. Options are those of the command line.

    With a `store`, the crawl is kept there, and continued where an earlier one was cut short;
    a page that was stored before is not yielded again. Who stops early may leave pages in the
    store that were fetched ahead and never yielded.
    """
    settings = config.settings(_layer(options))
    Scope(settings.scope, ())  # raises for a wrong pattern before a store is made
    seeds = [parse(url) for url in urls]
    if not seeds:
        raise BadInput("crawl needs at least one URL")
    with (
        _place(store) as path,
        closing(open_store(path, durability=settings.keeping.durability)) as db,
    ):
        name = name or crawls.default_name(seeds[0])
        known = crawls.find(db, name)
        if known is None or known.is_over:
            begun = crawls.begin(db, name, seeds, settings, time.time())
        else:
            begun = crawls.resume(db, known, seeds, settings)
        # Closed here and not when it is collected, or it would end after the store did.
        async with aclosing(_visits(db, begun, path, seeds)) as visits:
            async for visit in visits:
                yield visit


def run(*urls: str, store: Path | str, name: str | None = None, **options: object) -> int:
    """Crawls into a store and answers with the number of pages fetched. Blocks."""

    async def count() -> int:
        pages = 0
        async for _ in crawl(*urls, store=store, name=name, **options):
            pages += 1
        return pages

    return asyncio.run(count())


async def _visits(
    db: sqlite3.Connection, begun: crawls.Crawl, path: Path, seeds: list[str]
) -> AsyncGenerator[Visit, None]:
    ahead = _Ahead()
    started = time.monotonic()
    status = "interrupted"
    try:
        async with worker(begun, path, seeds, begun.settings, ahead.put) as (working, _):
            # No TaskGroup: it may not be left by another task than the one that entered it,
            # and who closes a generator is any task.
            task = asyncio.create_task(working.run())
            task.add_done_callback(ahead.end)
            try:
                while (visit := await ahead.get()) is not None:
                    yield visit
                status = (await task).value
            finally:
                ahead.let_go()
                working.stop()
                await _ended(task)
    finally:
        crawls.end(db, begun, status, time.time(), time.monotonic() - started)


async def _ended(task: "asyncio.Task[Ending]") -> None:
    """Requests in flight get a moment, so that what was yielded is stored as well."""
    await asyncio.wait([task], timeout=LAST_SECONDS)
    task.cancel()
    await asyncio.wait([task])
    if not task.cancelled() and (error := task.exception()) is not None:
        raise error


class _Ahead:
    """Pages between the crawl and its caller. The end of the crawl always finds room."""

    def __init__(self) -> None:
        self._pages: asyncio.Queue[Visit | None] = asyncio.Queue()  # bounded by `_room`
        self._room = asyncio.Semaphore(AHEAD)
        self._wanted = True

    def __repr__(self) -> str:
        return f"<_Ahead pages={self._pages.qsize()} wanted={self._wanted}>"

    async def put(self, visit: Visit) -> None:
        """Waits while the caller is slow."""
        await self._room.acquire()
        if self._wanted:
            self._pages.put_nowait(visit)
        else:
            self._room.release()  # the next one in line shall not wait either

    async def get(self) -> Visit | None:
        """The next page, or None after the last one."""
        visit = await self._pages.get()
        self._room.release()
        return visit

    def end(self, _task: object) -> None:
        """There will be no more."""
        self._pages.put_nowait(None)

    def let_go(self) -> None:
        """Nobody takes any more, so nobody shall wait for that."""
        self._wanted = False
        self._room.release()


def _layer(options: dict[str, object]) -> config.Layer:
    known = {option.name for option in config.options()}
    for option in options:
        if option not in known:
            raise BadConfig(f"there is no option {option!r}{config.nearest(option, known)}")
    return config.from_flags(options)


@contextmanager
def _place(store: Path | str | None) -> Iterator[Path]:
    """The store, or one for as long as the crawl goes on."""
    if store is not None:
        yield Path(store)
        return
    with tempfile.TemporaryDirectory(prefix="freki-") as folder:
        yield Path(folder) / "freki.db"
