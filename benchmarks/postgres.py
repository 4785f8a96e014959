"""What a store on PostgreSQL costs: beside SQLite, with many URLs, with many hosts.

    ./bench postgres cost [--site FOLDER --pages N]    CPU per page, two workers
    ./bench postgres known [--most 10000000]           adding URLs as a store grows
    ./bench postgres claims [--hosts 100000]           the time of a claim
    ./bench postgres all --write                       and puts it into docs/scale.md

Starts a server of its own, as tests/postgres.py does; the pages come from nginx.
"""

import argparse
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from itertools import count
from pathlib import Path
from statistics import median, quantiles

from benchmarks.servers import Site, served
from tests.postgres import PostgresServer, running_server

from freki.config import Settings
from freki.ledger import crawls
from freki.ledger.opened import ledger_of
from freki.ledger.place import Place
from freki.ledger.sqlite import SqliteLedger
from freki.ledger.store import open_store
from freki.ledger.terms import Terms
from freki.messages import Batch, Discovery, HostRest, Outcome, Reason, State
from freki.steps import Session

HERE = Path(__file__).parent

# As a server of a small machine is set up; the tests' own saves on syncing, and so do we not.
SETTINGS = """
fsync = on
shared_buffers = 1GB
max_wal_size = 4GB
checkpoint_timeout = 15min
"""
ROUNDS = 3
TICKS = os.sysconf("SC_CLK_TCK")
MARK = "<!-- benchmarks/postgres.py writes below this line -->\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["cost", "known", "claims", "all"])
    parser.add_argument("--site", type=Path, default=Path("/usr/share/doc/rust-doc/html"))
    parser.add_argument("--start", default="std/index.html")
    parser.add_argument("--pages", type=int, default=5000)
    parser.add_argument("--most", type=int, default=10_000_000)
    parser.add_argument("--hosts", type=int, default=100_000)
    parser.add_argument("--write", action="store_true")
    words = parser.parse_args()
    with running_server(SETTINGS) as server:
        parts = []
        if words.what in ("cost", "all"):
            parts.append(cost(server, words.site, words.start, words.pages))
        if words.what in ("known", "all"):
            parts.append(known(server, words.most))
        if words.what in ("claims", "all"):
            parts.append(claims(server, words.hosts))
    text = "\n\n".join("\n".join(lines) for lines in parts)
    print(text)
    if words.write:
        page = HERE.parent / "docs" / "scale.md"
        before, mark, _ = page.read_text("utf-8").partition(MARK)
        page.write_text(f"{before}{mark}\n{text}\n", "utf-8")


# --- CPU per page ---


def cost(server: PostgresServer, site: Path, start: str, pages: int) -> list[str]:
    """The whole process tree, the database server included."""
    lines = ["| store | pages/s | CPU per page | of it the server |", "|---|---|---|---|"]
    with served(Site("", site, start)) as site_served:
        url = site_served.url
        found: dict[str, list[tuple[float, float, float]]] = {"SQLite": [], "PostgreSQL": []}
        for _ in range(ROUNDS):
            with tempfile.TemporaryDirectory() as folder:
                found["SQLite"].append(crawl(url, Path(folder) / "s.db", pages, server))
            found["PostgreSQL"].append(crawl(url, server.store(), pages, server))
    for name, runs in found.items():
        rate, cpu, served_by = (median(run[place] for run in runs) for place in range(3))
        lines.append(f"| {name} | {rate:,.0f} | {cpu:,.0f} µs | {served_by:,.0f} µs |")
    ratio = median(run[1] for run in found["PostgreSQL"]) / median(
        run[1] for run in found["SQLite"]
    )
    return [*lines, "", f"PostgreSQL costs {ratio:.2f} times the CPU of SQLite."]


def crawl(url: str, store: Place, pages: int, server: PostgresServer) -> tuple[float, float, float]:
    """Pages a second, and CPU in µs a page: of all, and of the server."""
    command = [sys.executable, "-P", "-m", "freki", "crawl", url, "--quiet", "--delay", "0"]
    command += ["--workers", "2", "--max-pages", str(pages), "--store", str(store)]
    before, began = cpu_of(server), time.monotonic()
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    environment = {**os.environ, "PYTHONPATH": str(HERE.parent / "src")}
    if not isinstance(store, Path):
        environment["PGPASSWORD"] = store.password or ""
    subprocess.run(command, check=False, env=environment)
    seconds = time.monotonic() - began
    now = resource.getrusage(resource.RUSAGE_CHILDREN)
    own = now.ru_utime + now.ru_stime - spent.ru_utime - spent.ru_stime
    theirs = cpu_of(server) - before
    with closing(open_store(store)) as db:
        crawl_ = crawls.newest(db)
        assert crawl_ is not None
        asked = "SELECT count(*) FROM page"
        (stored,) = db.execute(asked).fetchone()
    return stored / seconds, (own + theirs) / stored * 1e6, theirs / stored * 1e6


def cpu_of(server: PostgresServer) -> float:
    """Seconds of CPU that a server and its children, dead ones included, have used."""
    root = server.process_id
    total = 0
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            name, _, rest = stat.read_text().rpartition(")")
        except OSError:
            continue
        fields = rest.split()
        if int(name.split(" ")[0]) == root or int(fields[1]) == root:
            total += sum(map(int, fields[11 : 15 if int(name.split(" ")[0]) == root else 13]))
    return total / TICKS


# --- many URLs ---


def known(server: PostgresServer, most: int) -> list[str]:
    """New URLs a second while the store grows; every second link is known.

    CPU is counted beside the clock, since a machine that is not alone has another speed each time.
    """
    place = server.store()
    lines = [
        "| known URLs | new URLs/s | links/s | CPU per link | of it the server | bytes per URL |",
        "|---|---|---|---|---|---|",
    ]
    with session(place, Terms()) as (ledger, joined):
        dice, numbers, added = random.Random(1), count(), 0
        for step in (size for size in SIZES if size <= most):
            while added < step * 0.9:
                added += batch(ledger, joined, dice, numbers, added)
            began, before = time.monotonic(), added
            own, theirs = time.process_time(), cpu_of(server)
            while added < step:
                added += batch(ledger, joined, dice, numbers, added)
            seconds, new = time.monotonic() - began, added - before
            server_cpu = (cpu_of(server) - theirs) / new / 2 * 1e6
            cpu = (time.process_time() - own) / new / 2 * 1e6 + server_cpu
            size = server.ask("SELECT pg_total_relation_size('freki.url')", database=path_of(place))
            lines.append(
                f"| {step:,} | {new / seconds:,.0f} | {2 * new / seconds:,.0f} "
                f"| {cpu:,.1f} µs | {server_cpu:,.1f} µs | {int(str(size[0])) / added:,.0f} |"
            )
            print(lines[-1], file=sys.stderr, flush=True)
    return lines


BATCH = 2000
SIZES = (1_000_000, 2_000_000, 5_000_000, 10_000_000, 100_000_000)


def batch(
    ledger: SqliteLedger, joined: Session, dice: random.Random, numbers: Iterator[int], known_: int
) -> int:
    """One commit of links: as many new ones as known ones, of hosts as sites have them."""
    new = [url(number) for number in (next(numbers) for _ in range(BATCH))]
    old = [url(dice.randrange(known_)) for _ in range(BATCH)] if known_ else []
    found = [Discovery(each, 3, 3) for each in new + old]
    ledger.commit(joined, Batch(0.0, discoveries=found))
    return len(new)


def url(number: int) -> str:
    host = number * 2654435761 % 50_000  # neighbours are of different hosts
    return f"https://www.host-{host}.example/archive/section-{number % 97}/article-{number}.html"


# --- many hosts ---


def claims(server: PostgresServer, hosts: int) -> list[str]:
    """A claim takes the hosts that are due, and gives back one that it has done with."""
    place = server.store()
    terms = Terms(per_host=8, rest=1.0)
    lines = ["| hosts waiting | hosts per claim | median | p99 |", "|---|---|---|---|"]
    with session(place, terms) as (ledger, joined):
        for start in range(0, hosts, 1000):
            found = [
                Discovery(f"https://host-{host}.example/{page}", 1, 1)
                for host in range(start, min(start + 1000, hosts)) for page in range(3)
            ]  # fmt: skip
            ledger.commit(joined, Batch(0.0, discoveries=found))
        lines += [claims_of(ledger, joined, size, hosts) for size in (1, 10, 100)]
    return lines


def claims_of(ledger: SqliteLedger, joined: Session, size: int, hosts: int) -> str:
    seconds, refill, date = [], list[HostRest](), 10.0 * size
    for _ in range(1000):
        date += 0.01
        began = time.perf_counter()
        work = ledger.claim(joined, date, size, refill)
        seconds.append(time.perf_counter() - began)
        done = [claim for host in work.hosts for claim in host.claims]
        ends = [Outcome(claim, State.failed, Reason.timeout, "-") for claim in done]
        ledger.commit(joined, Batch(date, ends))
        refill = [HostRest(host.host, date + 5.0) for host in work.hosts][:1]
        others = [HostRest(host.host, date + 5.0) for host in work.hosts][1:]
        ledger.claim(joined, date, 0, others)
    p99 = quantiles(seconds, n=100)[98]
    return f"| {hosts:,} | {size} | {median(seconds) * 1e3:.2f} ms | {p99 * 1e3:.2f} ms |"


@contextmanager
def session(place: Place, terms: Terms) -> Iterator[tuple[SqliteLedger, Session]]:
    with closing(open_store(place)) as db:
        crawl_ = crawls.begin(db, "benchmark", [], Settings(), 0.0)
        ledger = ledger_of(db, str(place), crawl_.id, terms)
        joined = ledger.join(0.0)
        yield ledger, joined
        ledger.leave(joined, 0.0)


def path_of(place: Place) -> str:
    return str(place).rpartition("/")[2]


if __name__ == "__main__":
    main()
