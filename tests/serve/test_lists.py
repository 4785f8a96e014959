"""Lists of a crawl: what is filtered, searched and sorted is what is shown and taken away."""

import csv
import html
import json
import re
from collections.abc import Iterator
from contextlib import closing
from itertools import product
from pathlib import Path
from random import Random
from urllib.parse import urlencode

import httpx
import pytest
from msgspec import structs
from tests.background import background
from tests.postgres import written
from tests.serve.conftest import web
from tests.serve.failing import SITE, begin
from tests.serve.test_crawls import until

from freki import config
from freki.ledger import crawls, order, texts
from freki.ledger.opened import ledger_of
from freki.ledger.place import Place
from freki.ledger.store import open_store
from freki.ledger.terms import Terms as LedgerTerms
from freki.messages import (
    Batch,
    Claim,
    Discovery,
    Outcome,
    Page,
    Reason,
    Response,
    State,
    Timings,
    Via,
    Visit,
)  # fmt: skip
from freki.serve.terms import Terms
from freki.serve.views import tables

COUNT = 36


def fill(store: Place, name: str, count: int = COUNT) -> None:
    """A crawl of pages that have little in common."""
    dice = Random(5)
    with closing(open_store(store)) as db:
        crawl = crawls.begin(db, name, [f"{SITE}/"], config.settings(), 0.0)
        ledger = ledger_of(db, str(store), crawl.id, LedgerTerms(exclusive=False, per_host=count))
        session = ledger.join(0.0)
        hosts = ("https://a.example", "https://b.example")
        found = [
            Discovery(f"{hosts[n % 2]}/{dice.randrange(10**6)}?x=ä&n={n}", n % 3, 0, Via.link)
            for n in range(count)
        ]
        ledger.commit(session, Batch(1.0, discoveries=found))
        work = ledger.claim(session, 1.0, 9, []).hosts
        claims = sorted((claim for host in work for claim in host.claims), key=lambda it: it.id)
        ends = [_ended(claim, number, dice) for number, claim in enumerate(claims)]
        ledger.commit(session, Batch(2.0, ends))
        ledger.leave(session, 2.0)


def _ended(claim: Claim, number: int, dice: Random) -> Outcome:
    if number % 6 == 5:
        message = dice.choice(["30 s", "", 'with "quotes" & <tags>'])
        return Outcome(claim, State.failed, Reason.timeout, message, at=2.0)
    status = dice.choice([200, 200, 404])
    kind = dice.choice(["text/html", "text/plain"])
    said = dice.choice(["<p>red fox", "<p>blue fox", "<p>green bird"]) + " and more" * (number % 4)
    answer = Response(claim.url, status, (), said.encode(), kind, Timings(total=number % 5 / 7))
    visit = Visit(2.0, answer, Page([], title=dice.choice([None, "=red()", "blue"])))
    reason = Reason.ok if status == 200 else Reason.http_error
    return Outcome(claim, State.done, reason, f"status {status}", visit=visit, at=2.0)


@pytest.fixture(scope="module", params=["folder", pytest.param("server", marks=pytest.mark.system)])
def crawl(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[httpx.Client, str]]:
    terms = Terms(data=tmp_path_factory.mktemp("lists") / "data", quiet=True)
    if request.param == "server":
        terms = structs.replace(terms, store=written(request.getfixturevalue("postgres").schema()))
    with background(web(terms)) as url, httpx.Client(base_url=url, timeout=30) as client:
        id_ = begin(client)
        fill(terms.place.store_of(id_), id_)
        yield client, id_


FILTERS: dict[order.What, dict[str, tuple[str | None, ...]]] = {
    "pages": {
        "text": ("", "fox", "blue", "nowhere"),
        "status": ("", "404", "2xx"),
        "host": ("", "https://b.example"),
        "type": ("", "text/plain"),
        "sort": ("", "time", "url"),
        "descending": ("", "1"),
    },
    "urls": {
        "text": ("", "fox"),
        "state": ("", "done", "failed"),
        "reason": ("", "http_error", "timeout"),
        "depth": ("", "1"),
        "message": (None, "", 'with "quotes" & <tags>'),
        "sort": ("", "status", "url"),
        "descending": ("", "1"),
    },
}
COMBINATIONS = [
    (what, {name: text for name, text in zip(kinds, chosen, strict=True) if text is not None})
    for what, kinds in FILTERS.items()
    for chosen in product(*kinds.values())
]


# Of a thousand combinations, as many as are tried in some seconds.
SOME = Random(2).sample(COMBINATIONS, 40)


def shown(client: httpx.Client, id_: str, what: str, query: dict[str, str]) -> list[str]:
    """The URLs of a list as a person goes through its parts."""
    path, urls = f"/app/crawls/{id_}/{what}?{urlencode(query)}", []
    while path:
        text = client.get(path).text
        cell = r'<td class="url"><a[^>]*>(.*?)</a>' if what == "urls" else r'"second">(http.*?)<'
        urls += [html.unescape(url) for url in re.findall(cell, text)]
        following = re.search(r'rel="next" href="(.*?)"', text)
        path = html.unescape(following[1]) if following else ""
    return urls


def test_what_is_taken_away_is_what_is_shown_by_every_filter(
    crawl: tuple[httpx.Client, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    client, id_ = crawl
    monkeypatch.setattr(tables, "PART", 10)
    lengths = set()
    for what, query in SOME:
        urls = shown(client, id_, what, query)
        files = f"/app/crawls/{id_}/{what}"
        rows = csv.DictReader(client.get(f"{files}.csv", params=query).text.splitlines())
        assert [row["url"] for row in rows] == urls, (what, query)
        lines = client.get(f"{files}.jsonl", params=query).text.splitlines()
        assert [json.loads(line)["url"] for line in lines] == urls, (what, query)
        assert len(set(urls)) == len(urls)
        lengths.add(len(urls))
    assert len(lengths) > 5  # filters leave much, little and nothing


@pytest.mark.parametrize("what", ["pages", "urls"])
@pytest.mark.parametrize("sort", ["status", "depth", "url"])
def test_a_list_is_answered_sorted_in_parts(
    what: str, sort: str, crawl: tuple[httpx.Client, str]
) -> None:
    client, id_ = crawl
    key = {"status": "status", "depth": "depth", "url": "url"}[sort]
    for descending in (False, True):
        path = f"/crawls/{id_}/{what}?limit=7&sort={sort}&descending={descending}"
        rows = []
        while path:
            part = client.get(path).json()
            rows += part["items"]
            path = part["next"]
        values = [row[key] for row in rows if row[key] is not None]
        assert values == sorted(values, reverse=descending)
        assert [row[key] for row in rows][: len(values)] == values  # what has none comes last
        everything = client.get(f"/crawls/{id_}/{what}?limit=1000").json()["items"]
        assert sorted(row["id"] for row in rows) == [row["id"] for row in everything]


def test_what_pages_say_is_searched_by_requests(crawl: tuple[httpx.Client, str]) -> None:
    client, id_ = crawl
    for what in ("pages", "urls"):
        answer = client.get(f"/crawls/{id_}/{what}", params={"text": '"red fox"'}).json()
        assert answer["unread"] == 0
        assert answer["items"]
        assert not client.get(f"/crawls/{id_}/{what}", params={"text": "foxes"}).json()["items"]


@pytest.mark.parametrize(
    "query",
    [
        {"sort": "size_"},
        {"sort": "status", "cursor": "5"},  # of a list that was not sorted
        {"cursor": "5~200.0"},
        {"cursor": "5~1 OR 1"},
        {"sort": "status", "cursor": "5~nan"},
        {"text": ""},
        {"text": "x" * 201},
    ],
)
@pytest.mark.parametrize("what", ["pages", "urls"])
def test_what_no_list_can_be_is_refused(
    what: str, query: dict[str, str], crawl: tuple[httpx.Client, str]
) -> None:
    client, id_ = crawl
    refused = client.get(f"/crawls/{id_}/{what}", params=query)
    assert (refused.status_code, refused.json()["reason"]) == (422, "invalid")


@pytest.mark.parametrize("after", ["x", "5", "5~", "~5", "5~1e999", "9" * 15 + "~1.0", "5~1'--"])
def test_a_strange_place_in_a_list_breaks_nothing(
    after: str, crawl: tuple[httpx.Client, str]
) -> None:
    client, id_ = crawl
    for sort in ("", "size"):
        path = f"/app/crawls/{id_}/pages"
        assert client.get(path, params={"after": after, "sort": sort}).status_code == 200


def test_the_order_of_a_list_is_told_and_turned(crawl: tuple[httpx.Client, str]) -> None:
    client, id_ = crawl
    path = f"/app/crawls/{id_}/pages"
    plain = client.get(path, params={"status": "404"}).text
    assert "aria-sort" not in plain
    assert 'href="?status=404&amp;sort=size&amp;descending=1"' in plain
    largest = client.get(path, params={"status": "404", "sort": "size", "descending": "1"}).text
    assert 'aria-sort="descending"><a href="?status=404&amp;sort=size&amp;descending="' in largest
    smallest = client.get(path, params={"sort": "size", "descending": ""}).text
    assert 'aria-sort="ascending"' in smallest


def test_while_pages_are_read_a_search_says_how_many_are_left(
    tmp_path: Path,
) -> None:
    data = tmp_path / "data"
    with (
        background(web(Terms(data=data, quiet=True))) as url,
        httpx.Client(base_url=url, timeout=30) as client,
    ):
        id_ = begin(client)
        store = data / "crawls" / f"{id_}.db"
        fill(store, id_)
        asked = {"text": "fox"}
        client.get(f"/crawls/{id_}/urls", params={"text": "fox", "limit": 1})
        with closing(open_store(store)) as db, texts.opened(texts.beside(store), db) as index:
            index.execute("DELETE FROM progress")
            index.execute("BEGIN IMMEDIATE")  # nobody reads on meanwhile
            answer = client.get(f"/crawls/{id_}/pages", params=asked).json()
            assert answer["unread"] == 30
            page = client.get(f"/app/crawls/{id_}/pages", params=asked).text
            assert "30 pages are still to be read" in page
            assert "/app/static/search.js" in page
            index.execute("ROLLBACK")
        until(lambda: client.get(f"/crawls/{id_}/pages", params=asked).json()["unread"] == 0)
        assert "data-unread" not in client.get(f"/app/crawls/{id_}/pages", params=asked).text
        client.delete(f"/crawls/{id_}")
        assert not list(store.parent.iterdir())
