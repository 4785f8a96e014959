"""Freki as a library.

    async for page in freki.crawl("https://example.com", depth=2):
        print(page.url, page.title)
"""

import asyncio
import tempfile
import time
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager, closing
from pathlib import Path

from freki import config
from freki.engine.build import worker
from freki.errors import BadConfig, BadInput
from freki.ledger import crawls
from freki.ledger.store import open_store
from freki.messages import Visit
from freki.url import hostname, parse

# Pages that may be fetched before the caller has looked at the first: enough to keep the
# crawl busy, little enough that a slow caller slows the crawl and not the memory.
AHEAD = 64


async def crawl(
    *urls: str, store: Path | str | None = None, name: str | None = None, **options: object
) -> AsyncIterator[Visit]:
    """The pages of a crawl, as they are fetched. Options are those of the command line.

    With a `store`, the crawl is kept there, and continued where an earlier one was cut short;
    a page that was stored before is not yielded again.
    """
    settings = config.settings(_layer(options))
    seeds = [parse(url) for url in urls]
    if not seeds:
        raise BadInput("crawl needs at least one URL")
    async with _place(store) as path:
        with closing(open_store(path, durability=settings.keeping.durability)) as db:
            name = name or hostname(seeds[0])
            known = crawls.find(db, name)
            if known is None or known.is_over:
                begun = crawls.begin(db, name, seeds, settings, time.time())
            else:
                begun = crawls.resume(db, known, seeds, settings)
            async for visit in _visits(begun, path, seeds):
                yield visit


def run(*urls: str, store: Path | str, name: str | None = None, **options: object) -> int:
    """Crawls into a store and answers with the number of pages fetched. Blocks."""

    async def count() -> int:
        pages = 0
        async for _ in crawl(*urls, store=store, name=name, **options):
            pages += 1
        return pages

    return asyncio.run(count())


async def _visits(begun: crawls.Crawl, path: Path, seeds: list[str]) -> AsyncIterator[Visit]:
    visits: asyncio.Queue[Visit | None] = asyncio.Queue(AHEAD)
    started = time.monotonic()
    status = "interrupted"

    async with worker(begun, path, seeds, begun.settings, deliver=visits.put) as (working, _):

        async def work() -> str:
            try:
                return (await working.run()).value
            finally:
                await visits.put(None)

        try:
            async with asyncio.TaskGroup() as group:
                task = group.create_task(work())
                try:
                    while (visit := await visits.get()) is not None:
                        yield visit
                finally:
                    if not task.done():
                        task.cancel()
                status = await task
        finally:
            with closing(open_store(path)) as db:
                crawls.end(db, begun, status, time.time(), time.monotonic() - started)


def _layer(options: dict[str, object]) -> config.Layer:
    known = {option.name for option in config.options()}
    for option in options:
        if option not in known:
            raise BadConfig(f"there is no option {option!r}{config.nearest(option, known)}")
    return config.from_flags(options)


@asynccontextmanager
async def _place(store: Path | str | None) -> AsyncIterator[Path]:
    """The store, or one for as long as the crawl goes on."""
    if store is not None:
        yield Path(store)
        return
    with tempfile.TemporaryDirectory(prefix="freki-") as folder:
        yield Path(folder) / "freki.db"
