"""Which pages go through a browser, and what becomes of them."""

import asyncio
from collections.abc import Sequence

from freki import config
from freki.engine.rendering import Wanted, with_browser
from freki.messages import Claim, Reason, Response, Via
from freki.pictures import Rendering, Unrendered
from freki.steps import Render
from freki.testing.render import FakeBrowser
from freki.testing.web import FakeWeb

SHELL = "<!doctype html><title>x</title><div id=root></div><script src=app.js></script>"
FULL = "<title>x</title><a href=/1>1</a><a href=/2>2</a><p>" + "many words " * 40
PLAIN = "<title>x</title><p>" + "many words " * 40 + "<script>1</script>"


class Crawl:
    """A web, a browser, and the middleware between."""

    def __init__(self, **options: object) -> None:
        fetching = {name: value for name, value in options.items() if name == "render"}
        keeping = {name: value for name, value in options.items() if name != "render"}
        settings = config.settings({"fetching": fetching, "keeping": keeping})
        self.web, self.browser = FakeWeb(latency=0.0), FakeBrowser(latency=0.0)
        self.kept: list[Rendering | Unrendered] = []
        self._fetch = with_browser(self._render, Wanted(settings), self._keep)(self.web)

    async def _render(self) -> Render:
        return self.browser

    async def _keep(self, claim: Claim, seen: Rendering | Unrendered) -> None:
        self.kept.append(seen)

    def page(self, url: str, body: str, rendered: str) -> None:
        self.web.page(url, body=body)
        self.browser.page(url, html=rendered)

    def fetch(self, *urls: str, via: Via = Via.link) -> list[Response]:
        async def all_of_them() -> Sequence[object]:
            return [await self._fetch(Claim(1, 1, url, 0, via=via)) for url in urls]

        answers = asyncio.run(all_of_them())
        return [answer for answer in answers if isinstance(answer, Response)]

    @property
    def rendered(self) -> list[str]:
        return [shot.url for shot in self.browser.asked]


def test_auto_renders_a_shell_and_takes_what_the_browser_made() -> None:
    crawl = Crawl(render="auto")
    crawl.page("http://a/", SHELL, FULL)
    (answer,) = crawl.fetch("http://a/")
    assert answer.body.decode() == FULL
    assert answer.content_type == "text/html; charset=utf-8"
    (shot,) = crawl.browser.asked
    assert not shot.pictures
    assert shot.document is not None
    assert shot.document.body.decode() == SHELL


def test_auto_leaves_a_page_that_says_enough_as_it_is() -> None:
    crawl = Crawl(render="auto")
    crawl.page("http://a/", FULL + "<script>1</script>", "<p>never")
    crawl.fetch("http://a/")
    assert crawl.rendered == []


def test_a_host_of_shells_is_remembered() -> None:
    crawl = Crawl(render="auto")
    crawl.page("http://a/", SHELL, FULL)
    crawl.page("http://a/plain", PLAIN, FULL)
    crawl.page("http://b/plain", PLAIN, FULL)
    crawl.fetch("http://a/", "http://a/plain", "http://b/plain")
    assert crawl.rendered == ["http://a/", "http://a/plain"]


def test_a_host_where_browsers_find_nothing_more_is_left_in_peace() -> None:
    crawl = Crawl(render="auto")
    urls = [f"http://a/{number}" for number in range(6)]
    for url in urls:
        crawl.page(url, SHELL, SHELL)
    crawl.fetch(*urls)
    assert crawl.rendered == urls[:3]


def test_always_renders_every_page_and_nothing_but_pages() -> None:
    crawl = Crawl(render="always")
    crawl.page("http://a/", FULL, FULL)
    crawl.web.page("http://a/a.txt", body="text", content_type="text/plain")
    crawl.web.redirect("http://a/moved", "http://a/")
    crawl.fetch("http://a/", "http://a/a.txt", "http://a/moved")
    crawl.fetch("http://a/", via=Via.external)
    assert crawl.rendered == ["http://a/"]


def test_a_script_that_leads_elsewhere_is_a_redirect() -> None:
    crawl = Crawl(render="always")
    crawl.web.page("http://a/", body=SHELL)
    crawl.browser.page("http://a/", leads_to="http://b/")
    crawl.browser.page("http://b/", html=FULL)
    (answer,) = crawl.fetch("http://a/")
    assert (answer.status, answer.location, answer.body) == (302, "http://b/", b"")


def test_a_script_that_leads_to_nowhere_leaves_what_http_brought() -> None:
    crawl = Crawl(render="always")
    crawl.web.page("http://a/", body=FULL)
    crawl.browser.page("http://a/", leads_to="about:blank")
    crawl.browser.page("about:blank")
    (answer,) = crawl.fetch("http://a/")
    assert (answer.status, answer.body.decode()) == (200, FULL)


def test_what_could_not_be_rendered_stays_what_http_brought_and_is_noted() -> None:
    crawl = Crawl(render="always")
    crawl.web.page("http://a/", body=FULL)
    crawl.browser.fail("http://a/", Reason.crash)
    (answer,) = crawl.fetch("http://a/")
    assert answer.body.decode() == FULL
    (seen,) = crawl.kept
    assert isinstance(seen, Unrendered)
    assert seen.reason is Reason.crash


def test_pictures_are_kept_of_pages_that_match() -> None:
    crawl = Crawl(screenshot_of=["*/yes*"])
    for name in ("yes", "no"):
        crawl.page(f"http://a/{name}", FULL, "<p>not wanted")
    answers = crawl.fetch("http://a/yes", "http://a/no")
    assert crawl.rendered == ["http://a/yes"]
    assert [answer.body.decode() for answer in answers] == [FULL, FULL]
    (seen,) = crawl.kept
    assert isinstance(seen, Rendering)
    assert len(seen.captures) == 1
