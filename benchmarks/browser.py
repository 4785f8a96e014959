"""Captures per second and CPU per capture, beside a plain sequential script of Playwright's.

    ./bench browser [FOLDER [PAGES]]

Both use the same Chromium, the same pages, windows of 1280 by 800, WebP at quality 78 and one
thumbnail; both are warm. CPU is of the process and all it started, from its control group where
there is one, else from the times of its children.
"""

import asyncio
import json
import os
import signal
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from io import BytesIO
from pathlib import Path

from PIL import Image
from playwright.sync_api import sync_playwright

from freki.fetch.browser.find import find
from freki.fetch.browser.pool import pool, size_here
from freki.fetch.browser.process import Terms
from freki.fetch.egress import Egress
from freki.pictures import Rendering, Shot

# Pages that people wrote: Debian's postgresql-doc-15.
MANUAL = Path("/usr/share/doc/postgresql-doc-15/html")

ACCOUNTS = Path("/sys/fs/cgroup/cpuacct")


def measured(name: str, work: Callable[[list[str]], float], urls: list[str]) -> dict[str, float]:
    """Run in a child in a group of its own, so that all its processes are counted."""
    read, write = os.pipe()
    group = ACCOUNTS / f"freki-bench-{os.getpid()}-{name}"
    with suppress(OSError):
        group.mkdir()
    if (child := os.fork()) == 0:
        with suppress(OSError):
            (group / "cgroup.procs").write_text(str(os.getpid()))
        seconds = work(urls)
        os.write(write, json.dumps(seconds).encode())
        os._exit(0)
    os.close(write)
    os.waitpid(child, 0)
    seconds = json.loads(os.read(read, 1000))
    time.sleep(0.5)
    cpu = float("nan")
    with suppress(OSError):
        cpu = int((group / "cpuacct.usage").read_text()) / 1e9
        group.rmdir()
    return {
        "captures per second": round(len(urls) / seconds, 2),
        "CPU ms per capture": round(1000 * cpu / len(urls)),
        "seconds": round(seconds, 1),
    }


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


def main(folder: Path, pages: int) -> None:
    """The pages are served by a process of its own."""
    quiet = type("Quiet", (SimpleHTTPRequestHandler,), {"log_message": lambda *_: None})
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(quiet, directory=str(folder)))
    if (serving := os.fork()) == 0:
        server.serve_forever()
    host, port = server.server_address[:2]
    urls = [f"http://{host}:{port}/{page.name}" for page in sorted(folder.glob("*.html"))][:pages]
    try:
        for name, work in (("playwright", playwrights), ("freki", ours)):
            print(name, measured(name, work, urls), flush=True)
    finally:
        os.kill(serving, signal.SIGKILL)
        os.waitpid(serving, 0)


if __name__ == "__main__":
    words = sys.argv[1:]
    main(Path(words[0]) if words else MANUAL, int(words[1]) if len(words) > 1 else 200)
