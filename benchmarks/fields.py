"""What a spider costs: five CSS fields of every page, beside the same crawl without a program.

    ./bench fields [--rounds 3] [--pages 4000] [--scrapy PYTHON] [--write]

Runs take turns. With `--scrapy`, the Python of an environment that has it, Scrapy takes the same
fields of a tenth as many pages.
"""

import argparse
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import NamedTuple

from benchmarks.cost import Cost, cost
from benchmarks.report import machine, publish, table
from benchmarks.servers import served
from benchmarks.site import LARGE

PEERS = Path(__file__).parent / "peers"
LINKS, FIELDS, SCRAPY = "links only", "five fields", "Scrapy, the same five fields"


class Run(NamedTuple):
    """One crawl."""

    rate: float  # pages a second
    each: float  # microseconds of CPU a page, the start of the program included


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--pages", type=int, default=4000)
    parser.add_argument("--scrapy", metavar="PYTHON")
    parser.add_argument("--write", action="store_true", help="put it into the documentation")
    wanted = parser.parse_args(arguments)
    runs: dict[str, list[Run]] = {}
    with served(LARGE) as site:
        for _ in range(wanted.rounds):
            runs.setdefault(LINKS, []).append(freki(site.url, wanted.pages))
            spider = ("--spider", str(PEERS / "freki_fields.py"))
            runs.setdefault(FIELDS, []).append(freki(site.url, wanted.pages, *spider))
            if wanted.scrapy:
                runs.setdefault(SCRAPY, []).append(
                    scrapy(wanted.scrapy, site.url, wanted.pages // 10)
                )
    publish("fields", shown(runs, wanted.rounds), write=wanted.write)


def shown(runs: dict[str, list[Run]], rounds: int) -> str:
    first = median(run.rate for run in runs[LINKS])
    rows = []
    for name, of in runs.items():
        rate, each = median(run.rate for run in of), median(run.each for run in of)
        rows.append((name, f"{rate:,.0f}", f"{rate / first:.2f}", f"{each:,.0f} µs"))
    head = ("crawl", "pages/s", "of links only", "CPU per page")
    note = f"{LARGE.package}, one worker, median of {rounds} rounds in turn; {machine()}."
    return f"{table(head, rows)}\n\n{note}"


def freki(url: str, pages: int, *more: str) -> Run:
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "freki", "crawl", url, "--delay", "0", "--quiet", *more]
        command += ["--workers", "1", "--max-pages", str(pages), "--store", f"{folder}/freki.db"]
        # 8 is the limit that was reached, as it should be.
        took = cost(["sh", "-c", '"$@"; test $? = 8', "sh", *command], Path(folder))
    return _run(took, pages)


def scrapy(python: str, url: str, pages: int) -> Run:
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "out.jsonl"
        command = [python, str(PEERS / "scrapy_site.py"), url, str(out), "fields", str(pages)]
        took = cost(command, Path(folder))
        items = len(out.read_text("utf-8").splitlines())
    return _run(took, items)


def _run(took: Cost, pages: int) -> Run:
    return Run(pages / took.seconds, took.cpu / pages * 1e6)


if __name__ == "__main__":
    main()
