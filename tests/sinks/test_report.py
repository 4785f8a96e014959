"""Broken links and the graph of links."""

import csv
import io
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
from tests.command import freki
from tests.sinks.crawled import crawled

from freki.sinks.graph import escaped
from freki.sinks.report import report
from freki.sinks.rows import Row

GRAPHML = "{http://graphml.graphdrawing.org/xmlns}"


@pytest.fixture
def crawl(tmp_path: Path) -> tuple[str, Path]:
    with crawled(tmp_path / "freki.db") as site:
        return site, tmp_path / "freki.db"


def export(store: Path, name: str) -> str:
    assert freki("export", store.parent / name, "--store", store, "--quiet").code == 0
    return (store.parent / name).read_text("utf-8")


def test_a_broken_link_is_told_with_its_page_and_its_words(crawl: tuple[str, Path]) -> None:
    site, store = crawl
    rows = list(csv.DictReader(io.StringIO(export(store, "broken.csv"))))
    direct = next(row for row in rows if row["link"] == f"{site}/gone")
    assert direct["url"] == f"{site}/gone"
    assert (direct["status"], direct["page"]) == ("404", f"{site}/")
    assert direct["text"] == "words that lead nowhere"


def test_a_link_that_is_redirected_to_nothing_is_broken(crawl: tuple[str, Path]) -> None:
    site, store = crawl
    rows = list(csv.DictReader(io.StringIO(export(store, "broken.csv"))))
    moved = next(row for row in rows if row["link"] == f"{site}/moved-gone")
    assert (moved["url"], moved["text"]) == (f"{site}/gone", "moved")
    assert len(rows) == 2


def test_the_report_names_each_and_runs_nothing(crawl: tuple[str, Path]) -> None:
    site, store = crawl
    page = export(store, "broken.html")
    assert f'<a href="{site}/gone" rel="noreferrer">' in page
    assert "words that lead nowhere" in page
    assert "1 addresses lead to nothing; 2 links go there." in page
    assert "default-src 'none'" in page
    assert "<script" not in page


def test_what_a_page_wrote_is_text_in_the_report() -> None:
    row: Row = {"url": 'http://a/"><script>', "status": None, "reason": "dns", "detail": "<b>",
           "page": "http://a/", "text": "<img onerror=x>", "link": "http://a/"}  # fmt: skip
    page = b"".join(report("<i>", [row])).decode()
    assert not re.search(r"<(script|b|i|img)\b", page)


def test_of_very_many_pages_the_first_are_named() -> None:
    row = {"url": "http://a/x", "status": 404, "reason": "http_error", "detail": None}
    rows = ({**row, "page": f"http://a/{n}", "text": "", "link": ""} for n in range(250))
    page = b"".join(report("a", rows)).decode()
    assert "250 links go there" in page
    assert "and 150 more" in page
    assert page.count("<td><a ") == 100


def test_the_graph_has_every_url_and_every_link(crawl: tuple[str, Path]) -> None:
    site, store = crawl
    tree = ElementTree.fromstring(export(store, "site.graphml"))
    nodes = {node.get("id"): node for node in tree.iter(f"{GRAPHML}node")}
    names = {
        data.text: node for node in nodes.values() for data in node if data.get("key") == "url"
    }
    urls = freki("urls", "--store", store, "--format", "jsonl").out.splitlines()
    assert len(nodes) == len(urls)
    edges = [(edge.get("source"), edge.get("target")) for edge in tree.iter(f"{GRAPHML}edge")]
    assert (names[f"{site}/"].get("id"), names[f"{site}/gone"].get("id")) in edges
    assert {end for edge in edges for end in edge} <= nodes.keys()


def test_no_character_breaks_the_graph() -> None:
    text = "".join(map(chr, range(0xD800))) + "\ufffe\U0001f600"
    ElementTree.fromstring(f'<a b="{escaped(text)}">{escaped(text)}</a>')
