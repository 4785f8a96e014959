"""Screenshots as a job: a page, and pages it links to, each looked at once, whatever happens.

What was planned stands with the crawl and what was seen in its store, so whoever goes on with a job
begins where the last one stopped.
"""

import asyncio
import time
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import msgspec
from msgspec import Struct, structs

from freki import config
from freki.errors import CrawlRunning
from freki.extract.page import extract
from freki.ledger import captures, crawls
from freki.ledger.crawls import Crawl
from freki.ledger.database import Database
from freki.ledger.jobs import shift
from freki.ledger.jobs.orders import Job, Result
from freki.ledger.read import Filter
from freki.ledger.store import open_store
from freki.messages import Response, Via
from freki.pictures import Rendering, Shot, Unrendered
from freki.serve.browsers import Browsers
from freki.serve.errands import Errand, begun_crawl, put_back
from freki.url import hostname, key, registrable_domain

# Pages of one job that are looked at side by side.
AT_ONCE = 3

# Links that are kept in reserve for those that fail: a multiple of what was asked for, and more.
RESERVE = 5
LEAST_RESERVE = 50

# What is at such a URL is no page, whatever it is.
NO_PAGES = (
    ".7z", ".avi", ".bz2", ".csv", ".dmg", ".doc", ".docx", ".exe", ".gif", ".gz", ".ico", ".iso",
    ".jpeg", ".jpg", ".js", ".css", ".json", ".mov", ".mp3", ".mp4", ".pdf", ".png", ".ppt",
    ".pptx", ".rar", ".svg", ".tar", ".tgz", ".webm", ".webp", ".xls", ".xlsx", ".xml", ".zip",
)  # fmt: skip


class Plan(Struct, frozen=True):
    """What a screenshot job is about; it is stored with the job."""

    links: int = 0  # linked pages beside the first
    shot: dict[str, Any] = {}  # fields of `Shot`, as far as they are no secret
    ask: bool = True  # whether hosts want it
    here: str = "site"  # how far links may lead: site or host


class Looking:
    """One job, while it is carried out."""

    def __init__(self, errand: Errand, browsers: Browsers, db: Any, crawl: Crawl) -> None:
        self._errand = errand
        self._browsers = browsers
        self._db = db
        self._crawl = crawl
        self._plan = msgspec.convert(errand.job.settings["plan"], Plan)
        self._seen = {line.url: line.reason == "ok" for line in _seen(db, crawl)}
        self._current: list[str] = []
        self._stopped = asyncio.Event()

    def __repr__(self) -> str:
        return f"<Looking {self._errand.job.id} seen={len(self._seen)}>"

    async def run(self) -> Result:
        self._errand.when_stopped(self._stopped.set)
        await self._tell()
        start, *reserve = self._crawl.seeds
        if start not in self._seen:
            found = await self._unless_stopped(self._look_at_first(start))
            if found is None:
                return self._errand.interrupted(self.progress())
            reserve = found
        if not self._seen[start]:
            reason, detail = self._why(start)
            return Result("failed", reason, detail, self.progress())
        done = await self._unless_stopped(self._look_at_links(reserve))
        if done is None:
            return self._errand.interrupted(self.progress())
        return Result("done", None, None, self.progress())

    async def _look_at_first(self, start: str) -> list[str]:
        """The first page, and from it the plan for the others."""
        seen = await self._look(start, html=self._plan.links > 0)
        links: list[str] = []
        if isinstance(seen, Rendering) and self._plan.links:
            room = max(LEAST_RESERVE, RESERVE * self._plan.links)
            links = list(_links(seen, start, self._plan.here))[:room]
        # First what is to come, then what was: a plan without its first page is made again.
        if links:
            self._crawl = crawls.resume(self._db, self._crawl, links, self._crawl.settings)
        await self._keep(seen)
        return links

    async def _look_at_links(self, reserve: list[str]) -> bool:
        """As many as were asked for, in the order of the page; who fails has a successor."""
        rest = iter([url for url in reserve if url not in self._seen])

        async def one_after_another() -> None:
            while self._missing() > len(self._current):
                url = next(rest, None)
                if url is None:
                    return
                await self._keep(await self._look(url))

        async with asyncio.TaskGroup() as group:
            for _ in range(AT_ONCE):
                group.create_task(one_after_another())
        return True

    def _missing(self) -> int:
        return 1 + self._plan.links - sum(self._seen.values())

    async def _look(self, url: str, *, html: bool = False) -> Rendering | Unrendered:
        self._current.append(url)
        try:
            shot = _shot(self._errand.job, self._plan, url, html=html)
            return await self._browsers.look(shot, ask=self._plan.ask)
        finally:
            self._current.remove(url)

    async def _keep(self, seen: Rendering | Unrendered) -> None:
        """Store what was seen, once, whoever else may have been at it.

        It takes a millisecond, and no stop can come between its parts.
        """
        self._seen[seen.url] = isinstance(seen, Rendering)
        same = captures.Wanted(crawl=self._crawl.id, address=seen.url, limit=1)
        if next(captures.renderings(self._db, same), None) is None:
            captures.store(self._db, self._errand.desk.now(), seen, self._crawl.id)
        await self._tell(seen)

    async def _tell(self, seen: Rendering | Unrendered | None = None) -> None:
        job, desk = self._errand.job, self._errand.desk
        size, now = await asyncio.to_thread(desk.bytes_of, job.crawl), desk.now()
        latest: list[dict[str, object]] = []
        counts: dict[tuple[str, str], float] = {}
        if seen is not None:
            reason = "ok" if isinstance(seen, Rendering) else seen.reason.name
            title = seen.title if isinstance(seen, Rendering) else None
            latest = [{"url": seen.url, "title": title, "reason": reason, "at": now}]
            counts[("captures", reason)] = 1
            if reason == "blocked_address":
                counts[("blocked", job.kind)] = 1
        await asyncio.to_thread(shift.tell, desk, job, self.progress(), latest, size, now)
        if seen is not None:
            await asyncio.to_thread(shift.call_for_pages, desk, job, latest, now)
            await asyncio.to_thread(shift.count, desk, job.owner, 1, counts, now)

    def progress(self) -> dict[str, object]:
        """The sums, which add up: every attempt has captured something, or failed."""
        captured = sum(self._seen.values())
        return {
            "requested": 1 + self._plan.links,
            "attempted": len(self._seen),
            "captured": captured,
            "failed": len(self._seen) - captured,
            "pages": captured,
            "current": list(self._current),
        }

    def _why(self, url: str) -> tuple[str, str]:
        line = next(line for line in _seen(self._db, self._crawl) if line.url == url)
        return line.reason, line.detail

    async def _unless_stopped(self, work: Any) -> Any:
        """What the work comes to, or None if we are stopped before; then it is dropped."""
        async with asyncio.TaskGroup() as group:
            working = group.create_task(work)
            stopped = group.create_task(self._stopped.wait())
            await asyncio.wait([working, stopped], return_when=asyncio.FIRST_COMPLETED)
            for task in (working, stopped):
                task.cancel()
        return None if working.cancelled() else working.result()


async def screenshots(browsers: Browsers, errand: Errand) -> Result:
    """A page and those it links to."""
    job = errand.job
    path = errand.terms.place.store_of(job.crawl)
    # A picture that was told of is on disk: it costs far less than to have taken it.
    with closing(await asyncio.to_thread(open_store, path, durability="power")) as db:
        try:
            await asyncio.to_thread(put_back, errand, db, look_again)
            crawl = begun_crawl(db, job, config.settings(), errand.desk.now())
        except CrawlRunning:
            return Result("queued", due=errand.desk.now() + 1.0)
        started = time.monotonic()
        result = await Looking(errand, browsers, db, crawl).run()
        status = "finished" if result.state in ("done", "failed") else "interrupted"
        crawls.end(db, crawl, status, errand.desk.now(), time.monotonic() - started)
    return result


def look_again(db: Database, crawl: int, wanted: Filter) -> int:
    """Forget that there was no picture; answers with of how many pages."""
    failed = captures.Wanted(crawl=crawl, reason=wanted.reason, failed=True)
    numbers = captures.numbers(db, failed)
    captures.drop(db, *numbers)
    return len(numbers)


def _shot(job: Job, plan: Plan, url: str, *, html: bool) -> Shot:
    secrets = job.secrets or {}
    shot = msgspec.convert({**plan.shot, **secrets, "url": url}, Shot, strict=False)
    return structs.replace(shot, html=html)


def _seen(db: Any, crawl: Crawl) -> Iterator[captures.RenderingLine]:
    return captures.renderings(db, captures.Wanted(crawl=crawl.id))


def _links(seen: Rendering, start: str, here: str) -> Iterator[str]:
    """Pages of the same site that a page links to: each once, in its order."""
    body = seen.html.encode("utf-8", "replace")
    kind = "text/html; charset=utf-8"
    page = extract(Response(seen.final_url, 200, (("content-type", kind),), body, kind))
    known = {key(start), key(seen.final_url)}
    home = _home(seen.final_url, here)
    for link in page.links:
        if link.via != Via.link or _home(link.url, here) != home:
            continue
        path = link.url.partition("?")[0].lower()
        if key(link.url) in known or path.endswith(NO_PAGES):
            continue
        known.add(key(link.url))
        yield link.url


def _home(url: str, here: str) -> str:
    host = hostname(url)
    return registrable_domain(host) if here == "site" else host
