"""A web of any size that is computed, never stored: a library of halls full of books.

Every answer follows from the seed and the number of a page. So a million pages
cost no memory, any process gives the same bytes, and the set of pages that a
complete crawl must find can be computed beside the crawl.

Sixteen numbers make a hall. Its first is the hall's own page, which always
answers and links to its books and to four further halls: so every number can be
reached, whatever its neighbours turn out to be: pages, redirects, errors, files.
"""

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import lru_cache
from hashlib import blake2b, shake_128
from http import HTTPStatus
from ipaddress import IPv4Address
from itertools import accumulate, chain
from typing import Literal, NamedTuple

from freki.testing import library

HALL = 16  # numbers in a hall: its own page and up to fifteen books
DOORS = 4  # from a hall to further halls: of a million pages none is more than ten links away

_FIRST = int(IPv4Address("127.0.0.1"))
_HOSTS = int(IPv4Address("127.255.255.254")) - _FIRST + 1

# Where a number may stand in a path; `Web._path` has the last word.
_HALL_PATH = re.compile(r"/hall/(\d{1,9})/", re.ASCII)
_BOOK_PATH = re.compile(r"-(\d{1,9})(?:\.[a-z]+|\?hop=(\d)|\?edition=2&part=)?$", re.ASCII)

_Kind = Literal["page", "redirect", "missing", "broken", "flaky", "duplicate", "file"]
_PAGES: tuple[_Kind, ...] = ("page", "flaky", "duplicate")
_FILES = ("txt", "json", "png", "pdf")
_IN_HEADERS = 7  # of `_spellings`


@dataclass(frozen=True, slots=True)
class Answer:
    """What a host says. Where `hostile` is set, the server misbehaves by that name instead."""

    status: int
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes = b""
    delay: float = 0.0  # seconds before the answer
    hostile: str = ""


class _Spot(NamedTuple):
    """A URL: its host, its number there, and which hop of a redirect it is."""

    host: int
    number: int
    hop: int = 0


@dataclass(frozen=True, slots=True)
class Web:
    """The knobs, and the web they make. Shares are of all books, from 0 to 1, in sum at most 1."""

    seed: int = 0
    pages: int = 1000  # numbers of each host; further hops of a redirect are not counted
    links_per_page: int = 8  # to anywhere, beside the way back and a hall's own list
    hosts: int = 1
    cross_links: float = 0.0  # share of those links that lead to another host
    redirects: float = 0.0  # 301, 302, 307 and 308; a quarter in chains, a quarter in loops
    missing: float = 0.0  # 404 and 410
    broken: float = 0.0  # 500, for ever
    flaky: float = 0.0  # 503 at first
    flaky_failures: int = 2  # so often, then the page
    duplicates: float = 0.0  # the body of their hall under another URL
    files: float = 0.0  # plain text, JSON, images, and bytes that begin like a PDF
    messy: float = 0.0  # share of links and paths that only a careful parser gets right
    largest: int = 50_000  # bytes of prose; half of all pages have less than 2,000
    delay: float = 0.0  # seconds before every answer
    robots: str = "User-agent: *\nAllow: /\n"
    hostile: tuple[str, ...] = ()  # misbehaviours that the first page links to, by name

    _limits: tuple[tuple[int, _Kind], ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.pages < 1 or not 1 <= self.hosts <= _HOSTS:
            raise ValueError(f"no web has {self.pages} pages on {self.hosts} hosts")
        shares: dict[_Kind, float] = {
            "redirect": self.redirects,
            "missing": self.missing,
            "broken": self.broken,
            "flaky": self.flaky,
            "duplicate": self.duplicates,
            "file": self.files,
        }
        limits = [round(limit * 0x10000) for limit in accumulate(shares.values())]
        if limits[-1] > 0x10000:
            raise ValueError("redirects, errors, duplicates and files are more than all books")
        # Kept because a page asks for the kind of everything it links to.
        object.__setattr__(self, "_limits", tuple(zip(limits, shares, strict=True)))

    def answer(self, host: str, path: str, attempt: int = 1) -> Answer:
        """What the authority `host` says when asked for `path` the nth time.

        A host that is no address of this web is taken for its first one, so that
        a web can be served under any name.
        """
        if path.startswith("/hostile/"):
            return Answer(200, hostile=path.removeprefix("/hostile/").partition("?")[0])
        if path == "/robots.txt":
            return self._content("text/plain; charset=utf-8", self.robots.encode())
        if path == "/library.css":
            return self._content("text/css", library.STYLE.encode())
        number = host_number(host.partition(":")[0])
        spot = self._spot(number if number and number < self.hosts else 0, path)
        return self._notice(404) if spot is None else self._answer(spot, host, attempt)

    def expected(self, start: str = "/", depth: int | None = None, host: int = 0) -> frozenset[str]:
        """The paths that a complete crawl of one host stores, answers of every status included.

        A redirect leads to its target at the same depth, a link one deeper. Flaky
        pages count as repeated until they answer, hostile ones not at all.
        """
        first = self._spot(host, start)
        if first is None:
            return frozenset({start})
        found, ring, level = {first}, [first], 0
        while ring:
            for spot in ring:  # which grows meanwhile: a target may redirect again
                ring += _fresh(self._targets(spot), host, found)
            if level == depth:
                break
            ring = _fresh(chain.from_iterable(map(self._links, ring)), host, found)
            level += 1
        return frozenset(map(self._path, found))

    # What a URL is, by 64 bits: 0-15 choose the kind, 16-23 one of that kind, 24-28 the length,
    # 32-41 the title, 44-45 the form of a messy path and 48-55 whether it has one.

    def _kind(self, spot: _Spot) -> _Kind:
        roll = _bits(self.seed, spot) & 0xFFFF
        if roll >= self._limits[-1][0] or spot.number % HALL == 0:
            return "page"
        return next(kind for limit, kind in self._limits if roll < limit)

    def _path(self, spot: _Spot) -> str:
        hall, book = divmod(spot.number, HALL)
        directory = f"/hall/{hall}/" if hall else "/"
        if not book:
            return directory
        bits = _bits(self.seed, spot)
        adjective, noun = library.words(bits)
        plain = f"{directory}{adjective}-{noun}-{spot.number}"
        kind = self._kind(spot)
        if kind == "file":
            return f"{plain}.{_FILES[bits >> 16 & 3]}"
        if kind == "redirect":
            return f"{plain}?hop={spot.hop}" if spot.hop else plain
        if (bits >> 48 & 0xFF) >= self.messy * 0x100:
            return plain
        return (
            f"{directory}{adjective}%20{noun}-{spot.number}",
            f"{directory}caf%C3%A9-{noun}-{spot.number}",
            f"{directory}{adjective.upper()}-{noun}-{spot.number}",
            f"{plain}?edition=2&part=",
        )[bits >> 44 & 3]

    def _spot(self, host: int, path: str) -> _Spot | None:
        """The inverse of `_path`."""
        if path == "/":
            return _Spot(host, 0)
        if hall := _HALL_PATH.fullmatch(path):
            spot = _Spot(host, int(hall[1]) * HALL)
        elif book := _BOOK_PATH.search(path):
            spot = _Spot(host, int(book[1]), int(book[2] or 0))
        else:
            return None
        known = spot.number < self.pages and spot.hop <= self._hops(spot)[0]
        return spot if known and self._path(spot) == path else None

    # Where a URL leads.

    def _links(self, spot: _Spot) -> list[_Spot]:
        """The first page, the hall and the page itself, what is in the hall, and anything."""
        if self._kind(spot) not in _PAGES:
            return []
        hall = _Spot(spot.host, spot.number - spot.number % HALL)
        if self._kind(spot) == "duplicate":
            spot = hall
        way_back = (_Spot(spot.host, 0), hall, spot)
        return [*way_back, *self._inside(spot), *self._drawn(spot, self.links_per_page)]

    def _inside(self, spot: _Spot) -> list[_Spot]:
        """The books of a hall, then the halls behind its doors; a book holds neither."""
        hall, book = divmod(spot.number, HALL)
        if book:
            return []
        books = range(spot.number + 1, spot.number + HALL)
        doors = range((hall * DOORS + 1) * HALL, (hall * DOORS + DOORS + 1) * HALL, HALL)
        return [_Spot(spot.host, number) for number in (*books, *doors) if number < self.pages]

    def _drawn(self, spot: _Spot, count: int) -> list[_Spot]:
        """URLs anywhere in the web, the same ones for every call."""
        words = library.stream(f"links/{self.seed}/{spot.host}/{spot.number}", count * 2)
        drawn = []
        for number, dice in zip(words[::2], words[1::2], strict=True):
            host = spot.host
            if self.hosts > 1 and (dice & 0xFFFF) < self.cross_links * 0x10000:
                host = (host + 1 + (dice >> 16) % (self.hosts - 1)) % self.hosts
            drawn.append(_Spot(host, number % self.pages))
        return drawn

    def _targets(self, spot: _Spot) -> list[_Spot]:
        """Where a redirect leads; nothing for what is none."""
        if self._kind(spot) != "redirect":
            return []
        hops, loop = self._hops(spot)
        if spot.hop < hops:
            return [spot._replace(hop=spot.hop + 1)]
        return [spot._replace(hop=0)] if loop else self._drawn(spot, 1)

    def _hops(self, spot: _Spot) -> tuple[int, bool]:
        """How many hops follow the first, and whether the last one leads back to it."""
        if self._kind(spot) != "redirect":
            return 0, False
        choice = _bits(self.seed, spot) >> 18
        some = ((0, True), (2, True), (1, False), (2 + (choice >> 3 & 3), False))
        return some[choice & 7] if choice & 7 < len(some) else (0, False)

    # What a URL says.

    def _answer(self, spot: _Spot, authority: str, attempt: int) -> Answer:
        kind, choice = self._kind(spot), _bits(self.seed, spot) >> 16
        match kind:
            case "redirect":
                return self._redirect(spot, authority, (301, 302, 307, 308)[choice & 3])
            case "missing":
                return self._notice((404, 410)[choice & 1])
            case "broken":
                return self._notice(500)
            case "flaky" if attempt <= self.flaky_failures:
                return self._notice(503)
            case "duplicate":
                spot = _Spot(spot.host, spot.number - spot.number % HALL)
            case "file":
                return self._file(spot, _FILES[choice & 3])
        return self._content("text/html; charset=utf-8", self._page(spot, authority).encode())

    def _content(self, content_type: str, body: bytes, status: int = 200) -> Answer:
        return Answer(status, (("content-type", content_type),), body, self.delay)

    def _notice(self, status: int) -> Answer:
        body = library.NOTICE.format(status=status, reason=HTTPStatus(status).phrase)
        return self._content("text/html; charset=utf-8", body.encode(), status)

    def _redirect(self, spot: _Spot, authority: str, status: int) -> Answer:
        (target,) = self._targets(spot)
        spelling = (_bits(self.seed, spot) >> 40) % _IN_HEADERS if self.messy else 1
        location = self._reference(spot, target, authority, spelling)
        notice = self._notice(status)
        return replace(notice, headers=(*notice.headers, ("location", location)))

    def _file(self, spot: _Spot, kind: str) -> Answer:
        sentences = self._prose(spot)
        if kind == "json":
            book = {"title": self._title(spot), "number": spot.number, "text": sentences}
            return self._content("application/json", json.dumps(book).encode())
        if kind == "png":
            return self._content("image/png", library.image(_bits(self.seed, spot)))
        if kind == "pdf":
            noise = shake_128(str(spot).encode()).digest(len(sentences) * library.SENTENCE)
            return self._content("application/pdf", b"%PDF-1.7\n" + noise + b"\n%%EOF\n")
        return self._content("text/plain; charset=utf-8", "\n".join(sentences).encode())

    def _page(self, spot: _Spot, authority: str) -> str:
        anchors = self._anchors(spot, authority)
        inside = 3 + len(self._inside(spot))
        sentences, title = self._prose(spot), self._title(spot)
        hostile = self.hostile if spot.number == 0 else ()
        return library.PAGE.format(
            language=("en", "en-GB")[_bits(self.seed, spot) >> 16 & 1],
            title=title,
            description=sentences[0],
            canonical=f"http://{authority}{library.escape(self._path(spot))}",
            way_back=" / ".join(anchors[: 2 if spot.number >= HALL else 1]),
            prose=library.paragraphs(sentences),
            lists=library.bullets("In this hall", anchors[3:inside])
            + library.bullets("See also", anchors[inside:])
            + library.bullets(
                "Beware", [f'<a href="/hostile/{name}">{name}</a>' for name in hostile]
            ),
            loans=library.loans(_bits(self.seed, spot)),
            permanent=anchors[2],
        )

    def _anchors(self, spot: _Spot, authority: str) -> list[str]:
        links = self._links(spot)
        if not self.messy:
            return [self._anchor(spot, link, authority) for link in links]
        dice = library.stream(f"ink/{self.seed}/{spot.host}/{spot.number}", len(links))
        return [
            self._messy_anchor(spot, link, authority, die)
            if (die & 0xFF) < self.messy * 0x100
            else self._anchor(spot, link, authority)
            for link, die in zip(links, dice, strict=True)
        ]

    def _anchor(self, page: _Spot, link: _Spot, authority: str) -> str:
        href = library.escape(self._reference(page, link, authority, 0))
        return f'<a href="{href}">{self._title(link)}</a>'

    def _messy_anchor(self, page: _Spot, link: _Spot, authority: str, die: int) -> str:
        href = self._reference(page, link, authority, die >> 8)
        href = href.replace("&", ("&amp;", "&#38;", "&")[(die >> 16) % 3])
        if die >> 24 & 1:
            return f"<A class=book HREF = '{href}'>{self._title(link)}</A>"
        return f'<a href="{href}">{self._title(link)}</a>'

    def _reference(self, page: _Spot, link: _Spot, authority: str, spelling: int) -> str:
        """How `page` writes a link; the spelling 0 is the plain one."""
        path = self._path(link)
        if link.host != page.host:
            scheme = "" if spelling & 1 else "http:"
            return f"{scheme}//{address(link.host)}{_port(authority)}{path}"
        if spelling == 0:
            return path
        spellings = _spellings(authority, self._path(page), path)
        return spellings[spelling % len(spellings)]

    def _title(self, spot: _Spot) -> str:
        if spot.number == 0:
            return "The Library of Halls"
        adjective, noun = library.words(_bits(self.seed, spot))
        if spot.number % HALL == 0:
            return f"Hall {spot.number // HALL}, of the {adjective} {noun}"
        return f"The {adjective} {noun}, volume {spot.number}"

    def _prose(self, spot: _Spot) -> list[str]:
        bits = _bits(self.seed, spot) >> 24
        scale = bits & -bits & 31 or 32  # 1 for half of all pages, 2 for a quarter, and so on
        size = min(self.largest, 1000 * scale + (bits >> 8 & 0x3FF) * scale)
        key = f"prose/{self.seed}/{spot.host}/{spot.number}".encode()
        choice = shake_128(key).digest(max(4, size // library.SENTENCE))
        return list(map(library.sentences(self.seed).__getitem__, choice))


def address(host: int) -> str:
    """The loopback address of a host: 127.0.0.1 is number 0, and so on through 127.0.0.0/8."""
    return str(IPv4Address(_FIRST + host))


def host_number(address: str) -> int | None:
    """The inverse of `address`; None for what is no IPv4 loopback address."""
    try:
        number = int(IPv4Address(address)) - _FIRST
    except ValueError:
        return None
    return number if 0 <= number < _HOSTS else None


def _fresh(spots: Iterable[_Spot], host: int, found: set[_Spot]) -> list[_Spot]:
    fresh = []
    for spot in spots:
        if spot.host == host and spot not in found:
            found.add(spot)
            fresh.append(spot)
    return fresh


@lru_cache(maxsize=4096)  # a page asks three times for each of its links
def _bits(seed: int, spot: _Spot) -> int:
    key = f"{seed}/{spot.host}/{spot.number}".encode()
    return int.from_bytes(blake2b(key, digest_size=8).digest(), "little")


def _port(authority: str) -> str:
    port = authority.rpartition(":")[2]
    return f":{port}" if port.isdigit() and port != authority else ""


def _spellings(authority: str, base: str, path: str) -> tuple[str, ...]:
    """Ways to write `path` on the page `base`, all of which normalise to the same URL."""
    up = "../" * (base.partition("?")[0].count("/") - 1)
    port = _port(authority)
    bare = authority.removesuffix(port)
    return (
        path,
        f"http://{authority}{path}",
        f"//{authority}{path}",
        f"HTTP://{authority.upper()}{path}",
        f"http://{bare}:0{port[1:] or 80}{path}",  # the default port, or a zero before another
        f"./{up}{path[1:]}",
        f"/./desk/..{path}",
        # A Location header knows no fragments worth keeping, no blanks and no accents.
        f"{path}#part-2",
        f"/%2E/desk/%2e%2e{path}",
        f"  {path.replace('%20', ' ')}\n",
        path.replace("%C3%A9", "é"),
        f"{up}{path[1:]}" or "./",
    )
