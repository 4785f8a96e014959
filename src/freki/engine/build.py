"""The only wiring: settings in, a worker out."""

import asyncio
import random
import resource
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import (
    AbstractAsyncContextManager,
    asynccontextmanager,
    closing,
    nullcontext,
    suppress,
)
from pathlib import Path

from msgspec import Struct

from freki.admit.gate import Gate
from freki.admit.scope import Scope
from freki.admit.traps import Traps
from freki.config import Settings
from freki.engine import verdict
from freki.engine.crawl import MOST_STALLED, Worker
from freki.engine.journey import Deliver, Steps
from freki.engine.pulse import Pulse
from freki.engine.rendering import Wanted, with_browser
from freki.engine.rulebook import NoRulebook, Rulebook
from freki.engine.sitemap import read_sitemap
from freki.engine.turns import Turns
from freki.extract.page import extract
from freki.extract.text import text_of
from freki.fetch.browser.find import find
from freki.fetch.cache import Cache
from freki.fetch.http import Http
from freki.fetch.middleware import compose, keeping_cookies, with_deadline
from freki.fetch.rendered import Browsers, by_browser
from freki.ledger.buffered import Buffered
from freki.ledger.captures import store_of
from freki.ledger.crawls import Crawl, cookies_of, keep_cookies, start_pages
from freki.ledger.database import Database
from freki.ledger.opened import clock_of, ledger_of
from freki.ledger.place import Place
from freki.ledger.policy import Agenda, Manners
from freki.ledger.store import open_store
from freki.ledger.terms import Terms
from freki.messages import Asked, Batch, Claim, Discovery, Failure, Response
from freki.pictures import Rendering, Unrendered
from freki.steps import Ask, Explore, Ledger, Middleware, Render, Verdict

# Seconds a lease lives: as long as a worker that hangs keeps others from its hosts.
LEASE = 30.0

# Seconds beyond the timeout of the client after which a fetch is given up from outside.
GRACE = 5.0

# Open files that are more than enough, and what the store, the loop and the user need of them.
MANY_FILES = 65_536
OTHER_FILES = 64


class Program(Struct, frozen=True):
    """What a user's program adds to a worker."""

    starts: Sequence[Asked] = ()
    explore: Explore | None = None  # in place of `extract`
    around: Sequence[Middleware] = ()  # every request
    deliver: Deliver | None = None
    beside: Callable[[Ask], AbstractAsyncContextManager[None]] | None = None  # while it works
    render: Callable[[], Awaitable[Render]] | None = None  # browsers that are there already


NO_PROGRAM = Program()


def terms(settings: Settings, lease: float = LEASE) -> Terms:
    """What the ledger must know of the settings."""
    polite = settings.politeness
    return Terms(
        max_pages=settings.scope.max_pages,
        max_pages_per_host=settings.scope.max_pages_per_host,
        max_depth=settings.scope.depth,
        exclusive=not polite.shared,
        rest=0.0 if polite.shared else max(polite.delay or 0.0, polite.min_delay),
        per_host=128 if polite.shared else 8,
        lease=lease,
        keep=settings.keeping.keep,
        longest=max(verdict.LONGEST_WAIT, polite.delay or 0.0, polite.max_delay),
    )


@asynccontextmanager
async def worker(
    crawl: Crawl,
    store: Place,
    seeds: Sequence[str],
    settings: Settings,
    program: Program = NO_PROGRAM,
    lease: float = LEASE,
) -> AsyncIterator[tuple[Worker, Pulse]]:
    """A worker on a crawl of a store, with its connections; closed at the end."""
    db = open_store(store, durability=settings.keeping.durability)
    clock = clock_of(db)
    polite = settings.politeness
    connections = min(settings.fetching.connections, affordable_connections())
    http = Http(
        settings.fetching, polite.full_agent, polite.requests_per_host, settings.scope.types,
        open_at_most=connections * (1 + MOST_STALLED),
    )  # fmt: skip
    # The thread ends first: SQLite does not survive being closed under a call of its own.
    with closing(db), closing(http), ThreadPoolExecutor(1, "ledger") as thread:
        loop = asyncio.get_running_loop()
        deadline = with_deadline(settings.fetching.timeout + GRACE)
        browsers = Browsers(settings.fetching, polite.full_agent, program.render)
        further = (
            _of_programs(http, db, crawl, thread, browsers) if program.explore is not None else []
        )
        fetch = compose(http.fetch, *program.around, *further, *cache(settings), deadline)
        ledger = await loop.run_in_executor(
            thread, ledger_of, db, str(store), crawl.id, terms(settings, lease)
        )
        sown = [*seeds, *(asked.url for asked in program.starts)]
        starts = [*sown, *start_pages(db, crawl.id)]
        scope = Scope(settings.scope, starts)
        traps = Traps() if settings.scope.trap_budgets else None
        gate = Gate(scope, traps, text_of, settings.fetching.max_redirects)
        await loop.run_in_executor(thread, _sow, ledger, _seeds(gate, seeds, program), clock())
        pulse = Pulse()
        steps = Steps(
            rulebook=NoRulebook()
            if polite.ignore_robots
            else Rulebook(fetch, polite.full_agent, clock),
            fetch=compose(fetch, *_seen(settings, db, crawl, thread, browsers, clock)),
            extract=extract,
            read_sitemap=read_sitemap,
            gate=gate,
            judge=judge(settings.fetching.attempts),
            agenda=Agenda(manners(settings)),
            ledger=Buffered(ledger, clock, thread),
            pulse=pulse,
            clock=clock,
            deliver=program.deliver,
            turn=Turns(),
            explore=program.explore,
        )

        async def ask(question: Callable[..., object], *more: object) -> object:
            return await loop.run_in_executor(thread, question, db, crawl.id, *more)

        async with browsers, program.beside(ask) if program.beside else nullcontext():
            yield _worker(steps, settings, connections, lease), pulse


def cache(settings: Settings) -> list[Middleware]:
    """The HTTP cache, if there is to be one."""
    folder, always = settings.fetching.cache, settings.fetching.cache_for
    return [Cache(Path(folder), always)] if folder else []


def _of_programs(
    http: Http, db: Database, crawl: Crawl, thread: Executor, browsers: Browsers
) -> list[Middleware]:
    """What only programs need: cookies that are kept, and browsers for who asks for them."""
    http.take_cookies(cookies_of(db, crawl.id))

    async def keep(lines: list[str]) -> None:
        loop = asyncio.get_running_loop()
        await loop.run_in_executor(thread, keep_cookies, db, crawl.id, lines)

    seconds = crawl.settings.fetching.timeout
    return [keeping_cookies(http.cookies, keep), by_browser(browsers.render, seconds)]


def _seen(
    settings: Settings, db: Database, crawl: Crawl, thread: Executor, browsers: Browsers,
    clock: Callable[[], float],
) -> list[Middleware]:  # fmt: skip
    """Browsers for those pages of the crawl that want one; without any it does not begin."""
    wanted = Wanted(settings)
    if not wanted.anything:
        return []
    find(settings.fetching.browser)

    async def keep(claim: Claim, seen: Rendering | Unrendered) -> None:
        loop = asyncio.get_running_loop()
        await loop.run_in_executor(thread, store_of, db, crawl.id, claim.id, clock(), seen)

    return [with_browser(browsers.render, wanted, keep)]


def crew_size(settings: Settings) -> int | None:
    """How many workers, or None for as many as there is work for.

    A host with a delay belongs to one worker, and one can keep thousands of them waiting.
    """
    if settings.fetching.workers != "auto":
        return settings.fetching.workers
    # Browsers take all cores as it is.
    return None if settings.politeness.shared and not Wanted(settings).anything else 1


def _worker(steps: Steps, settings: Settings, connections: int, lease: float) -> Worker:
    return Worker(
        steps,
        connections=connections,
        exclusive=not settings.politeness.shared,
        lease=lease,
        drain=settings.fetching.drain,
    )


def affordable_connections() -> int:
    """As many as the limit on open files allows, which is raised as far as one may.

    A connection may stall, and then others are opened in its place. Those that are kept are among
    them: a host that rests for two seconds is asked again by the connection that it knows.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MANY_FILES if hard == resource.RLIM_INFINITY else min(hard, MANY_FILES)
    if soft < wanted:
        with suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
            soft = wanted
    return max(1, (soft - OTHER_FILES) // (MOST_STALLED + 2))


def _seeds(gate: Gate, seeds: Sequence[str], program: Program) -> list[Discovery]:
    asked = [gate.seed(asked.url, asked) for asked in program.starts]
    return asked + [gate.seed(url) for url in seeds]


def _sow(ledger: Ledger, seeds: list[Discovery], now: float) -> None:
    """Put the start URLs into the ledger; those it knows change nothing."""
    session = ledger.join(now)
    ledger.commit(session, Batch(now, discoveries=seeds))
    ledger.leave(session, now)


def manners(settings: Settings) -> Manners:
    """The promises to hosts."""
    polite = settings.politeness
    return Manners(
        polite.delay,
        polite.min_delay,
        polite.max_delay,
        polite.requests_per_host,
        polite.per_address,
    )


def judge(attempts: int) -> Callable[[Claim, Response | Failure, float], Verdict]:
    """The verdict with its settings and its dice."""

    def decide(claim: Claim, answer: Response | Failure, now: float) -> Verdict:
        return verdict.judge(claim, answer, now, attempts, random.random())  # noqa: S311 - jitter

    return decide
