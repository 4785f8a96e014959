"""Spiders against saved pages, without the network.

    found = read(Books, "pages/book.page", "book", state=Place("start", 1))
    assert found.items == [{"title": "Kidnapped"}]

    found = crawl(Books, "pages")
    assert len(found.items) == 20

`freki save URL` saves a page: a file with the address, the status, the headers, an empty line and
the body, to be read and changed by hand.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec
from msgspec import Struct

from freki import api
from freki.errors import BadInput
from freki.ledger import crawls
from freki.ledger import read as stored
from freki.ledger.store import read_store
from freki.messages import Asked, Claim, Failure, Fate, Item, Request, Response
from freki.spider.explore import Explorer
from freki.spider.page import Page
from freki.spider.request import packed, unpacked
from freki.spider.spider import Spider, made
from freki.steps import Fetch
from freki.url import parse

SUFFIX = ".page"


class Wanted(Struct, frozen=True):
    """A request that a callback asked for."""

    url: str
    callback: str = "parse"
    method: str = "GET"
    body: bytes = b""
    state: Any = None  # as plain values


class Found(Struct, frozen=True):
    """What a spider made of saved pages."""

    items: list[Any]
    dropped: list[tuple[Any, str]] = []  # with the reason
    failed: list[tuple[Any, str]] = []  # with the traceback
    requests: list[Wanted] = []
    missing: list[str] = []  # addresses that were asked for, and no page was saved of

    @property
    def urls(self) -> list[str]:
        """Where the requests lead."""
        return [request.url for request in self.requests]


def read(
    spider: Spider | type[Spider],
    page: str | Path | Page,
    callback: str = "parse",
    state: object = None,
) -> Found:
    """What one callback makes of one page. An exception in it is an AssertionError here."""
    response = page.response if isinstance(page, Page) else saved(page).response
    request = Request(callback=callback, state=packed(state))
    explored = asyncio.run(
        Explorer(made(spider))(Claim(0, 0, response.url, 0, request=request), response)
    )
    if explored.error:
        raise AssertionError(explored.error)
    by_fate = {fate: [item for item in explored.items if item.fate is fate] for fate in Fate}
    return Found(
        [_data(item) for item in by_fate[Fate.kept]],
        [(_data(item), item.detail) for item in by_fate[Fate.dropped]],
        [(_data(item), item.detail) for item in by_fate[Fate.failed]],
        [_wanted(asked) for asked in explored.asked],
    )


def crawl(spider: Spider | type[Spider], folder: str | Path, **options: object) -> Found:
    """A whole crawl of the pages that were saved in a folder; all others are missing (404)."""
    pages = {
        page.url: page.response for page in map(saved, sorted(Path(folder).glob(f"*{SUFFIX}")))
    }
    if not pages:
        raise BadInput(f"{folder}: there is no saved page; freki save URL makes one")
    program = made(spider)
    missing: list[str] = []
    before = program.around_fetch
    program.around_fetch = [*before, _instead(pages, missing)]
    try:
        with TemporaryDirectory() as temporary:
            store = Path(temporary) / "freki.db"
            plain: dict[str, object] = {"delay": 0, "ignore_robots": True, **options}
            asyncio.run(_to_the_end(program, store, plain))
            return _found(store, missing)
    finally:
        program.around_fetch = before


def saved(path: str | Path) -> Page:
    """A page that `freki save` wrote."""
    try:
        head, _, body = Path(path).read_bytes().partition(b"\n\n")
    except OSError as error:
        raise BadInput(f"cannot read {path}: {error.strerror}; freki save URL makes one") from None
    lines = [line.partition(": ") for line in head.decode("utf-8").splitlines()]
    fields = [(name, value) for name, mark, value in lines if mark]
    told = dict(fields[:2])
    if not {"url", "status"} <= told.keys() or not told["status"].isdigit():
        raise BadInput(f"{path} is no saved page: it begins with a line url: and a line status:")
    headers = tuple(fields[2:])
    kind = dict(headers).get("content-type", "text/html; charset=utf-8")
    return Page(Response(parse(told["url"]), int(told["status"]), headers, body, kind))


def save(page: Page, path: Path) -> None:
    """Write a page so that `saved` reads it; what belongs to its transfer is left out."""
    lines = [f"url: {page.url}", f"status: {page.status}"]
    lines += [f"{name}: {value}" for name, value in page.response.headers if name not in _TRANSFER]
    path.write_bytes("\n".join(lines).encode() + b"\n\n" + page.body)


# The body is saved decoded and whole; and what a cookie opens is nobody's who reads the test.
_TRANSFER = {"content-encoding", "content-length", "transfer-encoding", "connection", "keep-alive",
             "set-cookie"}  # fmt: skip


def _instead(pages: dict[str, Response], missing: list[str]) -> Callable[[Fetch], Fetch]:
    async def fetch(claim: Claim) -> Response | Failure:
        found = pages.get(claim.url)
        if found is None:
            missing.append(claim.url)
            return Response(claim.url, 404, (), b"")
        return found

    return lambda _network: fetch


async def _to_the_end(spider: Spider, store: Path, options: dict[str, Any]) -> None:
    pages: AsyncIterator[Page] = api.crawl(spider, store=store, **options)
    async for _ in pages:
        pass


def _found(store: Path, missing: list[str]) -> Found:
    with closing(read_store(store)) as db:
        crawl = crawls.newest(db)
        assert crawl is not None
        lines = list(stored.items(db, crawl.id, None))
        broken = [
            line for line in stored.urls(db, crawl.id, stored.Filter()) if line.reason == "crash"
        ]
    if broken:
        raise AssertionError(f"{broken[0].url}: {broken[0].detail}")
    told = {
        fate.name: [
            (msgspec.json.decode(line.data), line.detail or "")
            for line in lines
            if line.fate == fate.name
        ]
        for fate in Fate
    }
    items = [item for item, _ in told["kept"]]
    return Found(items, told["dropped"], told["failed"], missing=sorted(set(missing)))


def _data(item: Item) -> Any:
    return msgspec.json.decode(item.data)


def _wanted(asked: Asked) -> Wanted:
    request = asked.request
    return Wanted(
        asked.url,
        request.callback or "parse",
        request.method,
        request.body,
        unpacked(request.state, Any) if request.state else None,
    )
