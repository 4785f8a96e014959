"""A long crawl: is it as fast at its end as at its beginning, and does it hold more memory?

./bench soak [--pages 300000] [--write]
"""

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import msgspec
from benchmarks.broad import serving
from benchmarks.cost import resident
from benchmarks.report import machine, publish, table
from msgspec import Struct

LOOK_EVERY = 1.0


class Look(Struct):
    """What was there at one moment."""

    at: float
    pages: int
    memory: int


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pages", type=int, default=300_000)
    parser.add_argument("--write", action="store_true", help="put it into the documentation")
    wanted = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as name:
        looks = watched(Path(name), wanted.pages)
    total = looks[-1].pages
    second, last = speed(looks, 0.1, 0.2), speed(looks, 0.9, 1.0)
    early, late = memory(looks, 0.2), memory(looks, 1.0)
    rows = [
        ["pages", f"{total:,}"],
        ["pages/s in the second tenth and in the last", f"{second:,.0f}, {last:,.0f}"],
        ["ratio", f"{last / second:.2f}"],
        ["memory after a fifth and at the end", f"{early / 1e6:,.0f} MB, {late / 1e6:,.0f} MB"],
    ]
    text = f"{table(('', ''), rows)}\n\nOne worker; {machine()}; the server on the same machine."
    publish("soak", text, write=wanted.write)


def watched(folder: Path, pages: int) -> list[Look]:
    looks: list[Look] = []
    with serving(folder / "journal.jsonl", 1, pages) as port:
        command = [sys.executable, "-m", "freki", "crawl", f"http://127.0.0.1:{port}/", "--quiet"]
        command += ["--delay", "0", "--workers", "1", "--store", str(folder / "freki.db")]
        with subprocess.Popen(command) as crawl:
            while crawl.poll() is None:
                time.sleep(LOOK_EVERY)
                looks.append(Look(time.monotonic(), stored(folder), resident(crawl.pid)))
            if crawl.returncode != 0:
                raise RuntimeError(f"the crawl ended with {crawl.returncode}")
    while len(looks) > 1 and not looks[-1].memory:  # it had ended already
        looks.pop()
    return looks


def stored(folder: Path) -> int:
    """Pages so far; 0 while there is no store yet."""
    command = [sys.executable, "-m", "freki", "status", "--json"]
    told = subprocess.run(
        [*command, "--store", str(folder / "freki.db")], capture_output=True, check=False
    )
    if told.returncode != 0:
        return 0
    return int(msgspec.json.decode(told.stdout)["pages"])


def speed(looks: Sequence[Look], begin: float, end: float) -> float:
    """Pages per second between two parts of the crawl."""
    total = looks[-1].pages
    first = next(look for look in looks if look.pages >= begin * total)
    last = next(look for look in looks if look.pages >= end * total)
    return (last.pages - first.pages) / max(last.at - first.at, 1e-9)


def memory(looks: Sequence[Look], part: float) -> int:
    """Bytes held when this part of the pages was done."""
    return next(look.memory for look in looks if look.pages >= part * looks[-1].pages)


if __name__ == "__main__":
    main()
