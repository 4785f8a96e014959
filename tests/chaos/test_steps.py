"""Trouble at every durable step: a process that dies there, a disk that is full or broken.

strace counts the calls of each thread for itself, so the steps of the main thread and of the
ledger's thread are walked through one after the other: a crawl of a single page writes most in
the main thread, which makes the store and puts it away, and a worker writes nothing there.
"""

import random
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from itertools import count
from pathlib import Path
from typing import NamedTuple

import pytest
from tests.chaos.conftest import Measured, Scale
from tests.chaos.rig import Process, Site, crawl, end, launch, now, start

from freki.cli.exits import Exit
from freki.config import Keeping, Politeness, Settings
from freki.errors import StoreUnreachable
from freki.ledger import crawls
from freki.ledger.check import structure
from freki.ledger.store import open_store, read_store
from freki.testing.history import Bounds, History, judge, read

WORK = Path(__file__).with_name("work.py")

PARTS = ("", "-wal", "-shm")

# Runs at once; each is a process that mostly waits for strace, and the site is served by one.
AT_ONCE = 2

# Fetching ends within this after the first write that failed.
STOPS = 5.0


class Traced(NamedTuple):
    """What is traced: how it begins, and how the crawl is ended after it."""

    name: str
    begin: Callable[[Site, Path, str, list[str]], Process]
    scope: str


def one_page(where: Site, store: Path, agent: str, strace: list[str]) -> Process:
    """A store is made, one page crawled, and the store put away."""
    options = ("--scope=page", "--durability=power", f"--user-agent={agent}")
    return start(where.url, store, *options, through=strace)


def the_work(where: Site, store: Path, agent: str, strace: list[str]) -> Process:
    """A crawl that was begun is worked on to its end."""
    settings = Settings(
        politeness=Politeness(delay=0, user_agent=agent), keeping=Keeping(durability="power")
    )
    with closing(open_store(store)) as db:
        name = crawls.default_name(where.url)
        crawls.begin(db, name, [where.url], settings, time.time())
    return launch(WORK, store, "30", through=strace)


TRACED = (Traced("one page", one_page, "page"), Traced("the work", the_work, "host"))


def tracing(call: str, log: Path, *inject: str) -> list[str]:
    return ["strace", "-f", "-qq", "-ttt", f"-o{log}", f"-etrace={call}", *inject]


@pytest.fixture(scope="session")
def unharmed(
    hut: Site, quiet: History, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, History]:
    """What becomes of its first page, and of the whole, when nothing happens; by scope."""
    store = tmp_path_factory.mktemp("page") / "freki.db"
    crawl(hut.url, store, "--scope=page")
    return {"page": read(store), "host": quiet}


@pytest.mark.parametrize("traced", TRACED, ids=lambda traced: traced.name)
@pytest.mark.parametrize("call", ["pwrite64", "fdatasync", "ftruncate", "unlink"])
def test_a_kill_at_any_durable_step_loses_nothing(
    hut: Site,
    unharmed: dict[str, History],
    traced: Traced,
    call: str,
    scale: Scale,
    measured: Measured,
    tmp_path: Path,
) -> None:
    def kill_at(step: int) -> bool:
        """Kill it there, if it comes so far, and let the next one end the crawl."""
        store, agent = tmp_path / f"{step}.db", f"{traced.name} {call} {step}"
        strace = tracing(call, tmp_path / "log", f"-einject={call}:signal=KILL:when={step}")
        code, words = end(traced.begin(hut, store, agent, strace))
        assert code in (0, -signal.SIGKILL), words
        died = now()
        assert broken(store) == []
        crawl(hut.url, store, f"--scope={traced.scope}", f"--user-agent={agent}")
        history = read(store, hut.log(agent=agent), [died])
        judgement = judge(history, unharmed[traced.scope], Bounds())
        assert not judgement, (step, judgement)
        return code != 0

    if scale.steps is None:
        kills = walk(kill_at, count(1))
    else:
        most = calls(hut, traced, call, tmp_path)
        kills = walk(kill_at, range(1, most + 1, max(1, most // scale.steps)))
    measured(f"2 kill at {call}", f"{kills} steps of {traced.name}")


def walk(kill_at: Callable[[int], bool], steps: Iterable[int]) -> int:
    """Kill at each step until one is not reached any more; answers with the number of kills."""
    kills = 0
    with ThreadPoolExecutor(AT_ONCE) as threads:
        waiting = iter(steps)
        while batch := [step for step, _ in zip(waiting, range(2 * AT_ONCE), strict=False)]:
            reached = list(threads.map(kill_at, batch))
            kills += sum(reached)
            if not all(reached):
                break
    return kills


def calls(hut: Site, traced: Traced, call: str, folder: Path) -> int:
    """How often the busiest thread makes a call."""
    log = folder / "calls"
    end(traced.begin(hut, folder / "calls.db", "counting", tracing(call, log)))
    threads = Counter(line.split()[0] for line in log.read_text().splitlines())
    return max(threads.values(), default=0)


def broken(store: Path) -> list[str]:
    """What SQLite finds wrong with a store, where there is one already."""
    with suppress(StoreUnreachable), closing(read_store(store)) as db:
        return structure(db)
    return []


# What fails from a random step on, and how the crawl ends. SQLite cannot tell one from the other
# where its shared memory grows, which is in the first steps.
FAULTS = {
    "full": ("pwrite64", "ENOSPC", {Exit.storage_full}),
    "broken for writing": ("pwrite64", "EIO", {Exit.store_unreachable, Exit.storage_full}),
    "broken for reading": ("pread64", "EIO", {Exit.store_unreachable}),
    "broken for syncing": ("fdatasync", "EIO", {Exit.store_unreachable}),
}


@pytest.mark.parametrize("how", FAULTS)
def test_a_disk_that_fails_ends_the_crawl_soon_and_loses_nothing(
    library: Site,
    undisturbed: History,
    how: str,
    scale: Scale,
    dice: random.Random,
    measured: Measured,
    tmp_path: Path,
) -> None:
    call, error, expected = FAULTS[how]
    slowest = 0.0
    for number in range(scale.faults):
        store, log = tmp_path / f"{number}.db", tmp_path / f"{number}.log"
        began, step = now(), int(10 ** dice.uniform(0, 3))
        # Of the store alone: Python reads itself from the disk as well.
        files = [f"-P{store}{part}" for part in PARTS]
        inject = (*files, f"-einject={call}:error={error}:when={step}+")
        process = start(
            library.url, store, "--durability=power", through=tracing(call, log, *inject)
        )
        code, words = end(process)
        ended, over = now(), time.time()
        lines = log.read_text().splitlines()
        failed = [float(line.split()[1]) for line in lines if "INJECTED" in line]
        if code == 0:  # nothing failed, or only what tidies up in the end
            assert not judge(read(store), undisturbed, Bounds())
        else:
            assert code in expected, (step, words)
            last = max((visit.wall for visit in library.log(began)), default=0)
            assert last < failed[0] + STOPS
            slowest = max(slowest, over - failed[0])
        crawl(library.url, store)
        judgement = judge(read(store, library.log(began), [ended]), undisturbed, Bounds())
        assert not judgement, (step, judgement)
    measured(f"4 disk {how}", f"{scale.faults} times, over at most {slowest:.1f} s later")
