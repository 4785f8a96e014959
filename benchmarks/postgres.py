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
from itertools import islice
from pathlib import Path
from statistics import median, quantiles
from typing import NamedTuple

from benchmarks.plot import curves
from benchmarks.servers import Site, served
from tests.postgres import PostgresServer, running_server

from freki.config import Settings
from freki.engine.crawl import HOSTS_PER_CLAIM
from freki.ledger import crawls
from freki.ledger.opened import ledger_of
from freki.ledger.place import Place
from freki.ledger.sqlite import SqliteLedger
from freki.ledger.store import open_store
from freki.ledger.terms import Terms
from freki.messages import Batch, Discovery, HostRest, Outcome, Reason, State
from freki.steps import Session

HERE = Path(__file__).parent

# As deploy/ recommends; the tests' own saves on syncing, and so do we not.
SETTINGS = (HERE.parent / "deploy" / "postgresql.conf").read_text("utf-8") + "fsync = on\n"
PAGE = HERE.parent / "docs" / "scale.md"
PICTURE = PAGE.with_name("scale-known.svg")
ROUNDS = 3
TICKS = os.sysconf("SC_CLK_TCK")


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
    parts = {
        "cost": lambda server: cost(server, words.site, words.start, words.pages),
        "known": lambda server: known(server, words.most),
        "claims": lambda server: claims(server, words.hosts),
    }
    for name, part in parts.items():
        if words.what in (name, "all"):
            with running_server(SETTINGS) as server:
                text = "\n".join(part(server))
            print(text, flush=True)
            if words.write:
                write(name, text)


def write(part: str, text: str) -> None:
    """Put it into the documentation, in place of what was there."""
    begin, end = f"<!-- ./bench postgres {part} -->\n", f"<!-- end of {part} -->\n"
    head, _, rest = PAGE.read_text("utf-8").partition(begin)
    _, found, tail = rest.partition(end)
    assert found, f"{PAGE.name} has no place for {part}"
    PAGE.write_text(f"{head}{begin}\n{text}\n\n{end}{tail}", "utf-8")


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
    """Links a second as a store grows, host by host, of which most are known already.

    CPU is counted beside the clock, since a machine that is not alone has another speed each time.
    """
    place = server.store()
    rows: list[Adding] = []
    with session(place, Terms()) as (ledger, joined):
        pages = 0
        for size in (size for size in SIZES if size <= most):
            for found in in_commits(new_urls(pages, size // HOSTS)):
                ledger.commit(joined, Batch(0.0, discoveries=found))
            pages = size // HOSTS
            one = adding(server, place, size, ledger, joined)
            with session(place, Terms(), again=True) as (later, joined_later):
                other = adding(server, place, size, later, joined_later)
            rows += [one, other]
            print(*rows[-2:], sep="\n", file=sys.stderr, flush=True)
    filtered, asked = rows[::2], rows[1::2]
    lines = [HEAD, "|---" * HEAD.count("| ") + "|"]
    for one, other in zip(filtered, asked, strict=True):
        lines.append(
            f"| {one.known:,} | {one.rate:,.0f} | {one.rate / filtered[0].rate:.2f} "
            f"| {one.cpu:.1f} µs | {one.server_cpu:.1f} µs "
            f"| {other.rate:,.0f} | {other.cpu:.1f} µs | {one.bytes:.0f} |"
        )
    picture = {
        "a worker from the beginning": [(one.known, one.cpu) for one in filtered],
        "a worker that came later": [(other.known, other.cpu) for other in asked],
        "of it the server": [(one.known, one.server_cpu) for one in filtered],
    }
    PICTURE.write_text(curves("CPU in µs for a link, by known URLs", picture), "utf-8")
    return lines


HEAD = (
    "| known URLs | links/s | … against the first | CPU per link | of it the server "
    "| links/s of who came later | its CPU per link | bytes per URL |"
)


class Adding(NamedTuple):
    """What links cost when so many URLs are known; CPU in µs a link."""

    known: int
    rate: float
    cpu: float
    server_cpu: float
    bytes: float


# Links of a commit (those of a hundred pages), and how many are timed at each size.
CHUNK = 5000
TIMED = 250_000
DUPLICATES = 0.6
SIZES = (1_000_000, 2_000_000, 5_000_000, 10_000_000, 100_000_000)
HOSTS = 1000


def adding(
    server: PostgresServer, place: Place, known_: int, ledger: SqliteLedger, joined: Session
) -> Adding:
    dice = random.Random(joined.id)
    seconds = own = theirs = 0.0
    for found in in_commits(links(known_ // HOSTS, dice)):
        began, own_before, theirs_before = time.monotonic(), time.process_time(), cpu_of(server)
        ledger.commit(joined, Batch(0.0, discoveries=found))
        seconds += time.monotonic() - began
        own += time.process_time() - own_before
        theirs += cpu_of(server) - theirs_before
    database = path_of(place)
    (size,) = server.ask("SELECT pg_total_relation_size('freki.url')", database=database)
    (rows,) = server.ask("SELECT count(*) FROM freki.url", database=database)
    cpu, server_cpu = (own + theirs) / TIMED * 1e6, theirs / TIMED * 1e6
    return Adding(known_, TIMED / seconds, cpu, server_cpu, int(str(size)) / int(str(rows)))


def new_urls(begin: int, end: int) -> Iterator[str]:
    """The pages of all hosts from one number to another, host by host."""
    return (url(host, page) for host in range(HOSTS) for page in range(begin, end))


def links(pages: int, dice: random.Random) -> Iterator[str]:
    """What pages link to, host by host: most of it is known."""
    for number in range(TIMED):
        there = url(number * HOSTS // TIMED, dice.randrange(pages))
        yield there if dice.random() < DUPLICATES else f"{there}?{dice.getrandbits(40)}"


def in_commits(urls: Iterator[str]) -> Iterator[list[Discovery]]:
    while some := list(islice(urls, CHUNK)):
        yield [Discovery(each, 3, 3) for each in some]


def url(host: int, page: int) -> str:
    return f"https://www.host-{host}.example/documents/{page % 20:04}/some-words-{page:06}.html"


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
        lines += [claims_of(ledger, joined, size, hosts) for size in (1, 10, HOSTS_PER_CLAIM)]
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
def session(
    place: Place, terms: Terms, *, again: bool = False
) -> Iterator[tuple[SqliteLedger, Session]]:
    with closing(open_store(place)) as db:
        crawl_ = crawls.newest(db) if again else None
        crawl_ = crawl_ or crawls.begin(db, "benchmark", [], Settings(), 0.0)
        ledger = ledger_of(db, str(place), crawl_.id, terms)
        joined = ledger.join(0.0)
        yield ledger, joined
        ledger.leave(joined, 0.0)


def path_of(place: Place) -> str:
    return str(place).rpartition("/")[2]


if __name__ == "__main__":
    main()
