import asyncio
import re
from html import unescape
from io import BytesIO
from typing import cast

import pycurl
import pytest

from freki import url
from freki.testing.server import serve
from freki.testing.synthetic import Web
from freki.testing.trapweb import FACETS, FARM, TrapWeb

HOST = "127.0.0.1:8080"
WEB = TrapWeb(real_pages=100)
HREF = re.compile(r'<a href="([^"]*)"')

FIRST = {
    "calendar": "/calendar/2026/05/",
    "session": f"/?sid={'a' * 32}",
    "visit": f"/visit/{'a' * 32}/",
    "maze": "/maze/",
    "shop": "/shop?brand=1",
    "lost": "/lost/lamp",
}


def links(path: str, host: str = HOST, web: TrapWeb = WEB) -> list[str]:
    """Where a page leads, as URLs."""
    body = web.answer(host, path).body.decode()
    found = (url.join(f"http://{host}{path}", unescape(href)) for href in HREF.findall(body))
    return [link for link in found if link is not None]


def places(found: list[str]) -> list[tuple[str, str]]:
    return [(origin.removeprefix("http://"), path) for origin, path in map(url.split, found)]


def traps(found: list[str]) -> list[str | None]:
    return [WEB.trap(host, path) for host, path in places(found)]


def test_the_real_section_has_as_many_pages_as_asked_for() -> None:
    assert len(WEB.real()) == 100
    assert len(TrapWeb().real()) == 1000


def test_real_pages_are_in_no_trap() -> None:
    assert {WEB.trap(HOST, path) for path in WEB.real()} == {None}


def test_the_real_section_can_be_reached_without_the_traps() -> None:
    found, ring = {"/"}, ["/"]
    for path in ring:  # which grows meanwhile
        for host, to in places(links(path)):
            if WEB.trap(host, to) is None and to not in found:
                found.add(to)
                ring.append(to)
    assert found == WEB.real()


@pytest.mark.parametrize("path", sorted(WEB.real())[::20])
def test_every_real_page_leads_into_every_trap(path: str) -> None:
    assert set(traps(links(path))) == {None, *FIRST, "farm"}


@pytest.mark.parametrize("trap", FIRST)
def test_a_trap_leads_ever_further_into_itself(trap: str) -> None:
    ring = {(HOST, FIRST[trap])}
    found = set(ring)
    for _ in range(4):
        further = {to for host, path in ring for to in places(links(path, host))} - found
        ring = set(sorted(place for place in further if WEB.trap(*place) == trap)[:20])
        assert ring
        found |= ring


def test_a_farm_has_ever_more_hosts() -> None:
    hosts = {f"a{FARM}:8080"}
    for _ in range(3):
        hosts |= {host for name in hosts for host, _ in places(links("/", name))}
    assert len(hosts) > 100
    assert all(host.endswith(f"{FARM}:8080") for host in hosts)


@pytest.mark.parametrize("path", [*FIRST.values(), "/any/thing", "/calendar/0000/99/", "/shop"])
def test_whatever_is_asked_for_is_answered(path: str) -> None:
    answer = WEB.answer(HOST, path)
    assert answer.status == 200
    assert len(links(path)) >= 3


def test_a_calendar_has_months_before_and_after_and_days() -> None:
    found = [path for _, path in places(links("/calendar/2026/12/"))]
    assert found[:2] == ["/calendar/2026/11/", "/calendar/2027/01/"]
    assert found[2] == "/calendar/2026/12/01/"
    assert len(found) == 33


def test_a_session_shows_real_pages_under_ever_new_names() -> None:
    token = links("/")[-6]
    copies = links(url.split(token).path)
    assert len(copies) > 8
    assert len({link.partition("sid=")[2] for link in copies}) == len(set(copies))
    assert {url.split(link).path.partition("?")[0] for link in copies} <= WEB.real()


def test_the_shop_keeps_what_was_chosen() -> None:
    found = [path for _, path in places(links("/shop?brand=3&size=2"))]
    assert "/shop?brand=3&colour=1&size=2" in found
    assert len(found) == sum((values + 2) // 3 for values in FACETS.values())


def test_what_a_page_quotes_is_escaped() -> None:
    assert b"<b>" not in WEB.answer(HOST, "/<b>").body


def test_the_same_seed_gives_the_same_web() -> None:
    paths = [*FIRST.values(), *sorted(WEB.real())[:9]]
    assert [WEB.answer(HOST, path) for path in paths] == [
        TrapWeb(real_pages=100).answer(HOST, path) for path in paths
    ]
    assert links("/", web=TrapWeb(1, 100)) != links("/")


def test_robots_are_welcome() -> None:
    assert WEB.answer(HOST, "/robots.txt").body.startswith(b"User-agent: *\nAllow: /")


def test_the_farm_is_on_loopback_without_a_resolver() -> None:
    def get(at: str) -> tuple[str, str]:
        body, client = BytesIO(), pycurl.Curl()
        client.setopt(pycurl.URL, at)
        client.setopt(pycurl.WRITEDATA, body)
        client.setopt(pycurl.TIMEOUT, 5)
        client.perform()
        address = client.getinfo(pycurl.PRIMARY_IP)
        client.close()
        return address, body.getvalue().decode()

    async def visit() -> tuple[str, str]:
        # A server asks of a web no more than hosts and answers.
        async with serve(cast("Web", WEB)) as site:
            port = site.url.rpartition(":")[2]
            return await asyncio.to_thread(get, f"http://lamp.deep{FARM}:{port}")

    address, body = asyncio.run(visit())
    assert address == "127.0.0.1"
    assert "This domain may be for sale." in body
