"""Messages to webhooks: signed, brought until they arrive, never anywhere else."""

import hmac
import json
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from tests.background import background
from tests.serve.conftest import Api
from tests.serve.test_screenshots import START, ended, site, until
from tests.serve.workshop import working

from freki.fetch.egress import Egress
from freki.fetch.post import post
from freki.ledger.jobs import events
from freki.ledger.jobs.place import SQL
from freki.serve.terms import Terms
from freki.testing.render import FakeBrowser

SECRET = "0123456789abcdef"


class Listener(ThreadingHTTPServer):
    """Hears messages, and answers as it is told."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.heard: list[tuple[dict[str, str], bytes]] = []
        self.answers: list[int] = []
        self.location = ""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/hook"


class _Handler(BaseHTTPRequestHandler):
    server: Listener

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.heard.append((dict(self.headers.items()), body))
        self.send_response(self.server.answers.pop(0) if self.server.answers else 204)
        if self.server.location:
            self.send_header("Location", self.server.location)
        self.end_headers()

    do_GET = do_POST  # noqa: N815 - its name there

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - its name there
        """Nothing."""


@contextmanager
def listening() -> Iterator[Listener]:
    with Listener() as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


def test_a_job_is_told_of_and_the_signature_is_right(api: Api, data: Path) -> None:
    browser = FakeBrowser(latency=0.01)
    site(browser, ["https://site.example/a"])
    terms = Terms(data=data, quiet=True, allow_private=True)
    with listening() as listener, background(working(terms, browser)):
        client = api(allow_private=True)
        hook = {"url": listener.url, "secret": SECRET, "events": ["started", "page", "finished"]}
        wish = {"start_url": START, "number_of_links": 1, "webhook": hook}
        id_ = client.post("/screenshots", json=wish).json()["task_id"]
        ended(client, id_)
        until(lambda: len(listener.heard) == 4)
        told = [json.loads(body) for _, body in listener.heard]
        assert sorted(each["event"] for each in told) == ["finished", "page", "page", "started"]
        assert {each["job"] for each in told} == {id_}
        for headers, body in listener.heard:
            at, signature = (
                part.partition("=")[2] for part in headers["Freki-Signature"].split(",")
            )
            right = hmac.new(SECRET.encode(), f"{at}.".encode() + body, sha256).hexdigest()
            assert signature == right
            assert abs(time.time() - int(at)) < 60
        lines = client.get(f"/crawls/{id_}/deliveries").json()["items"]
        assert [line["outcome"] for line in lines] == ["204"] * 4
    with closing(terms.place.desk()) as desk:
        desk.settle()
    assert SECRET.encode() not in (data / "service.db").read_bytes()


def test_who_does_not_listen_is_told_again_and_at_last_given_up(data: Path) -> None:
    place = Terms(data=data).place
    place.prepare()
    with closing(place.desk()) as desk:
        with desk.writing() as db:
            row = ("crl_x", "finished", "http://x/", SECRET, "{}", 0.0, 0.0)
            db.execute(SQL["delivery_add"], row)
        now, waits = 0.0, []
        while due := events.due(desk, now, 10):
            (delivery,) = due
            assert events.due(desk, now, 10) == []  # nobody else takes it meanwhile
            events.not_brought(desk, delivery, "503", now)
            (line,) = events.deliveries(desk, "crl_x", 0, 10)
            if line.due is None:
                break
            waits.append(line.due - now)
            now = line.due
        assert waits == list(events.BACKOFF)
        assert line.outcome == "503"


def test_a_redirect_is_no_way_to_anywhere() -> None:
    with listening() as listener:
        listener.answers, listener.location = [307], listener.url + "/inside"
        egress = Egress(allow_private=True)
        assert post(listener.url, b"{}", {}, egress) == 307
        assert len(listener.heard) == 1


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::ffff:127.0.0.1]", "2130706433"])
def test_a_private_address_is_not_reached_by_whatever_name(host: str) -> None:
    with listening() as listener:
        url = listener.url.replace("127.0.0.1", host)
        assert post(url, b"{}", {}, Egress(allow_private=False)) == "blocked_address"
        assert listener.heard == []


def test_an_answer_without_end_is_cut() -> None:
    class Endless(_Handler):
        def do_POST(self) -> None:
            self.send_response(200)
            self.end_headers()
            try:
                while True:
                    self.wfile.write(b"x" * 65_536)
            except OSError:
                pass

    with listening() as listener:
        listener.RequestHandlerClass = Endless
        started = time.monotonic()
        assert post(listener.url, b"{}", {}, Egress(allow_private=True)) == 200
        assert time.monotonic() - started < 5
