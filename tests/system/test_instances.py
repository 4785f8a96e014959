"""Several instances of the service on one database: none of them matters."""

import json
import os
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from subprocess import Popen
from tempfile import gettempdir
from threading import Event, Thread
from typing import Any

import httpx
import pytest
from tests.background import background
from tests.balancer import Balancer
from tests.command import call, ended, start
from tests.postgres import PASSWORD, PostgresServer, free_port, running_server
from tests.system.test_postgres import old_server

from freki.ledger.place import Address
from freki.testing.server import serve
from freki.testing.synthetic import Web

SECRET = {"PGPASSWORD": PASSWORD}
PATIENCE = 60.0


def until(holds: Callable[[], object], seconds: float = PATIENCE) -> float:
    """Waits for it; answers with how long that took."""
    began = time.monotonic()
    while not holds():
        assert time.monotonic() - began < seconds
        time.sleep(0.05)
    return time.monotonic() - began


class Instance:
    """A web process and a worker on a port of their own, which can be ended and started again."""

    def __init__(self, store: Address, *words: str) -> None:
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self._words = ("serve", "--store", str(store), "--port", str(self.port), "--workers", "1",
                       "--jobs", "3", "--allow-private", *words)  # fmt: skip
        # A file: a pipe that nobody reads would be full in the end, and they would wait for ever.
        self._log = Path(gettempdir()) / f"freki-instance-{self.port}.log"
        self.start()

    @property
    def said(self) -> str:
        """All that it ever logged."""
        return self._log.read_text("utf-8")

    def start(self) -> None:
        with self._log.open("a") as log:
            self._process: Popen[str] = start(*self._words, variables=SECRET, stderr=log)
        assert self._process.stdout is not None
        assert "Freki serves" in self._process.stdout.readline()
        until(self.is_ready)

    def is_ready(self) -> bool:
        with suppress(httpx.TransportError):
            return httpx.get(f"{self.url}/readyz", timeout=5).status_code == 200
        return False

    def drain(self) -> None:
        """As an operator does: SIGTERM, and wait."""
        self._process.terminate()
        assert ended(self._process).code == 0, self.said

    def end(self) -> None:
        """Also where a test did not come to its end."""
        if self._process.poll() is None:
            self.drain()
        said = self.said
        self._log.unlink()
        assert PASSWORD not in said

    def kill(self) -> None:
        """All of it at once, as when a machine loses its power."""
        everything = [self._process.pid, *children(self._process.pid)]
        for pid in everything:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        ended(self._process)


def children(pid: int) -> list[int]:
    return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


@contextmanager
def instances(store: Address, count: int, *words: str) -> Iterator[list[Instance]]:
    made: list[Instance] = []
    try:
        with ThreadPoolExecutor(count) as pool:
            made += pool.map(lambda _: Instance(store, *words), range(count))
        yield made
    finally:
        for each in made:
            each.end()


class Poster(Thread):
    """Orders crawls of one page each, all the while, and sends again what was not answered."""

    def __init__(self, base: str, site: str) -> None:
        super().__init__(daemon=True)
        self._base, self._site = base, site
        self._over = Event()
        self.accepted: dict[str, set[str]] = {}
        self.answers: Counter[str] = Counter()

    def run(self) -> None:
        number = 0
        while not self._over.wait(0.05):
            number += 1
            self._order(f"order-{number}", {"urls": [f"{self._site}?{number}"], "max_pages": 1,
                                            "delay": 0, "sitemap": "no"})  # fmt: skip

    def _order(self, key: str, wish: dict[str, object]) -> None:
        while True:
            try:
                answer = httpx.post(f"{self._base}/crawls", json=wish, timeout=30,
                                    headers={"Idempotency-Key": key})  # fmt: skip
            except httpx.TransportError as error:
                self.answers[type(error).__name__] += 1
                continue
            self.answers[str(answer.status_code)] += 1
            if answer.status_code == 202:
                self.accepted.setdefault(key, set()).add(answer.json()["id"])
                return
            assert answer.status_code == 503, answer.text
            time.sleep(0.1)

    def end(self) -> None:
        self._over.set()
        self.join(PATIENCE)
        assert not self.is_alive()


def every_job(base: str) -> list[dict[str, Any]]:
    jobs: list[dict[str, Any]] = []
    path: str | None = "/crawls?limit=1000"
    while path:
        part = httpx.get(base + path, timeout=30).json()
        jobs += part["items"]
        path = part.get("next")
    return jobs


Heard = tuple[int, str, dict[str, Any]]


def told(base: str, id_: str, after: int = 0) -> Iterator[Heard]:
    """The events of a job, until the stream ends."""
    address, headers = f"{base}/crawls/{id_}/events", {"Last-Event-ID": str(after)}
    with httpx.stream("GET", address, headers=headers, timeout=30) as answer:
        seq, kind = 0, ""
        for line in answer.iter_lines():
            word, _, value = line.partition(": ")
            if word == "id":
                seq = int(value)
            elif word == "event":
                kind = value
            elif word == "data" and kind != "end":
                yield seq, kind, json.loads(value)


class Listener(Thread):
    """Follows one job through whichever instance answers, and goes on where it stopped."""

    def __init__(self, base: str, id_: str) -> None:
        super().__init__(daemon=True)
        self._base, self._id = base, id_
        self.events: list[Heard] = []
        self.connections = 0

    def run(self) -> None:
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline and not self._is_over():
            with suppress(httpx.TransportError):
                self._listen()

    def _listen(self) -> None:
        self.connections += 1
        for event in told(self._base, self._id, self.events[-1][0] if self.events else 0):
            self.events.append(event)

    def _is_over(self) -> bool:
        return bool(self.events) and self.events[-1][2].get("state") == "done"


def test_a_rolling_restart_and_a_kill_lose_no_job(postgres: PostgresServer) -> None:
    store = postgres.schema()
    with (
        background(serve(Web(pages=400, links_per_page=4))) as site,
        instances(store, 2) as (a, b),
        Balancer([a.port, b.port]) as balancer,
    ):
        slow = {"urls": [site.url], "delay": 0.25, "max_pages": 40}
        long = httpx.post(f"{balancer.url}/crawls", json=slow, timeout=30).json()["id"]
        listener = Listener(balancer.url, long)
        listener.start()
        poster = Poster(balancer.url, site.url)
        poster.start()
        until(lambda: len(poster.accepted) > 5)
        for one in (a, b):
            one.drain()
            one.start()
        before = len(poster.accepted)
        a.kill()
        until(lambda: len(poster.accepted) > before + 5)
        a.start()
        poster.end()
        jobs = {job["id"]: job for job in every_job(balancer.url)}
        until(lambda: all(job["status"] == "done" for job in every_job(balancer.url)))
        # As many as there were orders, each answered with one job whoever answered.
        assert all(len(ids) == 1 for ids in poster.accepted.values())
        assert {id_ for ids in poster.accepted.values() for id_ in ids} | {long} == jobs.keys()
        assert len(jobs) == len(poster.accepted) + 1
        for id_ in jobs:
            ends = [data for _, kind, data in told(balancer.url, id_)
                    if kind == "state" and data["state"] == "done"]  # fmt: skip
            assert len(ends) == 1
        assert poster.answers.keys() <= {"202", "503", "ConnectError", "ReadError",
                                         "RemoteProtocolError", "WriteError"}  # fmt: skip
        # The stream went on at another instance, without a gap and with nothing twice.
        listener.join(PATIENCE)
        assert listener.connections > 1
        assert [seq for seq, *_ in listener.events] == [seq for seq, *_ in told(b.url, long)]
        pages = httpx.get(f"{a.url}/crawls/{long}/pages?limit=1000", timeout=30).json()["items"]
        assert len(pages) == 40


def test_it_does_not_matter_which_instance_answers(postgres: PostgresServer) -> None:
    store = postgres.schema()
    add = call("keys", "add", "me", "--scope", "admin", "--store", str(store), variables=SECRET)
    key = {"Authorization": f"Bearer {add.out.strip()}"}
    with instances(store, 2) as both, ThreadPoolExecutor(8) as pool:
        clients = [httpx.Client(base_url=each.url, headers=key, timeout=30) for each in both]

        def order(number: int) -> str:
            wish = {"urls": ["http://127.0.0.1:1/"], "max_pages": 1}
            answer = clients[number % 2].post(
                "/crawls", json=wish, headers={"Idempotency-Key": "the-same"}
            )
            assert answer.status_code in (200, 202), answer.text
            return str(answer.json()["id"])

        assert len(set(pool.map(order, range(16)))) == 1
        (job,) = clients[0].get("/crawls").json()["items"]
        assert clients[1].get(f"/crawls/{job['id']}").status_code == 200
        # Who came in at one is in at the other, and out at both.
        form = {"key": add.out.strip()}
        come_in = clients[0].post("/app/login", data=form, follow_redirects=False)
        cookies = {"freki_key": come_in.cookies["freki_key"]}
        shown = httpx.get(f"{both[1].url}/app/settings", cookies=cookies)
        assert shown.status_code == 200
        assert str(store) in shown.text.replace("&amp;", "&")
        assert PASSWORD not in shown.text
        id_ = add.out.split("_")[1]
        call("keys", "revoke", id_, "--store", str(store), variables=SECRET)
        assert [client.get("/crawls").status_code for client in clients] == [401, 401]
        for client in clients:
            client.close()


def test_the_database_restarts_while_it_serves() -> None:
    with (
        running_server() as server,
        background(serve(Web(pages=200, links_per_page=4))) as site,
    ):
        store = server.store()
        with instances(store, 1) as (one,):
            slow = {"urls": [site.url], "delay": 0.1, "max_pages": 40}
            id_ = httpx.post(f"{one.url}/crawls", json=slow, timeout=30).json()["id"]

            def job() -> dict[str, Any]:
                return dict(httpx.get(f"{one.url}/crawls/{id_}", timeout=30).json())

            until(lambda: job()["progress"].get("pages", 0) > 5)
            server.stop()
            away = httpx.get(f"{one.url}/readyz", timeout=10)
            assert (away.status_code, away.json()["checks"]) == (503, {"store": "StoreUnreachable"})
            refused = httpx.post(f"{one.url}/crawls", json=slow, timeout=10)
            assert (refused.status_code, refused.json()["reason"]) == (503, "storage")
            assert int(refused.headers["Retry-After"]) > 0
            server.start()
            assert until(one.is_ready, 10.0) <= 5.0
            until(lambda: job()["status"] == "done")
            pages = httpx.get(f"{one.url}/crawls/{id_}/pages?limit=1000").json()["items"]
            assert len({page["url"] for page in pages}) == len(pages) == 40
            asked = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'freki'"
            for _ in range(50):
                httpx.get(f"{one.url}/crawls/{id_}/pages?limit=10")
            (connections,) = server.ask(asked)
            assert int(str(connections)) <= 8
        until(lambda: server.ask(asked) == [0], 5.0)


@pytest.mark.parametrize(
    ("address", "words"),
    [
        ("postgresql://crawler:wrong@127.0.0.1:{port}/postgres", "password authentication failed"),
        ("postgresql://crawler@127.0.0.1:{port}/nowhere", "does not exist"),
        ("postgresql://crawler@127.0.0.1:1/x", "cannot be reached"),
        ("postgresql://127.0.0.1:{port}/a/b", "is written postgresql://"),
        ("file.db", "name that with --data"),
    ],
)
def test_a_place_that_is_none_is_told(postgres: PostgresServer, address: str, words: str) -> None:
    named = address.format(port=postgres.port)
    for command in (["serve", "--port", "0"], ["keys", "list"]):
        variables = {} if "wrong" in named else SECRET
        run = call(*command, "--store", named, variables=variables)
        assert run.code in (2, 3)
        assert run.out == ""
        assert words in run.err
        assert "Traceback" not in run.err
        assert "wrong" not in run.err


def test_books_of_a_later_version_are_left_alone(postgres: PostgresServer) -> None:
    store = postgres.schema()
    assert call("keys", "list", "--store", str(store), variables=SECRET).code == 0
    postgres.ask(f"UPDATE {store.schema}.books SET version = 2")
    run = call("keys", "add", "me", "--store", str(store), variables=SECRET)
    assert run.code == 3
    assert "upgrade Freki" in run.err


def test_a_server_that_is_too_old_is_told() -> None:
    with old_server() as port:
        run = call("serve", "--port", "0", "--store", f"postgresql://x@127.0.0.1:{port}/x")
    assert (run.code, run.out) == (3, "")
    assert "Freki needs 14 or later" in run.err
