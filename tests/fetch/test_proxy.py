"""The proxy by real connections on this machine."""

import asyncio
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from freki.fetch.egress import Egress
from freki.fetch.proxy import Limits, Proxy, proxy
from freki.messages import Failure, Reason

Converse = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]

OURS = Egress(allow_private=True)
STRANGERS = Egress(allow_private=False)

ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"


class Site:
    """A server that remembers the requests it got, and on how many connections.

    A stubborn one keeps connections open that it was asked to close.
    """

    def __init__(self, answer: bytes, stubborn: bool) -> None:
        self.answer = answer
        self.stubborn = stubborn
        self.heads: list[bytes] = []
        self.connections = 0
        self.port = 0

    async def converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            while True:
                self.heads.append(await reader.readuntil(b"\r\n\r\n"))
                writer.write(self.answer)
                if b"Connection: close" in self.heads[-1] and not self.stubborn:
                    break
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()


@asynccontextmanager
async def serving(answer: bytes = ANSWER, *, stubborn: bool = False) -> AsyncIterator[Site]:
    site = Site(answer, stubborn)
    server = await asyncio.start_server(site.converse, "127.0.0.1", 0)
    site.port = server.sockets[0].getsockname()[1]
    try:
        yield site
    finally:
        server.close()


async def said(way_out: Proxy, text: str, *more: str) -> bytes:
    """All that is answered until the connection ends; `more` is sent after the first answer."""
    reader, writer = await asyncio.open_connection(*way_out.address)
    writer.write(text.encode())
    heard = b""
    for each in more:
        heard += await reader.readuntil(b"\r\n\r\n")
        writer.write(each.encode())
    async with asyncio.timeout(5):
        heard += await reader.read()
    writer.close()
    return heard


def test_a_plain_request_gets_its_answer_and_the_connection_ends() -> None:
    async def ask() -> tuple[bytes, Site]:
        async with serving() as site, proxy(OURS) as way_out:
            url = f"http://127.0.0.1:{site.port}"
            request = f"GET {url}/a HTTP/1.1\r\n\r\n"
            return await said(way_out, request), site

    heard, site = asyncio.run(ask())
    assert heard == b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nhi"
    assert site.heads[0].startswith(b"GET /a HTTP/1.1\r\nHost: 127.0.0.1:")


def test_a_tunnel_carries_what_it_is_given() -> None:
    async def ask() -> bytes:
        closing = b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nin the tunnel"

        async def converse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.readuntil(b"\r\n\r\n")
            writer.write(closing)
            writer.close()

        server = await asyncio.start_server(converse, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        async with server, proxy(OURS) as way_out:
            opening = f"CONNECT 127.0.0.1:{port} HTTP/1.1\r\n\r\n"
            return await said(way_out, opening, "GET / HTTP/1.1\r\n\r\n")

    assert asyncio.run(ask()).endswith(b"\r\n\r\nin the tunnel")


def test_an_address_that_must_not_be_reached_is_not() -> None:
    async def ask() -> tuple[bytes, bytes, Site, Proxy]:
        async with serving() as site, proxy(STRANGERS) as way_out:
            place = f"127.0.0.1:{site.port}"
            tunnel = await said(way_out, f"CONNECT {place} HTTP/1.1\r\n\r\n")
            plain = await said(way_out, f"GET http://{place}/ HTTP/1.1\r\n\r\n")
            failure = way_out.failure(f"http://{place}/any")
            assert isinstance(failure, Failure)
            assert failure.reason is Reason.blocked_address
            return tunnel, plain, site, way_out

    tunnel, plain, site, way_out = asyncio.run(ask())
    assert tunnel.startswith(b"HTTP/1.1 403 ")
    assert plain == b""  # an answer would be shown as if it were the page
    assert site.connections == 0
    assert way_out.traffic().refused == {"private": 2}


def test_a_second_request_on_a_connection_goes_nowhere_else() -> None:
    async def ask() -> tuple[Site, Site]:
        async with serving(stubborn=True) as site, serving() as other, proxy(OURS) as way_out:
            reader, writer = await asyncio.open_connection(*way_out.address)
            for port in (site.port, other.port):
                writer.write(f"GET http://127.0.0.1:{port}/ HTTP/1.1\r\n\r\n".encode())
                async with asyncio.timeout(5):
                    await reader.readuntil(b"hi")
            writer.close()
            return site, other

    site, other = asyncio.run(ask())
    assert (site.connections, len(site.heads)) == (1, 2)
    assert other.connections == 0


def test_a_name_is_asked_for_once_and_pinned() -> None:
    answers = iter([["127.0.0.1"], ["127.0.0.9"]])

    async def ask() -> int:
        async with serving() as site, proxy(OURS, resolve=lambda _: next(answers)) as way_out:
            request = f"GET http://rebind.example:{site.port}/ HTTP/1.1\r\n\r\n"
            for _ in range(3):
                await said(way_out, request)
            return site.connections

    assert asyncio.run(ask()) == 3


def test_the_proxy_does_not_serve_itself() -> None:
    async def ask() -> list[bytes]:
        async with proxy(OURS) as way_out:
            port = way_out.address[1]
            hosts = ["127.0.0.1", "localhost", "0.0.0.0", "[::ffff:127.0.0.1]"]
            requests = [f"GET http://{host}:{port}/ HTTP/1.1\r\n\r\n" for host in hosts]
            return [await said(way_out, request) for request in requests]

    assert set(asyncio.run(ask())) == {b""}


def test_what_is_not_for_a_proxy_is_turned_away() -> None:
    async def ask() -> list[bytes]:
        async with proxy(OURS) as way_out:
            endless = "GET http://a.example/ HTTP/1.1\r\nX: " + "x" * 300_000
            return [await said(way_out, text) for text in ("GET / HTTP/1.1\r\n\r\n", endless)]

    assert all(answer.startswith(b"HTTP/1.1 400 ") for answer in asyncio.run(ask()))


def test_a_server_that_speaks_something_else_is_not_heard() -> None:
    async def ask() -> bytes:
        async with serving(b"-ERR unknown command 'GET'\r\n\r\n") as site, proxy(OURS) as way_out:
            return await said(way_out, f"GET http://127.0.0.1:{site.port}/ HTTP/1.1\r\n\r\n")

    assert asyncio.run(ask()) == b""


def test_answers_and_connections_are_bounded() -> None:
    async def ask() -> tuple[int, dict[str, int]]:
        limits = Limits(connections=1, answer_bytes=1000)
        flood = b"HTTP/1.1 200 OK\r\n\r\n" + b"x" * 100_000
        async with serving(flood) as site, proxy(OURS, limits) as way_out:
            first = await asyncio.open_connection(*way_out.address)
            url = f"http://127.0.0.1:{site.port}/"
            assert await said(way_out, "") == b""
            first[1].write(f"GET {url} HTTP/1.1\r\n\r\n".encode())
            heard = await first[0].read()
            first[1].close()
            return len(heard), way_out.traffic().refused

    heard, refused = asyncio.run(ask())
    assert heard <= 1000
    assert refused == {"connections": 1, "answer_bytes": 1}


def test_what_is_idle_is_cut() -> None:
    async def ask() -> bytes:
        async with serving() as site, proxy(OURS, Limits(idle_seconds=0.1)) as way_out:
            return await said(way_out, f"CONNECT 127.0.0.1:{site.port} HTTP/1.1\r\n\r\n")

    assert asyncio.run(ask()) == b"HTTP/1.1 200 Connection established\r\n\r\n"


def test_a_browser_that_went_away_leaves_no_connection_to_a_site_that_is_silent() -> None:
    async def ask() -> int:
        asked, ended = asyncio.Event(), asyncio.Event()

        async def be_silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.readuntil(b"\r\n\r\n")
            asked.set()
            await reader.read()
            ended.set()
            writer.close()

        server = await asyncio.start_server(be_silent, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        async with server, proxy(OURS) as way_out, asyncio.timeout(5):
            _, browser = await asyncio.open_connection(*way_out.address)
            browser.write(f"GET http://127.0.0.1:{port}/ HTTP/1.1\r\n\r\n".encode())
            await asked.wait()
            browser.close()
            await ended.wait()
            return way_out.traffic().connections

    assert asyncio.run(ask()) == 0


def test_the_end_is_prompt_and_complete() -> None:
    async def ask() -> float:
        hung = asyncio.Event()
        loop = asyncio.get_running_loop()

        def never(_: str) -> list[str]:
            loop.call_soon_threadsafe(hung.set)
            released.wait(10)
            return []

        released = threading.Event()
        async with serving() as site, proxy(OURS, resolve=never) as way_out:
            idle = await asyncio.open_connection(*way_out.address)
            idle[1].write(f"CONNECT 127.0.0.1:{site.port} HTTP/1.1\r\n\r\n".encode())
            await idle[0].readuntil(b"\r\n\r\n")
            asking = await asyncio.open_connection(*way_out.address)
            asking[1].write(b"CONNECT slow.example:443 HTTP/1.1\r\n\r\n")
            await hung.wait()
            at = loop.time()
        took = loop.time() - at
        released.set()
        assert await idle[0].read() == await asking[0].read() == b""
        idle[1].close()
        asking[1].close()
        return took

    assert asyncio.run(ask()) < 1
