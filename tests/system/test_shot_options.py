"""What can be asked of a visit, and every way in which one fails, in one browser."""

import asyncio
import socket
import ssl
from pathlib import Path
from typing import Any

import pytest

from freki.fetch.browser.find import find
from freki.fetch.browser.pool import Pool, Size, pool
from freki.fetch.browser.process import Terms
from freki.fetch.egress import Egress
from freki.messages import Reason
from freki.pictures import Cookie, Rendering, Shot, Unrendered
from freki.testing.scenes import HOSTILE, PLAIN, Scene, Stage, stage

LATE = (
    b"<title>Early</title><script>setTimeout(() => {"
    b"document.body.innerHTML = '<i id=there></i>'; document.title = 'Late'}, 700)</script><body>"
)
HERE = (
    b"<script>document.title = Intl.DateTimeFormat().resolvedOptions().timeZone + ' '"
    b" + (1.5).toLocaleString() + matchMedia('(prefers-color-scheme:dark)').matches</script>"
)
SPINS = b"<p>x<script>setTimeout(() => {for (;;);}, 900)</script>"
SHADOW = (
    b"<title>Wall</title><a-wall></a-wall><script>document.querySelector('a-wall')"
    b".attachShadow({mode: 'open'}).innerHTML = '<div style=\"position:fixed;inset:40% 0 0 0;"
    b"background:orange\">We use cookies <button>Fine</button></div>'</script>"
)
SCENES = PLAIN | HOSTILE | {
    "late": Scene(body=LATE), "spins": Scene(body=SPINS), "here": Scene(body=HERE),
    "shadow": Scene(body=SHADOW),
}  # fmt: skip

WISHES: dict[str, dict[str, Any]] = {
    "heavy": {},
    "heavy?load": {"wait": "load"},
    "never-loads": {"wait": "domcontentloaded", "settle_seconds": 30.0},
    "late?load": {"wait": "load"},
    "late?delay": {"wait": "load", "delay": 1.0},
    "late?there": {"wait": "load", "wait_selector": "#there"},
    **{
        f"here?{at}": {"timezone": "Asia/Tokyo", "locale": "de-DE", "dark": True} for at in range(5)
    },
    "shadow": {"hide_banners": True},
    "plain?brought": {"headers": (("X-Key", "k"),), "cookies": (Cookie(name="sid", value="1"),)},
}

UNREACHED = "http://unreached.invalid/"
FAILURES: dict[str, tuple[dict[str, Any], Reason]] = {
    UNREACHED: ({}, Reason.dns),
    "http://127.0.0.1:{closed}/": ({}, Reason.connect),
    "https://127.0.0.1:{no_tls}/": ({}, Reason.tls),
    "http://169.254.169.254/": ({}, Reason.blocked_address),
    "slow": ({"navigate_seconds": 1.0}, Reason.timeout),
    "loop": ({"navigate_seconds": 1.0}, Reason.timeout),
    "late": ({"wait_selector": "#never", "seconds": 3.0}, Reason.settle),
    "spins": ({"delay": 1.0, "seconds": 2.5}, Reason.capture),
    "download": ({}, Reason.download),
    "alerts": ({}, Reason.dialogs),
    "popups": ({}, Reason.dialogs),
    "plain": ({"selector": "#nothing"}, Reason.no_element),
    "plain?": ({"selector": "((("}, Reason.no_element),
    "empty": ({}, Reason.protocol),
}

Visits = dict[str, Rendering | Unrendered]


@pytest.fixture(scope="module")
def visited() -> tuple[Visits, Stage]:
    async def visit() -> tuple[Visits, Stage]:
        terms = Terms(found=find(), agent="Freki")
        size = Size(browsers=1)
        async with (
            stage(SCENES) as site,
            await asyncio.start_server(_speak_no_tls, "127.0.0.1", 0) as server,
            pool(terms, size, Egress(allow_private=True)) as render,
        ):
            port = server.sockets[0].getsockname()[1]
            wishes = WISHES | {name: wish for name, (wish, _) in FAILURES.items()}
            shots = [Shot(url=_url(site, name, port), **wish) for name, wish in wishes.items()]
            seen = await asyncio.gather(*map(_one(render), shots))
        return dict(zip(wishes, seen, strict=True)), site

    return asyncio.run(visit())


async def _speak_no_tls(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.read(1)
    writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
    writer.close()


def _url(site: Stage, name: str, no_tls: int) -> str:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        closed = listening.getsockname()[1]
    return name.format(no_tls=no_tls, closed=closed) if "://" in name else site.url(name)


def _one(render: Pool) -> Any:
    async def visit(shot: Shot) -> Rendering | Unrendered:
        return await render(shot)

    return visit


def seen(visited: tuple[Visits, Stage], name: str) -> Rendering:
    rendering = visited[0][name]
    assert isinstance(rendering, Rendering), rendering
    return rendering


@pytest.mark.parametrize(
    ("name", "title"),
    [
        ("heavy", "Built"), ("heavy?load", "Building"), ("late?load", "Early"),
        ("late?delay", "Late"), ("late?there", "Late"),
        *((f"here?{at}", "Asia/Tokyo 1,5true") for at in range(5)),
    ],
)  # fmt: skip
def test_a_page_is_seen_when_and_where_it_was_wished(
    name: str, title: str, visited: tuple[Visits, Stage]
) -> None:
    assert seen(visited, name).title == title


def test_who_wants_the_tree_only_does_not_wait_for_images(visited: tuple[Visits, Stage]) -> None:
    phases = seen(visited, "never-loads").phases
    assert phases.navigate + phases.settle < 10


def test_a_banner_in_a_shadow_tree_is_hidden(visited: tuple[Visits, Stage]) -> None:
    (capture,) = seen(visited, "shadow").captures
    assert capture.blank


def test_headers_and_cookies_go_along(visited: tuple[Visits, Stage]) -> None:
    (headers,) = [sent for path, sent in visited[1].asked if path == "/plain?brought"]
    assert (headers["x-key"], headers["cookie"]) == ("k", "sid=1")


@pytest.mark.parametrize("name", FAILURES)
def test_a_failure_has_its_class_and_says_why(name: str, visited: tuple[Visits, Stage]) -> None:
    failure = visited[0][name]
    assert isinstance(failure, Unrendered), failure
    assert failure.reason is FAILURES[name][1], failure
    assert failure.detail


def test_blocked_hosts_are_left_out_on_every_port_and_nothing_else_is() -> None:
    async def visit() -> tuple[list[Rendering | Unrendered], set[str]]:
        terms, shown = Terms(found=find(), agent="Freki"), "http://x.ads.localhost"
        async with stage(scenes := dict(SCENES)) as site:
            ads = f"{shown}:{site.port}"
            body = f"<img src={ads}/colour><iframe src={ads}/plain></iframe><img src=/colour?2>"
            scenes["ads"] = Scene(body=body.encode())
            async with pool(terms, Size(browsers=1), Egress(allow_private=True)) as render:
                url = site.url("ads?http://ads.localhost/")
                shots = [Shot(url=url, block_hosts=("ADS.localhost",)) for _ in range(10)]
                seen = await asyncio.gather(*map(_one(render), shots))
                return list(seen), {path for path, _ in site.asked}

    seen, asked = asyncio.run(visit())
    for rendering in seen:
        assert isinstance(rendering, Rendering)
        assert rendering.blocked == 2
        assert rendering.failed_requests == ()
    assert asked == {"/ads?http://ads.localhost/", "/colour?2"}


def test_who_waits_too_long_for_a_browser_is_told_that_all_are_busy() -> None:
    async def visit() -> list[Rendering | Unrendered]:
        terms, size = Terms(found=find(), agent="Freki"), Size(browsers=1, tabs=1, patience=0.2)
        async with (
            stage(SCENES) as site,
            pool(terms, size, Egress(allow_private=True)) as render,
        ):
            shots = [Shot(url=site.url("slow"), seconds=1.0), Shot(url=site.url("plain"))]
            return list(await asyncio.gather(*map(_one(render), shots)))

    _, late = asyncio.run(visit())
    assert isinstance(late, Unrendered)
    assert late.reason is Reason.busy


def test_a_page_that_takes_more_memory_than_it_may_ends_alone() -> None:
    async def visit() -> list[Rendering | Unrendered]:
        terms, size = Terms(found=find(), memory=2**29), Size(browsers=1, tabs=2)
        async with (
            stage(SCENES) as site,
            pool(terms, size, Egress(allow_private=True)) as render,
        ):
            shots = [Shot(url=site.url(name)) for name in ("hog", "late")]
            return list(await asyncio.gather(*map(_one(render), shots)))

    hog, other = asyncio.run(visit())
    assert isinstance(hog, Unrendered)
    assert hog.reason is Reason.oom
    assert isinstance(other, Rendering)


@pytest.mark.parametrize("insecure", [False, True])
def test_a_certificate_that_does_not_verify_is_taken_only_if_that_is_wished(
    insecure: bool, certificate: Path
) -> None:
    async def visit() -> Rendering | Unrendered:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
        answer = Stage(SCENES).answer
        terms, size = Terms(found=find(), insecure=insecure), Size(browsers=1)
        async with (
            await asyncio.start_server(answer, "127.0.0.1", 0, ssl=context) as server,
            pool(terms, size, Egress(allow_private=True)) as render,
        ):
            port = server.sockets[0].getsockname()[1]
            return await render(Shot(url=f"https://127.0.0.1:{port}/shell"))

    seen = asyncio.run(visit())
    if insecure:
        assert isinstance(seen, Rendering)
        assert seen.title == "App"
    else:
        assert isinstance(seen, Unrendered)
        assert seen.reason is Reason.tls
