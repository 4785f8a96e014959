"""A soak of the pool of browsers: captures, some of hostile pages, while browsers are killed.

Every job must end with an outcome, no good page may suffer from a hostile one, and in the end there
are as many processes, open files and profiles as in the beginning.
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
from freki.testing.scenes import Stage, stage

GOOD = ("plain", "heavy", "fonts", "banner", "dark", "shell", "blank", "missing")
BAD = (
    "loop", "alerts", "huge-image", "never-ends", "never-loads", "popups", "million", "hog",
    "download", "auth", "late-loop", "reloads", "closes", "console", "objects",
)  # fmt: skip
SECONDS = 15.0

# Jobs that wait or run: twice what two browsers have room for.
AT_ONCE = 12

WARM = (*GOOD, "tall")


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
        self.names = [*hostile, *(chance.choice(GOOD) for _ in range(captures - len(hostile)))]
        chance.shuffle(self.names)
        self.kills = kills
        self.killed = 0
        self.outcomes: Counter[str] = Counter()
        self.wrong: list[str] = []
        self.done = 0
        self.longest = 0.0

    async def job(self, render: Pool, name: str, url: str, room: asyncio.Semaphore) -> None:
        async with room:
            begun = time.monotonic()
            seen = await render(
                Shot(url=url, full_page=name in ("million", "never-ends"), navigate_seconds=6,
                     settle_seconds=2, seconds=SECONDS)
            )  # fmt: skip
            spent = time.monotonic() - begun - seen.phases.queue
        self.done += 1
        self.longest = max(self.longest, spent)
        outcome = "ok" if isinstance(seen, Rendering) else seen.reason.name
        self.outcomes[f"{'bad' if name in BAD else 'good'} {outcome}"] += 1
        if name in GOOD and isinstance(seen, Unrendered):
            self.wrong.append(f"{name}: {seen.reason.name} {seen.detail}")

    async def kill(self, render: Pool) -> None:
        """A browser dies each time a further part of the jobs is done."""
        for at in range(1, self.kills + 1):
            while self.done < at * len(self.names) / (self.kills + 1):  # noqa: ASYNC110 - so exact
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
    left: tuple[int, int, int]  # processes, profiles and zombies in the end

    @property
    def is_clean(self) -> bool:
        return self.ended == self.captures and not self.suffered and self.left == (0, 0, 0)


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
        async with stage() as site:
            terms = Terms(found=find(), agent="Freki", memory=most)
            everywhere = Egress(allow_private=True)
            async with pool(terms, replace(size, pages=50), everywhere) as render:
                warm = [Shot(url=site.url(name), full_page=True) for name in WARM]
                await asyncio.gather(*map(render, warm))
                before = (open_files(), own_bytes())
                begun = time.monotonic()
                await _work(work, render, site)
                spent = time.monotonic() - begun
                statistics = render.statistics()
                await render.drained()
                after = (open_files(), own_bytes())
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
        longest=round(work.longest, 1),
        browsers_started=statistics.started,
        browsers_ended=statistics.ended,
        open_files=(before[0], after[0]),
        own_bytes=(before[1], after[1]),
        left=left,
    )


def _folder() -> str:
    folder = Path(tempfile.mkdtemp(prefix="freki-soak-"))
    folder.chmod(0o711)  # whoever browsers run as must get to their profiles
    return str(folder)


async def _work(work: Soak, render: Pool, site: Stage) -> None:
    room = asyncio.Semaphore(AT_ONCE)
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(work.kill(render))
        for name in work.names:
            tasks.create_task(work.job(render, name, site.url(name), room))
