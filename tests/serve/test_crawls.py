"""Crawls over HTTP, with all processes: from a request to the pages, through whatever happens."""

import json
import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.background import background
from tests.serve.conftest import whole

from freki.testing.server import Site, serve
from freki.testing.synthetic import Web

WEB = Web(seed=3, pages=60, redirects=0.1, missing=0.1)
PATIENCE = 30


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    with background(serve(WEB)) as served:
        yield served


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    with whole(tmp_path_factory.mktemp("service") / "data", "--workers", "1") as client:
        yield client


def until(condition: Callable[[], bool]) -> None:
    """Asks again and again, as a caller without events does; also of one who was just killed."""
    end = time.monotonic() + PATIENCE
    while True:
        with suppress(httpx.TransportError):
            if condition():
                return
        assert time.monotonic() < end, "it did not come"
        time.sleep(0.05)


def events(client: httpx.Client, id_: str, after: int | None = None) -> list[dict[str, Any]]:
    """All events of a crawl, to its end."""
    head = {} if after is None else {"Last-Event-ID": str(after)}
    found: list[dict[str, Any]] = []
    with client.stream("GET", f"/crawls/{id_}/events", headers=head) as stream:
        assert stream.headers["content-type"].startswith("text/event-stream")
        for line in stream.iter_lines():
            name, _, value = line.partition(": ")
            if name == "id":
                found.append({"id": int(value)})
            elif name == "event" and value == "end":
                break
            elif name == "event":
                found[-1]["event"] = value
            elif name == "data":
                found[-1].update(json.loads(value))
    return found


def begun(client: httpx.Client, site: Site, **options: object) -> str:
    answer = client.post("/crawls", json={"urls": [site.url], "delay": 0, **options})
    assert answer.status_code == 202, answer.text
    assert answer.headers["location"] == f"/crawls/{answer.json()['id']}"
    return str(answer.json()["id"])


def state(client: httpx.Client, id_: str) -> str:
    return str(client.get(f"/crawls/{id_}").json()["status"])


def test_a_crawl_from_request_to_pages(service: httpx.Client, site: Site) -> None:
    id_ = begun(service, site)
    told = events(service, id_)
    assert [event["state"] for event in told if event["event"] == "state"] == [
        "queued", "running", "done",
    ]  # fmt: skip
    crawl = service.get(f"/crawls/{id_}").json()
    sums = crawl["progress"]
    parts = ("done", "failed", "refused", "waiting", "leased")
    assert sums["discovered"] == sum(sums[part] for part in parts)
    pages = service.get(f"/crawls/{id_}/pages?limit=1000").json()["items"]
    assert len(pages) == sums["pages"] > 40
    urls = service.get(f"/crawls/{id_}/urls?limit=1000").json()["items"]
    assert len(urls) == sums["discovered"]
    errors = service.get(f"/crawls/{id_}/errors?limit=1000").json()["items"]
    assert {error["status"] for error in errors} == {404, 410}
    missing = service.get(f"/crawls/{id_}/pages?status=4xx&limit=1000").json()["items"]
    assert {page["id"] for page in missing} == {error["id"] for error in errors}
    assert crawl["bytes"] > 10_000


def test_a_stream_goes_on_from_where_it_was_left(service: httpx.Client, site: Site) -> None:
    id_ = begun(service, site)
    all_of_them = events(service, id_)
    middle = all_of_them[1]["id"]
    assert events(service, id_, middle) == all_of_them[2:]


def test_lists_are_walked_in_parts_without_gap_or_overlap(
    service: httpx.Client, site: Site
) -> None:
    id_ = begun(service, site)
    events(service, id_)
    seen, path = [], f"/crawls/{id_}/urls?limit=7"
    while path:
        part = service.get(path).json()
        seen += [row["id"] for row in part["items"]]
        path = part["next"]
    whole_list = service.get(f"/crawls/{id_}/urls?limit=1000").json()["items"]
    assert seen == [row["id"] for row in whole_list]


def test_a_page_and_its_contents(service: httpx.Client, site: Site) -> None:
    id_ = begun(service, site, max_pages=1)
    assert events(service, id_)[-1]["reason"] == "limit"
    (page,) = service.get(f"/crawls/{id_}/pages").json()["items"]
    here = f"/crawls/{id_}/pages/{page['id']}"
    record = service.get(here).json()
    assert record["url"] == site.url
    assert record["links"]
    body = service.get(f"{here}/body")
    assert body.content == httpx.get(site.url).content
    assert body.headers["content-type"] == "application/octet-stream"
    assert body.headers["content-disposition"].startswith("attachment")
    assert body.headers["content-security-policy"].startswith("sandbox")
    assert service.get(f"{here}/markdown").text.count("# ") >= 1
    assert "<" not in service.get(f"{here}/text").text
    assert service.get(f"/crawls/{id_}/pages/999999").status_code == 404
    assert service.get(f"{here}/nothing").json()["reason"] == "invalid"


def test_a_crawl_is_downloaded_as_a_file(service: httpx.Client, site: Site) -> None:
    id_ = begun(service, site)
    events(service, id_)
    pages = service.get(f"/crawls/{id_}").json()["progress"]["pages"]
    lines = service.get(f"/crawls/{id_}/exports/pages.jsonl?with=markdown")
    assert lines.headers["content-disposition"] == 'attachment; filename="pages.jsonl"'
    assert len(lines.text.splitlines()) == pages
    assert "markdown" in json.loads(lines.text.splitlines()[0])
    assert service.get(f"/crawls/{id_}/exports/pages.warc.gz").content[:2] == b"\x1f\x8b"
    assert service.get(f"/crawls/{id_}/exports/urls.csv").text.startswith("url,")
    for name in ("secrets.jsonl", "..%2fx.csv", "pages.sqlite"):
        assert service.get(f"/crawls/{id_}/exports/{name}").status_code == 404
    wrong = service.get(f"/crawls/{id_}/exports/pages.jsonl?with=markdowm")
    assert wrong.json()["reason"] == "invalid"


def test_one_page_is_fetched_while_the_caller_waits(service: httpx.Client, site: Site) -> None:
    asked = {"url": site.url, "formats": ["markdown", "html", "text", "main"]}
    page = service.post("/fetch", json=asked).json()
    assert page["status"] == 200
    assert page["html"].startswith("<!doctype html>")
    assert "# " in page["markdown"]
    assert "<" not in page["text"]
    assert page["page"]["links"]
    nobody = service.post("/fetch", json={"url": "http://127.0.0.1:2/"})
    assert (nobody.status_code, nobody.json()["reason"]) == (502, "not_fetched")
    slow = service.post("/fetch", json={"url": site.url, "deadline": 0.001})
    assert (slow.status_code, slow.json()["reason"]) == (504, "deadline")


def test_a_crawl_is_paused_changed_and_goes_on(service: httpx.Client, site: Site) -> None:
    id_ = begun(service, site, delay=0.3, max_pages=5)
    until(lambda: service.get(f"/crawls/{id_}").json()["progress"]["pages"] > 0)
    service.post(f"/crawls/{id_}/pause")
    until(lambda: state(service, id_) == "paused")
    before = service.get(f"/crawls/{id_}").json()["progress"]
    assert before["pages"] < 5
    changed = service.patch(f"/crawls/{id_}", json={"max_pages": 12, "delay": 0})
    assert changed.json()["request"]["max_pages"] == 12
    service.post(f"/crawls/{id_}/resume")
    until(lambda: state(service, id_) == "done")
    assert service.get(f"/crawls/{id_}").json()["progress"]["pages"] == 12
    refused = service.post(f"/crawls/{id_}/resume")
    assert (refused.status_code, refused.json()["reason"]) == (409, "has_ended")


def test_limits_change_while_it_runs(service: httpx.Client, site: Site) -> None:
    id_ = begun(service, site, delay=0.3, max_pages=50)
    until(lambda: service.get(f"/crawls/{id_}").json()["progress"]["pages"] > 0)
    assert service.patch(f"/crawls/{id_}", json={"max_pages": 4}).status_code == 200
    until(lambda: state(service, id_) == "done")
    assert service.get(f"/crawls/{id_}").json()["progress"]["pages"] == 4


def test_a_cancelled_crawl_keeps_what_it_has_and_a_deleted_one_nothing(
    service: httpx.Client, site: Site
) -> None:
    id_ = begun(service, site, delay=0.3)
    until(lambda: service.get(f"/crawls/{id_}").json()["progress"]["pages"] > 0)
    service.post(f"/crawls/{id_}/cancel")
    until(lambda: state(service, id_) == "cancelled")
    assert service.get(f"/crawls/{id_}/pages").json()["items"]
    assert service.delete(f"/crawls/{id_}").status_code == 204
    assert service.get(f"/crawls/{id_}").status_code == 404
    assert service.get(f"/crawls/{id_}/pages").status_code == 404


def test_a_running_crawl_is_deleted_with_its_files(tmp_path: Path, site: Site) -> None:
    data = tmp_path / "data"
    with whole(data, "--workers", "1") as client:
        id_ = begun(client, site, delay=0.3)
        until(lambda: state(client, id_) == "running")
        assert client.delete(f"/crawls/{id_}").status_code == 204
        until(lambda: not list((data / "crawls").iterdir()))


def test_a_crawl_that_reaches_nothing_has_failed_and_says_why(
    service: httpx.Client, site: Site
) -> None:
    id_ = begun(service, site, urls=["http://127.0.0.1:2/"], attempts=1, ignore_robots=True)
    until(lambda: state(service, id_) == "failed")
    assert service.get(f"/crawls/{id_}").json()["reason"] == "connect"


def test_a_service_that_is_started_again_goes_on(tmp_path: Path, site: Site) -> None:
    data = tmp_path / "data"
    with whole(data, "--workers", "1") as client:
        id_ = begun(client, site, delay=0.1, max_pages=12)
        until(lambda: client.get(f"/crawls/{id_}").json()["progress"]["pages"] > 1)
    with whole(data, "--workers", "1") as client:
        assert client.get(f"/crawls/{id_}").json()["progress"]["pages"] > 1
        until(lambda: state(client, id_) == "done")
        pages = client.get(f"/crawls/{id_}/pages").json()["items"]
        assert len({page["url"] for page in pages}) == len(pages) == 12


def pids(data: Path) -> list[int]:
    """The processes of the service with this folder, by what they wrote into it."""
    mine = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                words = (folder / "cmdline").read_bytes()
                files = [str(link.readlink()) for link in (folder / "fd").iterdir()]
            except OSError:
                continue
            if b"freki.serve.part" in words and str(data / "service.db") in files:
                mine.append(int(folder.name))
    return mine


def test_whatever_process_is_killed_no_job_is_lost(tmp_path: Path, site: Site) -> None:
    data = tmp_path / "data"
    with whole(data, "--workers", "1") as client:
        ids = [begun(client, site, delay=0.02) for _ in range(3)]
        until(lambda: any(state(client, id_) == "running" for id_ in ids))
        for pid in pids(data):
            os.kill(pid, signal.SIGKILL)
        until(lambda: all(state(client, id_) == "done" for id_ in ids))
        counts = {client.get(f"/crawls/{id_}").json()["progress"]["pages"] for id_ in ids}
        assert len(counts) == 1
