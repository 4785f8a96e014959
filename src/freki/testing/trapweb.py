"""A site of a thousand real pages, each of which also leads into seven bottomless traps.

The real section is a `synthetic.Web`. Its pages have links into all traps, as a site has them in
its menu: nobody gets to the real pages without passing the traps, and they are told from each
other only by what they are. Every trap answers 200 to whatever is asked of it, for ever.

The farm is at `NAME.farm.localhost`, names that libcurl takes for loopback by itself.
"""

import re
from calendar import monthrange
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from http import HTTPStatus
from typing import Literal
from urllib.parse import parse_qsl, urlencode

from freki.testing.synthetic import Answer, Web

Trap = Literal["calendar", "session", "visit", "maze", "shop", "lost", "farm"]

FARM = ".farm.localhost"

# Values of each parameter of the shop: 96,000 pages with all of them, more with some.
FACETS = {"brand": 12, "colour": 10, "page": 20, "size": 8, "sort": 5}

_SESSION = re.compile(r"(/[^?]*)\?sid=[0-9a-f]{32}", re.ASCII)
_VISIT = re.compile(r"/visit/[0-9a-f]{32}(/.*)", re.ASCII)
_DAY = re.compile(r"/calendar/(\d{4})/(\d\d)/(?:(\d\d)/)?", re.ASCII)
_HREF = re.compile(r'<a href="(/[^"]*)"')

# Months since the year 0: the calendar knows those of the years with four digits.
_FIRST, _TODAY, _LAST = 12, 2026 * 12 + 4, 9999 * 12 + 10


@dataclass(frozen=True, slots=True)
class TrapWeb:
    """Computed from the seed like `Web`, and served like it."""

    seed: int = 0
    real_pages: int = 1000
    hosts: int = field(default=1, init=False)  # that need an address of their own
    _web: Web = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_web", Web(self.seed, self.real_pages))

    def real(self) -> frozenset[str]:
        """The paths of the real section."""
        return self._web.expected()

    def trap(self, host: str, path: str) -> Trap | None:
        """The trap that a URL is in; None for the real section."""
        if _hostname(host).endswith(FARM):
            return "farm"
        if _SESSION.fullmatch(path):
            return "session"
        match re.split(r"[/?]", path, maxsplit=2)[1]:
            case "calendar" | "visit" | "maze" | "shop" as name:
                return name
        return None if self._real(host, path) else "lost"

    def answer(self, host: str, path: str, attempt: int = 1) -> Answer:
        """What the authority `host` says when asked for `path`."""
        if path in ("/robots.txt", "/library.css"):
            return self._web.answer(host, path, attempt)
        body = self._body(host, path).encode()
        return Answer(200, (("content-type", "text/html; charset=utf-8"),), body)

    def _body(self, host: str, path: str) -> str:
        match self.trap(host, path):
            case None:
                page, menu = self._real(host, path), _anchors(self._menu(host, path))
                body = page.replace("</footer>", f"{menu}</footer>")
            case "session":
                body = self._copy(host, path, "{href}?sid={token}")
            case "visit":
                body = self._copy(host, path, "/visit/{token}{href}")
            case "calendar":
                body = _calendar(path)
            case "maze":
                body = _page("A corridor", "Damp walls.", ("left/", "right/", "stairs/"))
            case "shop":
                body = self._shelf(path)
            case "lost":
                body = self._lost(path)
            case "farm":
                body = self._field(host, path)
        return body

    def _real(self, host: str, path: str) -> str:
        """A page of the real section as it would be without menu, or nothing."""
        answer = self._web.answer(host, path)
        return answer.body.decode() if answer.status == HTTPStatus.OK else ""

    def _menu(self, host: str, path: str) -> list[str]:
        """A way into each trap: another one from every page, where there are many."""
        return [
            "/calendar/2026/05/",
            f"{path}?sid={self._token('sid', path)}",
            f"/visit/{self._token('visit', path)}{path}",
            "/maze/",
            "/shop?brand=1",
            f"/lost/{self._name('lost', path)}/",
            f"http://{self._name('farm', path)}{FARM}{_port(host)}/",
        ]

    def _copy(self, host: str, path: str, spelling: str) -> str:
        """A real page, whose links all carry a new token."""
        found = _SESSION.fullmatch(path) or _VISIT.fullmatch(path)
        body = self._real(host, found[1]) if found else ""

        def respell(link: re.Match[str]) -> str:
            token = self._token(path, link[1])
            return f'<a href="{spelling.format(href=link[1], token=token)}"'

        return _HREF.sub(respell, body) or self._lost(path)

    def _shelf(self, path: str) -> str:
        """What there is in one combination of facets, and each other value of one of them."""
        chosen = dict(parse_qsl(path.partition("?")[2]))
        links = [
            f"/shop?{urlencode(sorted({**chosen, facet: str(value)}.items()))}"
            for facet, values in FACETS.items()
            for value in range(1, values + 1, 3)
        ]
        goods = (f"{self._name('goods', path, number)} lamp" for number in range(20))
        return _page("The shop of lamps", ", ".join(goods), links)

    def _lost(self, path: str) -> str:
        """What is shown instead of what is missing, with names of more that is not there."""
        links = [
            f"/lost/{self._name(path, number)}/{self._name(path, -number)}" for number in range(8)
        ]
        return _page(
            "We looked everywhere", f"But {_escape(path)} is lost. Perhaps you meant:", links
        )

    def _field(self, host: str, path: str) -> str:
        """A host of the farm: five further ones, and three further pages of its own."""
        name = _hostname(host)
        links = [f"http://{self._name(name, n)}{FARM}{_port(host)}/" for n in range(5)]
        links += [f"/{self._name(name, path, n)}" for n in range(3)]
        return _page("Welcome", "This domain may be for sale.", links)

    def _token(self, *of: object) -> str:
        return blake2b(f"{self.seed}/{of}".encode(), digest_size=16).hexdigest()

    def _name(self, *of: object) -> str:
        """A word that could be one."""
        bits = int(self._token(*of), 16)
        return "".join(_SYLLABLES[bits >> 5 * place & 31] for place in range(4))


def _calendar(path: str) -> str:
    """A month with all its days, or a day of it; nothing ever happens."""
    found = _DAY.fullmatch(path)
    months = int(found[1]) * 12 + int(found[2]) - 1 if found else _TODAY
    if not _FIRST < months < _LAST:
        months = _TODAY
    year, month = divmod(months, 12)
    links = ["/calendar/{:04}/{:02}/".format(*_date(there)) for there in (months - 1, months + 1)]
    links += [
        f"/calendar/{year:04}/{month + 1:02}/{day:02}/"
        for day in range(1, monthrange(year, month + 1)[1] + 1)
    ]
    return _page(f"{_MONTHS[month]} {year}", "Nothing is planned.", links)


def _date(months: int) -> tuple[int, int]:
    year, month = divmod(months, 12)
    return year, month + 1


def _page(title: str, text: str, links: Iterable[str]) -> str:
    head = f"<!doctype html>\n<html><head><title>{title}</title></head>\n<body>\n"
    return f"{head}<h1>{title}</h1>\n<p>{text}</p>\n{_anchors(links)}</body></html>\n"


def _anchors(links: Iterable[str]) -> str:
    return "".join(
        f'<a href="{_escape(link)}">Number {number}</a>\n' for number, link in enumerate(links)
    )


def _escape(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace('"', "&quot;")


def _hostname(authority: str) -> str:
    return authority.partition(":")[0]


def _port(authority: str) -> str:
    return authority.removeprefix(_hostname(authority))


_MONTHS: Sequence[str] = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September",
    "October", "November", "December",
)  # fmt: skip

_SYLLABLES: Sequence[str] = (
    "ba", "be", "bo", "da", "di", "du", "fa", "fe", "ga", "gi", "go", "ha", "he", "ka", "ki", "ko",
    "la", "li", "lo", "ma", "me", "mo", "na", "ne", "no", "pa", "pe", "ra", "ri", "ro", "sa", "se",
)  # fmt: skip
