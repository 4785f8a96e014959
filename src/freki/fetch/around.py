"""What users put around every request: headers, credentials, cookies, proxies, rates.

Each is a function that makes a `steps.Middleware`. What it adds goes out with the request and is
stored nowhere.
"""

import asyncio
from base64 import b64encode
from collections.abc import Callable, Mapping
from typing import NamedTuple

from msgspec.structs import replace

from freki.errors import BadSpider
from freki.fetch.asking import is_header, shown
from freki.messages import Claim, Failure, Reason, Request, Response
from freki.steps import Fetch, Middleware
from freki.url import hostname, parse, split

# Seconds that a proxy rests after it failed, doubled each time in a row.
FIRST_REST = 10.0
LONGEST_REST = 600.0

# Hosts whose next moment is remembered; older ones have had their turn.
MAX_HOSTS = 10_000

PROXY_SCHEMES = ("http", "https", "socks4", "socks4a", "socks5", "socks5h")


def headers(given: Mapping[str, str], host: str = "") -> Middleware:
    """Sends these with every request, or with those to one host; a request's own win."""
    for name, value in given.items():
        if not is_header(name, value):
            raise BadSpider(f"the header {name!r}: {value!r} cannot be sent: one line of ASCII")
    own = {name.lower(): value for name, value in given.items()}
    return _changing(lambda claim: _with_headers(claim, own), host)


def basic_auth(origin: str, user: str, password: str) -> Middleware:
    """RFC 7617: a name and a password for one origin, as https://example.com, and no other."""
    token = b64encode(f"{user}:{password}".encode()).decode()
    own = {"authorization": f"Basic {token}"}
    return _changing(lambda claim: _with_headers(claim, own), _origin(origin))


def bearer(origin: str, token: str) -> Middleware:
    """RFC 6750: a token for one origin, and no other."""
    own = {"authorization": f"Bearer {token}"}
    if not is_header("authorization", token):
        raise BadSpider("the token cannot be sent: it must be one line of ASCII")
    return _changing(lambda claim: _with_headers(claim, own), _origin(origin))


def cookies(origin: str, given: Mapping[str, str]) -> Middleware:
    """Cookies for one origin, beside those that it sets itself."""
    line = "; ".join(f"{name}={value}" for name, value in given.items())
    if not is_header("cookie", line) or any(";" in part for part in given.values()):
        raise BadSpider(f"the cookies {dict(given)!r} cannot be sent: ASCII without semicolons")
    own = {"cookie": line}
    return _changing(lambda claim: _with_headers(claim, own), _origin(origin))


def rate_limit(per_second: float, host: str = "") -> Middleware:
    """At most so many requests a second: to each host, or to one."""
    if not per_second > 0:
        raise BadSpider("rate_limit needs a number of requests a second, as rate_limit(0.5)")
    pause = 1.0 / per_second
    turns: dict[str, float] = {}

    def wrap(fetch: Fetch) -> Fetch:
        async def call(claim: Claim) -> Response | Failure:
            if _means(host, claim.url):
                origin, now = split(claim.url).origin, asyncio.get_running_loop().time()
                turn = max(now, turns.pop(origin, now))
                turns[origin] = turn + pause
                if len(turns) > MAX_HOSTS:
                    del turns[next(iter(turns))]
                await asyncio.sleep(turn - now)
            return await fetch(claim)

        return call

    return wrap


def proxies(*urls: str, by_host: Mapping[str, str] | None = None) -> Middleware:
    """Sends requests through these in turn, or through the one that a host has.

    A proxy that fails rests, longer each time, and the next one is tried at once.
    """
    named = dict(by_host or {})
    if not urls and not named:
        raise BadSpider('proxies needs one at least, as proxies("http://proxy.example:3128")')
    for url in (*urls, *named.values()):
        _check_proxy(url)
    rota = _Rota(urls)

    def wrap(fetch: Fetch) -> Fetch:
        async def call(claim: Claim) -> Response | Failure:
            own = named.get(hostname(claim.url), "")
            if own or not urls:
                return await fetch(replace(claim, proxy=own))
            return await _through(fetch, claim, rota)

        return call

    return wrap


class _Health(NamedTuple):
    failures: int = 0
    rests_until: float = 0.0


class _Rota:
    """Proxies in turn; those that failed lately come last."""

    def __init__(self, urls: tuple[str, ...]) -> None:
        self._health = dict.fromkeys(urls, _Health())

    def __repr__(self) -> str:
        return f"<_Rota { {shown(url): health for url, health in self._health.items()} }>"

    def order(self, now: float) -> list[str]:
        """Which to try first, second and so on; the first one goes to the end of the line."""
        line = sorted(self._health, key=lambda url: max(0.0, self._health[url].rests_until - now))
        first = line[0]
        self._health[first] = self._health.pop(first)
        return line

    def failed(self, url: str, now: float) -> None:
        failures = self._health[url].failures + 1
        rest = min(FIRST_REST * 2.0 ** min(failures - 1, 20), LONGEST_REST)
        self._health[url] = _Health(failures, now + rest)

    def worked(self, url: str) -> None:
        if self._health[url].failures:
            self._health[url] = _Health()


async def _through(fetch: Fetch, claim: Claim, rota: _Rota) -> Response | Failure:
    clock = asyncio.get_running_loop().time
    line = rota.order(clock())
    answer: Response | Failure = Failure(Reason.proxy, "there is no proxy")
    for proxy in line:
        answer = await fetch(replace(claim, proxy=proxy))
        if not (isinstance(answer, Failure) and answer.reason is Reason.proxy):
            rota.worked(proxy)
            return answer
        rota.failed(proxy, clock())
    if len(line) > 1 and isinstance(answer, Failure):
        detail = f"none of {len(line)} proxies works; the last: {answer.detail}"
        return replace(answer, detail=detail)
    return answer


def _changing(change: Callable[[Claim], Claim], host: str) -> Middleware:
    def wrap(fetch: Fetch) -> Fetch:
        async def call(claim: Claim) -> Response | Failure:
            return await fetch(change(claim) if _means(host, claim.url) else claim)

        return call

    return wrap


def _with_headers(claim: Claim, given: Mapping[str, str]) -> Claim:
    request = claim.request or Request()
    merged = tuple({**given, **dict(request.headers)}.items())
    return replace(claim, request=replace(request, headers=merged))


def _means(host: str, url: str) -> bool:
    """A host as people write it: its name, or an origin."""
    if not host:
        return True
    return split(url).origin == host if "://" in host else hostname(url) == host


def _origin(text: str) -> str:
    """Credentials go to one origin: a name alone would send them unencrypted as well."""
    if "://" not in text:
        raise BadSpider(f"credentials are for one origin; write https://{text}")
    return split(parse(text)).origin


def _check_proxy(url: str) -> None:
    scheme, mark, rest = url.partition("://")
    if not mark or not rest or scheme not in PROXY_SCHEMES:
        kinds = ", ".join(PROXY_SCHEMES)
        raise BadSpider(f"{shown(url)!r} is no proxy; write http://HOST:PORT ({kinds})")
