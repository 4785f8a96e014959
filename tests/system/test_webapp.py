"""The web app in a real browser: from a form to a file, and nothing hostile is ever run."""

import re
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import Browser, Dialog, Page, sync_playwright
from tests.background import background
from tests.pictured import store_change, store_many
from tests.serve.conftest import web, whole
from tests.system.scripted import answer, scripted

from freki import config
from freki.fetch.browser.find import find
from freki.ledger import crawls
from freki.ledger.store import open_store
from freki.serve.terms import Terms

HOSTILE = "<img src=x onerror=alert(1)><script>alert(2)</script>"
VIEWS = ("", "/pages", "/urls", "/wrong", "/gallery", "/structure")


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as play:
        # Without its sandbox, because tests may run as root; the pages are our own.
        made = play.chromium.launch(executable_path=str(find().path), args=["--no-sandbox"])
        yield made
        made.close()


@pytest.fixture
def tab(browser: Browser) -> Iterator[Page]:
    with browser.new_context() as context:
        yield context.new_page()


def _site() -> dict[str, bytes]:
    title = f"<!doctype html><title>{HOSTILE.replace('<', '&lt;')}</title>"
    links = "<a href='/gone'>gone</a> <a href='javascript:alert(3)'>script</a>"
    return {
        "/": _html(f"{title}<a href='/there'>{HOSTILE.replace('<', '&lt;')}</a> {links}"),
        "/there": _html(f"{title}{HOSTILE}"),
        "/gone": answer(404, x_evil=HOSTILE),
    }


@contextmanager
def _many_pictures(data: Path, count: int) -> Iterator[str]:
    """A service without workers, with a crawl that has so many pictures: where that crawl is."""
    terms = Terms(data=data, quiet=True)
    with background(web(terms)) as url, httpx.Client(base_url=url) as client:
        job = client.post("/crawls", json={"urls": ["https://a.example/"]}).json()["id"]
        path = terms.place.store_of(job)
        with closing(open_store(path)) as db:
            crawl = crawls.begin(db, job, ["https://a.example/"], config.settings(), 0.0)
            store_many(db, crawl.id, count, HOSTILE)
        yield f"{url}/app/crawls/{job}"


def _html(body: str) -> bytes:
    return answer(200, body.encode(), content_type="text/html")


def _refuse(dialog: Dialog, alerts: list[str]) -> None:
    alerts.append(dialog.message)
    dialog.dismiss()


def test_from_a_form_to_a_downloaded_file(tab: Page, tmp_path: Path) -> None:
    alerts: list[str] = []
    complaints: list[str] = []
    tab.on("dialog", lambda dialog: _refuse(dialog, alerts))
    tab.on("pageerror", lambda error: complaints.append(str(error)))
    tab.on("console", lambda said: complaints.append(said.text) if said.type == "error" else None)
    with (
        background(scripted(_site())) as site,
        whole(tmp_path / "data", "--workers", "1") as client,
    ):
        tab.goto(f"{client.base_url}/")
        tab.get_by_label("Start at").fill(site.url)
        tab.get_by_text("More options").click()
        tab.get_by_label("Seconds between requests").fill("0")
        tab.get_by_role("button", name="Start the crawl").click()
        tab.wait_for_url(re.compile(r"/app/crawls/crl_\w+$"))
        crawl = tab.url
        tab.locator('[data-live="state"]', has_text="done").wait_for()
        tab.locator('[data-live="tail"] .badge').first.wait_for()  # replayed from the events
        assert tab.locator('[data-live="pages"]').inner_text() == "3"
        for view in VIEWS:
            tab.goto(crawl + view)
            assert tab.get_by_role("heading").first.is_visible()
        tab.goto(f"{crawl}/pages")
        tab.get_by_label("Status").fill("404")
        tab.get_by_role("button", name="Filter").click()
        with tab.expect_download() as download:
            tab.get_by_role("link", name="CSV").click()
        lines = Path(download.value.path()).read_text("utf-8").splitlines()
        assert len(lines) == 2
        assert "/gone" in lines[1]
        tab.get_by_label("Status").fill("")
        tab.get_by_label("Text has").fill("gone script")  # what the first page says
        tab.get_by_role("button", name="Filter").click()
        assert tab.locator("td.url").count() == 1
        tab.get_by_label("Text has").fill("")
        tab.get_by_role("button", name="Filter").click()
        tab.get_by_role("link", name="size").click()
        assert tab.locator("th[aria-sort=descending]").inner_text().startswith("size")
        assert tab.locator("td.url .second").last.inner_text().endswith("/gone")
        tab.goto(crawl)
        tab.get_by_label("Its URL").fill(f"{site.url}/gone")
        tab.get_by_role("button", name="Tell its story").click()
        tab.get_by_text("the server answered with an error").wait_for()
    assert alerts == []
    assert complaints == []


def test_what_failed_is_tried_again_by_a_button(tab: Page, tmp_path: Path) -> None:
    ill = {"/": _html("<a href='/ill'>one</a> <a href='/bad'>two</a>"), "/ill": answer(501)}
    with (
        background(scripted(ill)) as site,
        whole(tmp_path / "data", "--workers", "1") as client,
    ):
        tab.goto(f"{client.base_url}/")
        tab.get_by_label("Start at").fill(site.url)
        tab.get_by_text("More options").click()
        tab.get_by_label("Seconds between requests").fill("0")
        tab.get_by_role("button", name="Start the crawl").click()
        tab.locator("dt", has_text="took").wait_for()  # it has ended, and the page knows
        crawl = tab.url
        tab.get_by_role("link", name="What is wrong").click()
        tab.get_by_role("button", name="Try all again, all 2").wait_for()
        site.script = {**ill, "/ill": _html("well")}
        tab.locator("tr", has_text="status 501").get_by_role("button").click()
        tab.wait_for_url(f"{crawl}?retried=1")
        assert tab.get_by_role("status").inner_text() == "1 URL is tried again."
        tab.locator("dt", has_text="took").wait_for()  # it has ended, and the page knows
        tab.get_by_role("link", name="What is wrong").click()
        tab.locator("tr", has_text="status 404").wait_for()
        assert not tab.locator("tr", has_text="status 501").is_visible()


def test_the_first_page_shows_what_begins_meanwhile(tab: Page, tmp_path: Path) -> None:
    terms = Terms(data=tmp_path / "data", quiet=True)
    with background(web(terms)) as url, httpx.Client(base_url=url) as client:
        tab.goto(f"{url}/app/")
        tab.get_by_label("Start at").fill("https://half.example/")
        client.post("/crawls", json={"urls": ["https://a.example/"], "name": HOSTILE})
        tab.get_by_role("link", name=HOSTILE).wait_for()
        assert tab.get_by_label("Start at").input_value() == "https://half.example/"


def test_ten_tabs_of_a_crawl_at_work_leave_room_for_another(
    browser: Browser, tmp_path: Path
) -> None:
    turn = """(hidden) => {
        Object.defineProperty(document, "hidden", { value: hidden, configurable: true });
        document.dispatchEvent(new Event("visibilitychange"));
    }"""
    terms = Terms(data=tmp_path / "data", quiet=True)
    with (
        background(web(terms)) as url,
        httpx.Client(base_url=url) as client,
        browser.new_context() as context,
    ):
        job = client.post("/crawls", json={"urls": ["https://a.example/"]}).json()["id"]
        for _ in range(10):
            tab = context.new_page()
            tab.goto(f"{url}/app/crawls/{job}")
            tab.evaluate(turn, True)
        client.post(f"/crawls/{job}/pause")
        tab.evaluate(turn, False)
        tab.locator('[data-live="state"]', has_text="paused").wait_for()


def test_everything_can_be_reached_and_named_without_a_mouse(tab: Page, tmp_path: Path) -> None:
    with whole(tmp_path / "data", "--workers", "1") as client:
        for path in ("/app/", "/app/settings"):
            tab.goto(f"{client.base_url}{path}")
            tab.keyboard.press("Tab")
            assert tab.evaluate("document.activeElement.textContent") == "To the content"
            unnamed = tab.evaluate(
                "[...document.querySelectorAll('input:not([type=hidden]), select')]"
                ".filter(each => !each.labels.length).map(each => each.name)"
            )
            assert unnamed == []
            assert tab.evaluate("document.documentElement.lang") == "en"
        tab.set_viewport_size({"width": 390, "height": 800})
        tab.goto(f"{client.base_url}/app/")
        assert tab.evaluate("document.documentElement.scrollWidth") <= 390


def test_two_pictures_are_picked_and_compared_by_keyboard(tab: Page, tmp_path: Path) -> None:
    complaints: list[str] = []
    tab.on("console", lambda said: complaints.append(said.text) if said.type == "error" else None)
    data = tmp_path / "data"
    with (
        background(scripted(_site())) as site,
        whole(data, "--workers", "1") as client,
    ):
        tab.goto(f"{client.base_url}/")
        tab.get_by_label("Start at").fill(site.url)
        tab.get_by_role("button", name="Start the crawl").click()
        tab.locator('[data-live="state"]', has_text="done").wait_for()
        (path,) = data.rglob("crl_*.db")
        with closing(open_store(path)) as db:
            store_change(db, 1, HOSTILE)
        crawl = tab.url
        tab.goto(f"{crawl}/gallery")
        tab.locator(".gallery a").first.focus()
        for key in (" ", "ArrowRight", " "):
            tab.keyboard.press(key)
        assert tab.evaluate("document.activeElement.closest('li').previousElementSibling !== null")
        assert tab.locator(".gallery input:checked").count() == 2
        tab.get_by_role("button", name="Compare two").click()
        tab.locator("#stage").wait_for()
        edge = tab.locator("#edge")
        assert edge.get_attribute("x1") == "160"
        tab.locator("input[name=share]").focus()
        tab.keyboard.press("End")
        assert edge.get_attribute("x1") == "0"
        tab.get_by_label("Overlay").check()
        tab.keyboard.press("Tab")
        assert tab.locator("#later").get_attribute("opacity") == "1"
        assert edge.get_attribute("visibility") == "hidden"
        tab.get_by_label("Frames around what changed").uncheck()
        assert tab.locator("#frames").get_attribute("visibility") == "hidden"
        tab.goto(f"{crawl}/gallery")
        tab.locator(".gallery a").first.focus()
        assert complaints == []  # the next page is the browser's own, for a picture alone
        tab.keyboard.press("Enter")
        tab.wait_for_url(re.compile(r"/images/\w+\.png$"))


def test_a_gallery_of_thousands_is_one_list_of_which_little_is_held(
    tab: Page, tmp_path: Path
) -> None:
    alerts: list[str] = []
    tab.on("dialog", lambda dialog: _refuse(dialog, alerts))
    with _many_pictures(tmp_path / "data", 3_000) as address:
        tab.goto(f"{address}/gallery?only=all")
        tiles = tab.locator("#gallery li")
        for place in (2_999, 0, 1_500):
            tab.evaluate(
                "place => window.scrollTo(0, place * document.body.scrollHeight / 3000)", place
            )
            tab.locator("#gallery .title", has_text=f"Page {place}").first.wait_for()
            assert tiles.count() < 60
    assert alerts == []


def test_a_long_gallery_is_walked_by_keyboard_and_pictures_far_apart_are_picked(
    tab: Page, tmp_path: Path
) -> None:
    with _many_pictures(tmp_path / "data", 1_000) as address:
        tab.goto(f"{address}/gallery?only=all")
        here = tab.locator("#gallery li:focus-within")
        tab.locator("#gallery a").first.focus()
        for key, place in (
            ("ArrowRight", 1), ("ArrowLeft", 0), ("ArrowUp", 0), ("End", 999), ("Home", 0),
        ):  # fmt: skip
            tab.keyboard.press(key)
            tab.locator(f'#gallery li:focus-within[data-place="{place}"] .title').wait_for()
        tab.keyboard.press(" ")
        tab.keyboard.press("End")
        here.get_by_role("link", name="Page 999").wait_for()
        assert tab.locator("#picked").inner_text() == f"Picked: Page 0{HOSTILE}"
        tab.keyboard.press("Tab")  # the box, and then all that is below the pictures
        tab.keyboard.press("Tab")
        tab.keyboard.press("Tab")
        assert here.count() == 0
