"""Freki as a library.

async for page in freki.crawl("https://example.com", depth=2):
    print(page.url, page.title)
"""

import asyncio
import tempfile
import threading
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine, Iterator
from contextlib import asynccontextmanager, closing, contextmanager
from pathlib import Path
from typing import Any, TypeVar, Unpack

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from freki import config
from freki.admit.scope import Scope
from freki.config import Settings
from freki.engine.build import Program, worker
from freki.engine.crawl import Worker
from freki.engine.single import fetch_one
from freki.errors import BadConfig, BadInput, FetchFailed
from freki.extract.selection import Selection
from freki.fetch.around import basic_auth, bearer, cookies, headers, proxies, rate_limit
from freki.ledger import crawls, read
from freki.ledger.database import Database
from freki.ledger.place import Place, place
from freki.ledger.store import open_store
from freki.messages import Claim, Failure, Response, Visit
from freki.spider.batch import Stored, batch
from freki.spider.page import Page
from freki.spider.pipeline import Drop, dedupe, validate
from freki.spider.program import beginning, name_of, options_of, words_of
from freki.spider.request import Options, Request, asked
from freki.spider.spider import Spider, check, made
from freki.steps import Fetch
from freki.url import parse

__all__ = [
    "Drop",
    "Page",
    "Request",
    "Selection",
    "Spider",
    "Stored",
    "Summary",
    "basic_auth",
    "batch",
    "bearer",
    "collect",
    "cookies",
    "crawl",
    "dedupe",
    "fetch",
    "headers",
    "proxies",
    "rate_limit",
    "run",
    "validate",
]

# Pages in hand at which no further ones are asked for; those under way still arrive. Enough to
# keep the crawl busy, little enough that a slow caller slows the crawl and not the memory.
AHEAD = 64

# Seconds for requests in flight when a caller stops early, and until all is stored then.
LAST_SECONDS = 0.2
STORED_SECONDS = 30.0

T = TypeVar("T")

Target = str | Spider | type[Spider]
"""What can be crawled: addresses, or one spider."""


class Summary(Struct, frozen=True):
    """How a crawl went."""

    crawl: str
    status: str  # finished, limited or interrupted
    fetched: int  # pages, by this call
    pages: int  # in the store, by all calls
    failed: int  # URLs
    items: int
    dropped: int  # items, by a pipeline
    broken: int  # items that a pipeline raised on


async def crawl(
    *targets: Target, store: Place | str | None = None, name: str | None = None, **options: object
) -> AsyncGenerator[Page, None]:
    """The pages of a crawl, as they are fetched. Options are those of the command line.

    With a `store`, the crawl is kept there, and continued where an earlier one was cut short;
    a page that was stored before is not yielded again. Who stops early may leave pages in the
    store that were fetched ahead and never yielded.
    """
    ahead = _Ahead()
    # A generator that its caller leaves may be closed when nothing can be awaited any more. So it
    # owns nothing but a task, and the task puts everything away, whoever waits for it or not.
    crawling = asyncio.create_task(_for_caller(targets, store, name, options, ahead))
    crawling.add_done_callback(ahead.end)
    try:
        while (visit := await ahead.get()) is not None:
            yield Page.of_visit(visit)
    finally:
        ahead.let_go()
        await _ended(crawling)


async def _for_caller(
    targets: tuple[Target, ...],
    store: Place | str | None,
    name: str | None,
    options: dict[str, object],
    ahead: "_Ahead",
) -> None:
    async with _begun(targets, store, name, options) as work:
        around = [ahead.pace, *work.program.around]
        program = replace(work.program, around=around, deliver=ahead.put)
        await _carried_out(work, program, ahead.attend)


def run(
    *targets: Target, store: Place | str | None = None, name: str | None = None, **options: object
) -> Summary:
    """Crawls, and sums up. Blocks, also where a loop runs already, as in Jupyter."""

    async def work() -> Summary:
        async with _begun(targets, store, name, options) as work:
            return await _finished(work)

    return _blocking(work())


def collect(
    *targets: Target, store: Place | str | None = None, name: str | None = None, **options: object
) -> list[dict[str, Any]]:
    """Crawls, and answers with every item that was kept. Blocks, as `run` does."""

    async def work() -> list[dict[str, Any]]:
        async with _begun(targets, store, name, options) as work:
            await _finished(work)
            lines = read.items(work.db, work.crawl.id)
            return [msgspec.json.decode(line.data) for line in lines]

    return _blocking(work())


async def fetch(
    url: str, *, settings: dict[str, object] | None = None, **request: Unpack[Options]
) -> Page:
    """One page, redirects followed; `settings` are options of the command line.

    Raises `FetchFailed` where there is no answer. An error page is an answer: see its `status`.
    """
    chosen = config.settings(_layer(settings or {}))
    wanted = asked(Request(parse(url), **request), "", None)
    answer = await fetch_one(wanted.url, wanted.request, chosen)
    if isinstance(answer, Failure):
        detail = f": {answer.detail}" if answer.detail else ""
        raise FetchFailed(f"{url} gave no answer ({answer.reason.name}{detail})")
    return Page(answer, at=time.time())


class _Work(Struct, frozen=True):
    """A crawl that was begun or goes on."""

    db: Database
    crawl: crawls.Crawl
    path: Place
    seeds: list[str]
    program: Program


@asynccontextmanager
async def _begun(
    targets: tuple[Target, ...],
    store: Place | str | None,
    name: str | None,
    options: dict[str, object],
) -> AsyncIterator[_Work]:
    spider, seeds = _targets(targets)
    settings = config.settings(_layer(options_of(spider)), _layer(options))
    Scope(settings.scope, ())  # raises for a wrong pattern before a store is made
    program = await beginning(spider)
    with (
        _place(store) as path,
        closing(open_store(path, durability=settings.keeping.durability)) as db,
    ):
        name = name or (name_of(spider) if spider else crawls.default_name(seeds[0]))
        yield _Work(db, _crawl(db, name, seeds, settings, spider), path, seeds, program)


def _targets(targets: tuple[Target, ...]) -> tuple[Spider | None, list[str]]:
    seeds = [parse(target) for target in targets if isinstance(target, str)]
    programs = [made(target) for target in targets if not isinstance(target, str)]
    if len(programs) > 1:
        raise BadInput("one crawl has one spider; run them one after the other")
    if programs:
        check(programs[0], starts_elsewhere=bool(seeds))
        return programs[0], seeds
    if not seeds:
        raise BadInput("crawl needs at least one URL or a spider")
    return None, seeds


def _crawl(
    db: Database, name: str, seeds: list[str], settings: Settings, spider: Spider | None
) -> crawls.Crawl:
    known = crawls.find(db, name)
    words = words_of(spider)
    if known is None or known.is_over:
        return crawls.begin(db, name, seeds, settings, time.time(), words)
    if bool(known.program) != bool(words):
        how = f"with {known.program}" if known.program else "without a spider"
        raise BadInput(f"crawl {name!r} was begun {how}; go on so, or give another name")
    return crawls.resume(db, known, seeds, settings)


async def _finished(work: _Work) -> Summary:
    """Crawl to the end."""
    fetched = 0

    async def count(_visit: Visit) -> None:
        nonlocal fetched
        fetched += 1

    await _carried_out(work, replace(work.program, deliver=count))
    crawl = crawls.find(work.db, work.crawl.name) or work.crawl
    sums, items = read.status(work.db, crawl.id), read.item_counts(work.db, crawl.id)
    return Summary(
        crawl.name, crawl.status, fetched, sums.pages, sums.failed,
        items["kept"], items["dropped"], items["failed"],
    )  # fmt: skip


def _blocking(work: Coroutine[Any, Any, T]) -> T:
    """Run to the end; where this thread has a loop already, in a thread of its own."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    outcome: list[T] = []
    failed: list[BaseException] = []

    def run() -> None:
        try:
            outcome.append(asyncio.run(work))
        except BaseException as error:  # noqa: BLE001 - raised again by who waits
            failed.append(error)

    thread = threading.Thread(target=run, name="freki.run")
    thread.start()
    thread.join()
    if failed:
        raise failed[0]
    return outcome[0]


async def _carried_out(
    work: _Work, program: Program, attend: Callable[[Worker], object] = lambda _: None
) -> None:
    """Crawl until the end; who attends the worker may stop it earlier."""
    started = time.monotonic()
    status = "interrupted"
    try:
        crawling = worker(work.crawl, work.path, work.seeds, work.crawl.settings, program)
        async with crawling as (working, _):
            attend(working)
            task = asyncio.create_task(working.run())
            try:
                status = (await asyncio.shield(task)).value
            finally:
                working.stop(LAST_SECONDS)
                await _ended(task)
    finally:
        crawls.end(work.db, work.crawl, status, time.time(), time.monotonic() - started)


async def _ended(task: "asyncio.Task[Any]") -> None:
    """What was yielded is stored as well, unless the store hangs; raises what ended the task."""
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
        self._worker: Worker | None = None

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

    def attend(self, working: Worker) -> None:
        """From now on it is this worker that stops when nobody takes any more."""
        self._worker = working
        if not self._wanted:
            working.stop(LAST_SECONDS)

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
        if self._worker is not None:
            self._worker.stop(LAST_SECONDS)


def _layer(options: dict[str, object]) -> config.Layer:
    known = {option.name for option in config.options()}
    for option in options:
        if option not in known:
            raise BadConfig(f"there is no option {option!r}{config.nearest(option, known)}")
    return config.from_flags(options)


@contextmanager
def _place(store: Place | str | None) -> Iterator[Place]:
    """The store, or one for as long as the crawl goes on."""
    if store is not None:
        yield place(store) if isinstance(store, str) else store
        return
    with tempfile.TemporaryDirectory(prefix="freki-") as folder:
        yield Path(folder) / "freki.db"
