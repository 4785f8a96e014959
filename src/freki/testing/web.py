"""A web that is a dictionary, for tests of everything around it: no server, no network, no bytes.

    web = FakeWeb()
    web.page("http://a/", links=["/x"])
    web.redirect("http://a/x", "http://b/")

It is a `steps.Fetch`, and time passes as the event loop counts it: `testing.virtual` makes that
cost nothing. What it knows nothing of answers with 404.
"""

import asyncio
from collections import Counter, deque
from collections.abc import Callable, Sequence
from html import escape
from typing import NamedTuple

from freki.messages import Claim, Failure, Reason, Response, Timings
from freki.url import hostname, split

# An answer, or what comes in its place: a failure, or an exception, as a bug of ours would be.
Trouble = int | Reason | Exception

_HTML = "text/html; charset=utf-8"


class Asked(NamedTuple):
    """One request, by the clock of the event loop."""

    url: str
    at: float
    until: float


class FakeWeb:
    """Pages, redirects and troubles by URL, and a memory of who asked for what."""

    def __init__(self, latency: float | Callable[[str], float] = 0.05) -> None:
        self.latency = latency  # seconds, for all or by URL
        self.asked: list[Asked] = []  # in the order in which the answers were complete
        self.most_at_once: Counter[str] = Counter()  # requests under way, by host
        self._under_way: Counter[str] = Counter()
        self._answers: dict[str, Response] = {}
        self._troubles: dict[str, deque[Trouble]] = {}
        self._failures: dict[str, Reason] = {}

    def __repr__(self) -> str:
        return f"<FakeWeb {len(self._answers)} answers, asked {len(self.asked)} times>"

    @property
    def fetched(self) -> list[str]:
        """The URLs that were asked for, robots.txt left out."""
        return [asked.url for asked in self.asked if not asked.url.endswith("/robots.txt")]

    def page(
        self, url: str, links: Sequence[str] = (), *, status: int = 200, body: str | None = None,
        content_type: str = _HTML,
    ) -> None:  # fmt: skip
        """A page that leads to `links`, or that is what `body` says."""
        if body is None:
            anchors = "\n".join(f'<a href="{escape(link)}">{escape(link)}</a>' for link in links)
            body = f"<!doctype html><title>{escape(url)}</title>\n{anchors}"
        headers = (("content-type", content_type),)
        self._answers[url] = Response(url, status, headers, body.encode(), content_type)

    def says(self, url: str, status: int, *headers: tuple[str, str]) -> None:
        """A status with headers, each time."""
        self._answers[url] = Response(url, status, headers, b"")

    def redirect(self, url: str, to: str, status: int = 302) -> None:
        """A redirect; `to` is the Location, as it stands."""
        self._answers[url] = Response(url, status, (("location", to),), b"")

    def robots(self, origin: str, text: str) -> None:
        """What a host asks of crawlers."""
        self.page(f"{origin}/robots.txt", body=text, content_type="text/plain")

    def trouble(self, url: str, *troubles: Trouble) -> None:
        """What comes before the answer, each once: statuses, failures, exceptions."""
        self._troubles.setdefault(url, deque()).extend(troubles)

    def fail(self, place: str, reason: Reason = Reason.connect) -> None:
        """A URL, or an origin with all its URLs, that never answers."""
        self._failures[place] = reason

    async def __call__(self, claim: Claim) -> Response | Failure:
        url, host = claim.url, hostname(claim.url)
        at = asyncio.get_running_loop().time()
        self._under_way[host] += 1
        self.most_at_once[host] = max(self.most_at_once[host], self._under_way[host])
        seconds = self.latency if isinstance(self.latency, float) else self.latency(url)
        try:
            await asyncio.sleep(seconds)
        finally:
            self._under_way[host] -= 1
            self.asked.append(Asked(url, at, asyncio.get_running_loop().time()))
        return self._answer(url, Timings(first_byte=seconds, total=seconds))

    def _answer(self, url: str, timings: Timings) -> Response | Failure:
        failure = self._failures.get(url) or self._failures.get(split(url).origin)
        if failure is not None:
            return Failure(failure, "the fake web says so", timings)
        if troubles := self._troubles.get(url):
            return self._trouble(url, troubles.popleft(), timings)
        answer = self._answers.get(url) or Response(url, 404, (), b"")
        return Response(
            url, answer.status, answer.headers, answer.body, answer.content_type, timings
        )

    def _trouble(self, url: str, trouble: Trouble, timings: Timings) -> Response | Failure:
        if isinstance(trouble, Exception):
            raise trouble
        if isinstance(trouble, Reason):
            return Failure(trouble, "the fake web says so", timings)
        return Response(url, trouble, (), b"", timings=timings)
