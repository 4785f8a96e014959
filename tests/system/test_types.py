"""What mypy's strict mode says of a user's spider: nothing of a right one, all of a wrong one."""

import subprocess
import sys
from pathlib import Path

from tests.command import ENVIRONMENT

SPIDER = """
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass

import freki


@dataclass
class Place:
    row: int


@dataclass
class Book:
    title: str
    price: float


def clean(item: Book) -> Book:
    return item


class Books(freki.Spider):
    start = ["https://books.example/"]
    settings = {"depth": 2}
    pipelines = [clean, freki.validate(Book), freki.dedupe("title")]
    around_fetch = [freki.rate_limit(1), freki.headers({"a": "b"})]

    def parse(self, page: freki.Page) -> Iterator[freki.Request[Place] | None]:
        yield page.follow('a', self.book, Place(1))
        yield from page.follow_all("a", self.book, Place(2), priority=1)

    def book(self, page: freki.Page, place: Place) -> Book:
        price: str = page.css(".price").text
        return Book(page.css("h1").attr("title", ""), float(price) + place.row)

    async def several(self, page: freki.Page) -> AsyncIterator[object]:
        yield page.json(Book).title
        yield page.submit("form", {"a": "b"}, self.parse)


async def main() -> None:
    async for page in freki.crawl(Books, depth=2):
        print(page.title, [link.url for link in page.links])
    page = await freki.fetch("https://books.example/")
    summary = freki.run(Books(), store="books.db")
    print(summary.items + 1, page.css("a").urls)
"""

BEFORE = "        yield page.follow('a', self.book, Place(1))"

# In front of that line.
WRONG = {
    "page.follow('a', self.book, 'no place')": "incompatible type",
    "page.follow('a', self.book, Place(1), priorty=1)": "Unexpected keyword argument",
    "page.follow('a', self.other)": "has no attribute",
    "page.css('a').txt": "has no attribute",
    "page.css('a').attr('href') + ''": "Unsupported left operand type",
    "freki.batch(clean)": "incompatible type",
}


def test_a_right_spider_has_the_right_types_and_a_wrong_one_is_told(tmp_path: Path) -> None:
    right, wrong = tmp_path / "right.py", tmp_path / "wrong.py"
    right.write_text(SPIDER)
    lines = "".join(f"        {line}\n" for line in WRONG)
    wrong.write_text(SPIDER.replace(BEFORE, f"{lines}{BEFORE}", 1))
    options = ("--strict", "--hide-error-context", "--cache-dir", str(tmp_path / "cache"))
    run = subprocess.run(
        [sys.executable, "-m", "mypy", *options, str(right), str(wrong)],
        capture_output=True, text=True, check=False, env=ENVIRONMENT, cwd=tmp_path,
    )  # fmt: skip
    assert "right.py" not in run.stdout, run.stdout
    first = SPIDER.partition(BEFORE)[0].count("\n") + 1
    for number, (line, told) in enumerate(WRONG.items(), first):
        said = [text for text in run.stdout.splitlines() if f"wrong.py:{number}:" in text]
        assert any(told in text for text in said), (line, said)
