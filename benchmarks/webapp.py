"""The web app with a large crawl, in a real browser.

    ./bench webapp [--write] [--pages 50000] [--data FOLDER]   views, filters and the gallery
    ./bench webapp stream                                      what listeners cost the web process

`--data` keeps the large crawl for another time. `--write` puts the tables into
docs/performance.md. It takes a few minutes, of which making the crawl is most.
"""

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import median
from threading import Event

import httpx
from benchmarks.large import broken, large_crawl, url_of
from benchmarks.report import machine, publish, table
from benchmarks.service import children, service, site
from msgspec import Struct
from playwright.sync_api import CDPSession, Page, sync_playwright

from freki.fetch.browser.find import find

TIMES = 5  # each view is opened so often
STEP = 1_500  # CSS pixels of the gallery that are scrolled in a frame

FIRST_PAINT = """() => new Promise((tell) => new PerformanceObserver((seen) => {
  for (const each of seen.getEntriesByName("first-contentful-paint")) tell(each.startTime);
}).observe({ type: "paint", buffered: true }))"""

WATCH = """() => {
  window.tasks = [];
  new PerformanceObserver((seen) => {
    for (const each of seen.getEntries()) window.tasks.push(each.duration);
  }).observe({ type: "longtask" });
}"""

SCROLL = """(step) => new Promise((done) => {
  const begun = performance.now();
  let frames = 0;
  const further = () => {
    frames += 1;
    const before = window.scrollY;
    window.scrollBy(0, step);
    if (window.scrollY > before) requestAnimationFrame(further);
    else done({ frames, seconds: (performance.now() - begun) / 1000 });
  };
  requestAnimationFrame(further);
})"""

LISTENERS = 20
LISTENED = 20.0  # seconds


@contextmanager
def browser() -> Iterator[Page]:
    with sync_playwright() as play:
        # Without its sandbox, because benchmarks may run as root; the pages are our own.
        arguments = ["--no-sandbox", "--enable-precise-memory-info"]
        made = play.chromium.launch(executable_path=str(find().path), args=arguments)
        with made.new_context(viewport={"width": 1280, "height": 800}) as context:
            yield context.new_page()
        made.close()


class Opened(Struct, frozen=True):
    """What it took until something of a page was painted, in the middle of some tries."""

    name: str
    milliseconds: float
    server: float  # milliseconds of CPU of the web process, for all of the page

    @property
    def row(self) -> tuple[str, str, str]:
        return self.name, f"{self.milliseconds:.0f}", f"{self.server:.0f}"


class Visitor:
    """A tab, and the process that answers it."""

    def __init__(self, page: Page, web: int) -> None:
        self.page = page
        self._web = web

    def open(self, name: str, url: str) -> Opened:
        took, before = [], used(self._web)
        for _ in range(TIMES):
            self.page.goto("about:blank")
            self.page.goto(url)
            took.append(float(self.page.evaluate(FIRST_PAINT)))
        return Opened(name, median(took), 1000 * (used(self._web) - before) / TIMES)


def views(visitor: Visitor, crawl: str) -> list[Opened]:
    page = visitor.page
    explain = f"{crawl}/explain?url="
    number = page.request.get(f"{crawl.replace('/app', '')}/pages?limit=1").json()["items"][0]["id"]
    compared = [
        capture["sha256"]
        for line in page.request.get(f"{crawl.replace('/app', '')}/captures?limit=2").json()[
            "items"
        ]
        for capture in line["captures"]
    ]
    places = {
        "Crawls": crawl.partition("/app/")[0] + "/app/",
        "Overview": crawl,
        "Pages": f"{crawl}/pages",
        "URLs": f"{crawl}/urls",
        "What is wrong": f"{crawl}/wrong",
        "Structure": f"{crawl}/structure",
        "Gallery": f"{crawl}/gallery?only=all",
        "Gallery, one of each kind": f"{crawl}/gallery",
        "Two pictures": f"{crawl}/compare?capture={compared[0]}&capture={compared[1]}",
        "A page that all link to": f"{crawl}/pages/{number}",
        "A page that few link to": f"{crawl}/pages/{number + 40_000}",
        "The story of a broken link": explain + broken(20_007),
        "The story of a page": explain + url_of(31_000),
        "The story of an unknown URL": explain + url_of(31_000) + "x",
        "Settings": crawl.partition("/app/")[0] + "/app/settings",
    }
    return [visitor.open(name, url) for name, url in places.items()]


def filters(visitor: Visitor, crawl: str) -> list[Opened]:
    until_read(visitor.page, f"{crawl}/pages?text=049999")
    asked = {
        "Pages, status 404": "pages?status=404",
        "Pages, title or URL has a word that is rare": "pages?text=049999",
        "Pages, title or URL has a word that none has": "pages?text=nowhere",
        "Pages, of one host": "pages?host=https%3A%2F%2Fsite.example",
        "Pages, of a type that none has": "pages?type=image%2Fpng",
        "URLs, failed": "urls?state=failed",
        "URLs, refused by robots.txt": "urls?reason=robots",
        "URLs, of a depth that none has": "urls?depth=99",
        "URLs, title or URL has a word that none has": "urls?text=nowhere",
        "Gallery, blank ones": "gallery?only=blank",
        "Gallery, without a picture": "gallery?only=failed",
        "Gallery, title or URL has a word that is rare": "gallery?only=all&text=049999",
    }
    return [visitor.open(name, f"{crawl}/{query}") for name, query in asked.items()]


def until_read(page: Page, search: str) -> None:
    """What pages say is read when somebody searches for the first time."""
    page.goto(search)
    page.locator("[data-unread]").wait_for(state="detached", timeout=300_000)


def gallery(page: Page, crawl: str) -> list[tuple[str, str]]:
    """From one end to the other, as fast as frames come."""
    page.goto(f"{crawl}/gallery?only=all")
    page.wait_for_load_state("networkidle")
    page.evaluate(WATCH)
    tab = page.context.new_cdp_session(page)
    tab.send("Performance.enable")
    before = held(tab)
    total = int(page.get_attribute("#gallery", "data-total") or 0)
    went = page.evaluate(SCROLL, STEP)
    page.locator(f'#gallery li[data-place="{total - 1}"] .title').wait_for()
    tasks = page.evaluate("window.tasks")
    after = held(tab)
    return [
        ("pictures", f"{total:,}"),
        ("frames", f"{went['frames']:,} in {went['seconds']:.0f} s"),
        ("tasks over 50 ms", f"{len(tasks)}, the longest {max(tasks, default=0):.0f} ms"),
        ("JavaScript's heap before and after", f"{before[0]:.1f} and {after[0]:.1f} MB"),
        ("nodes of the document before and after", f"{before[1]:,} and {after[1]:,}"),
    ]


def held(tab: CDPSession) -> tuple[float, int]:
    """Megabytes of JavaScript's heap, and nodes, of what is not garbage."""
    tab.send("HeapProfiler.collectGarbage")
    told = tab.send("Performance.getMetrics")["metrics"]
    numbers = {each["name"]: each["value"] for each in told}
    return numbers["JSHeapUsedSize"] / 2**20, int(numbers["Nodes"])


def large(data: Path | None, pages: int, *, write: bool) -> None:
    with ExitStack() as stack:
        if data is None:
            data = Path(stack.enter_context(tempfile.TemporaryDirectory())) / "data"
        if not data.exists():
            large_crawl(data, pages, pages)
        client, pid = stack.enter_context(service(data, "--workers", "1", "--browsers", "1"))
        (web,) = children(pid, b"freki.serve.part", b"web")
        visitor = Visitor(stack.enter_context(browser()), web)
        (job,) = client.get("/crawls").json()["items"]
        crawl = f"{client.base_url}/app/crawls/{job['id']}".replace("//app", "/app")
        visitor.open("", crawl)
        painted = views(visitor, crawl)
        filtered = filters(visitor, crawl)
        scrolled = gallery(visitor.page, crawl)
    parts = (
        table(["view", "first paint, ms", "CPU of the server, ms"], [each.row for each in painted]),
        table(
            ["filter", "first paint, ms", "CPU of the server, ms"], [each.row for each in filtered]
        ),
        table(["gallery from end to end", ""], scrolled),
        f"{pages:,} pages with {pages:,} captures, {machine()}.",
    )
    publish("webapp", "\n\n".join(parts), write=write)


def stream(*, write: bool) -> None:
    """The web process beside a busy crawl, with nobody and with many who listen."""
    with (
        tempfile.TemporaryDirectory() as folder,
        site(200_000) as url,
        service(Path(folder) / "data", "--workers", "1", "--browsers", "1") as (client, pid),
    ):
        wish = {"urls": [url], "delay": 0, "ignore_robots": True}
        job = client.post("/crawls", json=wish).raise_for_status().json()["id"]
        (web,) = children(pid, b"freki.serve.part", b"web")
        time.sleep(3)
        rows = [measured(client, web, job, listeners) for listeners in (0, 1, LISTENERS)]
        client.post(f"/crawls/{job}/cancel")
    head = ["who listen", "pages/s of the crawl", "CPU of the web process", "events each"]
    publish("webapp_stream", table(head, rows) + f"\n\n{machine()}.", write=write)


def measured(client: httpx.Client, web: int, job: str, listeners: int) -> Sequence[str]:
    over = Event()
    with ThreadPoolExecutor(max(1, listeners)) as threads:
        address = f"{client.base_url}/crawls/{job}/events".replace("//crawls", "/crawls")
        heard = [threads.submit(listen, address, over) for _ in range(listeners)]
        time.sleep(2)  # what was before is replayed
        pages, cpu, begun = crawled(client, job), used(web), time.monotonic()
        time.sleep(LISTENED)
        share = (used(web) - cpu) / (time.monotonic() - begun)
        speed = (crawled(client, job) - pages) / (time.monotonic() - begun)
        over.set()
        events = [each.result() for each in heard]
    each = f"{median(events):.0f}" if events else ""
    return (str(listeners), f"{speed:.0f}", f"{100 * share:.1f} % of a core", each)


def listen(address: str, over: Event) -> int:
    events = 0
    with httpx.stream("GET", address, timeout=30) as answer:
        for line in answer.iter_lines():
            events += line.startswith("event:")
            if over.is_set():
                return events
    return events


def crawled(client: httpx.Client, job: str) -> int:
    return int(client.get(f"/crawls/{job}").json()["progress"].get("pages", 0))


def used(pid: int) -> float:
    """Seconds of CPU of a process."""
    fields = Path(f"/proc/{pid}/stat").read_text("ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def main(words: Sequence[str]) -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("what", nargs="?", choices=("views", "stream"), default="views")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--pages", type=int, default=50_000)
    parser.add_argument("--data", type=Path)
    options = parser.parse_args(words)
    if options.what == "stream":
        stream(write=options.write)
    else:
        large(options.data, options.pages, write=options.write)


if __name__ == "__main__":
    main(sys.argv[1:])
