"""What a crawl costs as it knows more URLs: disk, memory, time to add, time to start.

    ./bench growth [--write] [--sizes 1000000 10000000]

Each size is measured in processes of its own: one that makes so many URLs known and adds more,
and `freki crawl`, which continues the crawl. URLs come host by host, as sites reveal them.
`--write` puts the table into docs/performance.md. It takes a quarter of an hour.
"""

import argparse
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from statistics import median

import msgspec
from benchmarks.report import machine, publish, table
from msgspec import Struct

from freki.config import Politeness, Scope, Settings
from freki.engine.build import terms
from freki.ledger import crawls
from freki.ledger.sqlite import SqliteLedger
from freki.ledger.store import open_store
from freki.messages import (
    Batch,
    Claim,
    Discovery,
    HostRest,
    Outcome,
    Page,
    Reason,
    Response,
    State,
    Visit,
)
from freki.steps import Session
from freki.testing.synthetic import address
from freki.url import split

SIZES = (1_000_000, 10_000_000)
DONE = 1_000_000  # URLs that are crawled to the end to see what is left of them

HOSTS = 1000
CHUNK = 5000  # discoveries of a commit: those of a hundred pages

# While the rate is taken: known ones among the discoveries, and how many discoveries.
DUPLICATES = 0.6
ADDED = 500_000
IDLE = 10_000  # URLs with which everything is loaded and has been called, and little is kept

# The table and the indexes that know URLs.
KNOWING = ("url", "url_print", "url_open", "url_start")

SETTINGS = Settings(scope=Scope(scope="any"), politeness=Politeness(delay=0))

STARTS = 5
ECHO = 0.5  # seconds in which a server that has something to log logs it


class Growth(Struct, frozen=True):
    """What so many known URLs cost."""

    known: int
    rate: float  # discoveries a second of CPU, of which most are known
    adding_mb: float  # memory of the process that adds, over one that knows next to nothing
    waiting_bytes: float  # of disk, for each
    start_s: float  # until the first request of a continued crawl
    crawling_mb: float  # memory of a continued crawl, over one that knows next to nothing


class Filled(Struct, frozen=True):
    """What the process that makes URLs known has seen."""

    rate: float
    megabytes: float
    waiting_bytes: float


class Sites(Struct, frozen=True):
    """Hosts with so many URLs."""

    port: int
    known: int

    def url(self, number: int) -> str:
        """Each of them once; its path is as long as those of sites are on average."""
        host, page = divmod(number, self.known // HOSTS)
        path = f"documents/{page % 20:04}/some-words-of-a-title-{page:06}.html"
        return f"http://{address(host)}:{self.port}/{path}"

    def urls(self) -> Iterator[list[str]]:
        """All of them, host by host."""
        for at in range(0, self.known, CHUNK):
            yield [self.url(number) for number in range(at, min(self.known, at + CHUNK))]

    def discoveries(self) -> Iterator[list[str]]:
        """More of them, host by host, of which most are known."""
        dice = random.Random(self.known)
        of_host = self.known // HOSTS
        for at in range(0, ADDED, CHUNK):
            found = []
            for number in range(at, at + CHUNK):
                there = self.url(number * HOSTS // ADDED * of_host + dice.randrange(of_host))
                is_known = dice.random() < DUPLICATES
                found.append(there if is_known else f"{there}?{number}")
            yield found


class Store:
    """A crawl that is told of URLs without fetching any."""

    def __init__(self, file: Path, sites: Sites) -> None:
        self.db = open_store(file)
        first = sites.url(0)
        name = crawls.default_name(first)
        crawl = crawls.begin(self.db, name, [first], SETTINGS, time.time())
        self.ledger = SqliteLedger(self.db, str(file), crawl.id, terms(SETTINGS))
        self.session: Session = self.ledger.join(time.time())

    def add(self, urls: Sequence[str]) -> None:
        found = [Discovery(url, 3, 3, parent=1) for url in urls]
        self.ledger.commit(self.session, Batch(time.time(), discoveries=found))

    def bytes(self, *parts: str) -> int:
        """What tables and indexes take of the file."""
        marks = ", ".join("?" * len(parts))
        query = f"SELECT sum(pgsize) FROM dbstat WHERE name IN ({marks}) AND aggregate = TRUE"
        return int(self.db.execute(query, parts).fetchone()[0])

    def close(self) -> None:
        self.ledger.leave(self.session, time.time())
        self.db.close()


def fill(file: Path, sites: Sites) -> Filled:
    """Make so many URLs known, and take the time of some more."""
    with closing(Store(file, sites)) as store:
        batches = sites.urls()
        store.add(next(batches))
        idle = memory(os.getpid())
        for urls in batches:
            store.add(urls)
        seconds = 0.0  # of CPU, because this machine may have other things to do
        for urls in sites.discoveries() if sites.known > IDLE else ():
            began = time.process_time()
            store.add(urls)
            seconds += time.process_time() - began
        grown = memory(os.getpid()) - idle
        rows = store.db.execute("SELECT count(*) FROM url").fetchone()[0]
        size = store.bytes(*KNOWING) / rows
    return Filled(ADDED / seconds if seconds else 0.0, grown, size)


def finish(file: Path, sites: Sites) -> dict[str, float]:
    """Crawl so many URLs to their end; answers with the bytes for each, by table and index."""
    with closing(Store(file, sites)) as store:
        for urls in sites.urls():
            store.add(urls)
        held: list[int] = []
        while True:
            now = time.time()
            work = store.ledger.claim(store.session, now, 256, [HostRest(id_, 0) for id_ in held])
            held = []
            claims = [claim for of_host in work.hosts for claim in of_host.claims]
            if not claims:
                break
            for at in range(0, len(claims), 128):
                some = claims[at : at + 128]
                store.ledger.commit(store.session, Batch(now, [outcome(claim) for claim in some]))
        return {part: store.bytes(part) / sites.known for part in KNOWING}


def outcome(claim: Claim) -> Outcome:
    headers = (("content-type", "text/html"), ("server", "nginx"))
    answer = Response(claim.url, 200, headers, b"<p>page</p>", "text/html", address="127.0.0.1")
    visit = Visit(time.time(), answer, Page([], title="A title"))
    return Outcome(claim, State.done, Reason.ok, visit=visit)


def memory(pid: int) -> float:
    """Resident megabytes of a process."""
    status = Path(f"/proc/{pid}/status").read_text("ascii")
    (line,) = (line for line in status.splitlines() if line.startswith("VmRSS:"))
    return int(line.split()[1]) / 1024


@contextmanager
def hosts(folder: Path) -> Iterator[tuple[int, Path]]:
    """Hosts that answer, if only that there is no such page: their port, and their journal."""
    journal = folder / "journal.jsonl"
    command = [sys.executable, "-m", "freki.testing.server", f"--hosts={HOSTS}"]
    command.append(f"--journal={journal}")
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        try:
            yield int(server.stdout.readline().strip().strip("/").rpartition(":")[2]), journal
        finally:
            server.terminate()


def restart(file: Path, sites: Sites, journal: Path) -> tuple[float, float]:
    """Continue a crawl until its first request: the seconds, and its memory then."""
    before = _quiet(journal)
    began = time.perf_counter()
    command = ["-m", "freki", "crawl", sites.url(0), "--quiet", "--delay=0", "--scope=any"]
    crawl = subprocess.Popen([sys.executable, *command, f"--store={file}"])
    with crawl:
        try:
            while journal.stat().st_size == before:
                assert crawl.poll() is None, "the crawl ended before its first request"
                time.sleep(0.005)
            return time.perf_counter() - began, memory(crawl.pid)
        finally:
            crawl.kill()


def _quiet(journal: Path) -> int:
    """Its size, when what the one before asked for in the moment of its death is in it."""
    while True:
        size = journal.stat().st_size
        time.sleep(ECHO)
        if journal.stat().st_size == size:
            return size


def grow(known: int) -> Growth:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        large, small = folder / "large.db", folder / "small.db"
        with hosts(folder) as (port, journal):
            filled = msgspec.json.decode(child("fill", large, port, known), type=Filled)
            child("fill", small, port, IDLE)
            idle = [restart(small, Sites(port, IDLE), journal)[1] for _ in range(STARTS)]
            starts = [restart(large, Sites(port, known), journal) for _ in range(STARTS)]
    seconds, megabytes = (median(values) for values in zip(*starts, strict=True))
    grown = megabytes - median(idle)
    return Growth(known, filled.rate, filled.megabytes, filled.waiting_bytes, seconds, grown)


def child(what: str, store: Path, port: int, known: int) -> bytes:
    """A measurement in a process of its own, so that nothing before it counts."""
    command = [
        sys.executable,
        "-m",
        "benchmarks.growth",
        "--only",
        what,
        str(store),
        str(port),
        str(known),
    ]
    return subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout


def only(what: str, store: str, port: str, known: str) -> Filled | dict[str, float]:
    measure = {"fill": fill, "finish": finish}[what]
    return measure(Path(store), Sites(int(port), int(known)))


HEAD = (
    "URLs known", "disk of each", "CPU to add 1,000", "rate", "memory, adding",
    "memory, continued", "start to first request",
)  # fmt: skip


def told(all_of: Sequence[Growth], done: dict[str, float]) -> str:
    first = all_of[0]
    rows = [
        [
            f"{size.known:,}",
            f"{size.waiting_bytes:.0f} B",
            f"{1e6 / size.rate:.1f} ms",
            f"{size.rate / first.rate:.2f}",
            f"+{size.adding_mb:.0f} MB",
            f"+{size.crawling_mb:.0f} MB",
            f"{size.start_s:.2f} s",
        ]
        for size in all_of
    ]
    spent = ", ".join(f"{part} {size:.0f}" for part, size in done.items())
    path = len(split(Sites(80, DONE).url(0)).path)
    return (
        f"{table(HEAD, rows)}\n\n"
        "The URLs wait, and the rate is against the first row. "
        f"Of those added {DUPLICATES:.0%} are known already, and they come host by host. Memory is "
        f"what a process takes over one that knows {IDLE:,}. A URL that was crawled takes "
        f"{sum(done.values()):.0f} bytes of disk for being known ({spent}), of which its path is "
        f"{path}; its page, body and links come on top. {machine()}."
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    parser.add_argument("--done", type=int, default=DONE)
    parser.add_argument("--only", nargs="+", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.only:
        sys.stdout.buffer.write(msgspec.json.encode(only(*arguments.only)))
        return
    with tempfile.TemporaryDirectory() as folder:
        done = msgspec.json.decode(
            child("finish", Path(folder) / "freki.db", 1, arguments.done), type=dict[str, float]
        )
    grown = [grow(known) for known in arguments.sizes]
    publish("growth", told(grown, done), write=arguments.write)


if __name__ == "__main__":
    main()
