"""What is asked for is looked at whole before anything is done, and what is wrong is named."""

from typing import Any

import httpx
import pytest
from tests.serve.conftest import Api

from freki import config
from freki.serve.problems import REASONS
from freki.serve.requests import ADMINS_OPTIONS, CALLERS_OPTIONS, CHANGEABLE

URL = "https://example.com/"


def problem(answer: httpx.Response) -> dict[str, Any]:
    assert answer.headers["content-type"] == "application/problem+json"
    told: dict[str, Any] = answer.json()
    assert REASONS[told["reason"]][0] == answer.status_code == told["status"]
    assert told["request_id"] == answer.headers["x-request-id"]
    return told


@pytest.mark.parametrize(
    ("asked", "field", "nearest"),
    [
        ({"urls": [URL], "max_page": 5}, "max_page", "max_pages"),
        ({"urls": [URL], "Depth": 5}, "Depth", "depth"),
        ({"url": [URL]}, "url", "urls"),
        ({"urls": [URL], "zzzzzz": 5}, "zzzzzz", None),
        (
            {"urls": [URL], "webhook": {"url": URL, "secret": "x" * 16, "event": []}},
            "webhook.event",
            "events",
        ),
        ({"urls": [URL], "allow_private": True}, "allow_private", None),
        ({"urls": [URL], "output_path": "/etc/x"}, "output_path", None),
    ],
)
def test_an_unknown_field_is_refused_with_the_nearest_right_name(
    client: httpx.Client, asked: dict[str, Any], field: str, nearest: str | None
) -> None:
    told = problem(client.post("/crawls", json=asked))
    assert told["reason"] == "invalid"
    (error,) = [error for error in told["errors"] if error["field"] == field]
    assert error.get("nearest") == nearest


def test_an_unknown_parameter_is_refused_with_the_nearest_right_name(
    client: httpx.Client,
) -> None:
    told = problem(client.get("/crawls?limits=5"))
    assert told["errors"][0]["nearest"] == "limit"


@pytest.mark.parametrize(
    "asked",
    [
        {},
        {"urls": []},
        {"urls": URL},
        {"urls": [URL] * 1001},
        {"urls": [URL + "x" * 2048]},
        {"urls": [URL], "max_pages": "5"},
        {"urls": [URL], "max_pages": 0},
        {"urls": [URL], "max_pages": 10**30},
        {"urls": [URL], "depth": -1},
        {"urls": [URL], "delay": True},
        {"urls": [URL], "scope": "universe"},
        {"urls": [URL], "include": ["re:("]},
        {"urls": [URL], "include": ["x"] * 1001},
        {"urls": [URL], "user_agent": "a\r\nX: y"},
        {"urls": [URL], "name": "a\nb"},
        {"urls": [URL], "contact": "é"},
        {"urls": [URL], "sitemap": "only", "ignore_robots": True},
        {"urls": [URL], "webhook": {"url": URL, "secret": "short"}},
        {"urls": [URL], "webhook": {"url": URL, "secret": "x" * 15 + "\n"}},
        [],
        None,
        "x",
    ],
)
def test_a_wrong_value_is_refused(client: httpx.Client, asked: object) -> None:
    before = client.get("/crawls").json()
    assert problem(client.post("/crawls", json=asked))["reason"] == "invalid"
    assert client.get("/crawls").json() == before


@pytest.mark.parametrize(
    "url",
    ["example.com", "ftp://example.com/", "file:///etc/passwd", "javascript:alert(1)", "//x", "http://",
     "http://user:secret@example.com/", "http://a b/", " "],
)  # fmt: skip
def test_what_is_no_url_of_a_page_is_refused(client: httpx.Client, url: str) -> None:
    told = problem(client.post("/crawls", json={"urls": [URL, url]}))
    assert told["reason"] == "bad_url"
    assert told["errors"][0]["field"] == "urls[1]"


@pytest.mark.parametrize(
    "body",
    [b"{", b"\xff\xfe", b"[" * 100_000, b'{"urls": ["\x00"]}', b"NaN", b"{}{}"],
)
def test_what_is_no_json_is_refused(client: httpx.Client, body: bytes) -> None:
    answer = client.post("/crawls", content=body, headers={"Content-Type": "application/json"})
    assert answer.status_code in (400, 422)
    problem(answer)


@pytest.mark.parametrize(
    "body",
    [
        rb'{"urls": ["https://example.com/"], "name": "\ud800"}',
        rb'{"urls": ["https://example.com/\ud800"]}',
        rb'{"\ud800": 1}',
        b'{"urls": ["https://example.com/"], "delay": NaN}',
        b'{"urls": ["https://example.com/"], "delay": 1e999}',
    ],
)
def test_what_no_text_or_number_can_be_is_refused(client: httpx.Client, body: bytes) -> None:
    answer = client.post("/crawls", content=body, headers={"Content-Type": "application/json"})
    assert answer.status_code in (400, 422)
    problem(answer)


def test_a_value_that_is_none_of_those_there_are_is_told_the_nearest(client: httpx.Client) -> None:
    told = problem(client.post("/crawls", json={"urls": [URL], "scope": "hosts"}))
    assert told["errors"][0]["nearest"] == "host"


def test_a_method_that_is_none_is_told_which_there_are(client: httpx.Client) -> None:
    assert client.put("/crawls").headers["allow"] == "GET, POST"
    assert client.put("/crawls/x").headers["allow"] == "DELETE, GET, PATCH"


def test_a_body_that_is_too_large_is_refused_however_it_comes(client: httpx.Client) -> None:
    def in_pieces() -> Any:
        for _ in range(40):
            yield b" " * 65_536

    head = {"Content-Type": "application/json"}
    whole = client.post("/crawls", content=b" " * (2**20 + 1), headers=head)
    assert problem(whole)["reason"] == "too_large"
    assert (
        problem(client.post("/crawls", content=in_pieces(), headers=head))["reason"] == "too_large"
    )


def test_a_part_of_a_list_is_bounded(client: httpx.Client) -> None:
    for query in (
        "limit=1000000000",
        "limit=0",
        "limit=x",
        "cursor=x",
        "cursor=-1",
        "state=x",
        f"cursor={10**20}",
    ):
        assert problem(client.get(f"/crawls?{query}"))["reason"] == "invalid", query


PRIVATE = [
    "http://127.0.0.1/", "http://localhost/", "http://a.localhost./", "http://[::1]/", "http://0/",
    "http://0x7f000001/", "http://2130706433/", "http://017700000001/", "http://127.1/",
    "http://10.0.0.1/", "http://172.16.0.1/", "http://192.168.0.1/", "http://169.254.169.254/",
    "http://[::ffff:127.0.0.1]/", "http://[64:ff9b::7f00:1]/", "http://100.64.0.1/",
    "http://[fd00::1]/", "HTTP://127.0.0.1/", "http://①②⑦.0.0.1/",
]  # fmt: skip


@pytest.mark.parametrize("url", PRIVATE)
def test_a_private_address_is_refused_wherever_a_url_may_stand(
    client: httpx.Client, url: str
) -> None:
    hook = {"url": url, "secret": "x" * 16}
    for asked in ({"urls": [URL, url]}, {"urls": [URL], "webhook": hook}):
        assert problem(client.post("/crawls", json=asked))["reason"] == "blocked_address"


def test_private_addresses_are_opened_by_the_operator_alone(api: Api) -> None:
    asked = {"urls": ["http://10.0.0.1/"]}
    assert problem(api().post("/crawls", json=asked))["status"] == 403
    assert api(allow_private=True).post("/crawls", json=asked).status_code == 202


def test_the_same_request_again_begins_nothing_twice(api: Api) -> None:
    client = api()
    key = {"Idempotency-Key": "9f2c"}
    asked = {"urls": [URL], "max_pages": 7}
    first = client.post("/crawls", json=asked, headers=key)
    again = client.post("/crawls", json=asked, headers=key)
    assert first.json()["id"] == again.json()["id"]
    assert again.headers["idempotency-replayed"] == "true"
    other = client.post("/crawls", json={**asked, "max_pages": 8}, headers=key)
    assert problem(other)["reason"] == "idempotency_mismatch"
    assert len(client.get("/crawls").json()["items"]) == 1


def test_every_option_of_a_caller_exists_and_none_is_about_the_machine() -> None:
    known = {option.name for option in config.options()}
    assert set(CALLERS_OPTIONS) <= known
    assert set(CALLERS_OPTIONS) >= ADMINS_OPTIONS
    assert set(CALLERS_OPTIONS) >= set(CHANGEABLE)
    machine = {"allow_private", "allow_address", "connections", "workers", "durability", "drain"}
    assert machine & set(CALLERS_OPTIONS) == set()


def test_a_secret_is_not_answered_again(client: httpx.Client) -> None:
    secret = "x" * 20
    asked = {"urls": [URL], "webhook": {"url": URL, "secret": secret}}
    answer = client.post("/crawls", json=asked)
    assert answer.json()["request"]["webhook"]["url"] == URL
    assert secret not in answer.text
    assert secret not in client.get(f"/crawls/{answer.json()['id']}").text


def test_what_there_is_not_and_what_cannot_be_done_are_problems_too(client: httpx.Client) -> None:
    assert problem(client.get("/nothing"))["reason"] == "not_found"
    assert problem(client.put("/crawls"))["reason"] == "method"
    assert problem(client.get("/crawls/crl_x"))["reason"] == "not_found"
    for name in ("..%2f..%2fservice.db", "x" * 64 + ".webp", "0" * 64 + ".html", "%00"):
        assert client.get(f"/crawls/crl_x/images/{name}").status_code == 404


def test_a_list_of_jobs_is_walked_in_parts(api: Api) -> None:
    client = api()
    ids = [client.post("/crawls", json={"urls": [URL]}).json()["id"] for _ in range(5)]
    seen, path = [], "/crawls?limit=2"
    while path:
        part = client.get(path).json()
        seen += [item["id"] for item in part["items"]]
        path = part["next"]
    assert seen == ids[::-1]


@pytest.mark.parametrize(
    "asked",
    [
        {"number_of_links": -1}, {"number_of_links": 10**6}, {"number_of_links": "3"},
        {"start_url": "x"},
        {"headers": {"X": "a\r\nY: b"}}, {"headers": {"Host": "x"}}, {"headers": {"A B": "c"}},
        {"cookies": [{"name": "a", "value": "b; c"}]}, {"cookies": [{"name": "a\n", "value": "b"}]},
        {"format": "svg"}, {"viewports": []}, {"viewports": [{"width": 10**6}]}, {"delay": 1e9},
        {"output_path": "x"}, {"script": "alert(1)"},
    ],
)  # fmt: skip
def test_a_wrong_wish_is_refused(client: httpx.Client, asked: dict[str, Any]) -> None:
    answer = client.post("/screenshots", json={"start_url": URL, "number_of_links": 1, **asked})
    assert answer.status_code == 422
    assert answer.headers["content-type"] == "application/problem+json"
