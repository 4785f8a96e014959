"""Requests that a browser makes."""

import pytest

from freki.errors import BrowserMissing
from freki.fetch.rendered import by_browser
from freki.messages import Claim, Failure, Reason, Request, Response
from freki.steps import Render
from freki.testing.render import FakeBrowser
from freki.testing.virtual import run
from freki.testing.web import FakeWeb

A = "http://a/"
RENDERED = Request(render=True, headers=(("x-me", "1"),))


def ask(browser: FakeBrowser, request: Request | None, url: str = A) -> Response | Failure:
    async def work() -> Response | Failure:
        async def render() -> Render:
            return browser

        web = FakeWeb()
        web.page(A, body="as the server sends it")
        return await by_browser(render, 10.0)(web)(Claim(1, 1, url, 0, request=request))

    return run(work())


def test_only_requests_that_say_so_are_rendered() -> None:
    browser = FakeBrowser()
    browser.page(A, html="<h1>as scripts make it</h1>", status=203)
    plain = ask(browser, None)
    assert isinstance(plain, Response)
    assert (plain.body, browser.asked) == (b"as the server sends it", [])
    made = ask(browser, RENDERED)
    assert isinstance(made, Response)
    assert b"as scripts make it" in made.body
    assert (made.status, made.content_type) == (203, "text/html; charset=utf-8")
    (shot,) = browser.asked
    assert (shot.headers, shot.html, shot.pictures) == (RENDERED.headers, True, False)


def test_where_a_browser_fails_the_reason_is_told() -> None:
    browser = FakeBrowser()
    browser.fail(A, Reason.settle)
    answer = ask(browser, RENDERED)
    assert isinstance(answer, Failure)
    assert answer.reason is Reason.settle


def test_without_a_browser_it_is_told() -> None:
    async def none() -> Render:
        raise BrowserMissing("install one")

    async def work() -> object:
        return await by_browser(none, 1.0)(FakeWeb())(Claim(1, 1, A, 0, request=RENDERED))

    with pytest.raises(BrowserMissing):
        run(work())
