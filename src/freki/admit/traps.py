"""Which URLs are a trap: budgets for patterns of URLs, which shrink where they bring nothing new.

Pure and deterministic, with bounded memory. No pattern is banned. One that looks like a calendar
may show a few hundred pages, and goes on for as long as these say something new. One that looks
like any section of a site is never held back, until its pages only repeat what is known.

A refusal is for now: the same URL found again later may find that its pattern has earned it.
It names its trap before a colon and says the same for all URLs of a pattern, so that refusals can
be counted by either.
"""

from array import array
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple
from zlib import crc32

from msgspec import Struct

from freki.admit import shapes
from freki.admit.facets import Facets
from freki.admit.lately import Lately, Seen
from freki.admit.likeness import Novelty, phrases, said
from freki.url import hostname, registrable_domain, split

# Names in a folder that are kept apart. A folder with more is a catalogue, and its names are
# titles: the others become `*`.
FAN_OUT = 32

# URLs of a pattern after which its pages are looked at; most patterns of most sites stay below.
UNSUSPICIOUS = 30

# Hosts of a domain that are looked at one by one. All others share their patterns, so that a
# farm is not given every budget once per host.
NEIGHBOURS = 64

# Years around the first date seen. An archive that goes back further first proves itself.
YEARS = 25

# URLs of a folder that are welcome even on a site that only repeats itself.
TRIAL = 100

# Phrases in which the page for what is missing may differ from itself: a date, an apology.
ECHO = 2

# Bounds of memory, each held twice: patterns take some 20 MB, each other kind at most 10.
MAX_PATTERNS = 50_000
MAX_HOSTS = 20_000
MAX_NOVELTIES = 1000
MAX_MISSING = 1000
MAX_PATHS = 2000
MAX_COUNTED = 300_000
_MAX_KEY = 200


class _Trap(NamedTuple):
    """What the patterns of a kind may cost."""

    name: str
    floor: int  # URLs that are always allowed
    budget: int | None  # URLs allowed while nothing is known of its pages; None is any number
    earns: float = 1  # URLs that a new page pays for
    tolerance: int = 2  # phrases that a page may add without being new


# Without a budget, looks alone decide: listings name thousands of pages before the first of them
# is fetched. The floor is what remains of a section whose pages are all alike.
_SECTION = _Trap("nothing new", 1000, None, tolerance=0)
_TOKENS = _Trap("session id", 200, 1000, earns=2)
_DATED = _Trap("calendar", 100, None)

_CALENDAR = _Trap("calendar", 100, 400, earns=4)
_DATES = {None: _SECTION, "also": _DATED, "only": _CALENDAR}
_SESSION = _Trap("session id", 50, 200, earns=0.25)
_SUBDOMAINS = _Trap("subdomains", 50, 500, earns=10)
_ODD: dict[str, _Trap] = {
    "too long": _Trap("too long", 25, 50),
    "too deep": _Trap("too deep", 50, 200, earns=2),
    "repeating segments": _Trap("repeating segments", 25, 50),
}


class Statistics(Struct, frozen=True):
    """What was found so far."""

    patterns: int
    looked_at: int  # patterns whose pages are looked at
    cuts: dict[str, int]  # refusals by the name of the trap


class Traps:
    """The budgets of all patterns, as one worker knows them."""

    def __init__(self) -> None:
        self._patterns = Lately[_Pattern](MAX_PATTERNS)
        self._hosts = Lately[_Host](MAX_HOSTS)
        self._novelties = Lately[Novelty](MAX_NOVELTIES)
        self._missing = Lately["array[int]"](MAX_MISSING)
        self._facets = Lately[Facets](MAX_PATHS)
        self._counted = Seen(MAX_COUNTED)  # URLs and hosts that drew on a budget
        self._texts = Seen(MAX_COUNTED)
        self._cuts: Counter[str] = Counter()

    def __repr__(self) -> str:
        return f"<Traps {self.statistics()}>"

    def statistics(self) -> Statistics:
        return Statistics(self._patterns.held(), self._novelties.held(), dict(self._cuts))

    def judge(self, url: str) -> str | None:
        """None, which counts, or the trap that this URL is part of. 4 microseconds."""
        trap = self._judge(url)
        if trap is not None:
            self._cuts[trap.partition(":")[0]] += 1
        return trap

    def wants(self, url: str) -> bool:
        """Shall the content of this page be given to `learn`? 4 microseconds."""
        watching = self._watching(url)
        name = _name(url) if watching else 0
        # All of them are asked, because each counts the pages that go by.
        wanted = [novelty.wants(name) for novelty, _ in watching]
        return True in wanted

    def learn(self, url: str, text: str, body: bytes) -> None:
        """Take in what a page says; its body only matters where it has no text."""
        origin, path = split(url)
        page = said(text, path) if text.strip() else frozenset((crc32(body),))
        content = f"{_domain(origin)} {text}".encode("utf-8", "replace") + (b"" if text else body)
        repeats = content in self._texts
        self._texts.add(content)
        misses = self._misses(origin, page)
        for novelty, trap in self._watching(url):
            # What only others wanted to see would be no fair sample.
            if not novelty.is_due:
                continue
            if misses:
                novelty.miss()
            elif repeats:
                novelty.repeat()
            else:
                novelty.learn(page, trap.tolerance)

    def learn_missing(self, url: str, text: str) -> None:
        """Take in what a host shows, as if it were there, for a URL that nobody ever linked.

        Its origin will do, but then the page should not quote the rest of it.
        """
        slash = url.find("/", len("https://"))
        origin, path = (url[:slash], url[slash:]) if slash > 0 else (url, "")
        self._missing[origin] = array("I", said(text, path))

    def is_soft_missing(self, origin: str, text: str) -> bool:
        """Whether a page is what its host shows for URLs that do not exist."""
        return self._misses(origin, phrases(text))

    def _judge(self, url: str) -> str | None:
        origin, path = split(url)
        host = self._hosts[origin] or self._new_host(origin)
        if not host.scope:
            return self._spent(host.farm, self._pattern(host.farm, _SUBDOMAINS))
        session = shapes.session(path)
        base = session.base if session else path
        copied = f"{host.scope} {base}" if session else ""
        if session and copied in self._counted:
            place = self._copies(host.scope, session)
        else:
            place = self._place(host.scope, base)
        draws = place.pattern.trap.budget is not None or "&" in base
        if draws and url in self._counted:
            return None  # found again, long after it was admitted
        cut = (
            self._spent(place.key, place.pattern)
            or self._strays(place, base)
            or self._has_ended(host, place)
            or self._multiplies(place.key, base)
        )
        if cut is not None:
            return cut
        place.pattern.admitted += 1
        for above in (place.folder, host.scope):
            if above != place.key:
                self._pattern(above, _SECTION).admitted += 1
        if copied:
            self._counted.add(copied)
        if draws:
            self._counted.add(url)
        return None

    # Which patterns a URL belongs to.

    def _new_host(self, origin: str) -> "_Host":
        """Where its patterns are kept: of the first hosts of a domain, each host has its own."""
        farm = f"all hosts of {_domain(origin)}"
        hosts = self._pattern(farm, _SUBDOMAINS)
        if origin not in self._counted:
            if self._spent(farm, hosts):
                return _Host("", farm)
            hosts.admitted += 1
            self._counted.add(origin)
        scope = origin if hosts.admitted <= NEIGHBOURS else f"*.{_domain(origin)}"
        host = self._hosts[origin] = _Host(scope, farm)
        return host

    def _copies(self, scope: str, session: shapes.Session) -> "_Place":
        key = f"{session.name} of {scope}"
        return _Place(key, self._pattern(key, _SESSION), scope)

    def _place(self, scope: str, path: str) -> "_Place":
        """The pattern of all that looks like this path."""
        if (odd := shapes.oddity(path)) is not None:
            key = f"{odd} of {scope}"
            return _Place(key, self._pattern(key, _ODD[odd]), scope)
        address, _, query = path.partition("?")
        parts = shapes.segments(address)
        key, pattern = scope, self._pattern(scope, _SECTION)
        folder = ""
        for number, part in enumerate(parts, 1):
            if part == shapes.TOKEN and any(parts[number:]):
                # Below a token may be a copy of all there is: nothing is kept apart there.
                key = f"{key}/{part}/..."
                return _Place(key, self._pattern(key, _TOKENS), folder or key)
            found = self._patterns[f"{key}/{part}"]
            if found is None:
                key, pattern = self._grow(key, pattern, f"/{part}", parts[:number])
            else:
                key, pattern = f"{key}/{part}", found
            folder = folder or key
        if query:
            names = shapes.names(query)
            name = f"?{'&'.join(names)}"
            key, pattern = self._grow(key, pattern, name, parts, names)
        return _Place(key, pattern, folder)

    def _grow(
        self,
        key: str,
        folder: "_Pattern",
        name: str,
        parts: Sequence[str],
        names: Sequence[str] = (),
    ) -> "tuple[str, _Pattern]":
        """The pattern of a name in a folder, or the one for all names beyond the first."""
        pattern = self._patterns[key + name]
        if pattern is not None:
            return key + name, pattern
        if name[1:] not in shapes.COMMON:
            if folder.children >= FAN_OUT or len(key) + len(name) > _MAX_KEY:
                name = name[0] + shapes.ANY
            else:
                folder.children += 1
        pattern = self._patterns[key + name]
        if pattern is None:
            pattern = self._patterns[key + name] = _Pattern(_DATES[shapes.dates(parts, names)])
        return key + name, pattern

    def _pattern(self, key: str, trap: _Trap) -> "_Pattern":
        pattern = self._patterns[key]
        if pattern is None:
            pattern = self._patterns[key] = _Pattern(trap)
        return pattern

    def _watching(self, url: str) -> list[tuple[Novelty, _Trap]]:
        """What a page of this URL is evidence for, where there are enough others like it."""
        origin, path = split(url)
        host = self._hosts[origin] or self._new_host(origin)
        scope = host.scope or origin
        session = shapes.session(path)
        place = self._place(scope, session.base if session else path)
        keys = {place.key, place.folder, scope, host.farm}
        if session:
            keys.add(self._copies(scope, session).key)
        found = []
        for key in sorted(keys):
            pattern = self._patterns[key]
            if pattern is not None and pattern.admitted >= UNSUSPICIOUS:
                novelty = self._novelties[key]
                if novelty is None:
                    novelty = self._novelties[key] = Novelty()
                found.append((novelty, pattern.trap))
        return found

    # Why a URL is refused: each gives the trap, or None.

    def _spent(self, key: str, pattern: "_Pattern") -> str | None:
        trap = pattern.trap
        if pattern.admitted < trap.floor:
            return None
        novelty = self._novelties[key]
        if novelty is not None and novelty.is_dull:
            return _dull(novelty, trap.name, key)
        if trap.budget is None:
            return None
        earned = int(trap.earns * novelty.earned) if novelty is not None else 0
        if pattern.admitted < trap.budget + earned:
            return None
        return f"{trap.name}: {key} has used its budget of {trap.budget}"

    def _strays(self, place: "_Place", path: str) -> str | None:
        pattern = place.pattern
        if pattern.trap.name != _CALENDAR.name or (year := shapes.year(path)) is None:
            return None
        pattern.year = pattern.year or year
        if abs(year - pattern.year) <= YEARS or self._is_proven(place.key):
            return None
        return f"calendar: {place.key} goes further than {YEARS} years from {pattern.year}"

    def _has_ended(self, host: "_Host", place: "_Place") -> str | None:
        """A trap of many small patterns shows only in what they are part of."""
        folder = self._pattern(place.folder, _SECTION)
        for key in (host.farm, place.folder, host.scope):
            pattern = self._patterns[key]
            if pattern is None or pattern.admitted < pattern.trap.floor:
                continue
            if key == host.scope and folder.admitted < TRIAL:
                continue
            novelty = self._novelties[key]
            if novelty is not None and novelty.is_dull and not self._is_proven(place.key):
                return _dull(novelty, pattern.trap.name, key)
        return None

    def _is_proven(self, key: str) -> bool:
        novelty = self._novelties[key]
        return novelty is not None and novelty.is_proven

    def _multiplies(self, key: str, path: str) -> str | None:
        if "&" not in path:
            return None
        key = key.partition("?")[0]
        address, _, query = path.partition("?")
        facets = self._facets[key]
        if facets is None:
            facets = self._facets[key] = Facets()
        asked = f"{key} {address}"
        if asked not in self._counted:
            self._counted.add(asked)
            facets.paths += 1
        if facets.combine(query):
            return None
        return f"facets: {key} has shown enough combinations of its parameters"

    def _misses(self, origin: str, page: frozenset[int]) -> bool:
        known = self._missing[origin]
        if known is None:
            return False
        missing = frozenset(known)
        return len(page - missing) <= ECHO and len(missing - page) <= ECHO


class _Pattern:
    """URLs that look the same, and the folder of their names. 72 bytes, and its key."""

    __slots__ = ("admitted", "children", "trap", "year")

    def __init__(self, trap: _Trap) -> None:
        self.trap = trap
        self.admitted = 0
        self.children = 0  # names in this folder that are kept apart
        self.year = 0  # the first one seen of a calendar


class _Place(NamedTuple):
    """The pattern of a URL."""

    key: str
    pattern: _Pattern
    folder: str  # key of the first folder of its path


class _Host(NamedTuple):
    """A host as part of the keys of patterns."""

    scope: str  # nothing, where the domain has too many hosts
    farm: str  # key of all hosts of its domain


def _dull(novelty: Novelty, name: str, key: str) -> str:
    if novelty.is_missing:
        return f"soft 404: {key} shows its page for what is missing"
    return f"{name}: {key} only repeats what is known"


def _domain(origin: str) -> str:
    return registrable_domain(hostname(f"{origin}/"))


def _name(url: str) -> int:
    """The number that `Novelty.wants` asks for: that of the last segment and the parameters."""
    return crc32(url[url.rindex("/") :].encode())
