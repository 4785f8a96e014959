"""A small site with all that makes exports hard, and a store of many pages."""

import gzip
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

from msgspec.structs import replace
from tests.background import background
from tests.command import freki
from tests.system.scripted import answer, scripted

from freki.ledger import crawls
from freki.ledger.crawls import Crawl
from freki.ledger.database import Database
from freki.ledger.store import read_store
from freki.messages import Claim, Item, Link, Outcome, Page, Response, Visit
from freki.sinks.export import Export, export
from freki.sinks.wanted import wanted
from freki.testing.bench import SHARED, StoreBench, page

HOME = """<html lang="en"><title>=HYPERLINK("http://evil/")</title>
<meta name="description" content="a, &quot;b&quot;
c"><body><nav><a href="/">home</a></nav>
<main><h1>Hälló</h1><p>Some <a href="/gone">words that lead nowhere</a>.</p>
<a href="/moved-gone">moved</a> <a href="/twin">twin</a> <a href="/../../etc/passwd?x=%2e%2e">up</a>
<a href="/packed">packed</a> <a href="/picture.png">picture</a>
<p><a href="/gone"><b>&lt;script&gt;alert(1)&lt;/script&gt;</b></a></p></main>""".encode()
TWIN = b"<title>twin</title><p>The same words on two pages.</p><a href=/twin2>again</a>"
PICTURE = b"\x89PNG\r\n\x1a\n\x00\xff\r\n\r\n"

SCRIPT = {
    "/": answer(200, HOME, content_type="text/html; charset=utf-8", x_note="caf\xe9"),
    "/twin": answer(200, TWIN, content_type="text/html"),
    "/twin2": answer(200, TWIN, content_type="text/html"),
    "/packed": answer(
        200, gzip.compress(b"<h1>packed</h1>" * 50), content_type="text/html",
        content_encoding="gzip",
    ),
    "/picture.png": answer(200, PICTURE, content_type="image/png"),
    "/moved-gone": answer(301, b"gone for good", location="/gone"),
    "/etc/passwd?x=%2e%2e": answer(200, b"<p>not what you think", content_type="text/html"),
}  # fmt: skip


@contextmanager
def crawled(store: Path) -> Iterator[str]:
    """The site's address, and a store with all of it."""
    with background(scripted(SCRIPT)) as site:
        assert freki("crawl", site.url, "--delay", "0", "--store", store, "--quiet").code == 0
        yield site.url


def filled(store: Path, pages: int, items: Sequence[bytes] = ()) -> None:
    """A store with many pages, each with a body and links of its own, and items on the first."""
    bench = StoreBench(store)
    with closing(bench):
        worker = bench.worker(replace(SHARED, per_host=pages))
        worker.seed(*(f"http://a/{number}" for number in range(pages)))
        for number, claim in enumerate(claims := worker.claim()):
            found = items if not number else ()
            worker.commit(replace(outcome(claim, number), items=[Item(data) for data in found]))
        assert len(claims) == pages


def outcome(claim: Claim, number: int) -> Outcome:
    body = f"<title>page {number}</title><p>{'words ' * (number % 50)}".encode()
    made = page(claim)
    links = [Link(f"http://a/{(number + step) % 99}", f"link {step}") for step in range(9)]
    response = Response(claim.url, 200, (("content-type", "text/html"),), body, "text/html")
    return replace(made, visit=Visit(1.0 + number, response, Page(links, title=f"page {number}")))


@contextmanager
def exporting(store: Path, where: Path | str, **options: object) -> Iterator["Exporting"]:
    with closing(read_store(store)) as db:
        crawl = crawls.newest(db)
        assert crawl is not None
        yield Exporting(db, crawl, str(where), options)


class Exporting:
    """Exports of one store to one place."""

    def __init__(self, db: Database, crawl: Crawl, where: str, options: dict[str, object]) -> None:
        self.db = db
        self._crawl = crawl
        self._wanted = wanted(where, **options)  # type: ignore[arg-type]

    def begin(self) -> Export:
        return export(self._wanted, self.db, self._crawl, "store")

    def whole(self) -> int:
        with closing(self.begin()) as made:
            made.finish(self.db)
        return made.count
