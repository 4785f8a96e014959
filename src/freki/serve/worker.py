"""A worker process: takes jobs, carries them out side by side, and keeps the books about it."""

import asyncio
import resource
import signal
import sys
import time
from contextlib import closing
from functools import partial

from msgspec import structs

from freki.engine.crawl import first_error
from freki.errors import LeaseLost, StoreBusy, StoreUnreachable
from freki.ledger.database import Conflict
from freki.ledger.jobs import shift, upkeep
from freki.ledger.jobs.orders import Job, Kind, Result, Wish
from freki.ledger.jobs.place import Desk
from freki.ledger.jobs.shift import Shift
from freki.serve import errands, fetching, janitor, logs, looking, post
from freki.serve.browsers import Browsers, Team
from freki.serve.errands import Carry, Errand
from freki.serve.terms import Terms

# Seconds between two looks at the books: for what is wished of our jobs, and for new ones.
RENEW_EVERY = 1.0
LOOK_EVERY = 0.1
LOOK_ANYWAY = 1.0

# Seconds at most until a job that broke off is tried again.
LONGEST_PAUSE = 60.0

# Seconds that jobs in hand have to end when the worker shall.
LAST_SECONDS = 8.0


def carries(browsers: Browsers) -> dict[Kind, Carry]:
    """Who carries out which kind of job."""
    return {
        "crawl": partial(errands.crawl, browsers),
        "fetch": partial(fetching.fetch, browsers),
        "screenshots": partial(looking.screenshots, browsers),
    }


class Workshop:
    """What one worker has in hand."""

    def __init__(self, terms: Terms, desk: Desk, browsers: Browsers) -> None:
        self._terms = terms
        self._desk = desk
        self._browsers = browsers
        self._carries = carries(browsers)
        self._errands: dict[str, Errand] = {}
        self._shift = Shift(0)
        self._ending = asyncio.Event()

    def __repr__(self) -> str:
        return f"<Workshop shift={self._shift.id} jobs={len(self._errands)}>"

    def end(self) -> None:
        """Take nothing new; what is in hand is stopped, and goes on elsewhere or later."""
        self._ending.set()
        for errand in list(self._errands.values()):
            errand.stop()

    async def run(self) -> None:
        self._shift = await asyncio.to_thread(self._begun)
        logs.event("worker_begins", shift=self._shift.id)
        try:
            async with asyncio.TaskGroup() as group:
                beside = [
                    group.create_task(self._keep_books()),
                    group.create_task(janitor.clean(self._desk, self._terms)),
                    group.create_task(post.bring(self._desk, self._terms)),
                ]
                await self._take_jobs(group)
                await self._wait_for_errands()
                for task in beside:
                    task.cancel()
        except BaseExceptionGroup as errors:
            raise first_error(errors) from None
        finally:
            await asyncio.to_thread(shift.end, self._desk, self._shift)
            logs.event("worker_ends", shift=self._shift.id)

    async def _keep_books(self) -> None:
        """Stay in the books, and hear what is wished of what we have in hand."""
        while True:
            numbers = {**statistics(len(self._errands)), **self._browsers.statistics()}
            ours = await asyncio.to_thread(self._renewed, numbers)
            if not ours and not await asyncio.to_thread(shift.is_on, self._desk, self._shift):
                # We were taken for dead: what we had is somebody else's now.
                for errand in list(self._errands.values()):
                    errand.stop()
                self._shift = await asyncio.to_thread(self._begun)
            for id_, errand in list(self._errands.items()):
                if id_ not in ours:
                    errand.stop()
                elif ours[id_] is not None:
                    errand.stop(ours[id_])
            await asyncio.sleep(RENEW_EVERY)

    async def _take_jobs(self, group: asyncio.TaskGroup) -> None:
        seen, looked_at = -1, 0.0
        while not self._ending.is_set():
            changes = await asyncio.to_thread(self._desk.changes)
            is_time = time.monotonic() - looked_at > LOOK_ANYWAY
            if len(self._errands) < max(1, self._terms.jobs) and (changes != seen or is_time):
                seen, looked_at = changes, time.monotonic()
                if await self._take(group):
                    seen = -1
                    continue
            await self._rest()

    async def _take(self, group: asyncio.TaskGroup) -> bool:
        job = await asyncio.to_thread(self._taken)
        if job is None:
            return False
        errand = self._errands[job.id] = Errand(job, self._desk, self._terms)
        errand.task = group.create_task(self._carry_out(errand, self._shift), name=job.id)
        return True

    def _begun(self) -> Shift:
        return shift.begin(self._desk, self._desk.now())

    def _renewed(self, numbers: dict[str, float]) -> dict[str, Wish | None]:
        return shift.renew(self._desk, self._shift, numbers, self._desk.now())

    def _taken(self) -> Job | None:
        return shift.take(self._desk, self._shift, list(self._carries), self._desk.now())

    async def _rest(self) -> None:
        try:
            async with asyncio.timeout(LOOK_EVERY):
                await self._ending.wait()
        except TimeoutError:
            pass

    async def _carry_out(self, errand: Errand, ours: Shift) -> None:
        job = errand.job
        logs.event("job_begins", job=job.id, kind=job.kind, attempt=job.attempts)
        try:
            result = await self._carries[job.kind](errand)
        except Exception as error:  # noqa: BLE001 - it ends this job, and no other
            logs.failure("job_fails", job=job.id)
            result = gone_wrong(error)
        await asyncio.to_thread(self._close, job, ours, result)
        self._errands.pop(job.id, None)
        logs.event("job_ends", job=job.id, state=result.state, reason=result.reason)

    def _close(self, job: Job, ours: Shift, result: Result) -> None:
        """Write into the books how it came out."""
        now = self._desk.now()
        if result.state in ("queued", "paused"):
            if result.went_wrong:
                result = structs.replace(result, due=now + pause(job.attempts))
            shift.give_back(self._desk, ours, job, result, now)
            upkeep.delete_abandoned(self._desk)
            return
        size = self._desk.bytes_of(job.crawl)
        shift.finish(self._desk, ours, job, structs.replace(result, size=size), now)
        waited = (job.started_at or now) - job.created_at
        counts: dict[tuple[str, str], float] = {
            ("jobs", result.state): 1,
            ("jobs_begun", job.kind): 1,
            ("job_wait_seconds", job.kind): waited,
        }
        shift.count(self._desk, job.owner, 0, counts, now)
        upkeep.delete_abandoned(self._desk)

    async def _wait_for_errands(self) -> None:
        """They were told to stop; who does not within some seconds is taken back by others."""
        tasks = [errand.task for errand in self._errands.values() if errand.task is not None]
        if tasks:
            _, late = await asyncio.wait(tasks, timeout=LAST_SECONDS)
            for task in late:
                task.cancel()


def pause(attempts: int) -> float:
    """Seconds until a job that broke off is tried again: its store may be away, or have no room."""
    return min(LONGEST_PAUSE, 2.0**attempts)


def gone_wrong(error: Exception) -> Result:
    """What becomes of a job that broke off; that its store was away is no fault of its own."""
    first = first_error(error) if isinstance(error, BaseExceptionGroup) else error
    if isinstance(first, StoreUnreachable | StoreBusy | Conflict | LeaseLost):
        return Result("queued", went_wrong=True)
    return Result("failed", "crash", type(first).__name__)


def statistics(jobs: int) -> dict[str, float]:
    """What others may know of this process."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return {
        "memory": memory(),
        "cpu": used.ru_utime + used.ru_stime,
        "jobs": float(jobs),
    }


def memory() -> float:
    """Bytes that this process has in memory."""
    try:
        with open("/proc/self/statm", "rb") as file:  # noqa: PTH123 - a file of the system
            return float(file.read().split()[1]) * resource.getpagesize()
    except OSError:
        return float(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024)


async def work(terms: Terms) -> None:
    """Work until told to end, or until whoever started us is gone."""
    with closing(terms.place.desk()) as desk:
        team = Team(terms)
        workshop = Workshop(terms, desk, team)
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, workshop.end)
        async with asyncio.TaskGroup() as group:
            beside = [
                group.create_task(end_with_stdin(workshop)),
                group.create_task(team.run()),
            ]
            await workshop.run()
            for task in beside:
                task.cancel()


async def end_with_stdin(workshop: Workshop) -> None:
    """Who started us holds the other end: when it is gone, however it went, so are we."""
    reader = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), sys.stdin
    )
    await reader.read()
    workshop.end()
