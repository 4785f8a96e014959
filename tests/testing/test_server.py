import asyncio
import os
import signal
import socket
import subprocess
import sys
import tracemalloc
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager, closing, suppress
from http.client import HTTPConnection
from pathlib import Path

import pytest

from freki import url
from freki.testing.auditor import duplicates, most_in_flight, read, violations
from freki.testing.server import MAX_HEAD, Site, serve
from freki.testing.synthetic import Answer, Web

Connection = tuple[asyncio.StreamReader, asyncio.StreamWriter]
Crawl = Callable[[Callable[[str], Answer], str, int | None], set[str]]

LAST = b"GET / HTTP/1.1\r\nhost: hall\r\nconnection: close\r\n\r\n"


def run(web: Web, visit: Callable[[Site], Awaitable[None]], journal: Path | None = None) -> Site:
    """The site as it was left, after the visit."""
    errors: list[str] = []

    async def until_visited() -> Site:
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda _, context: errors.append(str(context)))
        async with serve(web, journal=journal) as site, asyncio.timeout(5):
            await visit(site)
        return site

    site = asyncio.run(until_visited())
    assert errors == []  # of callbacks, which would only be logged
    return site


@asynccontextmanager
async def connected(site: Site, host: int = 0) -> AsyncIterator[Connection]:
    authority = url.split(site.urls[host]).origin.removeprefix("http://")
    address, _, port = authority.rpartition(":")
    reader, writer = await asyncio.open_connection(address.strip("[]"), int(port))
    try:
        yield reader, writer
    finally:
        writer.transport.abort()
        with suppress(ConnectionError):
            await writer.wait_closed()


async def exchange(site: Site, sent: bytes, host: int = 0) -> bytes:
    """Everything that comes back until the server closes the connection."""
    async with connected(site, host) as (reader, writer):
        writer.write(sent)
        return await reader.read()


async def turns(count: int) -> None:
    """Lets everybody on this loop do so many things."""
    for _ in range(count):
        await asyncio.sleep(0)


async def until(fact: Callable[[], bool]) -> None:
    for _ in range(100_000):
        if fact():
            return
        await turns(1)
    raise TimeoutError


def get(path: str, *fields: str, host: str = "hall", method: str = "GET") -> bytes:
    return "\r\n".join([f"{method} {path} HTTP/1.1", f"host: {host}", *fields, "", ""]).encode()


def crawl_all(crawl: Crawl, site: Site, depth: int | None) -> set[str]:
    """Crawl over one connection, asking again while an answer is "later"."""
    origin = url.split(site.url).origin

    def fetch(page: str) -> Answer:
        status = 503
        while status == 503:
            connection.request("GET", page.removeprefix(origin))
            response = connection.getresponse()
            body, status = response.read(), response.status
        fields = [(name.lower(), value) for name, value in response.getheaders()]
        return Answer(status, tuple(fields), body)

    with closing(HTTPConnection(origin.removeprefix("http://"))) as connection:
        return crawl(fetch, site.url, depth)


@pytest.mark.parametrize("depth", [None, 2])
@pytest.mark.parametrize(
    "web",
    [
        Web(seed=1, pages=100),
        Web(seed=2, pages=80, redirects=0.5),
        Web(seed=3, pages=80, missing=0.2, broken=0.2, flaky=0.2, duplicates=0.1, files=0.2),
        Web(seed=4, pages=100, messy=0.7, redirects=0.2, duplicates=0.2, links_per_page=3),
        Web(seed=5, pages=100, hosts=4, cross_links=0.3, redirects=0.2, links_per_page=0),
        Web(seed=6, pages=17, hosts=2, cross_links=1.0, redirects=1.0),
    ],
)
def test_a_naive_crawler_finds_what_is_expected(crawl: Crawl, web: Web, depth: int | None) -> None:
    found: set[str] = set()

    async def visit(site: Site) -> None:
        found.update(await asyncio.to_thread(crawl_all, crawl, site, depth))

    site = run(web, visit)
    assert found == web.expected(depth=depth)
    assert {visit.path for visit in site.log} == found
    assert duplicates(site.log) == {}
    assert max(most_in_flight(site.log).values()) == 1


def test_a_connection_is_kept_for_any_number_of_requests() -> None:
    async def visit(site: Site) -> None:
        async with connected(site) as (reader, writer):
            for _ in range(50):
                writer.write(get("/robots.txt"))
                assert (await reader.readuntil(b"Allow: /\n")).startswith(b"HTTP/1.1 200 OK\r\n")
            assert site.statistics().connections == 1

    statistics = run(Web(), visit).statistics()
    assert (statistics.requests, statistics.most_connections) == (50, 1)
    assert statistics.statuses == {200: 50}


@pytest.mark.parametrize("delay", [0.0, 0.001])
def test_pipelined_requests_are_answered_in_order(delay: float) -> None:
    paths = ["/hall/1/", "/hall/2/", "/nothing", "/hall/3/", "/robots.txt"]

    async def visit(site: Site) -> None:
        came = await exchange(site, b"".join(map(get, paths)) + LAST)
        marks = [b"<h1>Hall 1,", b"<h1>Hall 2,", b"Not Found", b"<h1>Hall 3,", b"User-agent: *"]
        places = [came.index(mark) for mark in marks]
        assert places == sorted(places)

    assert [visit.path for visit in run(Web(delay=delay), visit).log] == [*paths, "/"]


def test_a_client_that_sends_no_more_still_gets_every_answer() -> None:
    async def visit(site: Site) -> None:
        async with connected(site) as (reader, writer):
            writer.write(get("/hall/1/") * 3)
            writer.write_eof()
            assert (await reader.read()).count(b"<h1>") == 3

    run(Web(), visit)


def test_a_request_may_come_byte_by_byte() -> None:
    async def visit(site: Site) -> None:
        async with connected(site) as (reader, writer):
            for byte in LAST:
                writer.write(bytes([byte]))
                await turns(1)
            assert (await reader.read()).startswith(b"HTTP/1.1 200 OK\r\n")

    run(Web(), visit)


def test_head_announces_the_body_and_leaves_it_out() -> None:
    async def visit(site: Site) -> None:
        got = await exchange(site, get("/", "Connection: close"))
        head = await exchange(site, get("/", "Connection: close", method="HEAD"))
        assert head == got.partition(b"<!doctype")[0]
        assert b"content-length: %d\r\n" % (len(got) - len(head)) in head

    assert [visit.method for visit in run(Web(), visit).log] == ["GET", "HEAD"]


def test_http_1_0_ends_the_connection_unless_asked_to_keep_it() -> None:
    async def visit(site: Site) -> None:
        old = b"GET /robots.txt HTTP/1.0\r\nHost: hall\r\n"
        assert (await exchange(site, old + b"\r\n" + LAST)).count(b"HTTP/1.1 200") == 1
        kept = old + b"Connection: keep-alive\r\n\r\n"
        assert (await exchange(site, kept + LAST)).count(b"HTTP/1.1 200") == 2

    run(Web(), visit)


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (b"nonsense\r\n\r\n", 400),
        (b"GET / HTTP/2.0\r\nhost: a\r\n\r\n", 400),
        (b"GET http://a/ HTTP/1.1\r\nhost: a\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\n\r\n", 400),
        (b'GET / HTTP/1.1\r\nhost: "><script>\r\n\r\n', 400),
        (b"POST / HTTP/1.1\r\nhost: a\r\n\r\n", 405),
        (b"GET / HTTP/1.1\r\nhost: a\r\ncontent-length: 1\r\n\r\nx", 413),
        (b"GET / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n", 413),
        (b"GET / HTTP/1.1\r\nx: " + b"a" * MAX_HEAD, 431),
    ],
)
def test_what_is_no_plain_request_is_refused(sent: bytes, status: int) -> None:
    async def visit(site: Site) -> None:
        assert (await exchange(site, sent)).startswith(b"HTTP/1.1 %d " % status)

    assert not run(Web(), visit).log


def test_a_client_that_never_reads_is_not_served_without_end() -> None:
    async def visit(site: Site) -> None:
        async with connected(site) as (_, writer):
            writer.write(get("/hall/1/") * 500_000)
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(writer.drain(), 0.1)
            assert site.statistics().requests < 10_000

    run(Web(), visit)


def test_a_client_that_reads_late_gets_every_answer() -> None:
    async def visit(site: Site) -> None:
        async with connected(site) as (reader, writer):
            writer.write(get("/robots.txt") * 10_000 + LAST)
            await turns(100)
            assert (await reader.read()).count(b"HTTP/1.1 200 OK\r\n") == 10_001

    run(Web(robots="# nothing\n" * 200), visit)


def test_an_endless_body_waits_for_its_reader() -> None:
    async def visit(site: Site) -> None:
        async with connected(site) as (reader, writer):
            writer.write(get("/hostile/endless-body"))
            tracemalloc.start()
            await turns(3000)
            assert tracemalloc.get_traced_memory()[1] < 2_000_000
            tracemalloc.stop()
            for _ in range(200):
                await reader.readexactly(100_000)

    run(Web(), visit)


def test_every_request_is_logged_with_its_times_and_its_agent() -> None:
    async def visit(site: Site) -> None:
        await exchange(site, get("/", "User-Agent: Freki/1", "connection: close", host="Hall:80"))

    site = run(Web(delay=0.02), visit)
    (access,) = site.log
    assert (access.host, access.path, access.status) == ("hall:80", "/", 200)
    assert (access.method, access.agent) == ("GET", "Freki/1")
    assert 0.015 < access.end - access.start < 1
    assert access.wall > 1_700_000_000


def test_a_client_that_leaves_early_is_logged_without_a_status() -> None:
    async def visit(site: Site) -> None:
        async with connected(site) as (_, writer):
            writer.write(get("/"))
            await until(lambda: site.statistics().requests == 1)
        await until(lambda: site.statistics().connections == 0)
        await exchange(site, LAST)  # takes as long as the answer that nobody waits for

    site = run(Web(delay=0.05), visit)
    assert [access.status for access in site.log] == [0, 200]


def test_the_end_of_the_site_is_the_end_of_every_connection() -> None:
    async def visit() -> Site:
        async with AsyncExitStack() as afterwards:
            async with serve(Web()) as site:
                reader, writer = await afterwards.enter_async_context(connected(site))
                writer.write(get("/hostile/silence"))
                await until(lambda: site.statistics().requests == 1)
            assert site.statistics().connections == 0
            assert await reader.read() == b""
        return site

    assert [access.path for access in asyncio.run(visit()).log] == ["/hostile/silence"]


def test_the_journal_tells_what_the_log_tells(tmp_path: Path) -> None:
    journal = tmp_path / "access.jsonl"

    async def visit(site: Site) -> None:
        for path in ("/", "/robots.txt", "/nothing"):
            await exchange(site, get(path, "connection: close"))
        assert read(journal) == list(site.log)

    run(Web(), visit, journal)
    with journal.open("a", encoding="utf-8") as lines:
        lines.write('{"host": "cut off')
    assert [access.path for access in read(journal)] == ["/", "/robots.txt", "/nothing"]


def test_the_log_remembers_as_much_as_it_is_told_to() -> None:
    async def visit() -> Site:
        async with serve(Web(), remember=2) as site:
            await exchange(site, get("/") + get("/hall/1/") + LAST)
        return site

    site = asyncio.run(visit())
    assert [access.path for access in site.log] == ["/hall/1/", "/"]
    assert site.statistics().requests == 3


def test_hundreds_of_hosts_listen_on_one_port() -> None:
    async def visit(site: Site) -> None:
        assert len(site.urls) == 300
        assert site.urls[299].startswith("http://127.0.1.44:")
        assert len({url.rpartition(":")[2] for url in site.urls}) == 1
        for host in (0, 150, 299):
            authority = url.split(site.urls[host]).origin.removeprefix("http://")
            asked = get("/hall/1/", "connection: close", host=authority)
            assert site.urls[host].encode() in await exchange(site, asked, host)

    site = run(Web(hosts=300), visit)
    assert violations(site.log, delay=10) == []


def test_the_web_is_served_under_another_loopback_address() -> None:
    async def visit() -> None:
        async with serve(Web(), "::1") as site:
            assert site.url.startswith("http://[::1]:")
            assert b"<h1>The Library of Halls" in await exchange(site, LAST)

    asyncio.run(visit())


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1"])
def test_the_web_is_served_on_loopback_only(host: str) -> None:
    async def visit() -> None:
        async with serve(Web(), host):
            pass

    with pytest.raises(ValueError, match="no loopback address"):
        asyncio.run(visit())


def test_a_port_that_is_taken_is_an_error() -> None:
    async def visit() -> None:
        with socket.create_server(("127.0.0.1", 0)) as taken:
            async with serve(Web(), port=taken.getsockname()[1]):
                pass

    with pytest.raises(OSError, match="in use"):
        asyncio.run(visit())


def test_a_site_says_where_it_is_and_how_it_does() -> None:
    async def visit(site: Site) -> None:
        assert site.url in repr(site)
        assert "requests=0" in repr(site)

    run(Web(), visit)


def test_the_program_serves_until_it_is_told_to_stop(tmp_path: Path) -> None:
    journal = tmp_path / "access.jsonl"
    arguments = ["--pages", "50", "--hostile", "silence", "--journal", str(journal)]
    with subprocess.Popen(
        [sys.executable, "-m", "freki.testing.server", *arguments],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        stdout=subprocess.PIPE,
        text=True,
    ) as program:
        assert program.stdout
        origin = url.split(program.stdout.readline().strip()).origin
        connection = HTTPConnection(origin.removeprefix("http://"))
        connection.request("GET", "/")
        assert b"/hostile/silence" in connection.getresponse().read()
        program.send_signal(signal.SIGTERM)
        assert program.wait(5) == 0
        connection.close()
    assert [access.path for access in read(journal)] == ["/"]


def test_the_program_refuses_an_impossible_web() -> None:
    ended = subprocess.run(
        [sys.executable, "-m", "freki.testing.server", "--pages", "0"],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 2
    assert "no web has 0 pages" in ended.stderr
