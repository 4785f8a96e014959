"""Captures per second and CPU per capture, beside a plain sequential script of Playwright's.

    ./bench browser [FOLDER [PAGES]] [--write]

All use the same Chromium, the same pages, windows of 1280 by 800 and WebP at quality 78; the two
scripts are warm, and make a thumbnail. CPU is of the process and all it started, from its control
group where there is one, else from the times of its children.
"""

import argparse
import asyncio
import json
import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from io import BytesIO
from pathlib import Path
from typing import NamedTuple

from benchmarks import crawlers
from benchmarks.report import machine, publish, table
from PIL import Image
from playwright.sync_api import sync_playwright

from freki.fetch.browser.find import find
from freki.fetch.browser.pool import pool, size_here
from freki.fetch.browser.process import Terms
from freki.fetch.egress import Egress
from freki.pictures import Rendering, Shot

# Pages that people wrote: Debian's postgresql-doc-15.
MANUAL = Path("/usr/share/doc/postgresql-doc-15/html")

TURNS = 2

ACCOUNTS = Path("/sys/fs/cgroup/cpuacct")


Work = Callable[[list[str]], float]
"""Takes pictures of URLs, and answers with the seconds it took."""


class Spent(NamedTuple):
    """What pictures cost."""

    pictures: int = 0
    seconds: float = 0.0
    cpu: float = 0.0

    @property
    def rate(self) -> float:
        """Pictures per second."""
        return self.pictures / self.seconds

    def and_then(self, more: "Spent") -> "Spent":
        return Spent(*(one + other for one, other in zip(self, more, strict=True)))


def measured(work: Work, urls: list[str]) -> Spent:
    """Run in a child in a group of its own, so that all its processes are counted."""
    read, write = os.pipe()
    group = ACCOUNTS / f"freki-bench-{os.getpid()}"
    with suppress(OSError):
        group.mkdir()
    if (child := os.fork()) == 0:
        with suppress(OSError):
            (group / "cgroup.procs").write_text(str(os.getpid()))
        os.write(write, json.dumps(work(urls)).encode())
        os._exit(0)
    os.close(write)
    _, _, usage = os.wait4(child, 0)
    seconds = float(os.read(read, 1000))
    os.close(read)
    time.sleep(0.5)
    cpu = usage.ru_utime + usage.ru_stime
    with suppress(OSError):
        cpu = int((group / "cpuacct.usage").read_text()) / 1e9
        group.rmdir()
    return Spent(len(urls), seconds, cpu)


def ours(urls: list[str]) -> float:
    async def work() -> float:
        size, most = size_here()
        terms = Terms(found=find(), agent="Freki", memory=most)
        async with pool(terms, size, Egress(allow_private=True)) as render:
            await asyncio.gather(*(render(Shot(url=urls[0])) for _ in range(4)))
            begun = time.monotonic()
            wishes = (Shot(url=url, thumbnails=(320,)) for url in urls)
            seen = await asyncio.gather(*(render(wish) for wish in wishes))
            spent = time.monotonic() - begun
        assert all(isinstance(each, Rendering) for each in seen)
        return spent

    return asyncio.run(work())


def playwrights(urls: list[str]) -> float:
    """As its documentation has it: a page, a screenshot, the page is closed."""
    window = {"width": 1280, "height": 800}
    with sync_playwright() as playwright:
        # Root has no sandbox there; it costs it nothing, and us a little.
        browser = playwright.chromium.launch(executable_path=find().path)
        begun = 0.0
        for url in [urls[0], *urls]:
            page = browser.new_page(viewport=window)
            page.goto(url)
            taken = page.screenshot(type="webp", quality=78)
            image = Image.open(BytesIO(taken))
            image.thumbnail((320, 200))
            image.save(BytesIO(), "WEBP", quality=78)
            page.close()
            begun = begun or time.monotonic()
        spent = time.monotonic() - begun
        browser.close()
    return spent


def shot_scrapers(command: list[str], urls: list[str]) -> float:
    """All of them in one call; its start is a second of it. It makes no thumbnails."""
    with tempfile.TemporaryDirectory(prefix="freki-bench-") as folder:
        wishes = [
            {"url": url, "output": f"{at}.webp", "width": 1280, "height": 800, "quality": 78}
            for at, url in enumerate(urls)
        ]
        wanted = Path(folder, "shots.yml")
        wanted.write_text(json.dumps(wishes))  # which is YAML as well
        begun = time.monotonic()
        call = [*command, find().path, "multi", "--silent", wanted.name]
        subprocess.run(call, check=True, cwd=folder, stdin=subprocess.DEVNULL)
        spent = time.monotonic() - begun
        assert len(list(Path(folder).glob("*.webp"))) == len(urls)
    return spent


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """The pages, by a process of its own."""
    quiet = type("Quiet", (SimpleHTTPRequestHandler,), {"log_message": lambda *_: None})
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(quiet, directory=str(folder)))
    if (serving := os.fork()) == 0:
        server.serve_forever()
    host, port = server.server_address[:2]
    try:
        yield f"http://{host}:{port}"
    finally:
        os.kill(serving, signal.SIGKILL)
        os.waitpid(serving, 0)


def row(name: str, spent: Spent, plain: Spent) -> list[str]:
    share = spent.rate / plain.rate
    cpu_ms = 1000 * spent.cpu / spent.pictures
    return [name, f"{spent.rate:.1f}", f"{share:.2f}", f"{cpu_ms:.0f} ms"]


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path, default=MANUAL)
    parser.add_argument("pages", nargs="?", type=int, default=200)
    parser.add_argument("--write", action="store_true", help="put it into the documentation")
    wanted = parser.parse_args(arguments)
    works: dict[str, Work] = {"Playwright, one after the other": playwrights}
    if (shot_scraper := crawlers.shot_scraper()) is not None:
        works["shot-scraper, without thumbnails"] = partial(shot_scrapers, shot_scraper)
    works["**Freki**"] = ours
    spent = dict.fromkeys(works, Spent())
    with served(wanted.folder) as place:
        pages = sorted(wanted.folder.glob("*.html"))[: wanted.pages]
        urls = [f"{place}/{page.name}" for page in pages]
        # In turns, so that what else the machine does meets all of them.
        for turn in range(TURNS):
            for name, work in works.items():
                spent[name] = spent[name].and_then(measured(work, urls[turn::TURNS]))
    plain = next(iter(spent.values()))
    rows = [row(name, each, plain) for name, each in spent.items()]
    text = table(("", "pictures per second", "against the first", "CPU for each"), rows)
    publish("browser", f"{text}\n\n{len(urls)} pages; {machine()}.", write=wanted.write)


if __name__ == "__main__":
    main()
