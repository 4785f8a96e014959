"""What users put around requests: who gets what, and what happens to proxies that fail."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

import freki
from freki.errors import BadSpider
from freki.messages import Claim, Failure, Reason, Request, Response
from freki.steps import Middleware
from freki.testing.virtual import run

HERE, THERE = "https://a/x", "https://b/x"


class Net:
    """A fetch that remembers what it was asked; proxies in `dead` do not answer."""

    def __init__(self, *dead: str) -> None:
        self.claims: list[Claim] = []
        self.dead = set(dead)

    async def __call__(self, claim: Claim) -> Response | Failure:
        self.claims.append(claim)
        if claim.proxy in self.dead:
            return Failure(Reason.proxy, f"{claim.proxy}: refused")
        return Response(claim.url, 200, (), b"")


def sent(middleware: Middleware, url: str = HERE, request: Request | None = None) -> dict[str, str]:
    """The headers of a request."""
    net = Net()
    asyncio.run(_ask(middleware(net), url, request))
    (claim,) = net.claims
    return dict(claim.request.headers) if claim.request else {}


async def _ask(fetch: Callable[[Claim], Awaitable[Any]], url: str, request: Request | None) -> Any:
    return await fetch(Claim(1, 1, url, 0, request=request))


def test_headers_go_to_everybody_or_to_one_host() -> None:
    assert sent(freki.headers({"X-Me": "1"})) == {"x-me": "1"}
    assert sent(freki.headers({"X-Me": "1"}, host="a")) == {"x-me": "1"}
    assert sent(freki.headers({"X-Me": "1"}, host="https://a")) == {"x-me": "1"}
    assert sent(freki.headers({"X-Me": "1"}, host="a"), THERE) == {}
    assert sent(freki.headers({"X-Me": "1"}, host="http://a")) == {}


def test_what_a_request_says_itself_wins() -> None:
    own = Request(headers=(("x-me", "2"),))
    assert sent(freki.headers({"X-Me": "1"}), request=own) == {"x-me": "2"}


@pytest.mark.parametrize(
    ("middleware", "header", "value"),
    [
        (
            freki.basic_auth("https://a", "me", "pässword"),
            "authorization",
            "Basic bWU6cMOkc3N3b3Jk",
        ),
        (freki.bearer("https://a", "t0k3n"), "authorization", "Bearer t0k3n"),
        (freki.cookies("https://a", {"a": "1", "b": "2"}), "cookie", "a=1; b=2"),
    ],
)
def test_credentials_go_to_their_origin_and_nowhere_else(
    middleware: Middleware, header: str, value: str
) -> None:
    assert sent(middleware) == {header: value}
    for url in (THERE, "http://a/x", "https://a:444/x", "https://sub.a/x", "https://a.b/x"):
        assert sent(middleware, url) == {}


def test_a_rate_holds_for_each_host() -> None:
    async def crawl() -> list[float]:
        net = Net()
        fetch = freki.rate_limit(2)(net)
        loop, starts = asyncio.get_running_loop(), []
        for url in (HERE, HERE, THERE, HERE):
            await fetch(Claim(1, 1, url, 0))
            starts.append(loop.time())
        return [start - starts[0] for start in starts]

    assert run(crawl()) == pytest.approx([0.0, 0.5, 0.5, 1.0])


def test_proxies_take_turns_and_hosts_may_have_their_own() -> None:
    net = Net()
    fetch = freki.proxies("http://p1:1", "http://p2:1", by_host={"b": "http://p3:1"})(net)

    async def crawl() -> None:
        for url in (HERE, HERE, THERE, HERE):
            await fetch(Claim(1, 1, url, 0))

    run(crawl())
    assert [claim.proxy[-3] for claim in net.claims] == ["1", "2", "3", "1"]


def test_a_dead_proxy_rests_and_the_next_one_is_tried_at_once() -> None:
    net = Net("http://p1:1")
    fetch = freki.proxies("http://p1:1", "http://p2:1")(net)

    async def crawl() -> list[Any]:
        answers = [await fetch(Claim(1, 1, HERE, 0)) for _ in range(4)]
        await asyncio.sleep(11)
        net.dead.clear()
        return [*answers, *[await fetch(Claim(1, 1, HERE, 0)) for _ in range(2)]]

    assert all(isinstance(answer, Response) for answer in run(crawl()))
    assert [claim.proxy[8] for claim in net.claims][:5] == ["1", "2", "2", "2", "2"]
    assert {claim.proxy[8] for claim in net.claims[5:]} == {"1", "2"}


def test_where_all_proxies_are_dead_it_is_told_how_many_and_why() -> None:
    net = Net("http://p1:1", "http://p2:1")
    answer = run(_ask(freki.proxies("http://p1:1", "http://p2:1")(net), HERE, None))
    assert isinstance(answer, Failure)
    assert answer.reason is Reason.proxy
    assert answer.detail == "none of 2 proxies works; the last: http://p2:1: refused"


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (lambda: freki.basic_auth("a", "me", "x"), "write https://a"),
        (lambda: freki.headers({"x": "1\n2"}), "cannot be sent"),
        (lambda: freki.bearer("https://a", "1\r\n2"), "one line of ASCII"),
        (lambda: freki.cookies("https://a", {"a": "1; b=2"}), "without semicolons"),
        (lambda: freki.rate_limit(0), "as rate_limit(0.5)"),
        (freki.proxies, "proxies needs one at least"),
        (lambda: freki.proxies("me:secret@p:1"), "'p:1' is no proxy; write http://HOST:PORT"),
        (lambda: freki.proxies("ftp://p:1"), "is no proxy"),
    ],
)
def test_what_cannot_be_is_told_at_once(make: Callable[[], object], told: str) -> None:
    with pytest.raises(BadSpider) as raised:
        make()
    assert told in str(raised.value)
    assert "secret" not in str(raised.value)
