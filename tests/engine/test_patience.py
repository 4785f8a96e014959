"""Hosts that ask us to come back later: heard each time, and not for ever."""

from itertools import pairwise

import pytest
from tests.engine.crawling import Crawling

from freki.engine.crawl import Ending
from freki.ledger.policy import HOST_PATIENCE
from freki.messages import Reason, State
from freki.testing.web import FakeWeb


@pytest.mark.parametrize(("delay", "at_once"), [(0.0, 16), (None, 1)])
def test_a_host_that_always_says_later_does_not_keep_the_crawl_from_its_end(
    crawl: Crawling, web: FakeWeb, delay: float | None, at_once: int
) -> None:
    web.page("http://a/", links=[f"/{number}" for number in range(500)])
    for number in range(500):
        web.page(f"http://a/{number}", status=503)
    assert crawl("http://a/", delay=delay, ignore_robots=True) is Ending.finished
    assert crawl.bench.count(State.refused, Reason.host_down) == 500
    assert len(web.fetched) < (HOST_PATIENCE + 2) * at_once


def test_a_host_that_says_later_now_and_then_loses_no_page(crawl: Crawling, web: FakeWeb) -> None:
    web.page("http://a/", links=[f"/{number}" for number in range(200)])
    for number in range(200):
        web.page(f"http://a/{number}")
        if number % 20:
            web.trouble(f"http://a/{number}", 503)
    crawl("http://a/", delay=0.1, ignore_robots=True)
    assert crawl.bench.count(State.done) == 201


def test_who_is_asked_for_robots_txt_may_say_later_as_well(crawl: Crawling, web: FakeWeb) -> None:
    web.page("http://a/")
    web.says("http://a/robots.txt", 429, ("retry-after", "777"))
    crawl("http://a/")
    asked = crawl.starts("a")
    assert len(asked) > 3
    assert min(later - sooner for sooner, later in pairwise(asked)) >= 777


def test_redirects_of_robots_txt_keep_their_distance(crawl: Crawling, web: FakeWeb) -> None:
    web.page("http://a/")
    web.redirect("http://a/robots.txt", "/1")
    web.redirect("http://a/1", "/2")
    web.page("http://a/2", body="User-agent: *", content_type="text/plain")
    crawl("http://a/", delay=2.0)
    starts = crawl.starts("a")
    assert len(starts) == 4
    assert min(later - sooner for sooner, later in pairwise(starts)) >= 2.0
