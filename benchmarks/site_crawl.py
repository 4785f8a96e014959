"""How fast one worker crawls real documentation, with the durable store on.

    python benchmarks/site_crawl.py [--write]      as ./test and ./freki prepare it

Needs nginx and one of the documentation packages below. `--write` puts the table into
docs/performance.md.
"""

import argparse
import os
import platform
import resource
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import NamedTuple

import msgspec

ROUNDS = 3
PAGE = Path(__file__).parent.parent / "docs" / "performance.md"
MARK = "<!-- benchmarks/site_crawl.py writes below this line -->\n"

# Debian package, folder, first page.
SITES = (
    ("postgresql-doc-15", Path("/usr/share/doc/postgresql-doc-15/html"), "index.html"),
    ("rust-doc", Path("/usr/share/doc/rust-doc/html"), "std/index.html"),
)

NGINX = """
daemon off; worker_processes 1; pid nginx.pid; error_log error.log;
events {{ worker_connections 4096; }}
http {{ include /etc/nginx/mime.types; access_log off; keepalive_requests 1000000;
  server {{ listen 127.0.0.1:{port}; root "{root}"; }} }}
"""


class Run(NamedTuple):
    """One crawl."""

    pages: int
    seconds: float
    cpu: float
    megabytes: float

    @property
    def rate(self) -> float:
        return self.pages / self.seconds

    @property
    def cost(self) -> float:
        """Microseconds of CPU per page, the start of the program included."""
        return self.cpu / self.pages * 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true")
    lines = [
        "| site | pages | pages/s | spread | CPU per page | store |",
        "|---|---|---|---|---|---|",
    ]
    for package, root, start in SITES:
        if not root.is_dir():
            print(f"{package} is not installed: left out", file=sys.stderr)
            continue
        with served(root) as url:
            runs = [crawl(f"{url}/{start}") for _ in range(ROUNDS)]
        rates = sorted(run.rate for run in runs)
        lines.append(
            f"| {package} | {runs[0].pages:,} | {median(rates):,.0f} "
            f"| {rates[0]:,.0f}-{rates[-1]:,.0f} "
            f"| {median(run.cost for run in runs):,.0f} µs | {runs[0].megabytes:.0f} MB |"
        )
    machine = f"{os.cpu_count()} cores, {platform.system()}, Python {platform.python_version()}"
    note = f"Median of {ROUNDS} runs; {machine}; nginx on the same machine."
    table = "\n".join([*lines, "", note, ""])
    print(table)
    if parser.parse_args().write:
        head = PAGE.read_text("utf-8").partition(MARK)[0]
        PAGE.write_text(f"{head}{MARK}\n{table}", "utf-8")


@contextmanager
def served(root: Path) -> Iterator[str]:
    """nginx on a free loopback port."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    nginx = shutil.which("nginx", path=f"{os.environ['PATH']}:/usr/sbin")
    assert nginx, "nginx is not installed"
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "nginx.conf").write_text(NGINX.format(port=port, root=root), "utf-8")
        command = [nginx, "-p", folder, "-c", "nginx.conf", "-e", "error.log"]
        with subprocess.Popen(command) as server:
            wait_for(port)
            try:
                yield f"http://127.0.0.1:{port}"
            finally:
                server.terminate()


def wait_for(port: int) -> None:
    for _ in range(100):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)


def crawl(url: str) -> Run:
    """A crawl by the command line, as a user runs it."""
    with tempfile.TemporaryDirectory() as folder:
        store = Path(folder) / "freki.db"
        command = [sys.executable, "-m", "freki", "crawl", url, "--delay", "0", "--json"]
        command += ["--workers", "1"]
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        started = time.perf_counter()
        done = subprocess.run([*command, "--store", str(store)], capture_output=True, check=True)
        seconds = time.perf_counter() - started
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        pages = msgspec.json.decode(done.stdout)["pages"]
        return Run(pages, seconds, cpu, store.stat().st_size / 1e6)


if __name__ == "__main__":
    main()
