"""How fast a whole site is crawled, beside others on the same pages.

    ./bench site [--rounds 3] [--write]

Everybody crawls the same documentation from the same nginx, one after another, several times in
turn, so that what else the machine does hits all of them alike. The log of nginx says which pages
each has fetched.
"""

import argparse
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from statistics import median

from benchmarks.cost import Cost, cost
from benchmarks.crawlers import Crawler, installed
from benchmarks.plot import bars
from benchmarks.report import PAGE, machine, publish, table
from benchmarks.servers import Served, Site, served
from msgspec import Struct

HTML = Path("/usr/share/doc")
LARGE = Site("rust-doc", HTML / "rust-doc/html", "std/index.html")
SMALL = Site("postgresql-doc-15", HTML / "postgresql-doc-15/html", "index.html")


class Run(Struct, frozen=True):
    """One crawl of a site by one crawler."""

    cost: Cost
    pages: set[str]

    @property
    def rate(self) -> float:
        return len(self.pages) / self.cost.seconds

    @property
    def cpu_per_page(self) -> float:
        """Microseconds, the start of the program included."""
        return self.cost.cpu / len(self.pages) * 1e6


class Standing(Struct, frozen=True):
    """What one crawler did on a site, in all rounds."""

    crawler: Crawler
    runs: list[Run]

    @property
    def rate(self) -> float:
        return median(run.rate for run in self.runs)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--write", action="store_true", help="put it into the documentation")
    wanted = parser.parse_args(arguments)
    crawlers = installed()
    sections = []
    for site in (LARGE, SMALL):
        if not site.root.is_dir():
            print(f"{site.package} is not installed: left out", file=sys.stderr)
            continue
        chosen = [crawler for crawler in crawlers if not (crawler.is_slow and site is LARGE)]
        standings = compared(site, chosen, wanted.rounds)
        sections.append(section(site, standings))
        if wanted.write:
            rates = {each.crawler.name.replace("*", ""): each.rate for each in standings}
            picture = bars(f"Pages per second, {site.package}", rates)
            PAGE.with_name(f"performance-{site.package}.svg").write_text(picture, "utf-8")
    rounds = "round" if wanted.rounds == 1 else "rounds"
    note = f"Medians of {wanted.rounds} {rounds} in turn; {machine()}; nginx on the same machine."
    publish("site", "\n\n".join([*sections, note]), write=wanted.write)


def compared(site: Site, crawlers: Sequence[Crawler], rounds: int) -> list[Standing]:
    standings = [Standing(crawler, []) for crawler in crawlers]
    with served(site) as server:
        for number in range(rounds):
            for standing in standings:
                run = crawl(standing.crawler, server)
                standing.runs.append(run)
                told = f"{run.rate:,.0f} pages/s, {run.cpu_per_page:,.0f} µs"
                name = standing.crawler.name
                print(f"{site.package} {number + 1}: {name}: {told}", file=sys.stderr)
    return standings


def crawl(crawler: Crawler, server: Served) -> Run:
    with tempfile.TemporaryDirectory() as folder:
        command = [part.replace("{url}", server.url) for part in crawler.command]
        spent = cost(command, Path(folder))
    return Run(spent, server.fetched())


def section(site: Site, standings: Sequence[Standing]) -> str:
    head = (
        "crawler", "keeps", "pages/s", "spread", "Freki is", "CPU s per 1,000 pages", "memory",
        "pages",
    )  # fmt: skip
    rows = [row(standing, standings[0]) for standing in standings]
    title = f"### {site.package}: {len(standings[0].runs[0].pages):,} pages"
    return f"{title}\n\n![Pages per second](performance-{site.package}.svg)\n\n{table(head, rows)}"


def row(standing: Standing, ours: Standing) -> list[str]:
    runs = standing.runs
    rates = sorted(run.rate for run in runs)
    everything, pages = ours.runs[0].pages, runs[0].pages
    missing, more = len(everything - pages), len(pages - everything)
    is_whole = missing < len(everything) / 2  # else there is nothing to compare with
    return [
        standing.crawler.name,
        standing.crawler.stores,
        f"{standing.rate:,.0f}",
        f"{rates[0]:,.0f}-{rates[-1]:,.0f}",
        f"{ours.rate / standing.rate:.1f}x" if is_whole else "",
        f"{median(run.cpu_per_page for run in runs) / 1000:.2f}",
        f"{max(run.cost.memory for run in runs) / 1e6:,.0f} MB",
        f"{-missing:+,d} {more:+,d}" if missing or more else "the same",
    ]


if __name__ == "__main__":
    main()
