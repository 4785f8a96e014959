"""What a spider costs: five CSS fields of every page, beside the same crawl without a program.

    python benchmarks/spider_crawl.py [--write] [--scrapy PROGRAM] [--pages N]

Needs nginx and the package rust-doc. With `--scrapy`, the `scrapy` program of an environment that
has it takes the same fields of a tenth as many pages. Runs alternate; `--write` puts the table
into docs/performance.md.
"""

import argparse
import json
import os
import platform
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import NamedTuple

from site_crawl import PAGE, SITES, served

ROUNDS = 3
MARK = "<!-- benchmarks/spider_crawl.py writes below this line -->\n"
END = "<!-- and above this one -->\n"

SPIDER = """
import freki


class Fields(freki.Spider):
    follow_links = True
    name = "fields"

    def parse(self, page):
        yield {
            "title": page.css("title").text,
            "heading": page.css("h1").text,
            "summary": page.css("main p").text,
            "source": page.css("a.src").attr("href"),
            "items": page.css("h3.code-header a").texts,
        }
"""

SCRAPY = """
import scrapy
from scrapy.linkextractors import LinkExtractor


class Fields(scrapy.Spider):
    name = "fields"
    custom_settings = {
        "ROBOTSTXT_OBEY": True, "LOG_LEVEL": "ERROR", "DOWNLOAD_DELAY": 0,
        "CONCURRENT_REQUESTS": 16, "CONCURRENT_REQUESTS_PER_DOMAIN": 16,
    }

    def __init__(self, url, **more):
        super().__init__(**more)
        self.start_urls, self.allowed_domains = [url], ["127.0.0.1"]
        self.links = LinkExtractor()

    def parse(self, response):
        if not isinstance(response, scrapy.http.HtmlResponse):
            return
        yield {
            "title": response.css("title::text").get(),
            "heading": " ".join(response.css("h1 *::text").getall()),
            "summary": " ".join(response.css("main p")[:1].css("*::text").getall()),
            "source": response.css("a.src::attr(href)").get(),
            "items": [
                " ".join(a.css("*::text").getall()) for a in response.css("h3.code-header a")
            ],
        }
        for link in self.links.extract_links(response):
            yield scrapy.Request(link.url, self.parse)
"""


class Run(NamedTuple):
    """One crawl."""

    rate: float  # pages a second
    cost: float  # microseconds of CPU a page


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--scrapy", metavar="PROGRAM")
    parser.add_argument("--pages", type=int, default=4000)
    arguments = parser.parse_args()
    _, root, start = SITES[1]
    runs: dict[str, list[Run]] = {"links only": [], "five fields": []}
    with served(root) as base, tempfile.TemporaryDirectory() as folder:
        url, spider = f"{base}/{start}", Path(folder) / "fields.py"
        spider.write_text(SPIDER)
        for _ in range(ROUNDS):
            runs["links only"].append(freki(url, arguments.pages))
            runs["five fields"].append(freki(url, arguments.pages, "--spider", str(spider)))
            if arguments.scrapy:
                pages = arguments.pages // 10
                runs.setdefault("Scrapy, the same five fields", []).append(
                    scrapy(arguments.scrapy, url, pages, Path(folder))
                )
    table = shown(runs)
    print(table)
    if arguments.write:
        head, _, rest = PAGE.read_text("utf-8").partition(MARK)
        PAGE.write_text(f"{head}{MARK}\n{table}\n{END}{rest.partition(END)[2]}", "utf-8")


def shown(runs: dict[str, list[Run]]) -> str:
    first = median(run.rate for run in runs["links only"])
    lines = ["| crawl | pages/s | of links only | CPU per page |", "|---|---|---|---|"]
    for name, of in runs.items():
        rate, cost = median(run.rate for run in of), median(run.cost for run in of)
        lines.append(f"| {name} | {rate:,.0f} | {rate / first:.2f} | {cost:,.0f} µs |")
    machine = f"{os.cpu_count()} cores, {platform.system()}, Python {platform.python_version()}"
    return "\n".join([*lines, "", f"rust-doc, one worker, median of {ROUNDS} runs; {machine}."])


def freki(url: str, pages: int, *more: str) -> Run:
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "freki", "crawl", url, "--delay", "0", "--json", *more]
        command += ["--workers", "1", "--max-pages", str(pages), "--store", f"{folder}/freki.db"]
        out, seconds, cpu = timed(command)
    return Run(json.loads(out)["pages"] / seconds, cpu / json.loads(out)["pages"] * 1e6)


def scrapy(program: str, url: str, pages: int, folder: Path) -> Run:
    (folder / "scrapy_fields.py").write_text(SCRAPY)
    out = folder / "out.jsonl"
    command = [program, "runspider", str(folder / "scrapy_fields.py"), "-a", f"url={url}"]
    command += ["-s", f"CLOSESPIDER_PAGECOUNT={pages}", "-O", str(out)]
    _, seconds, cpu = timed(command)
    items = len(out.read_text("utf-8").splitlines())
    return Run(items / seconds, cpu / items * 1e6)


def timed(command: list[str]) -> tuple[bytes, float, float]:
    """What it printed, seconds, and seconds of CPU."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    started = time.perf_counter()
    done = subprocess.run(command, capture_output=True, check=False)
    seconds = time.perf_counter() - started
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return done.stdout, seconds, cpu


if __name__ == "__main__":
    main()
