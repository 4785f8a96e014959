"""Redirects that lead back to where they began, with a cookie: how sites find out who keeps them.

What a URL answers is asked once, so the page behind such a round would be lost. It is asked once
more then, and once only: who is sent round again without end leads nowhere.
"""

# Redirects under way that are remembered: a crawl has some for each host it visits.
MAX_UNDER_WAY = 10_000

# Browsers follow twenty redirects; a round that keeps cookies has two or three.
MAX_ROUND = 10

Way = tuple[tuple[str, ...], bool]  # the URLs so far, and whether one of them set a cookie


class Rounds:
    """The ways of redirects, as one worker has seen them."""

    def __init__(self) -> None:
        self._ways: dict[str, Way] = {}

    def __repr__(self) -> str:
        return f"<Rounds {len(self._ways)}>"

    def closes(self, url: str, target: str, *, cookie: bool) -> bool:
        """Note a redirect; whether its target is one that led here, and a cookie was set since."""
        before, had_cookie = self._ways.pop(url, ((), False))
        cookie = cookie or had_cookie
        if target in before:
            return cookie
        if target != url and len(before) < MAX_ROUND:
            if len(self._ways) >= MAX_UNDER_WAY:
                del self._ways[next(iter(self._ways))]
            self._ways[target] = ((*before, url), cookie)
        return False
