"""Real documentation, crawled by us and by a few lines that share nothing with us."""

import re
from html.parser import HTMLParser
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urldefrag, urljoin, urlsplit

import msgspec
from tests.command import call
from tests.system.conftest import Site

# What is asked for without a link to it: once, to know what the host wants and how it says no.
OURS = re.compile(
    r"/robots\.txt|/sitemap(_index)?\.xml|/freki-asks-for-what-is-not-there-[0-9a-f]{8}"
)


class _Anchors(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.hrefs: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "a":
            self.hrefs += [value for name, value in attrs if name == "href" and value]


def reference_crawl(start: str) -> dict[str, int]:
    """The status of every URL of a host that can be reached by anchors."""
    host = urlsplit(start).netloc
    connection = HTTPConnection(host)
    found, queue = {start: 0}, [start]
    for url in queue:  # which grows meanwhile
        connection.request("GET", url.removeprefix(f"http://{host}"))
        answer = connection.getresponse()
        body, found[url] = answer.read(), answer.status
        if not answer.headers.get("Content-Type", "").startswith("text/html"):
            continue
        page = _Anchors()
        page.feed(body.decode("utf-8", "replace"))
        for href in page.hrefs:
            link = urldefrag(urljoin(url, href)).url
            if link.startswith(f"http://{host}/") and link not in found:
                found[link] = 0
                queue.append(link)
    connection.close()
    return found


def test_a_manual_is_crawled_to_its_last_page_and_no_further(
    documentation_site: Site, tmp_path: Path
) -> None:
    start, store = f"{documentation_site.base_url}/index.html", tmp_path / "freki.db"
    run = call("crawl", "--store", store, "--delay", "0", "--json", start)
    assert run.code == 0, run.err
    asked = [request.path for request in documentation_site.requests()]

    lines = call("pages", "--store", store, "--format", "jsonl").out.splitlines()
    pages = [msgspec.json.decode(line) for line in lines]
    expected = reference_crawl(start)
    assert len(expected) > 1000
    assert {page["url"]: page["status"] for page in pages} == expected
    assert len(pages) == len(expected) == run.json["pages"]

    assert len(asked) == len(set(asked))
    assert {path for path in asked if not OURS.fullmatch(path)} == {
        urlsplit(url).path for url in expected
    }
