"""Spiders as programs of users: killed at any moment, with several workers, and wrong ones."""

import signal
import sqlite3
import time
from contextlib import closing
from pathlib import Path
from random import Random
from typing import Any

import msgspec
import pytest
from tests.background import background
from tests.command import call, ended, freki, start
from tests.postgres import PASSWORD, PostgresServer
from tests.system.scripted import answer, scripted

from freki.ledger import crawls, read
from freki.ledger.check import findings
from freki.ledger.store import open_store
from freki.testing.shop import BOOKS, OFFERS, serve

SPIDER = """
import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import freki


@dataclass
class Place:
    page: str
    row: int


def elsewhere(items):
    with closing(sqlite3.connect(Path(__file__).with_name("mine.db"))) as mine, mine:
        mine.execute("CREATE TABLE IF NOT EXISTS book (id INTEGER PRIMARY KEY, title TEXT)")
        rows = [(item.id, item.data["title"]) for item in items]
        mine.executemany("INSERT OR REPLACE INTO book VALUES (?, ?)", rows)


def priced(item, page):
    return item | {"price": float(page.css(".price").text.split()[1])}


class Shop(freki.Spider):
    start = ["SHOP:login", "SHOP:"]
    pipelines = [priced, freki.dedupe("title"), freki.batch(elsewhere, size=3)]

    def parse(self, page):
        if page.css("form"):
            return page.submit("form", {"user": "reader", "password": "pages"}, self.members)
        books = [
            page.follow(book.css("a"), self.book, Place(page.url, row))
            for row, book in enumerate(page.css("article"))
        ]
        return [*books, page.follow("a.next")]

    def members(self, page):
        return page.follow_all(".offers a", self.offer, Place("members", 0), priority=-9)

    def book(self, page, place: Place):
        yield {"title": page.css("h1").text, "row": place.row}
        yield page.follow("a.author", self.author, page.css("h1").text)

    async def author(self, page, book: str):
        assert book in page.css(".works li").texts

    async def offer(self, page, place: Place):
        yield {"title": page.css("h1").text, "row": place.row}
"""

TITLES = {title for title, _, _ in BOOKS} | {f"Offer {number}" for number in range(1, OFFERS + 1)}


def stored(store: Path) -> tuple[list[Any], str]:
    with closing(open_store(store)) as db:
        crawl = crawls.newest(db)
        assert crawl is not None
        assert not list(findings(db))
        items = [msgspec.json.decode(line.data) for line in read.items(db, crawl.id, None)]
        return items, crawl.status


def written(folder: Path, text: str, url: str) -> Path:
    path = folder / "spider.py"
    path.write_text(text.replace("SHOP:", url))
    return path


def test_kills_at_any_moment_lose_and_double_no_item(tmp_path: Path) -> None:
    store, dice = tmp_path / "freki.db", Random(4)
    with background(serve(latency=0.05)) as shop:
        spider = written(tmp_path, SPIDER, shop.url)
        quick = ("--delay", "0", "--concurrency", "2", "--quiet")
        crawl = ("crawl", "--spider", spider, "--store", store, *quick)
        kills = 0
        while kills < 8:
            process = start(*crawl)
            time.sleep(0.25 + dice.random() * 0.6)
            process.send_signal(signal.SIGKILL)
            if ended(process).code == 0:
                break
            kills += 1
        assert ended(start(*crawl)).code == 0
    items, status = stored(store)
    assert kills >= 2
    assert status == "finished"
    titles = [item["title"] for item in items]
    assert sorted(titles) == sorted(TITLES)
    rows = {item["title"]: item["row"] for item in items}
    assert all(rows[title] == number % 5 for number, (title, _, _) in enumerate(BOOKS))
    with closing(sqlite3.connect(tmp_path / "mine.db")) as mine:
        handed_on = [title for (title,) in mine.execute("SELECT title FROM book ORDER BY id")]
    assert handed_on == titles
    assert shop.turned_away == 0  # who logged in before a kill is logged in after it


def test_several_workers_share_a_spider(tmp_path: Path) -> None:
    store = tmp_path / "freki.db"
    with background(serve()) as shop:
        spider = written(tmp_path, SPIDER.replace('"SHOP:login", ', ""), shop.url)
        words = ("--store", store, "--delay", "0", "--workers", "2", "--quiet")
        assert ended(start("crawl", "--spider", spider, *words)).code == 0
    items, _ = stored(store)
    assert sorted(item["title"] for item in items) == sorted(title for title, _, _ in BOOKS)


def test_a_spider_works_on_a_server_too(tmp_path: Path, postgres: PostgresServer) -> None:
    store, secret = str(postgres.schema()), {"PGPASSWORD": PASSWORD}
    with background(serve()) as shop:
        spider = written(tmp_path, SPIDER, shop.url)
        words = ("--store", store, "--delay", "0", "--quiet")
        run = call("crawl", "--spider", spider, *words, variables=secret)
        assert run.code == 0, run.err
    lines = call("items", "--store", store, "--format", "jsonl", variables=secret).out.splitlines()
    assert sorted(msgspec.json.decode(line)["data"]["title"] for line in lines) == sorted(TITLES)


def test_an_extraction_without_python(tmp_path: Path) -> None:
    store, rules = tmp_path / "freki.db", tmp_path / "rules.toml"
    rules.write_text(
        'pages = "*/book/*"\n[fields]\ntitle = "h1"\nauthor = { css = "a.author", type = "url" }\n'
        'price = { css = ".price", type = "number", required = true }\n'
    )
    with background(serve()) as shop:
        words = ("--store", store, "--delay", "0", "--quiet")
        assert freki("crawl", shop.url, "--extract", rules, *words).code == 0
    items, _ = stored(store)
    assert {item["title"]: item["price"] for item in items} == {
        title: float(price) for title, _, price in BOOKS
    }
    assert items[0]["author"].startswith("http://127.0.0.1:")


WRONG = {
    "raise RuntimeError('oh')": "spider.py\", line 1, in <module>",
    "def f(:": "SyntaxError",
    "x = 1": "it has 0 spiders; a spider is a class that inherits freki.Spider",
    "import freki\nclass A(freki.Spider): ...\nclass B(freki.Spider): ...": "say which one",
    "import freki\nclass A(freki.Spider): ...": "A has no start",
    "import freki\nclass A(freki.Spider):\n  start = ['SHOP:']": "A has no method parse",
    "import freki\nclass A(freki.Spider):\n  start = ['SHOP:']\n  def parse(self, page): yield 42":
        "A.parse on SHOP:: it yielded 42 (int)",
    "import freki\nclass A(freki.Spider):\n  start=['SHOP:']\n  def parse(self, p): p.css('[')":
        "the CSS selector '[' cannot be used",
}  # fmt: skip


@pytest.mark.parametrize("text", WRONG)
def test_a_spider_that_is_wrong_is_told_so(text: str, tmp_path: Path) -> None:
    with background(serve()) as shop:
        spider = written(tmp_path, text, shop.url)
        words = ("--store", tmp_path / "freki.db", "--delay", "0", "--quiet")
        run = freki("crawl", "--spider", spider, *words)
        assert run.code == 2
        assert WRONG[text].replace("SHOP:", shop.url) in run.err
        assert "importlib" not in run.err


SHELF = """
import freki


class Shelf(freki.Spider):
    def __init__(self, home: str, most: int):
        self.start, self.most = [home], most

    def parse(self, page):
        for book in page.css("article")[: self.most]:
            yield {"book": book.css("a").text}
"""


def test_arguments_of_a_command_reach_the_spider_and_are_not_kept(tmp_path: Path) -> None:
    store = tmp_path / "freki.db"
    with background(serve()) as shop:
        spider = written(tmp_path, SHELF, shop.url)
        words = ("--spider", spider, "--store", store, "--delay", "0", "--quiet")
        run = freki("crawl", *words, "--set", f"home={shop.url}", "--set", "most=2")
    assert (run.code, run.err) == (0, "")
    assert len(freki("items", "--store", store, "--format", "jsonl").out.splitlines()) == 2
    with closing(sqlite3.connect(store)) as db:
        assert "home" not in db.execute("SELECT program FROM crawl").fetchone()[0]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--set", "a=b"), "name it with --spider"),
        (("--spider", "x.py", "--set", "language"), "write NAME=VALUE"),
        (("--spider", "nowhere.py"), "there is no file nowhere.py"),
        (("--spider", "no_such_module:Books"), "there is no module no_such_module"),
        (("--spider", "a b"), "write module:Class or file.py"),
        (("--spider", "json:Books"), "there is no spider Books; in json: none"),
        (("--spider", "x.py", "--extract", "y.toml"), "give one of them"),
        (("http://127.0.0.1/", "--extract", "nowhere.toml"), "cannot read nowhere.toml"),
    ],
)
def test_words_that_name_no_spider_are_told(
    words: tuple[str, ...], told: str, tmp_path: Path
) -> None:
    run = freki("crawl", *words, "--store", tmp_path / "freki.db")
    assert (run.code, run.out) == (2, "")
    assert told in run.err
    assert not (tmp_path / "freki.db").exists()


@pytest.mark.parametrize(
    ("rules", "told"),
    [
        ("", "missing required field `fields`"),
        ("[fields]", "length >= 1"),
        ('[fields]\na = "div["', "the field 'a': the CSS selector 'div[' cannot be used"),
        ('[fields]\na = { xpath = "//a[" }', "the XPath '//a[' cannot be used"),
        ('[fields]\na = { css = "a", re = "(" }', "re = '(' cannot be used"),
        ('[fields]\na = { type = "text" }', "needs css or xpath"),
        ('[fields]\na = { cs = "a" }', "did you mean css?"),
        ('each = "["\n[fields]\na = "b"', "the CSS selector '[' cannot be used"),
    ],
)
def test_rules_that_are_wrong_are_told(rules: str, told: str, tmp_path: Path) -> None:
    path = tmp_path / "rules.toml"
    path.write_text(rules)
    run = freki("crawl", "http://127.0.0.1:1/", "--extract", path, "--store", tmp_path / "f.db")
    assert run.code == 2
    assert told in run.err


def test_a_dead_proxy_is_told_and_blames_no_host(tmp_path: Path) -> None:
    text = (
        "import freki\nclass A(freki.Spider):\n  start = ['SHOP:']\n"
        "  around_fetch = [freki.proxies('http://127.0.0.1:1025')]\n  def parse(self, page): ...\n"
    )
    with background(serve()) as shop:
        spider = written(tmp_path, text, shop.url)
        words = ("--store", tmp_path / "freki.db", "--delay", "0", "--attempts", "1")
        run = freki("crawl", "--spider", spider, *words, "--ignore-robots")
        assert run.code == 7
        assert f"The start URL {shop.url} gave no page (proxy: http://127.0.0.1:1025:" in run.out
        assert not shop.asked


def test_with_a_cache_the_second_crawl_asks_nobody_and_waits_for_nobody(tmp_path: Path) -> None:
    text = "import freki\nclass A(freki.Spider):\n  start = ['SHOP:']\n  follow_links = True\n"
    text += "  def parse(self, page): return {'title': page.title}\n"
    with background(serve()) as shop:
        spider = written(tmp_path, text, shop.url)
        words = ("--cache", tmp_path / "cache", "--cache-for", "999", "--quiet", "--depth", "1")
        first, second = tmp_path / "1.db", tmp_path / "2.db"
        assert (
            freki("crawl", "--spider", spider, *words, "--store", first, "--delay", "0").code == 0
        )
        asked = shop.asked.total()
        begun = time.monotonic()
        slow = ("--delay", "1.5")  # which the first answer, robots.txt, is followed by
        assert freki("crawl", "--spider", spider, *words, "--store", second, *slow).code == 0
        assert time.monotonic() - begun < 8
        assert shop.asked.total() == asked
    assert sorted(map(str, stored(first)[0])) == sorted(map(str, stored(second)[0]))


SCRIPTED = b"<h1>empty</h1><script>document.querySelector('h1').textContent = 'made'</script>"


def test_a_page_that_scripts_make_is_made_by_a_browser(tmp_path: Path) -> None:
    text = (
        "import freki\nclass A(freki.Spider):\n  start = ['SHOP:']\n"
        "  def parse(self, page):\n    yield {'h1': page.css('h1').text}\n"
        "    yield page.request('/seen', self.seen, render=True)\n"
        "  def seen(self, page): return {'h1': page.css('h1').text}\n"
    )
    answers = dict.fromkeys(("/", "/seen"), answer(200, SCRIPTED, content_type="text/html"))
    with background(scripted(answers)) as site:
        spider = written(tmp_path, text, f"{site.url}/")
        store = tmp_path / "freki.db"
        words = ("--store", store, "--delay", "0", "--ignore-robots", "--quiet")
        assert freki("crawl", "--spider", spider, *words).code == 0
    items, _ = stored(store)
    assert items == [{"h1": "empty"}, {"h1": "made"}]


def test_a_page_that_broke_the_spider_is_fetched_again_when_it_is_mended(tmp_path: Path) -> None:
    text = (
        "import freki\nclass A(freki.Spider):\n  start = ['SHOP:book/1', 'SHOP:book/2']\n"
        "  def parse(self, page):\n    if BROKEN and page.url[-1] == '2': 1 / 0\n"
        "    yield {'h1': page.css('h1').text}\n"
    )
    with background(serve()) as shop:
        words = ("--store", tmp_path / "freki.db", "--delay", "0")
        spider = written(tmp_path, text.replace("BROKEN", "True"), shop.url)
        run = freki("crawl", "--spider", spider, *words)
        assert "1 page broke the program: freki urls a --reason crash" in run.out
        told = freki("explain", f"{shop.url}book/2", "--store", tmp_path / "freki.db")
        assert "ZeroDivisionError" in told.out
        assert freki("retry", "--reason", "crash", "--store", tmp_path / "freki.db").code == 0
        spider = written(tmp_path, text.replace("BROKEN", "False"), shop.url)
        assert freki("crawl", "--spider", spider, *words, "--quiet").code == 0
    items, _ = stored(tmp_path / "freki.db")
    assert items == [{"h1": "Emma"}, {"h1": "Persuasion"}]


def test_a_form_that_was_sent_can_be_explained(tmp_path: Path) -> None:
    store = tmp_path / "freki.db"
    with background(serve()) as shop:
        spider = written(tmp_path, SPIDER, shop.url)
        words = ("--store", store, "--delay", "0", "--quiet")
        assert freki("crawl", "--spider", spider, *words).code == 0
        lines = freki("urls", "--store", store, "--format", "jsonl", "--status", "303").out
        url = msgspec.json.decode(lines)["url"]
        assert "login#post-" in url
        told = freki("explain", url, "--store", store)
        assert told.code == 0
        assert "status 303" in told.out or "redirect" in told.out


def test_an_item_that_breaks_a_pipeline_is_in_the_summary(tmp_path: Path) -> None:
    text = (
        "import freki\ndef bad(item): return {'n': 1 / item['n']}\nclass A(freki.Spider):\n"
        "  start = ['SHOP:']\n  pipelines = [bad]\n"
        "  def parse(self, page): return [{'n': 0}, {'n': 1}]"
    )
    with background(serve()) as shop:
        spider = written(tmp_path, text, shop.url)
        store = tmp_path / "freki.db"
        run = freki("crawl", "--spider", spider, "--store", store, "--delay", "0")
    assert "failed 1: freki items a --fate failed" in run.out
    assert "ZeroDivisionError" in freki("items", "--fate", "failed", "--store", store).out
