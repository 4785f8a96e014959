"""URLs that failed alike are tried again: from a button or a request to pages that are well."""

import asyncio
import os
import re
import signal
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.background import background
from tests.serve.conftest import Api, new_key, whole
from tests.serve.failing import SITE, begin, store_failures
from tests.serve.test_crawls import events, pids, state, until
from tests.system.scripted import Scripted, answer, page, scripted

from freki.engine.pulse import Pulse
from freki.ledger import crawls, read
from freki.ledger.jobs import orders, retries
from freki.ledger.place import Place
from freki.ledger.retry import retry
from freki.ledger.store import open_store
from freki.messages import Reason
from freki.serve.errands import Errand, Report, put_back
from freki.serve.terms import Terms

ILL = {"/": page("/ill", "/bad"), "/ill": answer(500, b"ill"), "/bad": answer(404)}
WELL = {**ILL, "/ill": page("/new"), "/new": page()}

HOSTILE = "<script>alert(1)</script>\nand more"
FAILURES = {
    f"{SITE}/": (Reason.timeout, "30 s"),
    f"{SITE}/a": (Reason.timeout, "30 s"),
    "https://b.example/": (Reason.timeout, "60 s"),
    "https://b.example/x": (Reason.connect, HOSTILE),
    "https://b.example/y": (Reason.incomplete, "73 % of 5_0 bytes!"),
    "https://b.example/z": (Reason.incomplete, "73 x of 5y0 bytes!"),
}


@pytest.fixture
def failed(api: Api, data: Path) -> tuple[httpx.Client, str]:
    """A service without workers, and a crawl that has failures."""
    client = api()
    id_ = begin(client)
    store_failures(data, id_, FAILURES)
    return client, id_


def wishes(data: Path, id_: str) -> list[dict[str, Any]]:
    with closing(Terms(data=data).place.desk()) as desk:
        return [
            {name: value for name in ("reason", "origin", "message")
             if (value := getattr(wanted, name)) is not None}
            for wanted in retries.wished(desk, id_)
        ]  # fmt: skip


def end_it(data: Path, id_: str) -> None:
    with closing(Terms(data=data).place.desk()) as desk:
        orders.cancel(desk, id_, 1.0)


@pytest.mark.parametrize(
    ("asked", "count"),
    [
        ({"reason": "timeout"}, 3),
        ({"reason": "timeout", "host": SITE}, 2),
        ({"reason": "timeout", "message": "60 s"}, 3),  # numbers aside
        ({"reason": "timeout", "message": "60 s", "host": "https://b.example"}, 1),
        ({"message": "100 % of 1_0 bytes!"}, 1),
        ({"message": HOSTILE}, 1),
        ({"outcome": "failed"}, 6),
        ({"url": f"{SITE}/a"}, 1),
    ],
)
def test_a_class_is_asked_for_in_any_words_that_name_it(
    asked: dict[str, str], count: int, failed: tuple[httpx.Client, str], data: Path
) -> None:
    client, id_ = failed
    end_it(data, id_)
    answer = client.post(f"/crawls/{id_}/retry", json=asked)
    assert answer.status_code == 200, answer.text
    assert (answer.json()["urls"], answer.json()["crawl"]["status"]) == (count, "queued")
    assert len(wishes(data, id_)) == 1


@pytest.mark.parametrize(
    ("asked", "code", "reason", "told"),
    [
        ({}, 422, "invalid", "which URLs?"),
        ({"reason": "timeot"}, 422, "invalid", "did you mean timeout?"),
        ({"status": "9xx"}, 422, "invalid", "status"),
        ({"outcome": "waiting"}, 422, "invalid", "outcome"),
        ({"kind": "timeout"}, 422, "invalid", "no such field"),
        ({"reason": "dns"}, 409, "nothing_to_retry", "no URL"),
        ({"host": "https://c.example"}, 409, "nothing_to_retry", "no URL"),
        (
            {"reason": "timeout", "webhook": {"url": "http://127.0.0.1/", "secret": "x" * 16}},
            403, "blocked_address", "",
        ),
    ],
)  # fmt: skip
def test_what_names_no_class_changes_nothing(
    asked: dict[str, object], code: int, reason: str, told: str,
    failed: tuple[httpx.Client, str], data: Path,
) -> None:  # fmt: skip
    client, id_ = failed
    end_it(data, id_)
    refused = client.post(f"/crawls/{id_}/retry", json=asked)
    assert (refused.status_code, refused.json()["reason"]) == (code, reason)
    assert told in refused.json()["detail"]
    assert client.get(f"/crawls/{id_}").json()["status"] == "cancelled"
    assert wishes(data, id_) == []


def test_nobody_retries_what_is_anothers_or_gone_or_may_only_be_read(api: Api, data: Path) -> None:
    mine, others, reader = new_key(data), new_key(data), new_key(data, "read")
    client = api()
    id_ = begin(client, **mine)
    store_failures(data, id_, FAILURES)

    def codes(headers: dict[str, str]) -> tuple[int, int]:
        token = headers["Authorization"].removeprefix("Bearer ")
        by_request = client.post(
            f"/crawls/{id_}/retry", json={"reason": "timeout"}, headers=headers
        )
        client.post("/app/login", data={"key": token})
        by_form = client.post(f"/app/crawls/{id_}/retry", data={"reason": "timeout"})
        client.cookies.clear()
        return by_request.status_code, by_form.status_code

    assert codes(others) == (404, 404)
    assert codes(reader) == (403, 403)
    assert wishes(data, id_) == []
    assert codes(mine) == (200, 303)
    client.delete(f"/crawls/{id_}", headers=mine)
    assert codes(mine) == (404, 404)


def test_a_page_of_others_retries_nothing(failed: tuple[httpx.Client, str], data: Path) -> None:
    client, id_ = failed
    for headers in ({"Origin": "https://evil.example"}, {"Sec-Fetch-Site": "cross-site"}):
        answer = client.post(
            f"/app/crawls/{id_}/retry", data={"reason": "timeout"}, headers=headers
        )
        assert answer.status_code == 403
    assert wishes(data, id_) == []


def test_failures_stand_in_groups_with_a_button_each(
    failed: tuple[httpx.Client, str], data: Path
) -> None:
    client, id_ = failed
    wrong = client.get(f"/app/crawls/{id_}/wrong").text
    assert 'aria-label="Try all again, all 3: no answer in time"' in wrong
    assert 'aria-label="Try again, 2 of https://a.example: 30 s"' in wrong
    assert "<script>alert" not in wrong
    # A browser ends the lines of a form as the web does.
    asked = {"reason": "connect", "message": HOSTILE.replace("\n", "\r\n")}
    done = client.post(f"/app/crawls/{id_}/retry", data=asked)
    assert done.headers["location"] == f"/app/crawls/{id_}?retried=1"
    assert "1 URL is tried again" in client.get(done.headers["location"]).text
    assert wishes(data, id_) == [{"reason": Reason.connect, "message": HOSTILE}]


def test_one_url_is_tried_again_from_its_story(
    failed: tuple[httpx.Client, str], data: Path
) -> None:
    client, id_ = failed
    story = client.get(f"/app/crawls/{id_}/explain", params={"url": f"{SITE}/a"}).text
    assert f'name="url" value="{SITE}/a"><button>Try it again' in story
    client.post(f"/app/crawls/{id_}/retry", data={"url": f"{SITE}/a"})
    with closing(Terms(data=data).place.desk()) as desk:
        assert [wish.url for wish in retries.wished(desk, id_)] == [f"{SITE}/a"]


@pytest.mark.parametrize(
    ("asked", "code", "told"),
    [
        ({}, 422, "which URLs?"),
        ({"reason": "<script>"}, 422, "reason"),
        ({"reason": "dns"}, 409, "no URL of this crawl has ended so"),
    ],
)
def test_a_form_that_names_no_class_is_told(
    asked: dict[str, str], code: int, told: str, failed: tuple[httpx.Client, str]
) -> None:
    client, id_ = failed
    answer = client.post(f"/app/crawls/{id_}/retry", data=asked)
    assert answer.status_code == code
    assert told in answer.text
    assert "<script>" not in answer.text


def test_who_retries_is_told_what_was_forgotten(api: Api, data: Path) -> None:
    client = api()
    hook = {"url": "https://a.example/hook", "secret": "0123456789abcdef"}
    asked = {"urls": [f"{SITE}/"], "webhook": hook}
    id_ = client.post("/crawls", json=asked).json()["id"]
    store_failures(data, id_, FAILURES)
    assert "was forgotten" not in client.get(f"/app/crawls/{id_}/wrong").text
    end_it(data, id_)
    assert client.get(f"/crawls/{id_}").json()["dropped"] == ["webhook"]
    assert "its webhook was forgotten" in client.get(f"/app/crawls/{id_}/wrong").text
    retry = {"reason": "timeout", "webhook": hook}
    answer = client.post(f"/crawls/{id_}/retry", json=retry)
    assert answer.json()["crawl"]["dropped"] == []
    assert hook["secret"] not in answer.text


def test_who_dies_between_deed_and_note_leaves_nothing_to_be_done_twice(
    failed: tuple[httpx.Client, str], data: Path
) -> None:
    client, id_ = failed
    client.post(f"/crawls/{id_}/retry", json={"reason": "timeout"})
    terms = Terms(data=data)
    with closing(terms.place.desk()) as desk, closing(open_store(terms.place.store_of(id_))) as db:
        crawl, job = crawls.find(db, id_), orders.find(desk, id_)
        assert crawl is not None
        assert job is not None
        assert retry(db, crawl.id, retries.wished(desk, id_)[0]) == 3
        put_back(Errand(job, desk, terms), db, retry)  # as whoever goes on after the death does
        assert retries.wished(desk, id_) == []
        status = read.status(db, crawl.id)
        assert (status.waiting, status.failed) == (3, 3)


def test_failures_of_an_earlier_run_are_not_counted_again(
    failed: tuple[httpx.Client, str], data: Path
) -> None:
    client, id_ = failed
    terms = Terms(data=data)
    with closing(terms.place.desk()) as desk, closing(open_store(terms.place.store_of(id_))) as db:
        crawl, job = crawls.find(db, id_), orders.find(desk, id_)
        assert crawl is not None
        assert job is not None
        asyncio.run(Report(Errand(job, desk, terms), db, crawl.id).tell(Pulse()))
    counted = re.findall(r"freki_errors_total\{.*} (\S+)", client.get("/metrics").text)
    assert set(counted) <= {"0.0"}


# With workers.


@pytest.fixture(scope="module", params=["folder", pytest.param("server", marks=pytest.mark.system)])
def service(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[httpx.Client]:
    place: Place = tmp_path_factory.mktemp("service") / "data"
    if request.param == "server":
        place = request.getfixturevalue("postgres").schema()
    with whole(place, "--workers", "1") as client:
        yield client


@pytest.fixture
def site() -> Iterator[Scripted]:
    with background(scripted(ILL)) as served:
        yield served


def begun(client: httpx.Client, site: Scripted, delay: float = 0) -> str:
    asked = {"urls": [site.url], "delay": delay, "attempts": 1}
    return str(client.post("/crawls", json=asked).json()["id"])


def found(client: httpx.Client, id_: str) -> dict[str, int]:
    """The pages of a crawl and their statuses, by their paths."""
    rows = client.get(f"/crawls/{id_}/pages").json()["items"]
    assert len({row["url"] for row in rows}) == len(rows)
    return {"/" + row["url"].split("/", 3)[3]: row["status"] for row in rows}


def test_a_crawl_that_has_ended_goes_on_with_what_got_well(
    service: httpx.Client, site: Scripted
) -> None:
    client = service
    id_ = begun(client, site)
    until(lambda: state(client, id_) == "done")
    assert found(client, id_) == {"/": 200, "/ill": 500, "/bad": 404}
    site.script = WELL
    told = events(client, id_)[-1]["id"]
    before = site.asked.count("/"), site.asked.count("/bad")
    assert client.post(f"/crawls/{id_}/retry", json={"status": "5xx"}).json()["urls"] == 1
    until(lambda: state(client, id_) == "done")
    assert found(client, id_) == {"/": 200, "/ill": 200, "/bad": 404, "/new": 200}
    assert (site.asked.count("/"), site.asked.count("/bad")) == before
    states = [event.get("state") for event in events(client, id_, told)]
    assert [each for each in states if each] == ["queued", "running", "done"]
    again_ = client.post(f"/crawls/{id_}/retry", json={"status": "5xx"})
    assert (again_.status_code, again_.json()["reason"]) == (409, "nothing_to_retry")


def test_a_crawl_under_way_takes_it_in(service: httpx.Client, site: Scripted) -> None:
    client = service
    many = [f"/{number}" for number in range(30)]
    site.script = {**ILL, "/": page("/ill", *many), **dict.fromkeys(many, page())}
    id_ = begun(client, site, 0.25)
    until(lambda: found(client, id_).get("/ill") == 500)
    site.script = {**site.script, "/ill": page()}
    assert client.post(f"/crawls/{id_}/retry", json={"status": "5xx"}).status_code == 200
    client.patch(f"/crawls/{id_}", json={"delay": 0})
    until(lambda: state(client, id_) == "done")
    assert found(client, id_) == dict.fromkeys(["/", "/ill", *many], 200)
    assert max(site.asked.count(path) for path in many) == 1


def test_what_pages_say_is_found_as_it_comes_in(service: httpx.Client, site: Scripted) -> None:
    id_ = begun(service, site)
    until(lambda: state(service, id_) == "done")
    assert paths(service, id_, "well") == []
    site.script = {**ILL, "/ill": answer(200, b"all is well", content_type="text/html")}
    service.post(f"/crawls/{id_}/retry", json={"status": "5xx"})
    until(lambda: paths(service, id_, "well") == ["/ill"])
    assert paths(service, id_, "to", "size") == ["/"]


def paths(client: httpx.Client, id_: str, text: str, sort: str = "url") -> list[str]:
    listed = client.get(f"/crawls/{id_}/pages", params={"text": text, "sort": sort}).json()
    return ["/" + row["url"].split("/", 3)[3] for row in listed["items"]]


def test_a_wish_survives_that_everybody_is_killed(tmp_path: Path, site: Scripted) -> None:
    data = tmp_path / "data"
    with whole(data, "--workers", "1") as client:
        id_ = begun(client, site)
        until(lambda: state(client, id_) == "done")
        site.script = WELL
        for pid in pids(data):
            if b"worker" in Path(f"/proc/{pid}/cmdline").read_bytes():
                os.kill(pid, signal.SIGSTOP)  # nobody carries it out before all are killed
        assert client.post(f"/crawls/{id_}/retry", json={"status": "5xx"}).status_code == 200
        for pid in pids(data):
            os.kill(pid, signal.SIGKILL)
        until(lambda: state(client, id_) == "done")
        assert found(client, id_) == {"/": 200, "/ill": 200, "/bad": 404, "/new": 200}
