"""Which URLs belong to a crawl: measured from its start pages, narrowed by patterns."""

from collections.abc import Sequence

import re2

from freki import config
from freki.errors import BadConfig
from freki.messages import Claim, Link, Page, Reason, Via
from freki.url import directory, hostname, registrable_domain, split

# URLs from sitemaps wait behind those that pages link to: a sitemap names fifty thousand at
# once, and breadth first would mean sitemap first.
STAGGER = 1000

# A pattern is checked by an engine that is linear in the text, but it may be large itself.
MAX_PATTERN_MEMORY = 1 << 20

_REGULAR = "re:"


class Scope:
    """The scope of one crawl, as one worker knows it."""

    def __init__(self, settings: config.Scope, starts: Sequence[str]) -> None:
        self._settings = settings
        self._include = compile_patterns(settings.include)
        self._exclude = compile_patterns(settings.exclude)
        self._inside: set[str] = set()
        for start in starts:
            self._inside.add(self._place(start))

    def __repr__(self) -> str:
        return f"<Scope {self._settings.scope} of {sorted(self._inside)[:5]}>"

    @property
    def reads_sitemaps(self) -> bool:
        return self._settings.sitemap != "no" and self._settings.scope != "page"

    def learn(self, page: Claim) -> None:
        """A start URL may redirect elsewhere: the crawl is about that site too.

        Another worker may have seen that redirect, so deeper pages tell of their host as well.
        """
        if page.via == Via.sitemap_file:
            return  # any file of any host may be one, and is none of the pages that are meant
        if page.depth == 0 or self._settings.scope in ("host", "site"):
            self._inside.add(self._place(page.url))

    def refusal(self, link: Link, page: Page, claim: Claim) -> Reason | None:
        """Why a URL does not belong here; depth is asked separately, and last."""
        start_moved = claim.depth == 0 and link.via == Via.redirect
        if not start_moved and not self._is_inside(link.url):
            return Reason.out_of_scope
        if self._exclude is not None and self._exclude.search(link.url):
            return Reason.excluded
        if self._include is not None and not start_moved and not self._include.search(link.url):
            return Reason.excluded
        if self._settings.sitemap == "only" and link.via not in (Via.sitemap, Via.redirect):
            return Reason.excluded
        if self._settings.obey_nofollow and (page.nofollow or "nofollow" in link.rel.split()):
            return Reason.nofollow
        return None

    def is_about(self, url: str) -> bool:
        """Whether the crawl is about the host of a URL, be it about all of it or about a folder."""
        origin = split(url).origin
        if self._settings.scope in ("page", "folder"):
            return any(split(place).origin == origin for place in self._inside)
        return self._is_inside(url)

    def is_too_deep(self, depth: int) -> bool:
        return self._settings.depth is not None and depth > self._settings.depth

    def checks_outside(self, link: Link, page: Claim) -> bool:
        """Links to outside are tried; what a tried one redirects to is not."""
        return (
            self._settings.check_external and link.via != Via.redirect and page.via != Via.external
        )

    def priority(self, url: str, depth: int, via: int, rel: str = "") -> int:
        """What is fetched first: the smallest number, then the first that was found."""
        if via == Via.sitemap_file:
            return -1_000_000  # it knows what there is
        match self._settings.order:
            case "depth":
                rank = -depth
            case "best":
                rank = _promise(url, depth)
            case _:
                rank = depth
        if via == Via.sitemap:
            return rank + STAGGER - round(100 * _told_priority(rel))
        return rank

    def _is_inside(self, url: str) -> bool:
        match self._settings.scope:
            case "any":
                return True
            case "folder":
                return any(url.startswith(place) for place in self._inside)
            case _:
                return self._place(url) in self._inside

    def _place(self, url: str) -> str:
        """What a URL shares with all others of the same scope."""
        match self._settings.scope:
            case "page":
                return url
            case "folder":
                return directory(url)
            case "host":
                return split(url).origin
            case _:
                return registrable_domain(hostname(url))


def compile_patterns(patterns: Sequence[str]) -> "re2._Regexp[str] | None":
    """One expression for all patterns: `*` is anything, `re:` begins a regular expression."""
    if not patterns:
        return None
    options = re2.Options()
    options.max_mem = MAX_PATTERN_MEMORY
    options.log_errors = False
    for pattern in patterns:
        try:
            re2.compile(_expression(pattern), options)
        except re2.error as error:
            text = error.args[0].decode() if isinstance(error.args[0], bytes) else error
            raise BadConfig(f"the pattern {pattern!r} cannot be used: {text}") from None
    return re2.compile("|".join(f"(?:{_expression(pattern)})" for pattern in patterns), options)


def _expression(pattern: str) -> str:
    if pattern.startswith(_REGULAR):
        return pattern.removeprefix(_REGULAR)
    pieces = (re2.escape(piece) for piece in pattern.split("*"))
    return f"^{'.*'.join(pieces)}$"


def _promise(url: str, depth: int) -> int:
    """Short paths without parameters, near the start, tend to be the pages people mean."""
    path = split(url).path
    return 10 * depth + 5 * path.count("/") + 20 * path.count("=") + len(path) // 20


def _told_priority(rel: str) -> float:
    """The priority that a sitemap gives, where the gate sees it: `priority=0.8`."""
    try:
        return min(1.0, max(0.0, float(rel.removeprefix("priority="))))
    except ValueError:
        return 0.5
