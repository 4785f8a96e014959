"""Pages that want to hurt whoever looks at results, and callers who want to hurt the service."""

import socket
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest
from tests.background import background
from tests.serve.conftest import web, whole
from tests.serve.test_crawls import begun, events, until

from freki.serve.terms import Terms
from freki.testing.server import serve
from freki.testing.synthetic import Web

XSS = '<img src=x onerror="alert(1)"><script>alert(1)</script>'


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    with whole(tmp_path_factory.mktemp("service") / "data", "--workers", "1") as client:
        yield client


@pytest.fixture(scope="module")
def crawl(client: httpx.Client) -> Iterator[str]:
    with background(serve(Web(pages=3))) as site:
        id_ = begun(client, site)
        events(client, id_)
        yield f"/crawls/{id_}"


def test_no_answer_is_something_that_a_browser_would_run(client: httpx.Client, crawl: str) -> None:
    page = client.get(f"{crawl}/pages").json()["items"][0]["id"]
    paths = ["", "/pages", "/urls", "/errors", "/items", "/captures", f"/pages/{page}",
             f"/pages/{page}/body", f"/pages/{page}/text", f"/pages/{page}/markdown"]  # fmt: skip
    for path in paths:
        answer = client.get(f"{crawl}{path}")
        assert answer.status_code == 200
        kind = answer.headers["content-type"].partition(";")[0]
        assert kind in (
            "application/json",
            "text/plain",
            "text/markdown",
            "application/octet-stream",
        )
        assert answer.headers["x-content-type-options"] == "nosniff"
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "script-src" not in policy


def test_markup_in_a_request_comes_back_as_text(client: httpx.Client) -> None:
    asked = {"urls": ["https://example.com/"], "name": XSS, "max_pages": 1}
    answer = client.post("/crawls", json=asked)
    assert answer.json()["name"] == XSS
    assert answer.headers["content-type"] == "application/json"
    wrong = client.post("/crawls", json={XSS: 1})
    assert wrong.headers["content-type"] == "application/problem+json"
    assert client.get(f"/{XSS}").headers["content-type"] == "application/problem+json"


@pytest.mark.parametrize(
    "name",
    ["../../service.db", "..%2f..%2fservice.db", "%2e%2e%2fservice.db", "....//service.db",
     "/etc/passwd",
     "C:\\x", "x%00.webp", "." * 300, "con", "service.db", "crl_x.db", "\u202e"],
)  # fmt: skip
def test_no_name_leads_out_of_a_crawl(client: httpx.Client, crawl: str, name: str) -> None:
    for path in (f"{crawl}/images/{name}", f"/screenshots/{name}", f"/crawls/{name}/pages",
                 f"/crawls/{name}/pages/1/body", f"/screenshots/x/images/{name}"):  # fmt: skip
        answer = client.get(path)
        assert answer.status_code in (400, 404, 405, 422), path
        assert b"SQLite" not in answer.content


@pytest.mark.parametrize(
    "value", ["a\r\nX-Evil: 1", "a\nb", "a\x00b"],
)  # fmt: skip
def test_no_value_becomes_a_header(client: httpx.Client, value: str) -> None:
    asked = {"urls": ["https://example.com/"], "max_pages": 1, "name": value}
    assert client.post("/crawls", json=asked).status_code == 422
    for field in ("user_agent", "contact"):
        asked = {"urls": ["https://example.com/"], field: value}
        assert client.post("/crawls", json=asked).status_code == 422
    url = f"https://example.com/{value}"
    answer = client.post("/crawls", json={"urls": [url], "max_pages": 1})
    assert "x-evil" not in answer.headers


def test_errors_tell_nothing_of_the_inside(client: httpx.Client, tmp_path: Path) -> None:
    answers = [
        client.get("/crawls/x"), client.post("/crawls", content=b"\xff"),
        client.get("/crawls?limit=x"), client.put("/isalive"),
    ]  # fmt: skip
    for answer in answers:
        for word in ("Traceback", "site-packages", ".py", "sqlite", "/tmp"):
            assert word not in answer.text


def test_a_head_that_is_too_large_is_refused(client: httpx.Client) -> None:
    for size, code in ((8_000, 200), (20_000, 431), (100_000, 431)):
        try:
            answer = client.get("/isalive", headers={"X-Large": "x" * size})
        except httpx.TransportError:  # refused while it was still being sent
            assert code == 431
        else:
            assert answer.status_code == code
    assert client.get("/crawls?cursor=" + "1" * 8_000).status_code == 422


def test_a_slow_body_does_not_keep_others_waiting(client: httpx.Client) -> None:
    host, port = client.base_url.host, client.base_url.port
    assert port is not None
    slow = []
    for _ in range(50):
        connection = socket.create_connection((host, port))
        connection.sendall(
            b"POST /crawls HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
            b"Content-Length: 1000\r\n\r\n{"
        )
        slow.append(connection)
    try:
        took = []
        for _ in range(50):
            started = time.perf_counter()
            assert client.get("/isalive").status_code == 200
            took.append(time.perf_counter() - started)
        assert sorted(took)[-2] < 0.5
    finally:
        for connection in slow:
            connection.close()


def test_a_connection_without_a_request_is_not_kept(tmp_path: Path) -> None:
    terms = Terms(data=tmp_path / "data", quiet=True)
    with background(web(terms, head_seconds=0.3)) as url:
        host, _, port = url.removeprefix("http://").partition(":")
        with socket.create_connection((host, int(port)), timeout=10) as connection:
            connection.sendall(b"GET /isalive HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: ")
            assert connection.recv(1) == b""
        with httpx.Client(base_url=url) as client:
            assert client.get("/isalive").status_code == 200


def test_many_at_once_are_answered_or_told_to_come_back(client: httpx.Client) -> None:
    limits = httpx.Limits(max_connections=200)
    with (
        httpx.Client(base_url=client.base_url, limits=limits, timeout=60) as many,
        ThreadPoolExecutor(64) as threads,
    ):
        codes = set(threads.map(lambda _: many.get("/crawls").status_code, range(500)))
    assert codes <= {200, 429, 503}


def test_jobs_begun_stopped_and_deleted_at_random_leave_nothing(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with background(serve(Web(pages=30))) as site, whole(data, "--workers", "2") as client:

        def live(number: int) -> set[int]:
            id_ = begun(client, site, delay=0.05)
            time.sleep(number % 7 / 30)
            codes = set()
            verbs = ["pause", "resume", "cancel", "resume", "pause"]
            for step in range(number % 4):
                codes.add(client.post(f"/crawls/{id_}/{verbs[(number + step) % 5]}").status_code)
                codes.add(client.get(f"/crawls/{id_}/pages").status_code)
            codes.add(client.delete(f"/crawls/{id_}").status_code)
            codes.add(client.get(f"/crawls/{id_}").status_code)
            return codes

        with ThreadPoolExecutor(12) as threads:
            codes = set[int]().union(*threads.map(live, range(25)))
        assert codes <= {200, 204, 404, 409}
        assert client.get("/crawls").json()["items"] == []
        until(lambda: not list((data / "crawls").glob("*.db")))
