"""A site of a thousand real pages, each of which also leads into seven bottomless traps.

The real section is a `synthetic.Web`. Its pages have links into all traps, as a site has them in
its menu: nobody gets to the real pages without passing the traps, and they are told from each
other only by what they are. Every trap answers 200 to whatever is asked of it, for ever.

The farm is at `NAME.farm.localhost`, names that libcurl takes for loopback by itself.
"""

import re
from calendar import monthrange
from collections.abc import Iterable
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Literal
from urllib.parse import parse_qsl, urlencode

from freki.testing.synthetic import Answer, Web

Trap = Literal["calendar", "session", "visit", "maze", "shop", "lost", "farm"]

FARM = ".farm.localhost"

# The values of each facet of the shop: 96,000 combinations with all facets, more with some.
FACETS = {"brand": 12, "colour": 10, "page": 20, "size": 8, "sort": 5}

_CORRIDORS = ("left/", "right/", "stairs/")

_MONTHS = (
    "January February March April May June July August September October November December"
).split()
_SYLLABLES = "ba bel da dor fa fen ga gil ha hol ka ki la lum ma mir na nor pa pel".split()

_CALENDAR = re.compile(r"/calendar/(\d{1,4})/(\d\d?)/(?:(\d\d?)/)?", re.ASCII)
_SESSION = re.compile(r"([^?]*)\?sid=([0-9a-f]{32})", re.ASCII)
_VISIT = re.compile(r"/visit/([0-9a-f]{32})(/.*)", re.ASCII)
_HREF = re.compile(r'<a href="(/[^"]*)"')


@dataclass(frozen=True, slots=True)
class TrapWeb:
    """Computed from the seed like `Web`, and served like it."""

    seed: int = 0
    real_pages: int = 1000
    hosts: int = field(default=1, init=False)  # that need an address
    _web: Web = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_web", Web(self.seed, self.real_pages))

    def real(self) -> frozenset[str]:
        """The paths of the real section."""
        return self._web.expected()

    def trap(self, host: str, path: str) -> Trap | None:
        """The trap that a URL is in; None for the real section."""
        if _name(host).endswith(FARM):
            return "farm"
        if _SESSION.fullmatch(path):
            return "session"
        first = path[1:].partition("/")[0].partition("?")[0]
        match first:
            case "calendar" | "visit" | "maze" | "shop":
                return first
            case "" | "hall" | "robots.txt" | "library.css":
                return None
        return None if self._is_real(path) else "lost"

    def answer(self, host: str, path: str, attempt: int = 1) -> Answer:
        """What the authority `host` says when asked for `path`."""
        if path in ("/robots.txt", "/library.css"):
            return self._web.answer(host, path)
        match self.trap(host, path):
            case None:
                body = self._real(host, path)
            case "session":
                body = self._session(host, path)
            case "visit":
                body = self._visit(host, path)
            case "calendar":
                body = _calendar(path)
            case "maze":
                body = _page("A corridor", _MAZE, _CORRIDORS)
            case "shop":
                body = self._shop(path)
            case "lost":
                body = self._lost(path)
            case "farm":
                body = self._farm(host, path)
        return Answer(200, (("content-type", "text/html; charset=utf-8"),), body.encode())

    def _is_real(self, path: str) -> bool:
        return self._web.answer("", path).status == 200

    def _real(self, host: str, path: str) -> str:
        if not self._is_real(path):
            return self._lost(path)
        body = self._web.answer(host, path).body.decode()
        return body.replace("</footer>", f"{_anchors(self._menu(host, path))}</footer>")

    def _menu(self, host: str, path: str) -> list[str]:
        """A way into every trap, another one on every page where there are many."""
        port = host.removeprefix(_name(host))
        return [
            "/calendar/2026/05/",
            f"{path}?sid={self._token(path)}",
            f"/visit/{self._token(path, 'visit')}{path}",
            "/maze/",
            "/shop?brand=1",
            f"/lost/{self._word(path)}",
            f"http://{self._word(path, 'host')}{FARM}{port}/",
        ]

    def _session(self, host: str, path: str) -> str:
        """A real page, all of whose links carry a new id."""
        base, _, session = path.partition("?sid=")
        return _HREF.sub(
            lambda link: f'<a href="{link[1]}?sid={self._token(session, link[1])}"',
            self._web.answer(host, base).body.decode(),
        )
