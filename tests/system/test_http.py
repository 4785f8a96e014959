"""Our client against real servers: versions, TLS, cookies, codings."""

import asyncio
import socket
import ssl
from pathlib import Path
from typing import Any

import pytest
from tests.system.conftest import DOCUMENTATION, Nginx
from tests.system.scripted import Script, answer, page, scripted

import freki
from freki.config import Fetching
from freki.fetch.http import Http
from freki.messages import Claim, Failure, Reason, Response

Fetched = Response | Failure


def fetched(url: str, settings: Fetching | None = None, times: int = 1) -> list[Fetched]:
    """One answer after another, by one client."""

    async def fetch() -> list[Fetched]:
        http = Http(settings or Fetching(timeout=5), "Freki/0", per_host=4)
        try:
            return [await http.fetch(Claim(1, 1, url, 0)) for _ in range(times)]
        finally:
            http.close()

    return asyncio.run(fetch())


def _asked_over_tls(certificate: Path, settings: Fetching) -> Fetched:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)

    async def ask() -> Fetched:
        secret = {"/": answer(200, b"secret", content_type="text/plain")}
        async with scripted(secret, tls=context) as site:
            http = Http(settings, "Freki/0", per_host=4)
            try:
                return await http.fetch(Claim(1, 1, f"{site.url}/", 0))
            finally:
                http.close()

    return asyncio.run(ask())


def test_a_certificate_that_nobody_vouches_for_is_refused(certificate: Path) -> None:
    got = _asked_over_tls(certificate, Fetching(timeout=5))
    assert isinstance(got, Failure)
    assert got.reason is Reason.tls


def test_a_certificate_can_be_accepted_by_option(certificate: Path) -> None:
    got = _asked_over_tls(certificate, Fetching(timeout=5, insecure=True))
    assert isinstance(got, Response)
    assert got.body == b"secret"
    assert got.timings.tls > 0


def test_http_2_is_spoken_where_the_server_can(nginx: Nginx, certificate: Path) -> None:
    port = _free_port()
    tls = (
        f'listen 127.0.0.1:{port} ssl http2; ssl_certificate "{certificate}"; '
        f'ssl_certificate_key "{certificate}";'
    )
    nginx.serve(DOCUMENTATION, tls).requests()  # once it answers here, it listens there
    (newest,) = fetched(f"https://127.0.0.1:{port}/index.html", Fetching(timeout=5, insecure=True))
    older = Fetching(timeout=5, insecure=True, http="1.1")
    (oldest,) = fetched(f"https://127.0.0.1:{port}/index.html", older)
    assert isinstance(newest, Response)
    assert isinstance(oldest, Response)
    assert (newest.http, oldest.http) == ("2", "1.1")
    assert newest.body == oldest.body


def test_a_compressed_answer_is_the_page_itself(nginx: Nginx) -> None:
    plain = nginx.serve(DOCUMENTATION)
    packed = nginx.serve(DOCUMENTATION, "gzip on; gzip_types text/html;")
    (one,) = fetched(f"{plain.base_url}/index.html")
    (other,) = fetched(f"{packed.base_url}/index.html")
    assert isinstance(one, Response)
    assert isinstance(other, Response)
    assert other.header("content-encoding") == "gzip"
    assert other.body == one.body
    assert other.wire_bytes < one.wire_bytes


def test_connections_are_used_again(nginx: Nginx) -> None:
    site = nginx.serve(DOCUMENTATION)
    fetched(f"{site.base_url}/index.html", times=10)
    assert len({request.connection for request in site.requests()}) == 1


def test_a_cookie_comes_back_to_the_host_that_set_it_and_to_no_other() -> None:
    async def ask() -> tuple[list[str], list[str]]:
        async with scripted({"/": _cookie}) as site, scripted({}, "127.0.0.2") as other:
            http = Http(Fetching(timeout=5), "Freki/0", per_host=4)
            await http.fetch(Claim(1, 1, f"{site.url}/", 0))
            await http.fetch(Claim(1, 1, f"{site.url}/again", 0))
            await http.fetch(Claim(1, 1, f"{other.url}/", 0))
            http.close()
            return site.cookies, other.cookies

    here, there = asyncio.run(ask())
    assert here == ["", "visit=1"]
    assert there == [""]


def test_a_page_that_wants_a_cookie_first_is_stored() -> None:
    """The same URL answers with a redirect to itself until it sees the cookie that it set."""
    answers = iter([answer(302, location="/", set_cookie="seen=1"), page()])

    async def crawl() -> tuple[list[int], list[str]]:
        async with scripted({"/": lambda: next(answers)}) as site:
            visits = freki.crawl(f"{site.url}/", delay=0, sitemap="no")
            return [visit.status async for visit in visits], site.cookies

    assert asyncio.run(crawl()) == ([200], ["", "", "seen=1"])


def test_who_does_not_take_a_connection_is_not_reached_and_who_does_not_answer_is_slow() -> None:
    """The one concerns all URLs of a host, the other one of them; TLS is part of connecting."""
    with socket.create_server(("127.0.0.1", 0)) as deaf:
        place = f"127.0.0.1:{deaf.getsockname()[1]}/"
        impatient = Fetching(connect_timeout=0.2, timeout=0.4)
        (no_tls,) = fetched(f"https://{place}", impatient)
        (no_answer,) = fetched(f"http://{place}", impatient)
    assert isinstance(no_tls, Failure)
    assert no_tls.reason is Reason.connect
    assert isinstance(no_answer, Failure)
    assert no_answer.reason is Reason.timeout


@pytest.mark.parametrize(("first", "second"), [("seen=1; Path=/", ""), ("", "seen=1")])
def test_a_page_that_sends_its_visitors_round_for_a_cookie_is_stored(
    first: str, second: str
) -> None:
    """Either of the two redirects may set it; without it nobody gets in."""
    answers = iter([answer(302, location="/check?for=/", **_setting(first)), page("/next")])

    async def crawl() -> tuple[list[str], list[str]]:
        script: Script = {
            "/": lambda: next(answers),
            "/check?for=/": answer(302, location="/", **_setting(second)),
            "/next": page(),
        }
        async with scripted(script) as site:
            visits = freki.crawl(f"{site.url}/", delay=0, sitemap="no", ignore_robots=True)
            found = [visit.url.removeprefix(site.url) async for visit in visits]
            return found, site.asked

    assert asyncio.run(crawl()) == (["/", "/next"], ["/", "/check?for=/", "/", "/next"])


@pytest.mark.parametrize("cookie", ["", "seen=1"])
def test_a_round_that_never_ends_is_gone_through_twice_at_most(cookie: str) -> None:
    async def crawl() -> list[str]:
        script: Script = {
            "/": answer(302, location="/check", **_setting(cookie)),
            "/check": answer(302, location="/", **_setting(cookie)),
        }
        async with scripted(script) as site:
            async for _ in freki.crawl(f"{site.url}/", delay=0, sitemap="no", ignore_robots=True):
                pass
            return site.asked

    assert asyncio.run(crawl()) == ["/", "/check", *(["/"] if cookie else [])]


def _setting(cookie: str) -> dict[str, Any]:
    return {"set_cookie": cookie} if cookie else {}


def _cookie() -> bytes:
    return answer(200, b"", set_cookie="visit=1; Path=/")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
