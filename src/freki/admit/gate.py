"""May this URL come in? Asked for every link, so it is a few set and dictionary look-ups.

The order of the questions is part of the contract: depth comes last, so that a URL refused
because of its depth is known to be welcome when a shorter way to it is found.
"""

from collections.abc import Callable, Sequence
from itertools import count
from zlib import crc32

from msgspec.structs import replace

from freki.admit.rounds import Rounds
from freki.admit.scope import STAGGER, Scope
from freki.admit.traps import Traps
from freki.messages import BACK, Asked, Claim, Discovery, Link, Page, Reason, Request, Response, Via
from freki.url import split

# URLs judged lately, with the depth they were judged at. Navigation repeats on every page:
# nine links in ten end here. Two generations of this size are kept, some 25 MB at most.
RECENT = 50_000

# A longer URL is seldom linked twice, and many of them would take a gigabyte.
REMEMBERED = 512

# A refusal for what the URL is holds for every way to it; one for the way does not.
_FOR_GOOD = frozenset({Reason.out_of_scope, Reason.excluded})

# What leads no further from the start: a page that has moved, and one list of pages in another.
_NO_STEP = (Via.redirect, Via.sitemap_file)

# How the path of a probe begins; it tells whoever reads a server's log what was asked, and why.
PROBE = "/freki-asks-for-what-is-not-there-"

# Sitemaps of sitemaps of sitemaps: sitemaps.org allows one level, sites have two.
MAX_NESTED_SITEMAPS = 4

# Sitemaps of one list that are read before any page, for they know what there is. An index may
# name fifty thousand: the others wait behind what these list, or no page would come for hours.
SITEMAPS_FIRST = 100

# Hosts with patterns whose pages are looked at, by how often. After so many looks a host is asked
# for a page that it cannot have: few hosts get that far, and only those are worth the request.
MAX_SUSPECTS = 10_000
LOOKS_BEFORE_PROBE = 50

Read = Callable[[Response], str]


class Gate:
    """The scope of one crawl, as one worker knows it."""

    def __init__(self, scope: Scope, traps: Traps | None, read: Read, max_redirects: int) -> None:
        self._scope = scope
        self._traps = traps
        self._read = read
        self._max_redirects = max_redirects
        self._suspects: dict[str, int] = {}
        self._probed: set[str] = set()
        self._rounds = Rounds()
        self._recent: dict[str, int] = {}
        self._older: dict[str, int] = {}

    def __repr__(self) -> str:
        return f"<Gate {self._scope!r} recent={len(self._recent)}>"

    def admit(self, page: Page, claim: Claim) -> list[Discovery]:
        if claim.via == Via.external:
            return []
        self._scope.learn(claim)
        if claim.depth == 0 and claim.via == Via.redirect:
            self.forget()  # a start URL moved here: what was outside before may be inside now
        found: list[Discovery] = []
        recent, older = self._recent, self._older
        for link in page.links:
            depth = claim.depth if link.via in _NO_STEP else claim.depth + 1
            known = recent.get(link.url)
            if known is None:
                known = older.get(link.url)
            start_moved = claim.depth == 0 and link.via == Via.redirect
            if known is None or known > depth or start_moved:
                found.append(self._discover(link, page, claim, depth))
        if len(recent) > RECENT:
            self._recent, self._older = {}, recent
        if claim.via == Via.sitemap_file:
            return _staggered(found, SITEMAPS_FIRST if claim.hops <= 1 else 0)
        return found

    def ask(self, asked: Sequence[Asked], page: Page, claim: Claim) -> list[Discovery]:
        self._scope.learn(claim)
        return [self._answer(one, page, claim) for one in asked]

    def _answer(self, asked: Asked, page: Page, claim: Claim) -> Discovery:
        moved = asked.via == Via.redirect
        depth = claim.depth + (not moved)
        hops = claim.hops + 1 if moved else 0
        link = Link(asked.url, via=asked.via)
        refused, detail = self._standing(link, page, claim, depth, hops)
        priority = self._scope.priority(asked.url, depth, asked.via) - asked.priority
        return Discovery(
            asked.url, depth, priority, asked.via, hops, claim.id, refused, detail, asked.request
        )

    def returned(self, answer: Response, page: Page, claim: Claim) -> list[Discovery]:
        moved = next((link for link in page.links if link.via == Via.redirect), None)
        request = claim.request or Request()
        if moved is None or request.mark == BACK or request.method != "GET":
            return []
        if claim.via == Via.external:
            return []
        cookie = answer.header("set-cookie") is not None
        if not self._rounds.closes(claim.url, moved.url, cookie=cookie):
            return []
        again = Asked(moved.url, replace(request, mark=BACK), via=Via.redirect)
        return [self._answer(again, page, claim)]

    def sitemaps(self, urls: Sequence[str], page: Claim) -> list[Discovery]:
        if not self._scope.reads_sitemaps or page.via == Via.external:
            return []
        if page.via == Via.sitemap_file and not self._scope.is_about(page.url):
            return []  # a host that only keeps a sitemap for ours
        found = [
            Discovery(url, page.depth, self._scope.priority(url, page.depth, Via.sitemap_file),
                      Via.sitemap_file, hops=1, parent=page.id or None)
            for url in urls
        ]  # fmt: skip
        return _staggered(found, SITEMAPS_FIRST)

    def seed(self, url: str, asked: Asked | None = None) -> Discovery:
        """A start URL is always welcome."""
        if asked is None:
            return Discovery(url, depth=0, priority=0, via=Via.seed)
        return Discovery(url, 0, -asked.priority, Via.seed, request=asked.request)

    def learn(self, response: Response, page: Claim) -> None:
        # The bodies of redirects are all alike, which says nothing about where they lead.
        if self._traps is None or 300 <= response.status < 400 or not self._traps.wants(page.url):
            return
        self._traps.learn(page.url, self._read(response), response.body)
        origin = split(page.url).origin
        if len(self._suspects) >= MAX_SUSPECTS and origin not in self._suspects:
            oldest = next(iter(self._suspects))
            del self._suspects[oldest]
            self._probed.discard(oldest)
        self._suspects[origin] = self._suspects.get(origin, 0) + 1

    def probe(self, page: Claim) -> str | None:
        origin = split(page.url).origin
        if self._suspects.get(origin, 0) < LOOKS_BEFORE_PROBE or origin in self._probed:
            return None
        self._probed.add(origin)
        return f"{origin}{PROBE}{crc32(origin.encode()):08x}"

    def learn_missing(self, response: Response) -> None:
        if self._traps is not None and response.status == 200:
            self._traps.learn_missing(response.url, self._read(response))

    def forget(self) -> None:
        self._recent, self._older = {}, {}

    def _discover(self, link: Link, page: Page, claim: Claim, depth: int) -> Discovery:
        hops = claim.hops + 1 if link.via in (Via.redirect, Via.sitemap_file) else 0
        refused, detail = self._verdict(link, page, claim, depth, hops)
        via = link.via
        if refused is Reason.out_of_scope and self._scope.checks_outside(link, claim):
            via, refused = Via.external, None
        if len(link.url) <= REMEMBERED and (refused is None or refused in _FOR_GOOD):
            self._recent[link.url] = depth if refused is None else -1
        priority = self._scope.priority(link.url, depth, via, link.rel)
        return Discovery(link.url, depth, priority, via, hops, claim.id, refused, detail)

    def _verdict(
        self, link: Link, page: Page, claim: Claim, depth: int, hops: int
    ) -> tuple[Reason | None, str]:
        if link.via == Via.sitemap_file:
            too_deep = hops > MAX_NESTED_SITEMAPS
            return (Reason.trap, "sitemaps: nested too deep") if too_deep else (None, "")
        refused, detail = self._standing(link, page, claim, depth, hops)
        if refused is None and (trap := self._trap(link)):
            return Reason.trap, trap
        return refused, detail

    def _standing(
        self, link: Link, page: Page, claim: Claim, depth: int, hops: int
    ) -> tuple[Reason | None, str]:
        if (refused := self._scope.refusal(link, page, claim)) is not None:
            return refused, ""
        if hops > self._max_redirects:
            return Reason.too_many_redirects, f"{hops} redirects in a row"
        if self._scope.is_too_deep(depth):
            return Reason.depth, ""
        return None, ""

    def _trap(self, link: Link) -> str | None:
        # A sitemap is a list with an end, made by somebody who wants these pages to be found.
        if self._traps is None or link.via == Via.sitemap:
            return None
        return self._traps.judge(link.url)


def _staggered(found: list[Discovery], first: int) -> list[Discovery]:
    """Sitemaps beyond the first ones wait behind the pages that those list."""
    order = count()
    return [
        replace(each, priority=2 * STAGGER)
        if each.via == Via.sitemap_file and next(order) >= first
        else each
        for each in found
    ]
