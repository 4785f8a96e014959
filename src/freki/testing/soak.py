"""A soak of the pool of browsers: captures, some of hostile pages, while browsers are killed.

Every job must end with an outcome, no good page may suffer from a hostile one, and in the end there
are as many processes, open files and profiles, and as much memory, as there were once it was warm.
The site is served by a process of its own, so that what is measured here is the product.
"""

import asyncio
import os
import random
import shutil
import signal
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from freki.fetch.browser import memory
from freki.fetch.browser.find import find
from freki.fetch.browser.pool import Pool, pool, size_here
from freki.fetch.browser.process import Terms
from freki.fetch.egress import Egress
from freki.pictures import Rendering, Shot, Unrendered
from freki.testing.scenes import Stage, apart

GOOD = ("plain", "heavy", "fonts", "banner", "dark", "shell", "blank", "missing")
BAD = (
    "loop", "alerts", "huge-image", "never-ends", "never-loads", "popups", "million", "hog",
    "download", "auth", "late-loop", "reloads", "closes", "console", "objects",
)  # fmt: skip
SECONDS = 15.0

# Jobs that wait or run: twice what two browsers have room for.
AT_ONCE = 12

WARM = (*GOOD, "tall")

# Pictures before anything is measured, as a share of those that follow.
WARM_SHARE = 0.05

# More than at the start that may be there in the end.
TOLERANCE = 1.1


def own_bytes() -> int:
    """What this process has for itself."""
    return memory.of_process(os.getpid())


def zombies() -> int:
    """Dead children that nobody looked at."""
    count = 0
    for entry in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = entry.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        count += fields[0] == "Z" and int(fields[1]) == os.getpid()
    return count


def open_files() -> int:
    return sum(1 for _ in Path("/proc/self/fd").iterdir())


def profiles() -> int:
    return len(list(Path(tempfile.gettempdir()).glob("freki-browser-*")))


def chromiums() -> int:
    """Processes of browsers that run."""
    mark, count = f"{tempfile.gettempdir()}/freki-browser-".encode(), 0
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            count += mark in entry.read_bytes()
        except OSError:
            continue
    return count


class Soak:
    """The jobs and what became of them."""

    def __init__(self, captures: int, kills: int, hostile: Sequence[str]) -> None:
        chance = random.Random(7)  # noqa: S311 - the same soak each time
        self.captures = captures
        self.waiting = [*hostile, *(chance.choice(GOOD) for _ in range(captures - len(hostile)))]
        chance.shuffle(self.waiting)
        self.kills = kills
        self.killed = 0
        self.outcomes: Counter[str] = Counter()
        self.wrong: list[str] = []
        self.done = 0
        self.longest = 0.0
        self.course: list[int] = []  # bytes we had after each tenth of the jobs

    async def work(self, render: Pool, site: Stage) -> None:
        """One job after the other, as long as there are any."""
        while self.waiting:
            name = self.waiting.pop()
            await self.job(render, name, site.url(name))

    async def job(self, render: Pool, name: str, url: str) -> None:
        begun = time.monotonic()
        seen = await render(
            Shot(url=url, full_page=name in ("million", "never-ends"), navigate_seconds=6,
                 settle_seconds=2, seconds=SECONDS)
        )  # fmt: skip
        spent = time.monotonic() - begun - seen.phases.queue
        self.done += 1
        if self.done * 10 // self.captures > len(self.course):
            self.course.append(own_bytes())
        self.longest = max(self.longest, spent)
        outcome = "ok" if isinstance(seen, Rendering) else seen.reason.name
        self.outcomes[f"{'bad' if name in BAD else 'good'} {outcome}"] += 1
        if name in GOOD and isinstance(seen, Unrendered):
            self.wrong.append(f"{name}: {seen.reason.name} {seen.detail}")

    async def kill(self, render: Pool) -> None:
        """A browser dies each time a further part of the jobs is done."""
        for at in range(1, self.kills + 1):
            while self.done < at * self.captures / (self.kills + 1):  # noqa: ASYNC110 - so exact
                await asyncio.sleep(0.05)
            if victims := render.pids():
                os.kill(victims[at % len(victims)], signal.SIGKILL)
                self.killed += 1


class Report(Struct, frozen=True, kw_only=True):
    """What a soak showed."""

    captures: int
    ended: int
    kills: int
    seconds: float
    outcomes: dict[str, int]
    suffered: list[str]  # good pages that failed
    longest: float  # seconds of a job, without its wait for a browser
    browsers_started: int
    browsers_ended: dict[str, int]
    open_files: tuple[int, int]  # before and after
    own_bytes: tuple[int, int]
    course: list[int]  # bytes of our own after each tenth
    left: tuple[int, int, int]  # processes, profiles and zombies in the end

    @property
    def is_clean(self) -> bool:
        all_ended = self.ended == self.captures and not self.suffered
        return all_ended and self.was_in_time and self.left == (0, 0, 0) and self.has_not_grown

    @property
    def was_in_time(self) -> bool:
        return self.longest <= SECONDS

    @property
    def has_not_grown(self) -> bool:
        pairs = (self.open_files, self.own_bytes)
        return all(after <= TOLERANCE * before for before, after in pairs)


def hostile_share(captures: int) -> list[str]:
    """Five in a hundred, of every kind in turn."""
    return [BAD[at % len(BAD)] for at in range(max(1, captures // 20))]


async def soak(captures: int, kills: int, hostile: Sequence[str]) -> Report:
    """Photograph so many pages, with a warm pool and browsers that are killed meanwhile."""
    work = Soak(captures, kills, hostile)
    size, most = size_here()
    # A place of our own, so that browsers of others are not counted.
    folder, usual = _folder(), tempfile.tempdir
    tempfile.tempdir = folder
    try:
        async with apart() as site:
            terms = Terms(found=find(), agent="Freki", memory=most)
            everywhere = Egress(allow_private=True)
            async with pool(terms, replace(size, pages=50), everywhere) as render:
                await _warm(render, site, captures)
                before = await _held(render, size.browsers)
                begun = time.monotonic()
                await _work(work, render, site)
                spent = time.monotonic() - begun
                statistics = render.statistics()
                after = await _held(render, size.browsers)
        left = (chromiums(), profiles(), zombies())
    finally:
        tempfile.tempdir = usual
        shutil.rmtree(folder, ignore_errors=True)
    return Report(
        captures=captures,
        ended=work.done,
        kills=work.killed,
        seconds=round(spent, 1),
        outcomes=dict(work.outcomes),
        suffered=work.wrong,
        longest=round(work.longest, 2),
        browsers_started=statistics.started,
        browsers_ended=statistics.ended,
        open_files=(before[0], after[0]),
        own_bytes=(before[1], after[1]),
        course=work.course,
        left=left,
    )


def _folder() -> str:
    folder = Path(tempfile.mkdtemp(prefix="freki-soak-"))
    folder.chmod(0o711)  # whoever browsers run as must get to their profiles
    return str(folder)


async def _warm(render: Pool, site: Stage, captures: int) -> None:
    """What a service has behind it soon: every page once, the tall one in tiles, and some more."""
    work = Soak(round(captures * WARM_SHARE), 0, ())
    tall = [Shot(url=site.url(name), full_page=True) for name in WARM]
    await asyncio.gather(*map(render, tall), _work(work, render, site))


async def _held(render: Pool, browsers: int) -> tuple[int, int]:
    """Open files and bytes, once every seat has its browser again and no page is open."""
    await render.drained()
    while render.statistics().browsers < browsers:  # noqa: ASYNC110
        await asyncio.sleep(0.05)
    return open_files(), own_bytes()


async def _work(work: Soak, render: Pool, site: Stage) -> None:
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(work.kill(render))
        for _ in range(AT_ONCE):
            tasks.create_task(work.work(render, site))
