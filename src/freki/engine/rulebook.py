"""What hosts ask of us: robots.txt, asked for once per host and kept for a day.

The first request to a host is the one for its rules; until they are known its claims wait. A
request for rules is a request like any other: the host rests after it.
"""

import asyncio
from collections.abc import Callable
from enum import Enum

from msgspec import Struct
from msgspec.structs import replace

from freki.admit.robots import MAX_BODY, Access, Group, access, parse
from freki.engine.sitemap import PLACES
from freki.engine.verdict import LONGEST_PAUSE, UNREACHED, retry_after
from freki.messages import Claim, Failure, HostRules, Reason, Response, Via
from freki.steps import Fetch
from freki.url import join, split

# RFC 9309 2.4: not longer than a day.
KEPT_SECONDS = 86_400.0

# How far the clocks of two workers may be apart. A date in the future is none: it would keep rules
# for years, or a host in trouble from being asked again.
EARLY = 60.0

# RFC 9309 2.3.1.2: at least five redirects, also to other hosts.
MAX_REDIRECTS = 5

# A host whose rules cannot be read is asked again after these pauses, and then left alone. One
# that says that it is in trouble gets more time than one that sends nothing of use: that may as
# well be no web server, and whoever mistyped a port waits for the verdict.
PAUSES = (10.0, 30.0, 90.0, 300.0)
SPEECHLESS_PAUSES = (1.0, 5.0, 15.0, 45.0)

# There is nobody to ask, so what is wrong is no matter of robots.txt.
NO_CONVERSATION = UNREACHED | {Reason.blocked_address}

# Hosts whose rules are in memory, and bytes of their files: parsed they take up to 25 times as
# much. A host that fell out is read from the ledger with its next claims, or asked again.
MAX_KNOWN = 8192
MAX_KNOWN_BYTES = 8 * 2**20


class Welcome(Enum):
    """What a host says to a visit."""

    come_in = "come_in"
    ask_first = "ask_first"  # its rules are not known
    later = "later"
    go_away = "go_away"


class Answer(Struct, frozen=True):
    """The welcome, with what an outcome needs."""

    welcome: Welcome
    reason: Reason = Reason.ok
    detail: str = ""
    until: float = 0.0


COME_IN = Answer(Welcome.come_in)
ASK_FIRST = Answer(Welcome.ask_first)


class _Known:
    """The rules of a host, as far as they concern us."""

    __slots__ = ("group", "rules", "until", "why")

    def __init__(self, rules: HostRules, group: Group | None, why: str) -> None:
        self.rules = rules
        self.group = group
        self.why = why  # there are no rules, where there are none
        self.until = 0.0  # the host asked not to be asked before


class NoRulebook:
    """For sites of one's own: every host is taken to welcome every visit."""

    def recall(self, rules: HostRules) -> None:
        """Nothing is remembered."""

    def forget(self) -> None:
        """Nothing is forgotten."""

    def welcome(self, _claim: Claim, _now: float) -> Answer:
        return COME_IN

    def crawl_delay(self, _origin: str) -> float | None:
        return None

    def sitemaps(self, _origin: str) -> list[str]:
        return []

    async def ask(self, claim: Claim, _pause: float = 0.0) -> HostRules | Failure:
        raise AssertionError(f"nobody asks for rules that are ignored: {claim.url}")


class Rulebook(NoRulebook):
    """The rules of the hosts a worker visits."""

    def __init__(self, fetch: Fetch, agent: str, clock: Callable[[], float]) -> None:
        self._fetch = fetch
        self._agent = agent.partition("/")[0].strip().lower()
        self._clock = clock
        self._known: dict[str, _Known] = {}
        self._bytes = 0
        self._asking: dict[str, asyncio.Future[HostRules | Failure]] = {}

    def __repr__(self) -> str:
        return f"<Rulebook {len(self._known)} hosts>"

    def forget(self) -> None:
        """What was asked did not reach the ledger, nor did the sitemaps it named."""
        self._known.clear()
        self._bytes = 0

    def recall(self, rules: HostRules) -> None:
        """Take over what the ledger knows."""
        if rules.origin in self._known:
            return
        if rules.tries > len(PAUSES):  # what was stored is no reason to give up without a look
            rules = replace(rules, tries=len(PAUSES), at=0.0)
        self._learn(rules)

    def welcome(self, claim: Claim, now: float) -> Answer:
        """May we visit?"""
        origin, path = split(claim.url)
        known = self._known.get(origin)
        if known is None or not -EARLY <= now - known.rules.at <= KEPT_SECONDS:
            return ASK_FIRST
        rules = known.rules
        if rules.tries:
            return _unreadable(known, now)
        if known.group is None:
            return COME_IN
        decision = known.group.decide(path)
        if decision.allowed:
            return COME_IN
        return Answer(Welcome.go_away, Reason.robots, f"line {decision.line}: {decision.rule}")

    def crawl_delay(self, origin: str) -> float | None:
        """What the host asks for, if it asks."""
        known = self._known.get(origin)
        return known.group.crawl_delay if known is not None and known.group is not None else None

    async def ask(self, claim: Claim, pause: float = 0.0) -> HostRules | Failure:
        """Fetch the rules; however many ask at once, the host is asked once.

        Between redirects it gets the pause that was promised between any two requests.
        """
        origin = split(claim.url).origin
        if (asking := self._asking.get(origin)) is not None:
            return await asyncio.shield(asking)
        asking = self._asking[origin] = asyncio.get_running_loop().create_future()
        try:
            rules = await self._ask(claim.host, origin, pause)
            asking.set_result(rules)
        finally:
            asking.cancel()  # which changes nothing where there is a result
            del self._asking[origin]
        return rules

    async def _ask(self, host: int, origin: str, pause: float) -> HostRules | Failure:
        answer = await self._follow(host, f"{origin}/robots.txt", pause)
        if isinstance(answer, Failure):
            if answer.reason in NO_CONVERSATION:
                return answer
            return self._closed(host, origin, 0, f"{answer.reason.name}: {answer.detail}")
        match access(answer.status):
            case Access.disallow_for_now:
                asked_for = retry_after(answer.header("retry-after"), self._clock()) or 0.0
                return self._closed(host, origin, answer.status, pause=asked_for)
            case Access.use_body:
                body = answer.body[:MAX_BODY]
            case Access.allow_all:
                body = b""  # what no parser reads is not kept either
        rules = HostRules(host, origin, self._clock(), answer.status, body)
        self._learn(rules)
        return rules

    def _closed(
        self, host: int, origin: str, status: int, why: str = "", pause: float = 0.0
    ) -> HostRules:
        """RFC 9309 2.3.1.4: the host was reached, and what it wants is not known."""
        before = self._known.get(origin)
        tries = before.rules.tries if before is not None else 0
        rules = HostRules(host, origin, self._clock(), status, tries=tries + 1)
        self._learn(rules, why)
        self._known[origin].until = rules.at + min(pause, LONGEST_PAUSE)
        return rules

    async def _follow(self, host: int, url: str, pause: float) -> Response | Failure:
        """The answer after all redirects, or the last redirect where there are too many."""
        redirects = 0
        while True:
            answer = await self._fetch(Claim(0, host, url, 0, via=Via.robots_file))
            if isinstance(answer, Failure):
                # Where it leads to another host, that one is not reached, and ours was.
                away = f"{url}: {answer.reason.name}: {answer.detail}"
                return Failure(Reason.bad_redirect, away) if redirects else answer
            if answer.status not in (301, 302, 303, 307, 308):
                return answer
            target = join(url, answer.location or url)
            if target is None or redirects == MAX_REDIRECTS:
                return answer
            url = target
            redirects += 1
            await asyncio.sleep(pause)

    def sitemaps(self, origin: str) -> list[str]:
        """The sitemaps that a host names, and the first place where they are by custom."""
        known = self._known.get(origin)
        named = parse(known.rules.body).sitemaps if known is not None and known.group else ()
        urls = [url for text in named if (url := join(f"{origin}/", text))]
        return list(dict.fromkeys([*urls, origin + PLACES[0]]))

    def _learn(self, rules: HostRules, why: str = "") -> None:
        group = None
        if access(rules.status) is Access.use_body:
            group = parse(rules.body).for_agent(self._agent)
        if (before := self._known.pop(rules.origin, None)) is not None:
            self._bytes -= len(before.rules.body)
        self._known[rules.origin] = _Known(rules, group, why)
        self._bytes += len(rules.body)
        while len(self._known) > MAX_KNOWN or (
            self._bytes > MAX_KNOWN_BYTES and len(self._known) > 1
        ):
            oldest = self._known.pop(next(iter(self._known)))
            self._bytes -= len(oldest.rules.body)


def _unreadable(known: _Known, now: float) -> Answer:
    """RFC 9309 2.3.1.4: nothing may be fetched, and the host is asked again later."""
    rules = known.rules
    told = f"answers with status {rules.status}" if rules.status else "gives no whole answer"
    detail = f"robots.txt {told}" + (f" ({known.why})" if known.why else "")
    pauses = PAUSES if rules.status else SPEECHLESS_PAUSES
    if rules.tries > len(pauses):
        return Answer(Welcome.go_away, Reason.robots_unreachable, detail)
    until = max(rules.at + pauses[rules.tries - 1], known.until)
    if now >= until:
        return ASK_FIRST
    return Answer(Welcome.later, Reason.robots_unreachable, detail, until)
