"""Nothing that must not be reached is reached by the HTTP client. The judge is the log of a server
that listens where nobody may go, and every attempt is one that gets there without the guard.
"""

import asyncio
from collections.abc import Mapping
from itertools import cycle
from pathlib import Path
from typing import Any

import pytest
from tests.system.scripted import Script, answer, page, scripted
from tests.system.secret import ATTACKER, WORD, secret

import freki
from freki.config import Fetching
from freki.errors import BadUrl
from freki.fetch.egress import Egress
from freki.fetch.http import Http
from freki.fetch.names import Resolve, by_system
from freki.fetch.post import post
from freki.fetch.proxy import proxy
from freki.messages import Claim, Failure, Reason, Response
from freki.url import parse

GUARDED = Fetching(timeout=5, allow_private=False, allow_address=(ATTACKER,))
OPEN = Fetching(timeout=5)

# By every way to write them that leads to this machine.
SPELLINGS = {
    "plain": "http://127.0.0.1:{port}/",
    "another address": "http://127.9.9.9:{port}/",
    "name": "http://localhost:{port}/",
    "subdomain of it": "http://a.b.localhost:{port}/",
    "capitals": "HTTP://LOCALHOST:{port}/",
    "short": "http://127.1:{port}/",
    "shorter": "http://0:{port}/",
    "unspecified": "http://0.0.0.0:{port}/",
    "decimal": "http://2130706433:{port}/",
    "octal": "http://0177.0.0.1:{port}/",
    "long octal": "http://00000177.0.0.01:{port}/",
    "hexadecimal": "http://0x7f000001:{port}/",
    "mixed bases": "http://0x7f.0.1:{port}/",
    "dot at the end": "http://127.0.0.1.:{port}/",
    "percent": "http://%31%32%37.0.0.1:{port}/",
    "full width": "http://\uff11\uff12\uff17\u3002\uff10\u3002\uff10\u3002\uff11:{port}/",
    "circled": "http://\u2460\u2461\u2466.0.0.1:{port}/",
    "IPv6": "http://[::1]:{port}/",
    "IPv6, written out": "http://[0000:0:0:0:0:0:0:0001]:{port}/",
    "IPv6, unspecified": "http://[::]:{port}/",
    "IPv4-mapped": "http://[::ffff:127.0.0.1]:{port}/",
    "IPv4-mapped, hexadecimal": "http://[0:0:0:0:0:ffff:7f00:1]:{port}/",
    "backslash": "http:\\\\127.0.0.1:{port}\\@1.1.1.1/",
    "backslash before @": "http://127.0.0.1:{port}\\@1.1.1.1/",
    "no slashes": "http:127.0.0.1:{port}/",
    "three slashes": "http:///127.0.0.1:{port}/",
    "tab inside": "ht\ttp://127.0.\n0.1:{port}/",
    "fragment before @": "http://127.0.0.1:{port}#@1.1.1.1/",
    "question before @": "http://127.0.0.1:{port}?@1.1.1.1/",
    "TLS": "https://127.0.0.1:{port}/",
}

# Never sent anywhere: they end where URLs are read.
NO_URLS = [
    "http://1.1.1.1@127.0.0.1:{port}/",
    "http://user:word@127.0.0.1:{port}/",
    "http://[127.0.0.1]:{port}/",
    "http://[localhost]:{port}/",
    "http://[::1%25lo]:{port}/",
    "http://127.0.0.1:{port}\u0000.example/",
    "source:http://127.0.0.1:{port}/",
    "view-source:http://127.0.0.1:{port}/",
    "jar:http://127.0.0.1:{port}!/",
    "gopher://127.0.0.1:{port}/_GET%20/",
    "dict://127.0.0.1:{port}/",
    "ftp://127.0.0.1:{port}/",
    "ws://127.0.0.1:{port}/",
    "file:///etc/passwd",
    "http://0o177.0.0.1:{port}:80/",
]


async def fetched(
    urls: Mapping[str, str], settings: Fetching, resolve: Resolve = by_system
) -> dict[str, Response | Failure]:
    """What becomes of each, by one client."""
    http = Http(settings, "Freki/0", per_host=4, resolve=resolve)
    try:
        return {name: await http.fetch(Claim(1, 1, parse(url), 0)) for name, url in urls.items()}
    finally:
        http.close()


def hits_and_answers(
    settings: Fetching,
) -> tuple[set[str], dict[str, Response | Failure]]:
    async def attempt() -> tuple[set[str], dict[str, Response | Failure]]:
        async with secret(SPELLINGS) as judge:
            urls = {name: url.format(port=judge.ports[name]) for name, url in SPELLINGS.items()}
            answers = await fetched(urls, settings)
            return set(judge.hits), answers

    return asyncio.run(attempt())


def test_no_spelling_of_an_address_gets_past_the_guard() -> None:
    hits, answers = hits_and_answers(GUARDED)
    assert hits == set()
    assert {answer.reason for answer in answers.values() if isinstance(answer, Failure)} == {
        Reason.blocked_address
    }
    assert len(answers) == len(SPELLINGS)


def test_without_the_guard_every_one_of_them_gets_there() -> None:
    hits, _ = hits_and_answers(OPEN)
    assert hits == set(SPELLINGS)


@pytest.mark.parametrize(("egress", "inside"), [(Egress(False), set()), (Egress(True), None)])
def test_no_message_to_a_webhook_gets_inside(egress: Egress, inside: set[str] | None) -> None:
    async def attempt() -> set[str]:
        async with secret(SPELLINGS) as judge:
            for name, url in SPELLINGS.items():
                whole = parse(url.format(port=judge.ports[name]))
                await asyncio.to_thread(post, whole, b"{}", {}, egress)
            return set(judge.hits)

    assert asyncio.run(attempt()) == (set(SPELLINGS) if inside is None else inside)


@pytest.mark.parametrize("text", NO_URLS)
def test_what_hides_a_host_is_no_url(text: str) -> None:
    with pytest.raises(BadUrl):
        parse(text.format(port=8080))


# --- by what a site says ---


def attacks(port: int, secret_ports: Mapping[str, int]) -> Script:
    """A public site, each page of which leads to another port of the secret."""

    def inside(name: str, host: str = "127.0.0.1") -> str:
        return f"http://{host}:{secret_ports[name]}/"

    def redirect(to: str, status: int = 302) -> bytes:
        return answer(status, b"", location=to)

    def html(body: str, **headers: str) -> bytes:
        return answer(200, body.encode(), content_type="text/html", **headers)

    here = f"http://{ATTACKER}:{port}"
    sitemap = f"<urlset><url><loc>{inside('sitemap')}</loc></url></urlset>"
    schemes = {
        f"/scheme/{number}": redirect(target)
        for number, target in enumerate(
            ["file:///etc/passwd", f"gopher://127.0.0.1:{secret_ports['gopher']}/_x",
             f"ftp://127.0.0.1:{secret_ports['ftp']}/", f"dict://127.0.0.1:{secret_ports['dict']}/"]
        )
    }  # fmt: skip
    leading = {
        "/301": redirect(inside("301"), 301),
        "/302": redirect(inside("302"), 302),
        "/303": redirect(inside("303"), 303),
        "/307": redirect(inside("307"), 307),
        "/308": redirect(inside("308"), 308),
        "/chain": redirect("/chain/2"),
        "/name": redirect(inside("name", "localhost")),
        "/mapped": redirect(inside("mapped", "[::ffff:127.0.0.1]")),
        "/ipv6": redirect(inside("ipv6", "[::1]")),
        "/relative": redirect(f"//127.1:{secret_ports['relative']}/"),
        "/link": html(f"<a href={inside('link')}>x</a>"),
        "/frame": html(f"<iframe src={inside('frame')}></iframe>"),
        "/canonical": html(f"<link rel=canonical href={inside('canonical')}>"),
        "/refresh": html(f"<meta http-equiv=refresh content='0;url={inside('refresh')}'>"),
        "/base": html(f"<base href={inside('base')}><a href=/x>x</a>"),
        "/alternative": html("<a href=/other>x</a>", alt_svc=f'h2="{inside("alternative")[7:-1]}"'),
        **schemes,
    }
    return {
        "/": page(*leading),
        **leading,
        "/chain/2": redirect("/chain/3"),
        "/chain/3": redirect(inside("chain")),
        "/robots.txt": answer(
            200, f"Sitemap: {inside('robots')}\nSitemap: {here}/map.xml\n".encode()
        ),
        "/map.xml": answer(200, sitemap.encode(), content_type="text/xml"),
    }


ATTEMPTS = ["301", "302", "303", "307", "308", "chain", "name", "mapped", "ipv6", "relative",
            "link", "frame", "canonical", "refresh", "base", "sitemap", "robots", "alternative",
            "gopher", "ftp", "dict"]  # fmt: skip

# No crawler follows them, with a guard or without.
NEVER = {"alternative", "gopher", "ftp", "dict"}


def crawled(store: Path, **more: Any) -> tuple[set[str], list[str]]:
    """The attempts that hit, and what was stored."""

    async def crawl() -> tuple[set[str], list[str]]:
        async with secret(ATTEMPTS) as judge, scripted({}, ATTACKER) as site:
            site.script = attacks(int(site.url.rpartition(":")[2]), judge.ports)
            options = {"scope": "any", "delay": 0, "attempts": 1, "trap_budgets": False, **more}
            pages = freki.crawl(site.url, store=store, **options)
            bodies = [visit.body.decode() async for visit in pages]
            return set(judge.hits), bodies

    return asyncio.run(crawl())


def test_no_site_leads_a_crawl_to_where_it_must_not_go(tmp_path: Path) -> None:
    store = tmp_path / "freki.db"
    hits, bodies = crawled(store, allow_private=False, allow_address=(ATTACKER,))
    assert hits == set()
    assert not any(WORD in body for body in bodies)


def test_without_the_guard_it_is_led_everywhere(tmp_path: Path) -> None:
    hits, bodies = crawled(tmp_path / "freki.db")
    assert hits == set(ATTEMPTS) - NEVER
    assert any(WORD in body for body in bodies)


def test_no_proxy_is_taken_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    async def attempt() -> tuple[dict[str, list[str]], dict[str, Response | Failure]]:
        async with secret(["proxy"]) as judge, scripted({"/": page()}, ATTACKER) as site:
            for name in ("http_proxy", "https_proxy", "all_proxy", "HTTPS_PROXY", "ALL_PROXY"):
                monkeypatch.setenv(name, f"http://127.0.0.1:{judge.ports['proxy']}")
            return judge.hits, await fetched({"page": f"{site.url}/"}, GUARDED)

    hits, answers = asyncio.run(attempt())
    assert hits == {}
    assert isinstance(answers["page"], Response)


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "[::ffff:127.0.0.1]", "localhost", "169.254.169.254"]
)
def test_a_proxy_is_not_asked_to_go_where_we_must_not(host: str) -> None:
    async def attempt() -> tuple[list[str], Response | Failure]:
        async with scripted({}, ATTACKER) as way_out:
            http = Http(GUARDED, "Freki/0", per_host=4)
            claim = Claim(1, 1, f"http://{host}/", 0, proxy=way_out.url)
            try:
                return way_out.asked, await http.fetch(claim)
            finally:
                http.close()

    asked, got = asyncio.run(attempt())
    assert asked == []
    assert isinstance(got, Failure)
    assert got.reason is Reason.blocked_address


def test_a_proxy_inside_is_not_reached_unless_it_is_named() -> None:
    async def attempt() -> tuple[dict[str, list[str]], Response | Failure]:
        async with secret(["proxy"]) as judge:
            http = Http(GUARDED, "Freki/0", per_host=4, resolve=lambda _: [ATTACKER])
            proxy_url = f"http://127.0.0.1:{judge.ports['proxy']}"
            try:
                got = await http.fetch(Claim(1, 1, "http://a.example/", 0, proxy=proxy_url))
            finally:
                http.close()
            return judge.hits, got

    hits, got = asyncio.run(attempt())
    assert hits == {}
    assert isinstance(got, Failure)
    assert got.reason is Reason.blocked_address


def test_links_that_are_only_checked_are_not_led_there_either(tmp_path: Path) -> None:
    checking = {"scope": "host", "check_external": True}
    guard = {"allow_private": False, "allow_address": (ATTACKER,)}
    hits, _ = crawled(tmp_path / "guarded.db", **checking, **guard)
    assert hits == set()
    hits, _ = crawled(tmp_path / "open.db", **checking)
    assert "link" in hits


# --- by what a name server says ---


def answering(*rounds: list[str]) -> Resolve:
    """A name server that says something else each time."""
    answers = cycle(rounds)
    return lambda _host: next(answers)


@pytest.mark.parametrize(
    "rounds",
    [
        ([ATTACKER], ["127.0.0.1"]),
        (["127.0.0.1"], [ATTACKER]),
        ([ATTACKER, "127.0.0.1"], ["127.0.0.1", ATTACKER]),
        (["::1", ATTACKER], ["::ffff:127.0.0.1", ATTACKER]),
        (["0.0.0.0", "::"], ["127.9.9.9"]),
    ],
)
def test_a_name_that_changes_its_mind_gets_nobody_inside(rounds: tuple[list[str], ...]) -> None:
    """A hundred names, each asked for anew, by the client and by the proxy for browsers."""

    async def attempt() -> dict[str, list[str]]:
        async with secret(["rebinding"]) as judge:
            port = judge.ports["rebinding"]
            urls = {str(number): f"http://r{number}.example:{port}/" for number in range(100)}
            await fetched(urls, GUARDED, answering(*rounds))
            guard = Egress(False, [ATTACKER])
            async with proxy(guard, resolve=answering(*rounds)) as way_out:
                for url in urls.values():
                    reader, writer = await asyncio.open_connection(*way_out.address)
                    writer.write(f"CONNECT {url[7:-1]} HTTP/1.1\r\n\r\n".encode())
                    assert b" 200 " not in await reader.read()
                    writer.close()
            return judge.hits

    assert asyncio.run(attempt()) == {}


def test_without_the_guard_a_name_leads_inside() -> None:
    async def attempt() -> dict[str, list[str]]:
        async with secret(["rebinding"]) as judge:
            url = f"http://r.example:{judge.ports['rebinding']}/"
            await fetched({"page": url}, OPEN, answering(["127.0.0.1"]))
            return judge.hits

    assert set(asyncio.run(attempt())) == {"rebinding"}
