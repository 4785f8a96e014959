import asyncio

import pytest

from freki.extract.page import extract
from freki.messages import Claim, Failure, Reason, Response
from freki.testing import virtual
from freki.testing.web import Asked, FakeWeb


def ask(web: FakeWeb, *urls: str) -> list[Response | Failure]:
    """Ask for all at once."""

    async def all_at_once() -> list[Response | Failure]:
        return await asyncio.gather(*(web(Claim(1, 1, url, 0)) for url in urls))

    return virtual.run(all_at_once())


def answer(web: FakeWeb, url: str) -> Response:
    (got,) = ask(web, url)
    assert isinstance(got, Response)
    return got


def test_a_page_leads_where_it_was_told_to() -> None:
    web = FakeWeb()
    web.page("http://a/", links=["/x", "http://b/?q=1&r=<2>"])
    page = extract(answer(web, "http://a/"))
    assert page.title == "http://a/"
    assert [link.url for link in page.links] == ["http://a/x", "http://b/?q=1&r=%3C2%3E"]


def test_a_redirect_is_an_answer_with_a_location() -> None:
    web = FakeWeb()
    web.redirect("http://a/", "/x", status=308)
    got = answer(web, "http://a/")
    assert (got.status, got.header("location")) == (308, "/x")


def test_what_is_unknown_is_not_found() -> None:
    assert answer(FakeWeb(), "http://a/").status == 404


def test_troubles_come_first_and_each_once() -> None:
    web = FakeWeb()
    web.page("http://a/")
    web.trouble("http://a/", 503, Reason.timeout, LookupError("a bug"))
    assert answer(web, "http://a/").status == 503
    (failure,) = ask(web, "http://a/")
    assert isinstance(failure, Failure)
    assert failure.reason is Reason.timeout
    with pytest.raises(LookupError, match="a bug"):
        ask(web, "http://a/")
    assert answer(web, "http://a/").status == 200


@pytest.mark.parametrize("place", ["http://a/x", "http://a"])
def test_a_url_or_a_whole_host_may_never_answer(place: str) -> None:
    web = FakeWeb()
    web.page("http://a/x")
    web.fail(place, Reason.dns)
    for _ in range(3):
        (failure,) = ask(web, "http://a/x")
        assert isinstance(failure, Failure)
        assert failure.reason is Reason.dns


def test_answers_take_their_time_and_are_remembered() -> None:
    web = FakeWeb(latency=lambda url: 5.0 if url.endswith("slow") else 1.0)
    slow, _, _ = ask(web, "http://a/slow", "http://a/robots.txt", "http://b/")
    assert slow.timings.total == 5.0
    assert web.asked == [
        Asked("http://a/robots.txt", 0.0, 1.0),
        Asked("http://b/", 0.0, 1.0),
        Asked("http://a/slow", 0.0, 5.0),
    ]
    assert web.fetched == ["http://b/", "http://a/slow"]
    assert web.most_at_once == {"a": 2, "b": 1}


def test_a_request_that_is_given_up_is_remembered_too() -> None:
    web = FakeWeb(latency=9.0)

    async def give_up() -> None:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(2.0):
                await web(Claim(1, 1, "http://a/", 0))

    virtual.run(give_up())
    assert web.asked == [Asked("http://a/", 0.0, 2.0)]
