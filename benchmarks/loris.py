"""Hosts that never finish an answer beside hosts that are well: how much slower are the good ones?

    ./bench loris [--rounds 3] [--pages 200 60] [--write]

Fifty hosts are crawled alone and beside five hundred that send a byte a second, or nothing, or
interim answers without end, in turn. The logs of the servers say how long the pages of the good
hosts took, the same pages each time: from the first request to any host, be it a bad one, to the
end of the last good answer. All start URLs are given at once, ten bad ones before each good one, so
that what it takes to open them is counted.

With a delay the pause between two requests is what the good hosts wait for; without one it is the
machine. The bad hosts are served by a process of lowest priority: elsewhere it would be others'
machines that pay for what they do.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from statistics import median

from benchmarks.report import machine, publish, table
from msgspec import Struct

from freki.testing.auditor import Access, read
from freki.testing.synthetic import address

GOOD, BAD = 50, 500
SLOW = ("silence", "slow-headers", "slow-body", "slow-chunks", "endless-interim")

# Seconds between two requests to a host; without any, the machine is the bound.
DELAYS = (0.1, 0.0)

LOOK_EVERY = 0.2
LONGEST = 300.0


class Case(Struct, frozen=True):
    """What is crawled, and how."""

    delay: float
    pages: int  # of each good host


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--pages", type=int, nargs="+", default=[200, 60], help="of a good host")
    parser.add_argument("--delays", type=float, nargs="+", default=DELAYS)
    parser.add_argument("--write", action="store_true", help="put it into the documentation")
    wanted = parser.parse_args(arguments)
    cases = [Case(delay, pages) for delay in wanted.delays for pages in wanted.pages]
    rows = [row(case, wanted.rounds) for case in cases]
    text = table(("delay", "good pages", "pages/s alone", "beside 500", "of alone", "rounds"), rows)
    note = (
        f"Medians of {wanted.rounds} rounds in turn; {machine()}; the servers on the same machine."
    )
    publish("loris", f"{text}\n\n{note}", write=wanted.write)


def row(case: Case, rounds: int) -> list[str]:
    alone, beside = [], []
    for _ in range(rounds):
        alone.append(speed(case, bad=0))
        beside.append(speed(case, bad=BAD))
    shares = sorted(b / a for a, b in zip(alone, beside, strict=True))
    return [
        f"{case.delay:g} s" if case.delay else "none",
        f"{GOOD * case.pages:,}",
        f"{median(alone):,.0f}",
        f"{median(beside):,.0f}",
        f"**{median(beside) / median(alone):.1%}**",
        ", ".join(f"{share:.0%}" for share in shares),
    ]


def speed(case: Case, bad: int) -> float:
    """Pages of good hosts per second."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        journal = folder / "good.jsonl"
        with (
            serving(journal, GOOD, case.pages) as good_port,
            serving(folder / "bad.jsonl", GOOD + bad, 1, nice=19) as bad_port,
        ):
            (folder / "seeds.txt").write_text("\n".join(seeds(good_port, bad_port, bad)))
            crawl(folder, case, journal)
        return speed_of(read(journal), read(folder / "bad.jsonl"), GOOD * case.pages)


def seeds(good_port: int, bad_port: int, bad: int) -> Iterator[str]:
    for good in range(GOOD):
        for number in range(good * bad // GOOD, (good + 1) * bad // GOOD):
            where = f"http://{address(GOOD + number)}:{bad_port}"
            yield f"{where}/hostile/{SLOW[number % len(SLOW)]}"
        yield f"http://{address(good)}:{good_port}/"


def crawl(folder: Path, case: Case, journal: Path) -> None:
    """Crawl until the last page of a good host was answered; nobody waits for the bad ones."""
    command = [sys.executable, "-m", "freki", "crawl", "--seeds", "seeds.txt", "--scope", "host"]
    command += ["--delay", str(case.delay), "--sitemap", "no", "--quiet", "--store", "freki.db"]
    until = time.monotonic() + LONGEST
    with subprocess.Popen(command, cwd=folder, stderr=subprocess.DEVNULL) as process:
        while process.poll() is None and time.monotonic() < until:
            time.sleep(LOOK_EVERY)
            if pages_in(journal) >= GOOD * case.pages:
                process.kill()


def pages_in(journal: Path) -> int:
    """Counted without being read: that would take from the machine what is measured."""
    with suppress(FileNotFoundError):
        log = journal.read_bytes()
        return log.count(b'"status": 200') - log.count(b'"/robots.txt"')
    return 0


def speed_of(good: Sequence[Access], bad: Sequence[Access], expected: int) -> float:
    pages = [access for access in good if access.status == 200 and access.path != "/robots.txt"]
    if len(pages) != expected:
        raise RuntimeError(f"{len(pages)} pages of good hosts were fetched, not {expected}")
    began = min(access.start for access in [*good, *bad])
    return expected / (max(page.end for page in pages) - began)


@contextmanager
def serving(journal: Path, hosts: int, pages: int, nice: int = 0) -> Iterator[int]:
    """A synthetic web in a process of its own; answers with its port."""
    web = [f"--hosts={hosts}", f"--pages={pages}", "--largest=5000", f"--journal={journal}"]
    command = [sys.executable, "-m", "freki.testing.server", *web]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as server:
        assert server.stdout is not None
        os.setpriority(os.PRIO_PROCESS, server.pid, os.getpriority(os.PRIO_PROCESS, 0) + nice)
        url = server.stdout.readline().decode().strip()
        try:
            yield int(url.rstrip("/").rpartition(":")[2])
        finally:
            server.kill()


if __name__ == "__main__":
    main()
