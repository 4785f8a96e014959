"""Requests that are more than an address, as they go over the wire; proxies; one page at a time."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from tests.background import background

import freki
from freki.config import Settings
from freki.engine.single import fetch_one
from freki.errors import FetchFailed
from freki.messages import Claim, Failure, Reason, Request, Response
from freki.testing.shop import serve


@asynccontextmanager
async def echo(status: bytes = b"200 OK") -> AsyncIterator["Echo"]:
    """A server that says what it was sent; to a proxy's client it looks like a proxy."""
    made = Echo(status)
    server = await asyncio.start_server(made.converse, "127.0.0.1", 0)
    made.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield made
    finally:
        server.close()


class Echo:
    def __init__(self, status: bytes) -> None:
        self.status = status
        self.heads: list[str] = []
        self.bodies: list[bytes] = []
        self.url = ""

    async def converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode()
                self.heads.append(head)
                sizes = [line for line in head.lower().split("\r\n") if "content-length" in line]
                size = int(sizes[0].split(":")[1]) if sizes else 0
                self.bodies.append(await reader.readexactly(size))
                writer.write(b"HTTP/1.1 %s\r\ncontent-length: 2\r\n\r\n" % self.status)
                writer.write(b"" if head.startswith("HEAD") else b"ok")
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()


def ask(*requests: Request | None, proxy: str = "", status: bytes = b"200 OK") -> tuple[Any, Echo]:
    """The answers to requests that share a client, and what the server saw."""

    async def work() -> tuple[list[Any], Echo]:
        async with echo(status) as server:
            through = [_with_proxy(proxy.replace("HERE", server.url.removeprefix("http://")))]
            url = f"{server.url}/x"
            answers = [await fetch_one(url, one, Settings(), through) for one in requests]
            return answers, server

    return asyncio.run(work())


def _with_proxy(proxy: str) -> Any:
    def wrap(fetch: Any) -> Any:
        async def call(claim: Claim) -> Any:
            return await fetch(Claim(0, 0, claim.url, 0, request=claim.request, proxy=proxy))

        return call

    return wrap


def test_method_headers_and_body_arrive_as_they_were_given() -> None:
    request = Request("PUT", (("x-me", "1"), ("accept", "a/b"), ("x-empty", "")), b"\x00\xff")
    (answer,), server = ask(request)
    assert isinstance(answer, Response)
    head = server.heads[0].lower()
    assert head.startswith("put /x http/1.1\r\n")
    assert server.bodies == [b"\x00\xff"]
    assert "x-me: 1\r\n" in head
    assert "x-empty:\r\n" in head
    assert head.count("accept:") == 1
    assert "expect:" not in head
    assert "content-type:" not in head


def test_a_handle_forgets_what_it_was_told() -> None:
    async def work() -> Echo:
        async with echo() as server:
            spider = _sending(f"{server.url}/")
            async for _ in freki.crawl(spider, delay=0, ignore_robots=True, concurrency=1):
                pass
            return server

    server = asyncio.run(work())
    methods = [head.split()[0] for head in server.heads]
    assert methods == ["GET", "POST", "HEAD", "GET"]
    assert server.bodies == [b"", b"a=1", b"", b""]
    assert "x-once" not in server.heads[3].lower()
    assert "content-length" not in server.heads[3].lower()


def _sending(url: str) -> type[freki.Spider]:
    class Sending(freki.Spider):
        start = [url]

        def parse(self, page: freki.Page) -> Any:
            once = {"X-Once": "1"}
            yield page.request("/1", self.end, form={"a": "1"}, headers=once, priority=3)
            yield page.request("/2", self.end, method="HEAD", priority=2)
            yield page.request("/3", self.end)

        def end(self, page: freki.Page) -> None: ...

    return Sending


def test_a_proxy_gets_the_request_and_its_own_password() -> None:
    (answer,), server = ask(None, proxy="http://me:secret@HERE")
    assert isinstance(answer, Response)
    assert server.heads[0].startswith("GET http://127.0.0.1:")
    assert "Proxy-Authorization: Basic bWU6c2VjcmV0" in server.heads[0]


def test_a_proxy_that_wants_a_password_is_named_without_it() -> None:
    (answer,), server = ask(None, proxy="http://me:wrong@HERE", status=b"407 No")
    assert isinstance(answer, Failure)
    assert answer.reason is Reason.proxy
    assert answer.detail == f"{server.url} asks for credentials"


def test_a_proxy_that_is_not_there_is_the_one_to_blame() -> None:
    (answer,), _ = ask(None, proxy="http://127.0.0.1:1025")
    assert isinstance(answer, Failure)
    assert answer.reason is Reason.proxy
    assert "secret" not in answer.detail


# One page, and several runs


def test_fetch_is_one_page_with_redirects_followed() -> None:
    async def work() -> None:
        async with serve() as shop:
            page = await freki.fetch(f"{shop.url}book/1")
            assert (page.status, page.css("h1").text) == (200, "Emma")
            assert page.data.of_type("Book")[0]["author"] == "Jane Austen"
            fields = {"token": "b7f3", "user": "reader", "password": "pages"}
            page = await freki.fetch(f"{shop.url}login", form=fields)
            assert page.url.endswith("/members")
            assert (await freki.fetch(f"{shop.url}nowhere")).status == 404

    asyncio.run(work())


def test_fetch_raises_where_nothing_answers() -> None:
    with pytest.raises(FetchFailed, match=r"gave no answer \(connect"):
        asyncio.run(freki.fetch("http://127.0.0.1:1025/"))
    with pytest.raises(freki.errors.BadConfig, match="did you mean timeout"):
        asyncio.run(freki.fetch("http://127.0.0.1:1025/", settings={"timout": 1}))


class Titles(freki.Spider):
    def parse(self, page: freki.Page) -> Any:
        yield {"title": page.title}
        yield page.follow("a.next")


def test_run_and_collect_work_several_times_and_where_a_loop_runs() -> None:
    with background(serve()) as shop:
        fast: dict[str, Any] = {"delay": 0, "ignore_robots": True}
        for _ in range(2):
            assert len(freki.collect(shop.url, Titles, **fast)) == 4

        async def as_in_jupyter() -> freki.Summary:
            return freki.run(shop.url, Titles(), **fast)

        summary = asyncio.run(as_in_jupyter())
        assert (summary.status, summary.fetched, summary.items) == ("finished", 4, 4)
        with pytest.raises(freki.errors.BadUrl):
            asyncio.run(_fails())


async def _fails() -> None:
    freki.run("no address")
