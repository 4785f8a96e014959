"""Whoever sees, hears or types otherwise finds every view as usable: axe has nothing to say."""

from collections.abc import Iterator
from contextlib import closing
from importlib.resources import files
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import Page
from tests.background import background
from tests.pictured import store_change, store_many
from tests.serve.conftest import new_key, web, whole
from tests.system.scripted import answer, scripted
from tests.system.test_webapp import browser, tab

from freki.ledger.store import open_store
from freki.serve.terms import Terms

AXE = (files("axe_playwright_python") / "axe.min.js").read_text("utf-8")

__all__ = ["browser", "tab"]  # fixtures

VIEWS = (
    "", "/pages", "/pages?text=nowhere", "/urls", "/wrong", "/structure", "/gallery",
    "/gallery?only=all", "/gallery?only=failed", "/compare", "/pages/1", "/pages/999",
    "/explain?url=no+url", "/explain?url=https%3A%2F%2Fnowhere.example%2F",
)  # fmt: skip


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[httpx.Client, str]]:
    """A service with a crawl in which there is something of each kind."""
    data = tmp_path_factory.mktemp("service") / "data"
    pages = {
        "/": _html("<a href='/a/b/one'>one</a> <a href='/a/two'>two</a> <a href='/gone'>gone</a>"
                   "<a href='/moved'>moved</a> <a href='/cut'>cut</a>"
                   "<a href='/private/x'>private</a> <a href='https://other.example/'>other</a>"),
        "/robots.txt": answer(200, b"User-agent: *\nDisallow: /private", content_type="text/plain"),
        "/a/b/one": _html("the same"),
        "/a/two": _html("the same"),
        "/moved": answer(301, location="/a/two"),
        "/gone": answer(404),
        "/cut": b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\ncut",
    }  # fmt: skip
    with background(scripted(pages)) as site, whole(data, "--workers", "1") as client:
        wish = {"urls": [site.url], "delay": 0.05, "attempts": 1}
        job = client.post("/crawls", json=wish).raise_for_status().json()["id"]
        with client.stream("GET", f"/crawls/{job}/events") as events:
            assert "event: end" in list(events.iter_lines())
        (path,) = data.rglob("crl_*.db")
        with closing(open_store(path)) as db:
            store_change(db, 1, "A page")
            store_many(db, 1, 6)
        yield client, job


def _html(body: str) -> bytes:
    text = f"<!doctype html><title>A page</title><p>{body}</p>"
    return answer(200, text.encode(), content_type="text/html")


def _found(tab: Page, *rules: str) -> list[str]:
    """What axe finds on the page that is open, of whatever weight; by all rules, or by these."""
    tab.evaluate(AXE)
    options = {"runOnly": rules} if rules else {}
    told = tab.evaluate("options => axe.run(document, options)", options)["violations"]
    return [f"{each['id']}: {each['nodes'][0]['html']}" for each in told]


def test_axe_finds_nothing_in_any_view_in_light_and_dark(
    tab: Page, crawled: tuple[httpx.Client, str]
) -> None:
    client, job = crawled
    captures = client.get(f"/crawls/{job}/captures").json()["items"][:2]
    picked = "&".join(f"capture={each['captures'][0]['sha256']}" for each in captures)
    crawl = f"/app/crawls/{job}"
    for path in (
        "/app/", "/app/settings", f"{crawl}/compare?{picked}",
        *(crawl + view for view in VIEWS),
    ):  # fmt: skip
        tab.emulate_media(color_scheme="light")
        tab.goto(f"{client.base_url}".rstrip("/") + path)
        assert _found(tab) == [], path
        tab.emulate_media(color_scheme="dark")  # nothing but colours is another one
        assert _found(tab, "color-contrast") == [], path


def test_axe_finds_nothing_where_a_key_is_asked_for(tab: Page, tmp_path: Path) -> None:
    data = tmp_path / "data"
    token = new_key(data, "read", "submit", "admin")["Authorization"].removeprefix("Bearer ")
    with background(web(Terms(data=data, quiet=True))) as url:
        for key in ("wrong", token):
            tab.goto(f"{url}/app/")
            tab.get_by_label("API key").fill(key)
            tab.get_by_role("button", name="Come in").click()
            tab.get_by_text(
                "That key lets nobody in" if key == "wrong" else "Your crawls"
            ).wait_for()
            assert _found(tab) == []
        tab.get_by_role("link", name="Settings").click()
        tab.get_by_text("Make a key").wait_for()
        assert _found(tab) == []
