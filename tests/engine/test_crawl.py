import asyncio
import random
import tempfile
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.engine.crawling import QUICK, Crawling

from freki.engine.crawl import Ending
from freki.errors import StoreFull
from freki.messages import Reason, State
from freki.testing import virtual
from freki.testing.web import FakeWeb

# What is fetched


def test_a_page_is_fetched_once_however_often_it_is_linked(crawl: Crawling, web: FakeWeb) -> None:
    web.page("http://a/", links=["/x", "/x#top", "http://A/x", "./x", "/y", "/"])
    web.page("http://a/x", links=["/", "/y", "x"])
    web.page("http://a/y", links=["/x", "/"])
    assert crawl("http://a/", **QUICK) is Ending.finished
    assert sorted(web.fetched) == ["http://a/", "http://a/x", "http://a/y"]


def test_links_to_other_hosts_are_refused_and_recorded(crawl: Crawling, web: FakeWeb) -> None:
    web.page("http://a/", links=["http://b/", "https://a/", "http://a:81/", "/in"])
    crawl("http://a/", **QUICK)
    assert web.fetched == ["http://a/", "http://a/in"]
    assert crawl.bench.count(State.refused, Reason.out_of_scope) == 3


def test_a_start_url_that_moved_takes_the_crawl_along(crawl: Crawling, web: FakeWeb) -> None:
    web.redirect("http://a/", "http://b/home")
    web.page("http://b/home", links=["/x", "http://c/"])
    crawl("http://a/", **QUICK)
    assert web.fetched == ["http://a/", "http://b/home", "http://b/x"]


def test_a_start_url_may_move_to_what_was_outside_before(crawl: Crawling, web: FakeWeb) -> None:
    web.page("http://a/", links=["http://c/", "http://c/x"])
    web.latency = lambda url: 1.0 if url == "http://b/" else 0.1
    web.redirect("http://b/", "http://c/")
    web.page("http://c/", links=["/x"])
    crawl("http://a/", "http://b/", **QUICK)
    assert web.fetched == ["http://a/", "http://b/", "http://c/", "http://c/x"]


def test_redirects_come_to_an_end(crawl: Crawling, web: FakeWeb) -> None:
    web.redirect("http://a/", "/a")
    web.redirect("http://a/a", "/")
    for number in range(9):
        web.redirect(f"http://a/{number}", f"/{number + 1}")
    crawl("http://a/", "http://a/0", max_redirects=4, **QUICK)
    assert sorted(web.fetched) == ["http://a/", *(f"http://a/{n}" for n in range(5)), "http://a/a"]
    assert crawl.bench.row("http://a/5").reason is Reason.too_many_redirects


@pytest.mark.parametrize(
    ("location", "reason"),
    [("", Reason.bad_redirect), ("mailto:me", Reason.bad_redirect), ("/y", Reason.redirect)],
)
def test_a_redirect_to_nowhere_failed(
    crawl: Crawling, web: FakeWeb, location: str, reason: Reason
) -> None:
    web.redirect("http://a/", location)
    crawl("http://a/", **QUICK)
    assert crawl.bench.row("http://a/").reason is reason


# Limits


@settings(max_examples=30, deadline=None)
@given(max_depth=st.integers(0, 4), seed=st.integers(), workers=st.integers(1, 2))
def test_the_depth_limit_is_exact_in_whatever_order_answers_come(
    store: Path, max_depth: int, seed: int, workers: int
) -> None:
    dice = random.Random(seed)
    crawl = Crawling(store)
    crawl.web.latency = lambda url: dice.choice([0.01, 0.1, 0.2, 3.0])
    depths = _random_web(crawl.web, dice)
    crawl("http://a/0", depth=max_depth, scope="any", workers=workers, **QUICK)
    expected = {url for url, depth in depths.items() if depth <= max_depth}
    assert set(crawl.web.fetched) == expected
    assert len(crawl.web.fetched) == len(expected)
    crawl.bench.close()


def _random_web(web: FakeWeb, dice: random.Random) -> dict[str, int]:
    """Ten pages and redirects; answers with the depth of those that can be reached."""
    names = [f"http://{'ab'[number % 2]}/{number}" for number in range(10)]
    links = {name: dice.sample(names, dice.randrange(4)) for name in names}
    moved = {name for name in names if links[name] and dice.random() < 0.25}
    depths = {names[0]: 0}
    for _ in names:
        for name in list(depths):
            for target in links[name][: 1 if name in moved else None]:
                depth = depths[name] + (name not in moved)
                depths[target] = min(depth, depths.get(target, depth))
    for name, targets in links.items():
        if name in moved:
            web.redirect(name, targets[0])
        else:
            web.page(name, targets)
    return depths


@pytest.fixture(scope="module")
def store() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder) / "freki.db"


@pytest.mark.parametrize("workers", [1, 3])
def test_the_page_limit_is_exact_however_many_work(
    crawl: Crawling, web: FakeWeb, workers: int
) -> None:
    web.page("http://a/", links=[f"/{number}" for number in range(200)])
    for number in range(200):
        if number % 3 == 0:
            web.redirect(f"http://a/{number}", f"/to/{number}")
        else:
            web.page(f"http://a/{number}", links=[f"/more/{number}"])
    ending = crawl("http://a/", max_pages=50, workers=workers, **QUICK)
    assert ending is Ending.limited
    assert (
        crawl.bench.count(State.done, Reason.ok) + crawl.bench.count(State.done, Reason.http_error)
        == 50
    )


def test_a_limit_that_is_just_enough_is_no_limit(crawl: Crawling, web: FakeWeb) -> None:
    web.page("http://a/", links=["/x"])
    web.page("http://a/x")
    assert crawl("http://a/", max_pages=2, **QUICK) is Ending.finished


def test_a_limit_is_reached_only_when_nobody_may_give_room_back(
    crawl: Crawling, web: FakeWeb
) -> None:
    web.latency = 5.0
    web.redirect("http://a/", "/x")
    web.page("http://a/x")
    assert crawl("http://a/", max_pages=1, workers=2, **QUICK) is Ending.finished
    assert web.fetched == ["http://a/", "http://a/x"]


def test_waiting_for_the_last_pages_of_a_limit_costs_no_spinning(
    crawl: Crawling, web: FakeWeb
) -> None:
    web.latency = 60.0
    web.page("http://a/", links=["/x"])
    crawl("http://a/", max_pages=1, **QUICK)
    assert crawl.ledgers[0].claims < 100


# Trouble


def test_what_may_pass_is_tried_again_after_growing_pauses(crawl: Crawling, web: FakeWeb) -> None:
    web.page("http://a/")
    web.trouble("http://a/", Reason.timeout, 500)
    crawl("http://a/", attempts=3, **QUICK)
    assert crawl.bench.row("http://a/").reason is Reason.ok
    assert crawl.bench.row("http://a/").attempts == 3
    first, second, third = crawl.starts("a")
    assert second - first == pytest.approx(1.0, abs=0.3)
    assert third - second == pytest.approx(2.0, abs=0.3)


def test_after_the_last_attempt_a_url_has_failed(crawl: Crawling, web: FakeWeb) -> None:
    web.fail("http://a/", Reason.timeout)
    web.page("http://a/x")
    assert crawl("http://a/", "http://a/x", attempts=3, **QUICK) is Ending.finished
    row = crawl.bench.row("http://a/")
    assert (row.state, row.reason, row.attempts) == (State.failed, Reason.timeout, 3)
    assert crawl.bench.row("http://a/x").state is State.done


def test_a_host_that_cannot_be_reached_is_left_alone_in_the_end(
    crawl: Crawling, web: FakeWeb
) -> None:
    web.fail("http://a")
    web.page("http://b/")
    urls = [f"http://a/{number}" for number in range(300)]
    assert crawl("http://b/", *urls, delay=0.0, ignore_robots=True) is Ending.finished
    assert crawl.bench.count(State.failed) + crawl.bench.count(State.refused) == 300
    assert crawl.bench.count(State.refused, Reason.host_down) > 200
    assert crawl.bench.row("http://b/").state is State.done


def test_a_host_that_must_not_be_reached_ends_at_once(crawl: Crawling, web: FakeWeb) -> None:
    web.page("http://a/", links=["http://inside/1", "http://inside/2"])
    web.fail("http://inside", Reason.blocked_address)
    crawl("http://a/", scope="any", delay=0.0)
    assert crawl.bench.count(State.failed, Reason.blocked_address) == 2
    assert max(asked.until for asked in web.asked) < 1


def test_a_strained_host_pauses_as_long_as_it_asks(crawl: Crawling, web: FakeWeb) -> None:
    web.page("http://a/", links=["/x", "/y"])
    web.page("http://a/x")
    web.page("http://a/y")
    web.trouble("http://a/x", 503)
    crawl("http://a/", delay=0.1, ignore_robots=True)
    starts = crawl.starts("a")
    assert crawl.bench.count(State.done) == 3
    assert max(later - sooner for sooner, later in pairwise(starts)) >= 5.0


# Politeness


def test_requests_to_a_host_keep_their_distance(crawl: Crawling, web: FakeWeb) -> None:
    for host in "ab":
        web.robots(f"http://{host}", "")
        web.page(f"http://{host}/", links=[f"/{number}" for number in range(20)])
    crawl("http://a/", "http://b/", delay=2.0)
    for host in "ab":
        starts = crawl.starts(host)
        assert len(starts) == 22
        assert min(later - sooner for sooner, later in pairwise(starts)) >= 2.0
    assert web.most_at_once == {"a": 1, "b": 1}
    assert crawl.starts("b")[-1] < 22 * 2.1  # side by side, not one after the other


def test_a_crawl_delay_is_kept(crawl: Crawling, web: FakeWeb) -> None:
    web.robots("http://a", "User-agent: *\nCrawl-delay: 7\nDisallow: /no\n")
    web.page("http://a/", links=["/1", "/2", "/no", "/3"])
    crawl("http://a/", delay=0.5)
    starts = crawl.starts("a")
    assert min(later - sooner for sooner, later in pairwise(starts)) >= 7.0
    assert crawl.bench.row("http://a/no").reason is Reason.robots
    assert "http://a/no" not in web.fetched


def test_a_host_rests_over_the_end_of_a_crawl(crawl: Crawling, web: FakeWeb) -> None:
    web.page("http://a/", links=[f"/{number}" for number in range(9)])

    async def stop_and_go_on() -> Ending:
        loop = asyncio.get_running_loop()
        loop.call_later(7.0, lambda: crawl.workers[0].stop(30.0))
        assert await crawl.crawl("http://a/", delay=3.0, ignore_robots=True) is Ending.interrupted
        return await crawl.crawl("http://a/", delay=3.0, ignore_robots=True)

    assert crawl.run(stop_and_go_on()) is Ending.finished
    starts = crawl.starts("a")
    assert len(web.fetched) == 10
    assert min(later - sooner for sooner, later in pairwise(starts)) >= 3.0


@pytest.mark.parametrize("delay", [0.0, 0.1])
def test_a_pause_that_a_host_asked_for_holds_over_the_end_of_a_crawl(
    crawl: Crawling, web: FakeWeb, delay: float
) -> None:
    web.page("http://a/", links=[f"/{number}" for number in range(40)])
    web.trouble("http://a/0", 503)

    async def twice() -> Ending:
        asyncio.get_running_loop().call_later(0.5, lambda: crawl.workers[0].stop(30.0))
        await crawl.crawl("http://a/", delay=delay, ignore_robots=True)
        return await crawl.crawl("http://a/", delay=delay, ignore_robots=True)

    assert crawl.run(twice()) is Ending.finished
    (asked_for_it, *_) = (asked.until for asked in web.asked if asked.url == "http://a/0")
    assert not [at for at in crawl.starts("a") if asked_for_it < at < asked_for_it + 5.0]
    assert len(web.fetched) == 42


def test_workers_share_a_host_without_delay_and_no_page_is_fetched_twice(
    crawl: Crawling, web: FakeWeb
) -> None:
    web.page("http://a/", links=[f"/{number}" for number in range(300)])
    crawl("http://a/", workers=3, concurrency=4, **QUICK)
    assert len(web.fetched) == len(set(web.fetched)) == 301
    assert 4 < web.most_at_once["a"] <= 12


def test_workers_never_visit_a_host_with_a_delay_together(crawl: Crawling, web: FakeWeb) -> None:
    hosts = [f"http://{name}/" for name in "abcdef"]
    for host in hosts:
        web.page(host, links=[f"{host}{number}" for number in range(5)])
    crawl(*hosts, workers=3, delay=1.0, ignore_robots=True)
    assert len(web.fetched) == len(set(web.fetched)) == 36
    for host in "abcdef":
        starts = crawl.starts(host)
        assert min(later - sooner for sooner, later in pairwise(starts)) >= 1.0


@pytest.mark.parametrize("connections", [1, 2, 8])
def test_every_connection_is_kept_busy(crawl: Crawling, web: FakeWeb, connections: int) -> None:
    crawl.connections = connections
    web.page("http://a/", links=[f"/{number}" for number in range(400)])
    crawl("http://a/", **QUICK)
    assert web.most_at_once["a"] == connections
    assert web.asked[-1].until <= 400 * 0.05 / connections * 1.2 + 1.0


# Errors and ends


@pytest.mark.parametrize("step", ["fetch", "extract", "judge", "commit"])
def test_a_bug_in_a_step_ends_the_crawl_with_that_error_at_once(
    crawl: Crawling, web: FakeWeb, step: str
) -> None:
    web.latency = lambda url: 0.5 if url == "http://a/" else 1000.0
    web.page("http://a/")
    bug = StoreFull("no room") if step == "commit" else LookupError("a bug")
    crawl.broken[step] = bug
    if step == "fetch":
        web.trouble("http://a/", bug)
    urls = [f"http://b/{number}" for number in range(50)]
    with pytest.raises(type(bug), match=str(bug)):
        crawl.run(crawl.crawl("http://a/", *urls, timeout=2000.0, **QUICK), limit=1.5)
    assert crawl.bench.count(State.leased) == 0
    crawl.bench.check()


def test_who_is_stopped_takes_in_what_is_under_way(crawl: Crawling, web: FakeWeb) -> None:
    web.latency = lambda url: 0.1 if url == "http://a/" else 5.0
    web.page("http://a/", links=[f"/{number}" for number in range(100)])
    for number in range(100):
        web.page(f"http://a/{number}", links=[f"/more{number}"])
    ending = crawl.run(_stopped(crawl, after=1.0, drain=10.0))
    assert ending is Ending.interrupted
    assert len(web.fetched) == 17
    assert crawl.bench.count(State.done) == 17
    assert crawl.bench.count(State.waiting) == 100
    assert web.asked[-1].until == pytest.approx(5.1, abs=0.1)


def test_what_takes_longer_than_the_patience_is_given_back(crawl: Crawling, web: FakeWeb) -> None:
    web.latency = lambda url: 0.1 if url == "http://a/" else 50.0
    web.page("http://a/", links=[f"/{number}" for number in range(100)])
    assert crawl.run(_stopped(crawl, after=1.0, drain=10.0), limit=12.0) is Ending.interrupted
    assert crawl.bench.count(State.done) == 1
    assert crawl.bench.count(State.waiting) == 100
    assert {row.attempts for row in crawl.bench.rows()} == {0, 1}


async def _stopped(crawl: Crawling, after: float, drain: float) -> Ending:
    asyncio.get_running_loop().call_later(after, lambda: crawl.workers[0].stop(drain))
    return await crawl.crawl("http://a/", **QUICK)


def test_an_interrupted_crawl_goes_on_where_it_was(crawl: Crawling, web: FakeWeb) -> None:
    web.page("http://a/", links=[f"/{number}" for number in range(100)])

    async def twice() -> Ending:
        await _stopped(crawl, after=0.2, drain=10.0)
        return await crawl.crawl("http://a/", **QUICK)

    assert crawl.run(twice()) is Ending.finished
    assert len(web.fetched) == len(set(web.fetched)) == 101


def test_who_is_cancelled_leaves_nothing_behind(crawl: Crawling, web: FakeWeb) -> None:
    web.page("http://a/", links=[f"/{number}" for number in range(100)])

    async def cancelled() -> Ending:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.12):
                await crawl.crawl("http://a/", **QUICK)
        return Ending.interrupted

    crawl.run(cancelled())
    assert crawl.bench.count(State.leased) == 0
    assert crawl.bench.sessions() == set()


def test_who_was_taken_for_dead_begins_again_and_loses_nothing(
    crawl: Crawling, web: FakeWeb
) -> None:
    web.page("http://a/", links=[f"/{number}" for number in range(60)])
    for number in range(60):
        web.page(f"http://a/{number}", links=["/", f"/{number + 1}", f"/more/{number}"])

    async def hang() -> Ending:
        """The machine sleeps; meanwhile another worker comes, and takes what is left behind."""
        loop = asyncio.get_running_loop()
        assert isinstance(loop, virtual.Loop)

        def sleep() -> None:
            loop.pass_time(100.0)
            crawl.bench.worker(now=loop.time()).leave(loop.time())

        loop.call_later(0.17, sleep)
        return await crawl.crawl("http://a/", **QUICK)

    assert crawl.run(hang()) is Ending.finished
    assert crawl.bench.count(State.done) == len(crawl.bench.rows()) == 122


def test_a_crawl_of_nothing_new_is_over_at_once(crawl: Crawling, web: FakeWeb) -> None:
    web.page("http://a/")
    crawl("http://a/", **QUICK)
    assert crawl("http://a/", **QUICK) is Ending.finished
    assert web.fetched == ["http://a/"]


def test_urls_found_by_another_worker_are_waited_for(crawl: Crawling, web: FakeWeb) -> None:
    web.latency = lambda url: 20.0 if url == "http://a/" else 0.1
    web.page("http://a/", links=[f"http://b/{number}" for number in range(10)])
    assert crawl("http://a/", workers=2, scope="any", **QUICK) is Ending.finished
    assert crawl.bench.count(State.done) == 11
