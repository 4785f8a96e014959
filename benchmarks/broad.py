"""Thousands of hosts that each want a pause: is the pause the only thing that is waited for?

    ./bench broad [--hosts 2000] [--pages 20] [--delay 2] [--write]

A host with 20 pages is asked for 22 things, robots.txt and a sitemap among them, so with 2 seconds
between two of them nobody polite can be done in less than 42 seconds. The log of the server says
whether anybody was asked too soon.
"""

import argparse
import asyncio
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import quantiles

import msgspec
import uvloop
from benchmarks.cost import cost
from benchmarks.report import machine, publish, table

import freki
from freki.testing.auditor import Access, read, violations
from freki.testing.synthetic import address

TICK = 0.01  # seconds between two looks at the clock of the loop


class Told(msgspec.Struct):
    """What the crawling process says of itself."""

    pages: int
    lags: list[float]


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hosts", type=int, default=2000)
    parser.add_argument("--pages", type=int, default=20)
    parser.add_argument("--delay", type=float, default=2.0)
    parser.add_argument("--write", action="store_true", help="put it into the documentation")
    parser.add_argument("--crawl", nargs=2, help=argparse.SUPPRESS)  # the other process
    wanted = parser.parse_args(arguments)
    if wanted.crawl:
        seeds, store = map(Path, wanted.crawl)
        told = uvloop.run(crawled(seeds.read_text().split(), store, wanted.delay))
        print(msgspec.json.encode(told).decode())
        return
    with tempfile.TemporaryDirectory() as name:
        text = measured(Path(name), wanted.hosts, wanted.pages, wanted.delay)
    publish("broad", f"{text}\n\n{machine()}; the server on the same machine.", write=wanted.write)


def measured(folder: Path, hosts: int, pages: int, delay: float) -> str:
    journal, seeds = folder / "journal.jsonl", folder / "seeds.txt"
    with serving(journal, hosts, pages) as port:
        seeds.write_text("\n".join(f"http://{address(host)}:{port}/" for host in range(hosts)))
        command = [sys.executable, "-m", "benchmarks.broad", "--delay", str(delay)]
        spent = cost([*command, "--crawl", str(seeds), str(folder / "freki.db")], folder)
    told = msgspec.json.decode(spent.output.splitlines()[-1], type=Told)
    log = read(journal)
    too_soon = violations(log, delay)
    seconds = max(access.end for access in log) - min(access.start for access in log)
    bound = politeness_bound(log, delay)
    lags = quantiles(told.lags, n=1000)
    rows = [
        ["hosts, pages", f"{hosts:,}, {told.pages:,}"],
        ["seconds, and what politeness alone takes", f"{seconds:.1f}, {bound:.1f}"],
        ["ratio", f"{seconds / bound:.2f}"],
        ["requests that came too soon", f"{len(too_soon)} of {len(log):,}"],
        ["lag of the event loop, p99 and p99.9", f"{lags[989]:.0f}, {lags[998]:.0f} ms"],
        ["CPU per request", f"{spent.cpu / len(log) * 1e6:,.0f} µs"],
        ["memory", f"{spent.memory / 1e6:,.0f} MB"],
    ]
    return table(("", ""), rows)


def politeness_bound(log: Sequence[Access], delay: float) -> float:
    """Seconds that the busiest host takes if the pause is all that is waited for."""
    requests: dict[str, int] = {}
    for access in log:
        requests[access.host] = requests.get(access.host, 0) + 1
    return (max(requests.values()) - 1) * delay


@contextmanager
def serving(journal: Path, hosts: int, pages: int) -> Iterator[int]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = int(probe.getsockname()[1])
    web = [f"--hosts={hosts}", f"--pages={pages}", "--largest=20000", f"--journal={journal}"]
    command = [sys.executable, "-m", "freki.testing.server", f"--port={port}", *web]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as server:
        assert server.stdout is not None
        server.stdout.readline()
        try:
            yield port
        finally:
            server.terminate()


async def crawled(seeds: list[str], store: Path, delay: float) -> Told:
    lags: list[float] = []
    watch = asyncio.create_task(watched(lags))
    pages = 0
    async for _ in freki.crawl(*seeds, store=store, delay=delay, scope="host"):
        pages += 1
    watch.cancel()
    return Told(pages, lags)


async def watched(lags: list[float]) -> None:
    """How many milliseconds later than asked for the loop wakes us, again and again."""
    while True:
        before = time.perf_counter()
        await asyncio.sleep(TICK)
        lags.append((time.perf_counter() - before - TICK) * 1000)


if __name__ == "__main__":
    main()
