"""What each answer to robots.txt means, over a real connection (RFC 9309 2.3.1)."""

import asyncio
import zlib
from collections.abc import Awaitable, Callable

import pytest
from tests.system.scripted import Script, answer, scripted

from freki.config import Fetching
from freki.engine.rulebook import KEPT_SECONDS, PAUSES, Rulebook, Welcome
from freki.fetch.http import Http
from freki.messages import Claim, Failure, Reason

RULES = b"User-agent: *\nDisallow: /private\n"
AGENT = "Freki/1.0 (+https://freki.example)"

COME_IN, GO_AWAY, LATER = Welcome.come_in, Welcome.go_away, Welcome.later


class Clock:
    """A date that the test sets."""

    now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


def _redirects(count: int) -> Script:
    script = {f"/{n}": answer(301, location=f"/{n + 1}") for n in range(1, count)}
    return {
        "/robots.txt": answer(301, location="/1"),
        **script,
        f"/{count}": answer(200, RULES),
    }


def _bomb() -> bytes:
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    body = packer.compress(RULES + b"# " * 40_000_000) + packer.flush()
    return answer(200, body, content_encoding="gzip")


def _large() -> bytes:
    """The rule that counts stands behind half a megabyte, which every reader must read."""
    return answer(200, b"# comment\n" * 50_000 + RULES)


# Each row: the answers, and what they say about /public and /private.
MATRIX: dict[str, tuple[Script, Welcome, Welcome]] = {
    "200": ({"/robots.txt": answer(200, RULES)}, COME_IN, GO_AWAY),
    "200 with HTML": (
        {
            "/robots.txt": answer(
                200, b"<html><body>Welcome</body></html>", content_type="text/html"
            )
        },
        COME_IN,
        COME_IN,
    ),
    "204": ({"/robots.txt": answer(204)}, COME_IN, COME_IN),
    "one redirect": (_redirects(1), COME_IN, GO_AWAY),
    "five redirects": (_redirects(5), COME_IN, GO_AWAY),
    "six redirects": (_redirects(6), COME_IN, COME_IN),
    "a redirect loop": ({"/robots.txt": answer(301, location="/robots.txt")}, COME_IN, COME_IN),
    "a redirect to nowhere": ({"/robots.txt": answer(302)}, COME_IN, COME_IN),
    **{
        str(status): ({"/robots.txt": answer(status, b"no")}, COME_IN, COME_IN)
        for status in (400, 401, 403, 404, 410, 451)
    },
    **{
        str(status): ({"/robots.txt": answer(status, b"later")}, LATER, LATER)
        for status in (429, 500, 502, 503)
    },
    "no answer in time": ({"/robots.txt": None}, LATER, LATER),
    "a closed connection": ({"/robots.txt": b""}, LATER, LATER),
    "half an answer": ({"/robots.txt": answer(200, RULES)[:-5]}, LATER, LATER),
    "no HTTP": ({"/robots.txt": b"SSH-2.0-nonsense\r\n"}, LATER, LATER),
    "a redirect to a dead host": (
        {"/robots.txt": answer(301, location="http://127.0.0.1:81/")},
        LATER,
        LATER,
    ),
    "a broken coding": (
        {"/robots.txt": answer(200, b"no gzip", content_encoding="gzip")},
        LATER,
        LATER,
    ),
    "a bomb": ({"/robots.txt": _bomb}, COME_IN, GO_AWAY),
    "twelve megabytes": (
        {"/robots.txt": answer(200, RULES + b"# comment\n" * 1_200_000)},
        COME_IN,
        GO_AWAY,
    ),
    "half a megabyte": ({"/robots.txt": _large()}, COME_IN, GO_AWAY),
    "UTF-8 with a mark": ({"/robots.txt": answer(200, b"\xef\xbb\xbf" + RULES)}, COME_IN, GO_AWAY),
    "UTF-16": (
        {"/robots.txt": answer(200, RULES.decode().encode("utf-16"))},
        COME_IN,
        GO_AWAY,
    ),
    "lines that end as on Windows": (
        {"/robots.txt": answer(200, RULES.replace(b"\n", b"\r\n"))},
        COME_IN,
        GO_AWAY,
    ),
    "NUL bytes": ({"/robots.txt": answer(200, RULES.replace(b" ", b"\0 "))}, COME_IN, GO_AWAY),
}


def _asked(script: Script, then: Callable[[Rulebook, str, Clock], Awaitable[None]]) -> list[str]:
    async def ask() -> list[str]:
        clock = Clock()
        async with scripted(script) as site:
            http = Http(Fetching(timeout=2, max_body=2**20), AGENT, 4)
            try:
                await then(Rulebook(http.fetch, AGENT, clock), site.url, clock)
            finally:
                http.close()
            return site.asked

    return asyncio.run(ask())


@pytest.mark.parametrize("row", MATRIX)
def test_what_an_answer_means(row: str) -> None:
    script, public, private = MATRIX[row]

    async def check(rulebook: Rulebook, site: str, clock: Clock) -> None:
        assert (
            rulebook.welcome(Claim(1, 1, f"{site}/public", 0), clock.now).welcome
            is Welcome.ask_first
        )
        await rulebook.ask(Claim(1, 1, f"{site}/public", 0))
        assert rulebook.welcome(Claim(1, 1, f"{site}/public", 0), clock.now).welcome is public
        assert rulebook.welcome(Claim(1, 1, f"{site}/private", 0), clock.now).welcome is private

    _asked(script, check)


@pytest.mark.parametrize(
    ("site", "reason"),
    [("http://127.0.0.1:81", Reason.connect), ("http://127.0.0.1:22", Reason.blocked_address)],
)
def test_a_host_that_is_not_reached_is_told_apart(site: str, reason: Reason) -> None:
    """It pauses as a whole, and its URLs say that it was not reached, and not by what file."""

    async def check(rulebook: Rulebook, _site: str, clock: Clock) -> None:
        claim = Claim(1, 1, f"{site}/", 0)
        answered = await rulebook.ask(claim)
        assert isinstance(answered, Failure)
        assert answered.reason is reason
        assert rulebook.welcome(claim, clock.now).welcome is Welcome.ask_first

    _asked({}, check)


def test_what_a_crawl_wants_to_keep_is_no_reason_not_to_know_the_rules() -> None:
    async def check() -> None:
        async with scripted({"/robots.txt": answer(200, RULES, content_type="text/plain")}) as site:
            http = Http(Fetching(max_body=10), AGENT, 4, types=("text/html",))
            rulebook = Rulebook(http.fetch, AGENT, Clock())
            await rulebook.ask(Claim(1, 1, f"{site.url}/", 0))
            http.close()
            private = Claim(1, 1, f"{site.url}/private", 0)
            assert rulebook.welcome(private, Clock.now).welcome is GO_AWAY

    asyncio.run(check())


def test_rules_behind_a_redirect_to_another_host_count_for_the_first() -> None:
    async def check() -> None:
        async with scripted({"/r": answer(200, RULES)}, "127.0.0.2") as other:
            moved = {"/robots.txt": answer(301, location=f"{other.url}/r")}
            async with scripted(moved) as site:
                http = Http(Fetching(timeout=2), AGENT, 4)
                rulebook = Rulebook(http.fetch, AGENT, Clock())
                await rulebook.ask(Claim(1, 1, f"{site.url}/", 0))
                http.close()
                private = Claim(1, 1, f"{site.url}/private", 0)
                assert rulebook.welcome(private, Clock.now).welcome is GO_AWAY

    asyncio.run(check())


def test_a_host_is_asked_once_however_many_first_requests_there_are() -> None:
    async def check(rulebook: Rulebook, site: str, clock: Clock) -> None:
        claims = [Claim(n, 1, f"{site}/{n}", 0) for n in range(500)]
        await asyncio.gather(*(rulebook.ask(claim) for claim in claims))
        assert {rulebook.welcome(claim, clock.now).welcome for claim in claims} == {COME_IN}

    assert _asked({"/robots.txt": answer(200, RULES)}, check) == ["/robots.txt"]


def test_rules_are_asked_for_again_after_a_day() -> None:
    async def check(rulebook: Rulebook, site: str, clock: Clock) -> None:
        claim = Claim(1, 1, f"{site}/", 0)
        await rulebook.ask(claim)
        clock.now += KEPT_SECONDS - 1
        assert rulebook.welcome(claim, clock.now).welcome is COME_IN
        clock.now += 2
        assert rulebook.welcome(claim, clock.now).welcome is Welcome.ask_first

    _asked({"/robots.txt": answer(200, RULES)}, check)


def test_a_host_whose_rules_cannot_be_read_is_asked_again_and_then_left_alone() -> None:
    async def check(rulebook: Rulebook, site: str, clock: Clock) -> None:
        claim = Claim(1, 1, f"{site}/", 0)
        for pause in PAUSES:
            await rulebook.ask(claim)
            told = rulebook.welcome(claim, clock.now)
            assert (told.welcome, told.reason) == (LATER, Reason.robots_unreachable)
            assert told.until == clock.now + pause
            clock.now = told.until
            assert rulebook.welcome(claim, clock.now).welcome is Welcome.ask_first
        await rulebook.ask(claim)
        told = rulebook.welcome(claim, clock.now)
        assert (told.welcome, told.reason) == (GO_AWAY, Reason.robots_unreachable)

    _asked({"/robots.txt": answer(503)}, check)


def test_a_host_that_recovers_is_welcome_again() -> None:
    answers = iter([answer(503), answer(200, RULES)])

    async def check(rulebook: Rulebook, site: str, clock: Clock) -> None:
        claim = Claim(1, 1, f"{site}/", 0)
        await rulebook.ask(claim)
        clock.now += PAUSES[0]
        await rulebook.ask(claim)
        assert rulebook.welcome(claim, clock.now).welcome is COME_IN

    _asked({"/robots.txt": lambda: next(answers)}, check)
