"""One job in a worker's hands: from its store to its outcome, with all that is told on the way."""

import asyncio
import time
from collections import Counter, deque
from collections.abc import Awaitable, Callable, Mapping
from contextlib import closing

import msgspec

from freki import config
from freki.config import Settings
from freki.engine.build import Program, worker
from freki.engine.crawl import Ending
from freki.engine.pulse import Pulse
from freki.errors import CrawlRunning
from freki.ledger import crawls, read
from freki.ledger.database import Database
from freki.ledger.jobs import retries, shift
from freki.ledger.jobs.orders import Job, Result, State, Wish
from freki.ledger.jobs.place import Desk
from freki.ledger.retry import retry
from freki.ledger.store import open_store
from freki.messages import Reason, Visit
from freki.serve.browsers import Browsers
from freki.serve.terms import Terms

# Seconds between two tellings of how a job goes, and pages that are told of each time.
TELL_EVERY = 0.5
LATEST = 20

# Seconds for requests in flight when a job is paused, changed or taken back.
DRAIN = 3.0

# Seconds a crawl's session lives when its worker went silent; those of the dead end at once.
LEASE = 15.0

# Connections of one crawl: several crawls share a process and its open files.
CONNECTIONS = 64

# Seconds after which a crawl that somebody else still holds is looked at again.
HELD_SECONDS = 2.0


# Makes what ended so wait again in a store.
PutBack = Callable[[Database, int, read.Filter], object]


class Errand:
    """A job while it is worked on. Who has it may be asked to stop."""

    def __init__(self, job: Job, desk: Desk, terms: Terms) -> None:
        self.job = job
        self.desk = desk
        self.terms = terms
        self.wish: Wish | None = None
        self.stopping = False
        self.task: asyncio.Task[None] | None = None
        self._stop: Callable[[], None] | None = None

    def __repr__(self) -> str:
        return f"<Errand {self.job.id} {self.job.kind} wish={self.wish}>"

    def stop(self, wish: Wish | None = None) -> None:
        """End soon; without a wish, it is for somebody else to go on."""
        self.wish = wish or self.wish
        self.stopping = True
        if self._stop is not None:
            self._stop()

    def when_stopped(self, stop: Callable[[], None]) -> None:
        """What to call when it shall end."""
        self._stop = stop
        if self.stopping:
            stop()

    def interrupted(self, progress: dict[str, object]) -> Result:
        """What becomes of a job that was stopped."""
        states: Mapping[Wish | None, State] = {"pause": "paused", "cancel": "cancelled"}
        state = states.get(self.wish, "queued")
        return Result(state, "cancelled" if state == "cancelled" else None, None, progress)


async def crawl(browsers: Browsers, errand: Errand) -> Result:
    """A crawl, begun or gone on with, until it ends or is stopped."""
    job, place = errand.job, errand.terms.place
    settings = settings_for(job, errand.terms)
    path = place.store_of(job.crawl)
    with closing(await asyncio.to_thread(open_store, path)) as db:
        try:
            await asyncio.to_thread(put_back, errand, db, retry)
            begun = begun_crawl(db, job, settings, errand.desk.now())
        except CrawlRunning:
            return Result("queued", due=errand.desk.now() + HELD_SECONDS)
        started = time.monotonic()
        report = Report(errand, db, begun.id)
        program = Program(deliver=report.note, render=browsers.renderer)
        ending = Ending.interrupted
        try:
            async with (
                worker(begun, path, job.seeds, settings, program, lease=LEASE) as (work, pulse),
                asyncio.TaskGroup() as group,
            ):
                errand.when_stopped(lambda: work.stop(DRAIN))
                telling = group.create_task(report.tell_now_and_then(pulse))
                ending = await work.run()
                telling.cancel()
        finally:
            crawls.end(db, begun, ending.value, errand.desk.now(), time.monotonic() - started)
        progress = await report.tell(pulse)
    if ending is Ending.interrupted:
        return errand.interrupted(progress)
    return concluded(progress, limited=ending is Ending.limited)


def put_back(errand: Errand, db: Database, put: PutBack) -> None:
    """What was asked to be tried again waits again, and only then is the wish forgotten.

    Who dies in between leaves it to the next one, who finds nothing more to put back.
    """
    desk, job = errand.desk, errand.job
    known = crawls.find(db, job.crawl)
    while known is not None and (wanted := retries.wished(desk, job.id)):
        crawls.refuse_if_running(db, known)
        for each in wanted:
            put(db, known.id, each)
        retries.carried_out(desk, job.id, wanted)


def begun_crawl(db: Database, job: Job, settings: Settings, now: float) -> crawls.Crawl:
    """The crawl of a job: a new one, or as far as it came."""
    known = crawls.find(db, job.crawl)
    if known is None:
        return crawls.begin(db, job.crawl, job.seeds, settings, now)
    return crawls.resume(db, known, job.seeds, settings)


def concluded(progress: dict[str, object], *, limited: bool) -> Result:
    """The outcome of a crawl that went to its end."""
    if is_lost(progress, limited=limited):
        return Result("queued", None, None, progress, went_wrong=True)
    if progress.get("pages"):
        return Result("done", "limit" if limited else None, None, progress)
    reasons = msgspec.convert(progress.get("reasons", {}), dict[str, dict[str, int]])
    why = {**reasons.get("failed", {}), **reasons.get("refused", {})}
    reason = max(why, key=lambda word: why[word]) if why else None
    return Result("failed", reason or "nothing_found", "no page was stored", progress)


def is_lost(progress: Mapping[str, object], *, limited: bool) -> bool:
    """Whether a server crashed after the work, and took the last of it along."""
    is_open = progress["waiting"] or progress["leased"]
    return not progress["discovered"] or bool(is_open and not limited)


def settings_for(job: Job, terms: Terms) -> Settings:
    """What the caller chose, and over it what the operator did."""
    fetching = {
        "allow_private": terms.allow_private, "connections": CONNECTIONS, "workers": 1,
        "drain": DRAIN, "browser": terms.browser,
    }  # fmt: skip
    return config.settings(job.settings, {"fetching": fetching})


class Report:
    """What is told of a crawl while it goes on."""

    def __init__(self, errand: Errand, db: Database, crawl_id: int) -> None:
        self._errand = errand
        self._db = db
        self._crawl = crawl_id
        self._latest: deque[dict[str, object]] = deque(maxlen=LATEST)
        self._for_hook: list[dict[str, object]] = []
        self._wants_pages = errand.job.hook is not None and "page" in errand.job.hook.events
        self._told: dict[str, object] = {}
        before = read.status(db, crawl_id)
        self._pages_before = before.pages
        self._counted = self._sums(before, 0, 0)
        self._started = time.monotonic()

    def __repr__(self) -> str:
        return f"<Report on {self._errand.job.id}>"

    async def note(self, visit: Visit) -> None:
        """A page came in."""
        page: dict[str, object] = {
            "url": visit.url, "status": visit.status, "title": visit.title, "at": visit.at,
            "bytes": len(visit.body),
        }  # fmt: skip
        self._latest.append(page)
        if self._wants_pages:
            self._for_hook.append(page)

    async def tell_now_and_then(self, pulse: Pulse) -> None:
        while True:
            await asyncio.sleep(TELL_EVERY)
            await self.tell(pulse)

    async def tell(self, pulse: Pulse) -> dict[str, object]:
        """The sums as they are now; what did not change is not told again."""
        beat = pulse.statistics()
        status = read.status(self._db, self._crawl)
        new = status.pages - self._pages_before
        progress: dict[str, object] = {
            **msgspec.structs.asdict(status),
            "wire_bytes": beat.wire_bytes,
            "pages_per_second": round(new / max(0.001, time.monotonic() - self._started), 2),
        }
        sums = {key: value for key, value in progress.items() if key != "pages_per_second"}
        if sums != self._told:
            self._told = sums
            counts = self._counts(status, beat.wire_bytes, new)
            await asyncio.to_thread(self._write, progress, counts)
        return progress

    def _write(self, progress: dict[str, object], counts: Counter[tuple[str, str]]) -> None:
        job, desk = self._errand.job, self._errand.desk
        now = desk.now()
        latest, self._latest = list(self._latest), deque(maxlen=LATEST)
        pages, self._for_hook = self._for_hook, []
        size = desk.bytes_of(job.crawl)
        shift.tell(desk, job, progress, latest, size, now)
        shift.call_for_pages(desk, job, pages, now)
        fetched = int(counts[("pages", job.kind)])
        shift.count(desk, job.owner, fetched, counts, now)

    def _counts(self, status: read.Status, wire_bytes: int, new: int) -> Counter[tuple[str, str]]:
        """What came since the last time."""
        sums = self._sums(status, wire_bytes, new)
        gained = Counter({key: value - self._counted[key] for key, value in sums.items()})
        self._counted = sums
        return gained

    def _sums(self, status: read.Status, wire_bytes: int, new: int) -> Counter[tuple[str, str]]:
        kind = self._errand.job.kind
        failed = status.reasons.get("failed", {})
        sums: Counter[tuple[str, str]] = Counter(
            {("pages", kind): new, ("bytes", kind): wire_bytes}
        )
        sums.update({("errors", reason): count for reason, count in failed.items()})
        sums[("blocked", kind)] = failed.get(Reason.blocked_address.name, 0)
        return sums


Carry = Callable[[Errand], Awaitable[Result]]
