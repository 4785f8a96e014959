"""Screenshots: as many as were asked for, in the page's order, each taken once for all who ask."""

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.background import background
from tests.serve.conftest import Api, new_key
from tests.serve.workshop import working

from freki.ledger.jobs.keys import ANYBODY
from freki.messages import Reason
from freki.serve.terms import Terms
from freki.serve.wishes import Looks, ScreenshotRequest, screenshot_order
from freki.testing.render import FakeBrowser

START = "https://site.example/"
LINKS = [f"https://site.example/{number}" for number in range(8)]

PATIENCE = 30


def site(browser: FakeBrowser, links: list[str], failing: tuple[str, ...] = ()) -> None:
    """A page with links, all of which can be seen but some."""
    anchors = "".join(f'<a href="{link}">x</a>' for link in links)
    browser.page(START, title="Home", html=f"<!doctype html><title>Home</title>{anchors}")
    for link in dict.fromkeys(link for link in links if link != START):
        if link in failing:
            browser.fail(link, Reason.timeout)
        else:
            browser.page(link, title=link)


@pytest.fixture
def browser() -> FakeBrowser:
    return FakeBrowser(latency=0.01)


@pytest.fixture
def client(api: Api, data: Path, browser: FakeBrowser) -> Iterator[httpx.Client]:
    """A service with a worker whose browser is a fake."""
    with background(working(Terms(data=data, quiet=True), browser)):
        yield api()


def ask(client: httpx.Client, links: int = 0, **asked: Any) -> str:
    answer = client.post(
        "/screenshots", json={"start_url": START, "number_of_links": links, **asked}
    )
    assert answer.status_code == 202, answer.text
    assert answer.headers["location"] == answer.json()["status_url"]
    return str(answer.json()["task_id"])


def ended(client: httpx.Client, id_: str) -> dict[str, Any]:
    until(lambda: read(client, id_)["status"] in ("done", "failed", "cancelled"))
    return read(client, id_)


def read(client: httpx.Client, id_: str) -> dict[str, Any]:
    task: dict[str, Any] = client.get(f"/screenshots/{id_}").json()
    return task


def until(condition: Callable[[], object]) -> None:
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, "it did not come"
        time.sleep(0.02)


def urls(task: dict[str, Any]) -> list[str]:
    return [shot["url"] for shot in task["screenshots"] if shot["state"] == "done"]


def states(task: dict[str, Any]) -> list[str]:
    return [shot["state"] for shot in task["screenshots"]]


def test_a_page_and_so_many_of_its_links_in_its_order(
    client: httpx.Client, browser: FakeBrowser
) -> None:
    others = ["https://elsewhere.example/", "https://site.example/file.pdf", LINKS[0], START]
    site(browser, [others[0], LINKS[0], others[1], *LINKS, others[3]])
    task = ended(client, ask(client, 3))
    assert urls(task) == [START, *LINKS[:3]]
    assert (task["requested"], task["attempted"], task["captured"]) == (4, 4, 4)
    assert task["status"] == "done"


def test_what_fails_has_a_successor_and_the_numbers_add_up(
    client: httpx.Client, browser: FakeBrowser
) -> None:
    site(browser, LINKS, failing=(LINKS[1], LINKS[2]))
    task = ended(client, ask(client, 3))
    assert urls(task) == [START, LINKS[0], LINKS[3], LINKS[4]]
    assert (task["requested"], task["attempted"], task["captured"]) == (4, 6, 4)
    failed = [shot for shot in task["screenshots"] if shot["state"] == "failed"]
    assert [shot["error"]["reason"] for shot in failed] == ["timeout", "timeout"]
    assert all(shot["captures"] == [] for shot in failed)


def test_fewer_links_than_asked_for_is_no_failure(
    client: httpx.Client, browser: FakeBrowser
) -> None:
    site(browser, LINKS[:2])
    task = ended(client, ask(client, 5))
    assert (task["status"], task["requested"], task["captured"]) == ("done", 6, 3)


def test_a_first_page_that_cannot_be_seen_is_a_failure_with_its_reason(
    client: httpx.Client, browser: FakeBrowser
) -> None:
    browser.fail(START, Reason.dns)
    task = ended(client, ask(client, 5))
    assert (task["status"], task["reason"]) == ("failed", "dns")
    assert task["screenshots"][0]["error"]["reason"] == "dns"


def test_results_are_there_from_the_first_moment_on(
    client: httpx.Client, browser: FakeBrowser
) -> None:
    site(browser, LINKS)
    browser.latency = lambda url: 0.01 if url in (START, LINKS[0]) else 30.0
    id_ = ask(client, 4)
    assert read(client, id_)["screenshots"][0]["state"] in ("queued", "running", "done")
    until(lambda: states(read(client, id_)).count("done") == 2)
    until(lambda: set(states(read(client, id_))) == {"done", "running"})
    assert read(client, id_)["status"] == "running"
    client.post(f"/screenshots/{id_}/cancel")
    assert urls(ended(client, id_)) == [START, LINKS[0]]


def test_a_picture_is_served_and_may_be_kept_for_ever(
    client: httpx.Client, browser: FakeBrowser
) -> None:
    site(browser, [])
    (shot,) = ended(client, ask(client))["screenshots"]
    (capture,) = shot["captures"]
    answer = client.get(capture["image_url"])
    assert answer.headers["content-type"] == "image/webp"
    assert "immutable" in answer.headers["cache-control"]
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.content[:4] == b"RIFF"
    assert len(answer.content) == capture["bytes"]
    assert client.get(capture["thumbnail_url"]).content[:4] == b"RIFF"
    wrong = capture["image_url"].replace(".webp", ".html")
    assert client.get(wrong).status_code == 404


def test_many_who_ask_for_the_same_share_one_visit(
    client: httpx.Client, browser: FakeBrowser
) -> None:
    site(browser, LINKS)
    browser.latency = lambda url: 1.5 if url == START else 0.01
    ids = [ask(client, 2) for _ in range(10)]
    for id_ in ids:
        assert urls(ended(client, id_)) == [START, *LINKS[:2]]
    assert len(browser.asked) == 3
    metrics = client.get("/metrics").text
    assert 'freki_capture_cache_total{result="hit"} 9.0' in metrics


def test_a_failure_is_shared_as_well(client: httpx.Client, browser: FakeBrowser) -> None:
    browser.latency = 1.5
    browser.fail(START, Reason.dns)
    ids = [ask(client) for _ in range(4)]
    assert {ended(client, id_)["reason"] for id_ in ids} == {"dns"}
    assert len(browser.asked) == 1


def test_whatever_changes_the_picture_changes_the_likeness() -> None:
    usual = {"start_url": START, "number_of_links": 1}
    wishes: list[dict[str, Any]] = [
        {}, {"number_of_links": 2}, {"same": "host"}, {"dark": True}, {"full_page": True},
        {"format": "png"}, {"quality": 50}, {"max_height": 900}, {"selector": "p"}, {"delay": 1.0},
        {"wait": "load"}, {"wait_selector": "p"}, {"hide_banners": True}, {"block_ads": True},
        {"locale": "de"}, {"timezone": "UTC"}, {"viewports": [{"width": 400}]},
        {"ignore_robots": True}, {"start_url": START + "x"},
    ]  # fmt: skip
    fields = set(Looks.model_fields) - {"headers", "cookies"}
    assert fields <= {name for wish in wishes for name in wish}
    orders = [
        screenshot_order(ScreenshotRequest(**{**usual, **wish}), ANYBODY, Terms(), 0.0)
        for wish in wishes
    ]
    assert len({order.likeness for order in orders}) == len(wishes)


def test_any_difference_in_the_wish_is_another_visit(
    client: httpx.Client, browser: FakeBrowser
) -> None:
    site(browser, LINKS)
    wishes: list[dict[str, Any]] = [
        {}, {"dark": True}, {"viewports": [{"width": 400, "height": 800}]}, {"links": 1},
    ]  # fmt: skip
    for wish in wishes:
        before = len(browser.asked)
        ended(client, ask(client, **wish))
        assert len(browser.asked) > before, wish
    before = len(browser.asked)
    for wish in wishes:
        ended(client, ask(client, **wish))
    assert len(browser.asked) == before


def test_max_age_takes_nothing_that_is_older(client: httpx.Client, browser: FakeBrowser) -> None:
    site(browser, [])
    ended(client, ask(client))
    assert ended(client, ask(client))["cached"]
    assert not ended(client, ask(client, max_age=0))["cached"]
    assert len(browser.asked) == 2


@pytest.mark.parametrize(
    "secret",
    [
        {"cookies": [{"name": "session", "value": "s3cret-of-one"}]},
        {"headers": {"X-Auth": "s3cret-of-one"}},
    ],
)
def test_with_cookies_or_headers_nothing_is_shared_and_nothing_stays(
    client: httpx.Client, browser: FakeBrowser, data: Path, secret: dict[str, Any]
) -> None:
    site(browser, [])
    first, second = ask(client, **secret), ask(client, **secret)
    answer = client.get(f"/screenshots/{first}")
    assert "s3cret" not in answer.text
    assert not ended(client, first)["cached"]
    assert not ended(client, second)["cached"]
    assert len(browser.asked) == 2
    assert all(shot.private for shot in browser.asked)
    ended(client, ask(client))
    with closing(Terms(data=data).place.desk()) as desk:
        desk.settle()
    kept = [file for file in data.rglob("*") if file.is_file() and b"s3cret" in file.read_bytes()]
    assert kept == []


def again(client: httpx.Client, id_: str, **asked: Any) -> httpx.Response:
    return client.post(f"/screenshots/{id_}/retry", json=asked)


def test_what_could_not_be_seen_is_looked_at_again(
    client: httpx.Client, browser: FakeBrowser
) -> None:
    site(browser, LINKS[:3], failing=(LINKS[1],))
    id_ = ask(client, 3)
    first = ended(client, id_)
    assert (first["captured"], first["requested"]) == (3, 4)
    seen = len(browser.asked)
    site(browser, LINKS[:3])
    assert again(client, id_, reason="dns").json()["reason"] == "nothing_to_retry"
    assert again(client, id_, reason="timeout").json()["status"] == "queued"
    until(lambda: read(client, id_)["captured"] == 4)
    assert [shot.url for shot in browser.asked[seen:]] == [LINKS[1]]
    assert again(client, id_).json()["reason"] == "nothing_to_retry"  # none is missing any more
    assert again(client, "scr_" + "0" * 32).status_code == 404


def test_a_first_page_that_is_well_again_is_seen_with_what_it_links_to(
    client: httpx.Client, browser: FakeBrowser
) -> None:
    browser.fail(START, Reason.timeout)
    id_ = ask(client, 1)
    assert ended(client, id_)["status"] == "failed"
    site(browser, LINKS[:1])
    assert again(client, id_).status_code == 200
    until(lambda: read(client, id_)["status"] == "done")
    assert urls(read(client, id_)) == [START, LINKS[0]]


@pytest.mark.parametrize(
    "secret",
    [{"headers": {"Authorization": "s3cret"}}, {"cookies": [{"name": "sid", "value": "s3cret"}]}],
)
def test_nothing_is_looked_at_again_without_the_secrets_it_was_begun_with(
    client: httpx.Client, browser: FakeBrowser, secret: dict[str, Any]
) -> None:
    browser.fail(START, Reason.timeout)
    id_ = ask(client, **secret)
    assert ended(client, id_)["dropped"] == list(secret)
    refused = again(client, id_)
    assert (refused.status_code, refused.json()["reason"]) == (409, "secrets_dropped")
    assert f"its {next(iter(secret))} were deleted" in refused.json()["detail"]
    site(browser, [])
    assert "s3cret" not in again(client, id_, **secret).text
    until(lambda: read(client, id_)["status"] == "done")
    assert browser.asked[-1].private
    assert read(client, id_)["dropped"] == list(secret)


def test_who_shares_goes_on_when_the_first_one_takes_it_back(
    client: httpx.Client, browser: FakeBrowser
) -> None:
    site(browser, LINKS)
    browser.latency = 0.3
    first, second = ask(client, 4), ask(client, 4)
    until(lambda: urls(read(client, first)))
    assert client.delete(f"/screenshots/{first}").status_code == 204
    assert client.get(f"/screenshots/{first}").status_code == 404
    task = ended(client, second)
    assert urls(task) == [START, *LINKS[:4]]
    assert client.get(task["screenshots"][0]["captures"][0]["image_url"]).status_code == 200
    assert len(browser.asked) <= 5 + 3  # what was under way is looked at again


def test_one_callers_pictures_are_not_anothers(api: Api, data: Path, browser: FakeBrowser) -> None:
    site(browser, [])
    one, other = new_key(data), new_key(data)
    with ExitStack() as stack:
        stack.enter_context(background(working(Terms(data=data, quiet=True), browser)))
        client = api()
        client.headers.update(one)
        task = ended(client, ask(client))
        picture = task["screenshots"][0]["captures"][0]["image_url"]
        assert client.get(picture).status_code == 200
        assert client.get(picture, headers=other).status_code == 404
        assert client.get(task["status_url"], headers=other).status_code == 404
        client.headers.update(other)
        assert ended(client, ask(client))["cached"]  # of a public page
