"""Processes to disturb: a site that outlives them all, and crawls of it."""

import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import fields
from pathlib import Path

from msgspec import Struct

from freki.testing import auditor
from freki.testing.auditor import Access
from freki.testing.synthetic import Web

# Every kind of answer, and slow enough that a kill finds requests in flight.
WEB = Web(
    pages=3500,
    links_per_page=6,
    redirects=0.05,
    missing=0.03,
    duplicates=0.05,
    files=0.05,
    messy=0.2,
    delay=0.01,
)

# Few pages, for what is done hundreds of times.
SMALL_WEB = Web(pages=24, redirects=0.1, missing=0.1, duplicates=0.1)

# Hosts that link to each other; each belongs to one worker at a time.
TOWNS = Web(pages=24, hosts=8, links_per_page=4, cross_links=0.4)

PYTHON = [sys.executable, "-P"]

# No crawl here takes half as long when it is not disturbed; what does hangs.
HANGS = 60.0

# What a dead process sent reaches the log within this, and a new one needs longer to begin.
ECHO = 0.03

# Between two looks at something that will come.
LOOK = 0.01

Process = subprocess.Popen[str]


class Site(Struct, frozen=True):
    """A running server and its journal."""

    url: str
    journal: Path

    def log(self, since: float = 0.0, agent: str = "") -> list[Access]:
        """What was asked for since a moment, by one agent or by all."""
        log = auditor.read(self.journal)
        return [visit for visit in log if visit.start >= since and agent in (visit.agent, "")]


def now() -> float:
    """The moment on the clock of every log here."""
    return time.monotonic()


@contextmanager
def site(folder: Path, web: Web, *, port: int = 0) -> Iterator[Site]:
    """A web, served by a process of its own."""
    journal = folder / "journal.jsonl"
    knobs = [word for field in fields(Web) if field.init for word in _knob(web, field.name)]
    command = [*PYTHON, "-m", "freki.testing.server", f"--port={port}", f"--journal={journal}"]
    server = subprocess.Popen([*command, *knobs], stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None
    with server:
        try:
            yield Site(server.stdout.readline().strip(), journal)
        finally:
            server.terminate()


def _knob(web: Web, name: str) -> list[str]:
    value = getattr(web, name)
    return [] if isinstance(value, tuple) else [f"--{name.replace('_', '-')}={value}"]


def start(url: str, store: Path, *options: str, through: Sequence[str | Path] = ()) -> Process:
    """A crawl as fast as one worker goes, or with the options given; `through` comes before it.

    A second worker, which joins where there is much to do, has requests of its own under way.
    """
    usual = ["--quiet", "--delay=0", "--workers=1", f"--store={store}"]
    return launch("-m", "freki", "crawl", url, *usual, *options, through=through)


def launch(*words: str | Path, through: Sequence[str | Path] = ()) -> Process:
    """A process of this Python; what it says against us is kept."""
    return subprocess.Popen(
        [*through, *PYTHON, *words],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )


def end(process: Process, within: float = HANGS) -> tuple[int, str]:
    """Its exit code and its last words, which are never a traceback."""
    try:
        _, words = process.communicate(timeout=within)
    except subprocess.TimeoutExpired:
        kill(process)
        raise
    assert "Traceback" not in words, words
    return process.returncode, words


def kill(process: Process) -> None:
    """Without a warning."""
    with process:
        process.kill()


def crawl(url: str, store: Path, *options: str, code: int = 0) -> None:
    """A crawl from beginning, or from where it was, to its end."""
    ended, words = end(start(url, store, *options))
    assert ended == code, words


def pause(process: Process, *, until: Callable[[], bool], within: float = HANGS) -> None:
    """Let a process go on until something is so."""
    deadline = now() + within
    while not until():
        assert now() < deadline, "it does not come"
        with suppress(subprocess.TimeoutExpired):
            code = process.wait(LOOK)
            assert until(), f"the process ended before, with {code}"
