from collections.abc import Iterator
from contextlib import closing
from itertools import pairwise
from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace

from freki.ledger import read
from freki.ledger.check import findings
from freki.ledger.read import Filter
from freki.ledger.retry import retry
from freki.ledger.store import read_store
from freki.messages import Fate, Item, Link, Page, Reason, Response, State, Timings, Via, Visit
from freki.testing.bench import (
    SHARED,
    Hand,
    StoreBench,
    again,
    discovery,
    failed,
    page,
    redirect,
)

ALL = Filter()
REDIRECTS = Filter(redirects=True)


class Reader:
    """A store and what can be read of it."""

    def __init__(self, path: Path) -> None:
        self.bench = StoreBench(path)
        self.worker: Hand = self.bench.worker(replace(SHARED, per_host=99))
        self.db = read_store(path)

    def urls(self, wanted: Filter = ALL) -> list[read.UrlLine]:
        return list(read.urls(self.db, 1, wanted))

    def pages(self, wanted: Filter = ALL) -> list[read.PageLine]:
        return list(read.pages(self.db, 1, wanted, with_links=True))

    def page(self, url: str) -> read.PageLine:
        (page,) = self.pages(Filter(url=url, redirects=True))
        return page


@pytest.fixture
def reader(tmp_path: Path) -> Iterator[Reader]:
    reader = Reader(tmp_path / "freki.db")
    with closing(reader.db):
        yield reader
    reader.bench.close()


@pytest.fixture
def some(reader: Reader) -> Reader:
    """A store with a URL of each kind."""
    worker = reader.worker
    worker.seed("http://a/", "http://a/gone", "http://a/moved", "http://a/later")
    home, gone, moved, later = worker.claim()
    worker.commit(
        page(home, "http://a/x", Link("http://b/", "there", "nofollow", Via.frame)),
        failed(gone),
        redirect(moved, "http://a/x"),
        again(later, 9.0),
    )
    worker.find(discovery("http://c/", 2, Reason.out_of_scope))
    worker.claim()
    return reader


# Sums


def test_the_sums_add_up(some: Reader) -> None:
    status = read.status(some.db, 1)
    assert status == read.Status(
        discovered=7,
        done=2,
        failed=1,
        refused=1,
        waiting=1,
        leased=2,
        reasons={
            "done": {"ok": 1, "redirect": 1},
            "failed": {"timeout": 1},
            "refused": {"out_of_scope": 1},
        },
        pages=1,
    )
    assert status.open == 3


def test_of_a_crawl_that_is_not_there_nothing_is_known(some: Reader) -> None:
    assert read.status(some.db, 99).discovered == 0
    assert list(read.urls(some.db, 99, ALL)) == []
    assert list(read.pages(some.db, 99, ALL)) == []
    assert read.hosts(some.db, 99) == []


def test_hosts_with_most_to_do_come_first(some: Reader) -> None:
    some.worker.find(*(discovery(f"http://d/{number}") for number in range(3)))
    assert [(host.host, host.waiting) for host in read.hosts(some.db, 1, limit=2)] == [
        ("http://d", 3),
        ("http://a", 1),
    ]


# URLs


def test_every_url_is_told_in_the_order_of_discovery(some: Reader) -> None:
    assert [(line.url, line.state, line.outcome, line.reason) for line in some.urls()] == [
        ("http://a/", "ended", "done", "ok"),
        ("http://a/gone", "ended", "failed", "timeout"),
        ("http://a/moved", "ended", "done", "redirect"),
        ("http://a/later", "waiting", None, None),
        ("http://a/x", "leased", None, None),
        ("http://b/", "leased", None, None),
        ("http://c/", "ended", "refused", "out_of_scope"),
    ]
    frame = some.urls()[5]
    assert (frame.parent, frame.via, frame.depth, frame.attempts) == ("http://a/", "frame", 1, 1)


@pytest.mark.parametrize(
    ("wanted", "urls"),
    [
        (Filter(state=State.failed), ["http://a/gone"]),
        (Filter(reason=Reason.redirect), ["http://a/moved"]),
        (Filter(status=(300, 399)), ["http://a/moved"]),
        (Filter(origin="http://b"), ["http://b/"]),
        (Filter(depth=2), ["http://c/"]),
        (Filter(state=State.leased, origin="http://a"), ["http://a/x"]),
        (Filter(after=5), ["http://b/", "http://c/"]),
        (Filter(after=1, limit=1), ["http://a/gone"]),
        (Filter(limit=0), []),
    ],
)
def test_urls_can_be_chosen(some: Reader, wanted: Filter, urls: list[str]) -> None:
    assert [line.url for line in some.urls(wanted)] == urls


def test_urls_are_counted_by_what_they_share(some: Reader) -> None:
    most, *_ = read.grouped(some.db, 1, ALL, ["host", "outcome"])
    assert msgspec.structs.astuple(most) == (2, "http://a", "done")
    assert len(read.grouped(some.db, 1, Filter(limit=1), ["host"])) == 1


# Pages


def test_a_page_is_told_with_all_that_is_known_of_it(reader: Reader) -> None:
    reader.worker.seed("http://a/")
    (claim,) = reader.worker.claim()
    headers = (("content-type", "text/html"), ("x", "ü"), ("x", "2"))
    response = Response(
        "http://a/", 404, headers, b"<p>body", "text/html", Timings(total=0.5), 99, "2", "192.0.2.1"
    )
    said = Page([], "Title", "About", "http://a/canonical", "en", "UTF-8", noindex=True)
    visit = Visit(1_800_000_000.25, response, said)
    reader.worker.commit(replace(page(claim), reason=Reason.http_error, visit=visit))
    line = reader.page("http://a/")
    assert (line.status, line.title, line.description, line.language) == (
        404,
        "Title",
        "About",
        "en",
    )
    assert (line.canonical, line.charset, line.http) == ("http://a/canonical", "UTF-8", "2")
    assert (line.bytes, line.wire_bytes, line.address) == (7, 99, "192.0.2.1")
    assert (line.noindex, line.nofollow) == (True, False)
    assert line.headers == [list(pair) for pair in headers]
    assert line.timings["total"] == 0.5
    assert line.fetched_at == "2027-01-15T08:00:00.250Z"
    assert len(line.sha256) == 64
    assert read.body(reader.db, 1) == b"<p>body"
    assert read.body(reader.db, 99) is None


def test_a_body_that_was_not_kept_is_none(reader: Reader) -> None:
    worker = reader.bench.worker(replace(SHARED, keep="none"))
    worker.seed("http://a/")
    worker.visit("http://a/")
    assert read.body(reader.db, 1) is None


def test_links_are_told_where_they_are_wanted(some: Reader) -> None:
    assert some.page("http://a/").links == [
        read.LinkLine("http://a/x", "", "", "link"),
        read.LinkLine("http://b/", "there", "nofollow", "frame"),
    ]
    (line,) = read.pages(some.db, 1, Filter(url="http://a/"))
    assert line.links is None


def test_redirects_are_no_pages_unless_they_are_wanted(some: Reader) -> None:
    assert [line.url for line in some.pages()] == ["http://a/"]
    assert [line.url for line in some.pages(REDIRECTS)] == ["http://a/", "http://a/moved"]


def test_pages_can_be_chosen_by_content_type(some: Reader) -> None:
    assert [line.url for line in some.pages(Filter(content_type="text/"))] == ["http://a/"]


def test_redirects_are_followed_in_both_directions(reader: Reader) -> None:
    chain = [f"http://{'ab'[number % 2]}/{number}" for number in range(4)]
    reader.worker.seed(chain[0])
    for here, there in pairwise(chain):
        reader.worker.visit(here, moved_to=there)
    reader.worker.visit(chain[-1])
    assert [line.final_url for line in reader.pages(REDIRECTS)] == [chain[-1]] * 4
    assert [line.redirects for line in reader.pages(REDIRECTS)] == [
        chain[:number] for number in range(4)
    ]


def test_redirects_in_a_circle_come_to_an_end(reader: Reader) -> None:
    reader.worker.seed("http://a/")
    reader.worker.visit("http://a/", moved_to="http://a/x")
    reader.worker.visit("http://a/x", moved_to="http://a/")
    assert len(reader.pages(REDIRECTS)) == 2


def test_a_redirect_to_what_was_not_fetched_ends_there(some: Reader) -> None:
    assert some.page("http://a/moved").final_url == "http://a/x"


def test_a_store_is_read_while_it_is_written(some: Reader) -> None:
    lines = read.urls(some.db, 1, ALL)
    assert next(lines).url == "http://a/"
    some.worker.find(discovery("http://new/"))
    assert "http://new/" not in [line.url for line in lines]
    assert some.urls()[-1].url == "http://new/"


def test_a_large_crawl_is_read_without_a_look_at_each_url_for_each_redirect(
    reader: Reader,
) -> None:
    """Two thousand redirects on a host with a hundred thousand URLs once took minutes."""
    worker = reader.bench.worker(replace(SHARED, per_host=400))
    worker.seed(*(f"http://a/{number}" for number in range(10_000)))
    worker.commit(*(redirect(claim, f"{claim.url}/to") for claim in worker.claim()))
    steps = 0

    def count() -> None:
        nonlocal steps
        steps += 1

    reader.db.set_progress_handler(count, 1000)
    assert len(reader.pages(REDIRECTS)) == 400
    assert steps < 400


def test_items_are_read_in_order_from_any_place(reader: Reader) -> None:
    worker = reader.worker
    worker.seed("http://a/")
    (claim,) = worker.claim()
    items = [
        Item(b'{"n":1}', "Book"),
        Item(b'{"n":2}', fate=Fate.dropped, detail="no price"),
        Item(b'{"n":3}'),
    ]
    worker.commit(replace(page(claim), items=items))
    kept = list(read.items(reader.db, 1))
    assert [(line.url, line.kind, bytes(line.data)) for line in kept] == [
        ("http://a/", "Book", b'{"n":1}'),
        ("http://a/", "", b'{"n":3}'),
    ]
    assert [bytes(line.data) for line in read.items(reader.db, 1, after=kept[0].id)] == [b'{"n":3}']
    (dropped,) = read.items(reader.db, 1, Fate.dropped)
    assert (dropped.fate, dropped.detail) == ("dropped", "no price")
    assert len(list(read.items(reader.db, 1, None, limit=2))) == 2
    assert read.item_counts(reader.db, 1) == {"kept": 2, "dropped": 1, "failed": 0}


def test_items_of_a_retried_page_go_with_it(reader: Reader) -> None:
    worker = reader.worker
    worker.seed("http://a/")
    (claim,) = worker.claim()
    worker.commit(replace(page(claim), items=[Item(b"1", key="x")]))
    assert retry(reader.bench._db, 1, Filter(state=State.done)) == 1
    (again,) = worker.next_claims()
    worker.commit(replace(page(again), items=[Item(b"2", key="x")]))
    assert [bytes(line.data) for line in read.items(reader.db, 1)] == [b"2"]
    assert not list(findings(reader.bench._db))
