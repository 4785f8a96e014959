"""How the service bears load and death.

    ./bench service load [--jobs 1000]     accepting and /isalive, with jobs queued
    ./bench service kill [--jobs 50]       web, workers and browsers killed in turn
    ./bench service memory [--jobs 10000]  memory over many jobs of a fake browser
    ./bench service same [--jobs 1000]     so many identical wishes: how many visits?

All but `memory` start `freki serve` as people do. Pages come from the synthetic web.
"""

import argparse
import asyncio
import gc
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import closing, contextmanager
from multiprocessing import get_context
from pathlib import Path

import httpx
from tests.background import background

from freki.ledger.jobs import keys, orders
from freki.ledger.jobs.keys import ANYBODY, Quotas
from freki.ledger.jobs.orders import Order
from freki.ledger.jobs.place import Desk
from freki.pictures import Rendering, Shot, Unrendered
from freki.serve.terms import Terms
from freki.serve.worker import Workshop, memory
from freki.steps import Render
from freki.testing.server import serve
from freki.testing.synthetic import Web

PATIENCE = 300


@contextmanager
def service(data: Path, *words: str) -> Iterator[tuple[httpx.Client, int]]:
    """A service, and the number of its supervisor."""
    command = [sys.executable, "-m", "freki", "serve", "--data", str(data), "--port", "0"]
    process = subprocess.Popen(
        [*command, "--allow-private", "--quiet", *words], stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        url = process.stdout.readline().split()[2].rstrip(";")
        with httpx.Client(base_url=url, timeout=60) as client:
            yield client, process.pid
    finally:
        process.terminate()
        process.wait()


@contextmanager
def site(pages: int) -> Iterator[str]:
    """A synthetic web in a thread."""
    with background(serve(Web(pages=pages))) as served:
        yield served.url


def shares(seconds: Sequence[float]) -> str:
    ordered = sorted(seconds)
    picked = {"p50": 0.5, "p95": 0.95, "p99": 0.99, "max": 1.0}
    return "  ".join(
        f"{name} {1000 * ordered[max(0, int(len(ordered) * share) - 1)]:.1f} ms"
        for name, share in picked.items()
    )


def load(jobs: int) -> None:
    """Accept jobs while two workers crawl politely, and ask whether the service lives meanwhile."""
    with (
        tempfile.TemporaryDirectory() as folder,
        site(500) as url,
        service(Path(folder) / "data", "--workers", "2") as (client, _),
    ):
        for number in range(jobs):
            wish = {"urls": [url], "max_pages": 1_000}
            client.post("/crawls", json=wish).raise_for_status()
        # Each caller is a process of its own: they shall not wait for each other's Python.
        with ProcessPoolExecutor(2, get_context("spawn")) as callers:
            accepting = callers.submit(accept_more, str(client.base_url), url)
            alive = callers.submit(ask_often, str(client.base_url)).result()
            accepted = accepting.result()
        metrics = dict(
            line.rsplit(" ", 1)
            for line in client.get("/metrics").text.splitlines()
            if line.startswith(("freki_jobs_queued", "freki_jobs_running"))
        )
    print(f"queued and running: {metrics}")
    print(f"accepting a job, {len(accepted)} times:  {shares(accepted)}")
    print(f"/isalive meanwhile, {len(alive)} times:  {shares(alive)}")


def accept_more(base: str, url: str) -> list[float]:
    """Seconds that each of 300 further jobs took to be accepted."""
    accepted = []
    with httpx.Client(base_url=base, timeout=60) as client:
        for _ in range(300):
            started = time.perf_counter()
            client.post("/crawls", json={"urls": [url], "max_pages": 1_000}).raise_for_status()
            accepted.append(time.perf_counter() - started)
            time.sleep(0.02)
    return accepted


def ask_often(base: str) -> list[float]:
    """Seconds that each of 1,000 questions took."""
    took = []
    with httpx.Client(base_url=base, timeout=60) as client:
        for _ in range(1_000):
            started = time.perf_counter()
            client.get("/isalive").raise_for_status()
            took.append(time.perf_counter() - started)
            time.sleep(0.005)
    return took


def children(parent: int, *words: bytes) -> list[int]:
    """Processes below one, by words of their command lines."""
    parents, lines = {}, {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                stat = (folder / "stat").read_text().rpartition(")")[2].split()
                lines[int(folder.name)] = (folder / "cmdline").read_bytes()
                parents[int(folder.name)] = int(stat[1])
            except OSError:
                continue

    def below(pid: int) -> bool:
        while pid in parents and pid != parent:
            pid = parents[pid]
        return pid == parent

    return [pid for pid, line in lines.items() if below(pid) and all(w in line for w in words)]


def kill(jobs: int) -> None:
    """Screenshot jobs, while a web process, a worker and a browser die in turn."""
    victims = [(b"freki.serve.part", b"web"), (b"freki.serve.part", b"worker"),
               (b"headless", b"--remote-debugging-pipe")]  # fmt: skip
    with tempfile.TemporaryDirectory() as folder, site(200) as url:
        words = ("--workers", "2", "--browsers", "1", "--cache-seconds", "0")
        with service(Path(folder) / "data", *words) as (client, pid):
            tasks = []
            for number in range(jobs):
                wish = {"start_url": url, "number_of_links": 4, "delay": 0.2 + number / 1000}
                tasks.append(client.post("/screenshots", json=wish).json()["task_id"])
            killed: Counter[str] = Counter()
            slowest, round_ = 0.0, 0
            started = time.monotonic()
            while not _all_ended(client, tasks):
                assert time.monotonic() - started < PATIENCE
                found = children(pid, *victims[round_ % 3])
                if found:
                    os.kill(found[0], signal.SIGKILL)
                    killed[victims[round_ % 3][-1].decode()] += 1
                    slowest = max(slowest, _until_ready(client))
                round_ += 1
                time.sleep(2)
            _tell(client, tasks, killed, slowest, time.monotonic() - started)


def _all_ended(client: httpx.Client, tasks: Sequence[str]) -> bool:
    ended = {"done", "failed", "cancelled"}
    return all(_asked(client, f"/screenshots/{task}")["status"] in ended for task in tasks)


def _asked(client: httpx.Client, path: str) -> dict[str, object]:
    until = time.monotonic() + 30
    while True:
        try:
            answer = client.get(path)
            if answer.status_code == 200:
                return dict(answer.json())
        except httpx.TransportError:
            pass
        assert time.monotonic() < until
        time.sleep(0.05)


def _until_ready(client: httpx.Client) -> float:
    """Seconds until everything is there again."""
    started = time.monotonic()
    time.sleep(0.2)
    while time.monotonic() - started < 30:
        try:
            metrics = client.get("/metrics").text
            if "freki_workers 2.0" in metrics:
                break
        except httpx.TransportError:
            pass
        time.sleep(0.05)
    return time.monotonic() - started


def _tell(
    client: httpx.Client, tasks: Sequence[str], killed: Counter[str], slowest: float, took: float
) -> None:
    states: Counter[str] = Counter()
    doubled = 0
    for task in tasks:
        found = _asked(client, f"/screenshots/{task}")
        states[f"{found['status']} {found['captured']}"] += 1
        shots = found["screenshots"]
        assert isinstance(shots, list)
        urls = [shot["url"] for shot in shots]
        doubled += len(urls) - len(set(urls))
    print(f"killed {dict(killed)} in {took:.0f} s; back after at most {slowest:.1f} s")
    print(f"{len(tasks)} jobs by status and captures: {dict(states)}; doubled: {doubled}")


class Still:
    """A browser that sees the same small thing everywhere."""

    async def look(self, shot: Shot, *, ask: bool) -> Rendering | Unrendered:
        await asyncio.sleep(0)
        return Rendering(url=shot.url, final_url=shot.url, title="x", html="<title>x</title>")

    async def renderer(self) -> Render:
        raise AssertionError("no job here is a crawl")

    def statistics(self) -> dict[str, float]:
        return {}


def grow(jobs: int) -> None:
    """Memory of a worker over many jobs."""
    with tempfile.TemporaryDirectory() as folder:
        terms = Terms(data=Path(folder) / "data", quiet=True)
        terms.place.prepare()
        asyncio.run(_grow(terms, jobs))


async def _grow(terms: Terms, jobs: int) -> None:
    with closing(terms.place.desk()) as desk:
        workshop = Workshop(terms, desk, Still())
        async with asyncio.TaskGroup() as group:
            group.create_task(workshop.run())
            done, started = 0, time.monotonic()
            while done < jobs:
                step = min(500, jobs - done)
                await asyncio.to_thread(_order, desk, step, done)
                while orders.open_in_all(desk):  # noqa: ASYNC110 - it is another's event
                    await asyncio.sleep(0.05)
                done += step
                gc.collect()
                files = open_files()
                seconds = time.monotonic() - started
                print(
                    f"{done:6} jobs  {memory() / 2**20:6.1f} MiB  {files} files  {seconds:.0f} s",
                    flush=True,
                )
                await asyncio.to_thread(_forget, desk, terms)
            workshop.end()


def open_files() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def _order(desk: Desk, count: int, first: int) -> None:
    quotas = Quotas(queued=10**6, pages_per_day=10**9)
    caller = keys.Key(ANYBODY.id, "", keys.SCOPES, quotas, 0.0)
    for number in range(first, first + count):
        url = f"https://example.com/{number}"
        settings: dict[str, dict[str, object]] = {"plan": {"links": 0, "shot": {}}}
        order = Order("screenshots", "x", {}, [url], settings)
        orders.accept(desk, order, caller, 10**6, time.time(), None)


def _forget(desk: Desk, terms: Terms) -> None:
    """As the janitor would in a month."""
    for job in orders.listed(desk, None, None, None, None, 500):
        if orders.drop(desk, job.id):
            terms.place.remove(job.crawl)


def same(jobs: int) -> None:
    """Identical wishes at once."""
    with (
        tempfile.TemporaryDirectory() as folder,
        site(200) as url,
        service(Path(folder) / "data", "--workers", "1", "--browsers", "1") as (client, _),
    ):
        base = client.base_url
        wish = {"start_url": url, "number_of_links": 0}

        def ask(_: int) -> str:
            with httpx.Client(base_url=base, timeout=60) as one:
                return str(one.post("/screenshots", json=wish).json()["task_id"])

        with ThreadPoolExecutor(32) as many:
            tasks = list(many.map(ask, range(jobs)))
        while not _all_ended(client, tasks):
            time.sleep(0.2)
        lines = client.get("/metrics").text.splitlines()
    print([line for line in lines if line.startswith(("freki_captures_", "freki_capture_cache_"))])


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("what", choices=["load", "kill", "memory", "same"])
    parser.add_argument("--jobs", type=int)
    arguments = parser.parse_args()
    usual = {"load": 1_000, "kill": 50, "memory": 10_000, "same": 1_000}
    run = {"load": load, "kill": kill, "memory": grow, "same": same}[arguments.what]
    run(arguments.jobs or usual[arguments.what])


if __name__ == "__main__":
    main()
