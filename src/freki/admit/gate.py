"""May this URL come in? Asked for every link, so it is a few set and dictionary look-ups.

The order of the questions is part of the contract: depth comes last, so that a URL refused
because of its depth is known to be welcome when a shorter way to it is found.
"""

from collections.abc import Sequence

from freki.config import Scope
from freki.messages import Claim, Discovery, Link, Reason, Via
from freki.url import directory, hostname, registrable_domain, split

# URLs judged lately, with the depth they were judged at. Navigation repeats on every page:
# nine links in ten end here. Two generations of this size are kept, some 25 MB at most.
RECENT = 50_000


class Gate:
    """The scope of one crawl, as one worker knows it."""

    def __init__(self, scope: Scope, seeds: Sequence[str], max_redirects: int) -> None:
        self._scope = scope.scope
        self._max_depth = scope.depth
        self._max_redirects = max_redirects
        self._inside: set[str] = set()
        self._recent: dict[str, int] = {}
        self._older: dict[str, int] = {}
        for seed in seeds:
            self._widen(seed)

    def __repr__(self) -> str:
        return f"<Gate {self._scope} {sorted(self._inside)[:5]} recent={len(self._recent)}>"

    def admit(self, links: Sequence[Link], page: Claim) -> list[Discovery]:
        if page.depth == 0 or self._scope in ("host", "site"):
            # A start URL may redirect elsewhere: the crawl is about that site too. Another
            # worker may have seen that redirect, so deeper pages tell of their host as well.
            self._widen(page.url)
        found: list[Discovery] = []
        near = page.depth + 1
        recent, older = self._recent, self._older
        for link in links:
            redirect = link.via == Via.redirect
            depth = page.depth if redirect else near
            known = recent.get(link.url)
            if known is None:
                known = older.get(link.url)
            if known is not None and known <= depth:
                continue
            found.append(self._discover(link, page, depth, redirect=redirect))
        if len(recent) > RECENT:
            self._recent, self._older = {}, recent
        return found

    def seed(self, url: str) -> Discovery:
        """A start URL is always welcome."""
        return Discovery(url, depth=0, priority=0, via=Via.seed)

    def forget(self) -> None:
        """What was judged lately may not have been stored: our session was lost."""
        self._recent, self._older = {}, {}

    def _discover(self, link: Link, page: Claim, depth: int, *, redirect: bool) -> Discovery:
        hops = page.hops + 1 if redirect else 0
        refused, detail = self._verdict(link, page, depth, hops)
        # A refusal for what the URL is holds for every way to it; one for the way does not.
        if refused is None or refused is Reason.out_of_scope:
            self._recent[link.url] = depth if refused is None else -1
        return Discovery(link.url, depth, depth, link.via, hops, page.id, refused, detail)

    def _verdict(
        self, link: Link, page: Claim, depth: int, hops: int
    ) -> tuple[Reason | None, str]:
        start_moved = page.depth == 0 and link.via == Via.redirect
        if not start_moved and not self._is_inside(link.url):
            return Reason.out_of_scope, ""
        if hops > self._max_redirects:
            return Reason.too_many_redirects, f"{hops} redirects in a row"
        if self._max_depth is not None and depth > self._max_depth:
            return Reason.depth, ""
        return None, ""

    def _widen(self, url: str) -> None:
        self._inside.add(self._place(url))

    def _is_inside(self, url: str) -> bool:
        match self._scope:
            case "any":
                return True
            case "folder":
                return any(url.startswith(place) for place in self._inside)
            case _:
                return self._place(url) in self._inside

    def _place(self, url: str) -> str:
        """What a URL shares with all others of the same scope."""
        match self._scope:
            case "page":
                return url
            case "folder":
                return directory(url)
            case "host":
                return split(url).origin
            case _:
                return registrable_domain(hostname(url))
