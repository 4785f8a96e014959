"""Freki as a library.

async for page in freki.crawl("https://example.com", depth=2):
    print(page.url, page.title)
"""

import asyncio
import tempfile
import time
from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing, closing, contextmanager
from pathlib import Path

from freki import config
from freki.admit.scope import Scope
from freki.engine.build import worker
from freki.engine.crawl import Ending
from freki.errors import BadConfig, BadInput
from freki.ledger import crawls
from freki.ledger.database import Database
from freki.ledger.store import open_store
from freki.messages import Claim, Failure, Response, Visit
from freki.steps import Fetch
from freki.url import parse

# Pages in hand at which no further ones are asked for; those under way still arrive. Enough to
# keep the crawl busy, little enough that a slow caller slows the crawl and not the memory.
AHEAD = 64

# Seconds for requests in flight when a caller stops early, and until all is stored then.
LAST_SECONDS = 0.2
STORED_SECONDS = 30.0


async def crawl(
    *urls: str, store: Path | str | None = None, name: str | None = None, **options: object
) -> AsyncGenerator[Visit, None]:
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
    db: Database, begun: crawls.Crawl, path: Path, seeds: list[str]
) -> AsyncGenerator[Visit, None]:
    ahead = _Ahead()
    started = time.monotonic()
    status = "interrupted"
    try:
        crawling = worker(begun, path, seeds, begun.settings, ahead.put, [ahead.pace])
        async with crawling as (working, _):
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
                working.stop(LAST_SECONDS)
                await _ended(task)
    finally:
        crawls.end(db, begun, status, time.time(), time.monotonic() - started)


async def _ended(task: "asyncio.Task[Ending]") -> None:
    """What was yielded is stored as well, unless the store hangs."""
    try:
        await asyncio.wait([task], timeout=STORED_SECONDS)
    finally:
        task.cancel()
        await asyncio.wait([task])
    if not task.cancelled() and (error := task.exception()) is not None:
        raise error


class _Ahead:
    """Pages between the crawl and its caller. The end of the crawl always finds room."""

    def __init__(self) -> None:
        self._pages: asyncio.Queue[Visit | None] = asyncio.Queue()  # bounded by `pace`
        self._taken = asyncio.Event()
        self._wanted = True

    def __repr__(self) -> str:
        return f"<_Ahead pages={self._pages.qsize()} wanted={self._wanted}>"

    def pace(self, fetch: Fetch) -> Fetch:
        """A `steps.Middleware` that fetches nothing while the caller has enough to look at."""

        async def call(claim: Claim) -> Response | Failure:
            while self._wanted and self._pages.qsize() >= AHEAD:
                self._taken.clear()
                await self._taken.wait()
            if not self._wanted:
                raise asyncio.CancelledError("nobody takes any more pages")
            return await fetch(claim)

        return call

    async def put(self, visit: Visit) -> None:
        self._pages.put_nowait(visit)

    async def get(self) -> Visit | None:
        """The next page, or None after the last one."""
        visit = await self._pages.get()
        self._taken.set()
        return visit

    def end(self, _task: object) -> None:
        """There will be no more."""
        self._pages.put_nowait(None)

    def let_go(self) -> None:
        """Nobody takes any more, so nobody shall wait for that."""
        self._wanted = False
        self._taken.set()


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
