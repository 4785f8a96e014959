"""The browsers of a worker, there from the first wish on, and what hosts say to their visits."""

import asyncio
import os
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

from freki.config import Fetching
from freki.engine.rulebook import Rulebook, Welcome
from freki.errors import BrowserMissing
from freki.fetch.http import Http
from freki.messages import Claim, Failure, Reason
from freki.pictures import Rendering, Shot, Unrendered
from freki.serve.terms import Terms
from freki.steps import Render
from freki.url import split
from freki.version import __version__

if TYPE_CHECKING:
    from freki.fetch.browser.pool import Statistics

# Pages of one host that are looked at side by side: as many as somebody with a few tabs has.
PER_HOST = 2
MOST_HOSTS = 1_000

# Seconds that a host may ask us to wait between two pages of one job.
MOST_DELAY = 10.0

AGENT = f"Freki/{__version__}"


class Browsers(Protocol):
    """What a job needs to look at pages."""

    async def look(self, shot: Shot, *, ask: bool) -> Rendering | Unrendered:
        """Visit a page, if its host lets us; `ask` whether it does."""
        ...

    async def renderer(self) -> Render:
        """The browsers themselves, for who asks hosts by other means."""
        ...

    def statistics(self) -> dict[str, float]:
        """Numbers for the operator."""
        ...


class Manners:
    """What is kept of hosts: their rules, and how many of their pages are looked at now."""

    def __init__(self, rulebook: Rulebook) -> None:
        self._rulebook = rulebook
        self._places: dict[str, asyncio.Semaphore] = {}
        self._next: dict[str, float] = {}

    def __repr__(self) -> str:
        return f"<Manners {len(self._places)} hosts>"

    def place(self, url: str) -> asyncio.Semaphore:
        """A place in front of the host of this URL."""
        origin = split(url).origin
        if len(self._places) >= MOST_HOSTS and origin not in self._places:
            self._places.clear()
        return self._places.setdefault(origin, asyncio.Semaphore(PER_HOST))

    async def refusal(self, url: str) -> Unrendered | None:
        """Why its host does not want this visit; None where it does."""
        claim = Claim(0, 0, url, 0)
        answer = self._rulebook.welcome(claim, time.time())
        if answer.welcome is Welcome.ask_first:
            rules = await self._rulebook.ask(claim)
            if isinstance(rules, Failure):
                return Unrendered(url=url, reason=rules.reason, detail=rules.detail)
            answer = self._rulebook.welcome(claim, time.time())
        if answer.welcome is Welcome.come_in:
            await self._wait_our_turn(split(url).origin)
            return None
        reason = Reason.robots if answer.reason is Reason.robots else Reason.robots_unreachable
        return Unrendered(url=url, reason=reason, detail=answer.detail)

    async def _wait_our_turn(self, origin: str) -> None:
        delay = min(self._rulebook.crawl_delay(origin) or 0.0, MOST_DELAY)
        if delay:
            now = time.monotonic()
            turn = max(now, self._next.get(origin, 0.0))
            if len(self._next) >= MOST_HOSTS:
                self._next.clear()
            self._next[origin] = turn + delay
            await asyncio.sleep(turn - now)


class Team:
    """Browsers of this process, started when the first page is to be looked at."""

    def __init__(self, terms: Terms) -> None:
        self._terms = terms
        self._wanted = asyncio.Event()
        self._render: asyncio.Future[Render] = asyncio.get_running_loop().create_future()
        self._numbers: Callable[[], dict[str, float]] = dict
        fetching = Fetching(allow_private=terms.allow_private, connections=32)
        self._http = Http(fetching, AGENT, 2, ())
        self._manners = Manners(Rulebook(self._http.fetch, AGENT, time.time))

    def __repr__(self) -> str:
        return f"<Team {self.statistics()}>"

    def statistics(self) -> dict[str, float]:
        return self._numbers()

    async def look(self, shot: Shot, *, ask: bool) -> Rendering | Unrendered:
        async with self._manners.place(shot.url):
            if ask and (refusal := await self._manners.refusal(shot.url)) is not None:
                return refusal
            try:
                render = await self.renderer()
            except BrowserMissing as error:
                return Unrendered(url=shot.url, reason=Reason.busy, detail=str(error))
            return await render(shot)

    async def renderer(self) -> Render:
        """The browsers, started if they are not there yet; raises `BrowserMissing`."""
        self._wanted.set()
        return await asyncio.shield(self._render)

    async def run(self) -> None:
        """Have browsers from the first wish on, until cancelled."""
        try:
            await self._wanted.wait()
            await self._have_browsers()
        except BrowserMissing as error:
            self._render.set_exception(error)
        finally:
            self._http.close()

    async def _have_browsers(self) -> None:
        # Imported late: a worker that only crawls needs none of it.
        from freki.fetch.browser import pool, process  # noqa: PLC0415
        from freki.fetch.browser.find import find  # noqa: PLC0415
        from freki.fetch.egress import Egress  # noqa: PLC0415

        cores = len(os.sched_getaffinity(0))
        count = self._terms.browsers or max(1, cores // max(1, self._terms.workers))
        size, memory = pool.size_here(count)
        terms = process.Terms(found=find(self._terms.browser), agent=AGENT, memory=memory)
        async with pool.pool(terms, size, Egress(self._terms.allow_private)) as render:
            self._numbers = lambda: _numbers(render.statistics())
            self._render.set_result(render)
            await asyncio.Event().wait()


def _numbers(now: "Statistics") -> dict[str, float]:
    return {
        "browsers": float(now.browsers),
        "browser_restarts": float(max(0, now.started - now.browsers)),
        "browser_memory": float(now.bytes),
        "pages_open": float(now.active),
        "pages_waiting": float(now.waiting),
    }
