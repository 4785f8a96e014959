"""The cache, by the sections of RFC 9111."""

import asyncio
from email.utils import formatdate
from pathlib import Path
from typing import Any

import pytest

from freki.errors import BadConfig
from freki.fetch.cache import Cache, Stored, current_age, is_fresh, lifetime
from freki.messages import Claim, Failure, Reason, Request, Response

URL = "http://a/x"
START = 1_000_000_000.0


class World:
    """A server with one resource, a cache in front, and a clock."""

    def __init__(self, folder: Path, always: float = 0.0, **headers: str) -> None:
        self.now = START
        self.headers = {name.replace("_", "-"): value for name, value in headers.items()}
        self.body, self.status = b"one", 200
        self.asked: list[Claim] = []
        self.folder = folder
        self.always = always

    async def _serve(self, claim: Claim) -> Response | Failure:
        self.asked.append(claim)
        told = dict(claim.request.headers) if claim.request else {}
        headers = tuple({"date": formatdate(self.now, usegmt=True), **self.headers}.items())
        if self.headers.get("etag") and told.get("if-none-match") == self.headers["etag"]:
            return Response(claim.url, 304, headers, b"")
        return Response(claim.url, self.status, headers, self.body)

    def get(self, after: float = 0.0, request: Request | None = None, url: str = URL) -> Response:
        """Ask through a cache that was just opened, as another process would."""
        self.now += after
        fetch = Cache(self.folder, self.always, lambda: self.now)(self._serve)
        answer = asyncio.run(_call(fetch, Claim(1, 1, url, 0, request=request)))
        assert isinstance(answer, Response)
        return answer

    @property
    def times(self) -> int:
        return len(self.asked)


async def _call(fetch: Any, claim: Claim) -> Any:
    return await fetch(claim)


def headers(**given: str) -> Request:
    return Request(headers=tuple((name.replace("_", "-"), value) for name, value in given.items()))


def test_a_fresh_answer_is_used_again_and_says_so(tmp_path: Path) -> None:
    world = World(tmp_path, cache_control="max-age=60")
    assert not world.get().cached
    again = world.get(after=59)
    assert (again.body, again.cached, world.times) == (b"one", True, 1)
    assert not world.get(after=2).cached


@pytest.mark.parametrize("told", ["no-store", "max-age=60, no-store", "private, no-store"])
def test_3_what_must_not_be_stored_is_not(tmp_path: Path, told: str) -> None:
    world = World(tmp_path, cache_control=told)
    world.get()
    world.get()
    assert world.times == 2
    assert not list(tmp_path.rglob("*.answer"))


def test_3_a_private_cache_keeps_private_answers_and_knows_no_s_maxage(tmp_path: Path) -> None:
    world = World(tmp_path, cache_control="private, s-maxage=9, max-age=60")
    world.get()
    assert world.get(after=30).cached


def test_4_1_an_answer_is_for_requests_like_its_own(tmp_path: Path) -> None:
    world = World(tmp_path, cache_control="max-age=60", vary="Accept-Language, Cookie")
    world.get(request=headers(accept_language="de"))
    assert world.get(request=headers(accept_language="de")).cached
    assert not world.get(request=headers(accept_language="en")).cached
    world.headers["vary"] = "*"
    world.get(url="http://a/star")
    assert not world.get(url="http://a/star").cached


@pytest.mark.parametrize(
    ("told", "seconds"),
    [
        ({"cache-control": "max-age=60"}, 60),
        ({"cache-control": 'max-age="60"'}, 60),
        ({"cache-control": "max-age=60", "expires": "0"}, 60),
        ({"cache-control": "max-age=oops"}, 0),
        ({"expires": formatdate(START + 90, usegmt=True)}, 90),
        ({"expires": "0"}, 0),
        ({"last-modified": formatdate(START - 1000, usegmt=True)}, 100),
        ({"last-modified": formatdate(START - 10**8, usegmt=True)}, 86_400),
        ({}, 0),
    ],
)
def test_4_2_1_how_long_an_answer_is_fresh(told: dict[str, str], seconds: float) -> None:
    date = ("date", formatdate(START, usegmt=True))
    response = Response(URL, 200, (date, *told.items()), b"")
    assert lifetime(Stored(response, START, START, {})) == seconds


def test_4_2_3_how_old_an_answer_is() -> None:
    date = ("date", formatdate(START - 10, usegmt=True))
    assert (
        current_age(Stored(Response(URL, 200, (date,), b""), START - 2, START, {}), START + 5) == 15
    )
    aged = Response(URL, 200, (date, ("age", "100")), b"")
    assert current_age(Stored(aged, START - 2, START, {}), START + 5) == 107


@pytest.mark.parametrize("asked", ["no-cache", "max-age=5"])
def test_5_2_1_a_request_may_want_it_fresher(asked: str) -> None:
    response = Response(URL, 200, (("cache-control", "max-age=60"),), b"")
    stored = Stored(response, START, START, {})
    assert is_fresh(stored, {}, START + 10)
    assert not is_fresh(stored, {"cache-control": asked}, START + 10)


def test_4_3_a_stale_answer_is_confirmed_and_fresh_again(tmp_path: Path) -> None:
    world = World(tmp_path, cache_control="max-age=60", etag='"v1"')
    world.get()
    confirmed = world.get(after=100)
    assert (confirmed.body, confirmed.status, world.times) == (b"one", 200, 2)
    assert ("if-none-match", '"v1"') in (world.asked[1].request or Request()).headers
    assert world.get(after=30).cached
    world.headers["etag"], world.body = '"v2"', b"two"
    assert world.get(after=100).body == b"two"


def test_4_4_what_was_changed_is_asked_for_again(tmp_path: Path) -> None:
    world = World(tmp_path, cache_control="max-age=60")
    world.get()
    world.get(request=Request("POST", body=b"x"))
    assert not world.get().cached
    assert world.times == 3


def test_5_2_2_no_cache_is_asked_every_time(tmp_path: Path) -> None:
    world = World(tmp_path, cache_control="max-age=60, no-cache", etag='"v1"')
    world.get()
    assert world.get().body == b"one"
    assert world.times == 2


def test_errors_of_the_server_are_not_kept_unless_it_says_so(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.status = 503
    world.get()
    world.get()
    assert world.times == 2


def test_whoever_develops_may_use_an_answer_whatever_it_says(tmp_path: Path) -> None:
    world = World(tmp_path, always=3600, cache_control="no-store")
    world.get()
    assert world.get(after=3599).cached
    assert not world.get(after=2).cached


def test_what_is_damaged_was_not_kept(tmp_path: Path) -> None:
    world = World(tmp_path, cache_control="max-age=60")
    world.get()
    (kept,) = tmp_path.rglob("*.answer")
    kept.write_bytes(kept.read_bytes()[:-9])
    assert world.get().body == b"one"
    assert world.times == 2


def test_what_cannot_be_written_is_not_kept(tmp_path: Path) -> None:
    for number in range(256):
        (tmp_path / f"{number:02x}").touch()  # where folders should be
    world = World(tmp_path, cache_control="max-age=60")
    assert not world.get().cached
    assert not world.get().cached


def test_failures_are_handed_on(tmp_path: Path) -> None:
    async def dead(_: Claim) -> Failure:
        return Failure(Reason.dns)

    answer = asyncio.run(_call(Cache(tmp_path)(dead), Claim(1, 1, URL, 0)))
    assert answer == Failure(Reason.dns)


def test_a_folder_that_cannot_be_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(BadConfig, match="--cache"):
        Cache(tmp_path / "file" / "cache")
