"""What a crawl costs as the number of URLs it knows grows: disk, memory, time to add, time to start.

    python benchmarks/growth.py [--write] [--sizes 1000000 10000000]

Each size is measured in processes of its own: one that makes so many URLs known and adds more,
and `freki crawl`, which continues the crawl. URLs come host by host, as sites reveal them.
`--write` puts the table into docs/performance.md.
"""

import argparse
import os
import platform
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

SIZES = (1_000_000, 10_000_000)
DONE = 1_000_000  # URLs that are crawled to the end to see what is left of them

PAGE = Path(__file__).parent.parent / "docs" / "performance.md"
BEGIN = "<!-- benchmarks/growth.py writes below this line -->\n"
END = "<!-- benchmarks/growth.py writes above this line -->\n"

PER_HOST = 1000  # URLs
CHUNK = 5000  # discoveries of a commit: those of a hundred pages

# While the rate is taken: known ones among the discoveries, and how many discoveries.
DUPLICATES = 0.6
ADDED = 500_000
IDLE = 10_000  # URLs with which everything is loaded and has been called, and little is kept

SETTINGS = Settings(scope=Scope(scope="any"), politeness=Politeness(delay=0))

# One of the hosts is there, with more pages than these starts ask for.
WEB = ("--pages=1000000", "--links-per-page=0", "--largest=200")
STARTS = 5


class Growth(Struct, frozen=True):
    """What so many known URLs cost."""

    known: int
    rate: float  # discoveries a second, of which most are known
    adding_mb: float  # memory of the process that adds, over one that knows next to nothing
    waiting_bytes: float  # of disk, for each
    start_s: float  # until the first request of a continued crawl
    crawling_mb: float  # memory of a continued crawl, over one that knows next to nothing


class Filled(Struct, frozen=True):
    """What the process that makes URLs known has seen."""

    rate: float
    megabytes: float
    waiting_bytes: float


class Store:
    """A crawl that is told of URLs without fetching any."""

    def __init__(self, file: Path, first: str) -> None:
        self.db = open_store(file)
        name = crawls.default_name(first)
        begun = crawls.find(self.db, name)
        crawl = begun or crawls.begin(self.db, name, [first], SETTINGS, time.time())
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


def url(number: int) -> str:
    """Each of them once: 51 characters of path, as sites have on average."""
    host, page = divmod(number, PER_HOST)
    return (
        f"http://host{host}.example/documents/{page % 20:04}/some-words-of-a-title-{page:06}.html"
    )


def fill(file: Path, first: str, known: int) -> Filled:
    """Make so many URLs known, and take the time of some more."""
    with closing(Store(file, first)) as store:
        store.add([f"{first}hall/{page}/" for page in range(PER_HOST)])
        for at in range(0, IDLE, CHUNK):
            store.add([url(number) for number in range(at, at + CHUNK)])
        idle = memory(os.getpid())
        for at in range(IDLE, known, CHUNK):
            store.add([url(number) for number in range(at, min(known, at + CHUNK))])
        rates = []
        for urls in discoveries(known):
            began = time.perf_counter()
            store.add(urls)
            rates.append((len(urls), time.perf_counter() - began))
        rate = sum(count for count, _ in rates) / sum(seconds for _, seconds in rates)
        grown = memory(os.getpid()) - idle
        rows = store.db.execute("SELECT count(*) FROM url").fetchone()[0]
        size = store.bytes("url", "url_print", "url_open") / rows
    return Filled(rate, grown, size)


def discoveries(known: int) -> Iterator[list[str]]:
    """Host by host, each of them met again: most of its links are known."""
    dice = random.Random(known)
    new = PER_HOST  # beyond those that a host has
    for _ in range(ADDED // CHUNK):
        found: list[str] = []
        while len(found) < CHUNK:
            host = dice.randrange(known // PER_HOST)
            for _ in range(100):
                if dice.random() < DUPLICATES:
                    found.append(url(host * PER_HOST + dice.randrange(PER_HOST)))
                else:
                    new += 1
                    found.append(f"{url(host * PER_HOST)}?{new}")
        yield found


def finish(file: Path, count: int) -> dict[str, float]:
    """Crawl so many URLs to their end; answers with the bytes for each, by table and index."""
    with closing(Store(file, url(0))) as store:
        for at in range(0, count, CHUNK):
            store.add([url(number) for number in range(at, at + CHUNK)])
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
        parts = ("url", "url_print", "url_open", "page")
        return {part: store.bytes(part) / count for part in parts}


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
def site(folder: Path) -> Iterator[tuple[str, Path]]:
    """A web, and its journal."""
    journal = folder / "journal.jsonl"
    command = [sys.executable, "-m", "freki.testing.server", *WEB, f"--journal={journal}"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        try:
            yield server.stdout.readline().strip(), journal
        finally:
            server.terminate()


def restart(file: Path, first: str, journal: Path) -> tuple[float, float]:
    """Continue a crawl until its first request: the seconds, and its memory then."""
    before = journal.stat().st_size
    began = time.perf_counter()
    command = ["-m", "freki", "crawl", first, "--quiet", "--delay=0", "--scope=any"]
    crawl = subprocess.Popen([sys.executable, *command, f"--store={file}"])
    with crawl:
        try:
            while journal.stat().st_size == before:
                assert crawl.poll() is None, "the crawl ended before its first request"
                time.sleep(0.005)
            return time.perf_counter() - began, memory(crawl.pid)
        finally:
            crawl.kill()


def grow(known: int) -> Growth:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with site(folder) as (first, journal):
            filled = msgspec.json.decode(
                child("fill", str(folder / "freki.db"), first, str(known)), type=Filled
            )
            child("fill", str(folder / "idle.db"), first, str(IDLE))
            idle = median(restart(folder / "idle.db", first, journal)[1] for _ in range(STARTS))
            starts = [restart(folder / "freki.db", first, journal) for _ in range(STARTS)]
        seconds, megabytes = (median(values) for values in zip(*starts, strict=True))
        return Growth(
            known, filled.rate, filled.megabytes, filled.waiting_bytes, seconds, megabytes - idle
        )


def child(*words: str) -> bytes:
    """A measurement in a process of its own, so that nothing before it counts."""
    command = [sys.executable, __file__, "--only", *words]
    return subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout


def only(what: str, file: Path, *words: str) -> Filled | dict[str, float]:
    if what == "finish":
        return finish(file, int(words[0]))
    return fill(file, words[0], int(words[1]))


def table(all_of: Sequence[Growth], done: dict[str, float]) -> str:
    first = all_of[0]
    lines = [
        "| URLs known | disk of one that waits | time to add 1,000 | rate against the first row "
        "| memory of who adds | memory of a continued crawl | start to first request |",
        "|---|---|---|---|---|---|---|",
    ]
    lines += [
        f"| {size.known:,} | {size.waiting_bytes:.0f} B | {1e6 / size.rate:.1f} ms "
        f"| {size.rate / first.rate:.2f} | +{size.adding_mb:.0f} MB | +{size.crawling_mb:.0f} MB "
        f"| {size.start_s:.2f} s |"
        for size in all_of
    ]
    known = sum(size for part, size in done.items() if part != "page")
    spent = ", ".join(f"{part} {size:.0f}" for part, size in done.items() if part != "page")
    machine = f"{os.cpu_count()} cores, {platform.system()}, Python {platform.python_version()}"
    note = (
        f"Of added URLs {DUPLICATES:.0%} are known already, and they come host by host. Memory is "
        f"what a process takes over one that knows {IDLE:,}. A URL that was crawled takes "
        f"{known:.0f} bytes of disk for being known ({spent}), of which its path is "
        f"{len(url(0).partition('.example')[2])}; its page, body and links come on top. {machine}."
    )
    return "\n".join([*lines, "", note, ""])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    parser.add_argument("--done", type=int, default=DONE)
    parser.add_argument("--only", nargs="+", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.only:
        what, file, *words = arguments.only
        sys.stdout.buffer.write(msgspec.json.encode(only(what, Path(file), *words)))
        return
    with tempfile.TemporaryDirectory() as folder:
        done = msgspec.json.decode(
            child("finish", f"{folder}/freki.db", str(arguments.done)), type=dict[str, float]
        )
    shown = table([grow(known) for known in arguments.sizes], done)
    print(shown)
    if arguments.write:
        head, _, rest = PAGE.read_text("utf-8").partition(BEGIN)
        _, _, tail = rest.partition(END)
        PAGE.write_text(f"{head}{BEGIN}\n{shown}\n{END}{tail}", "utf-8")


if __name__ == "__main__":
    main()
