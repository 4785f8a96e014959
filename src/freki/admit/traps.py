"""Which URLs are a trap: budgets for patterns of URLs, which shrink where they bring nothing new.

Pure and deterministic; memory is bounded. No pattern is banned. One that looks like a calendar
may show a few hundred pages, and goes on for as long as these say something new. One that looks
like any section of a site is never held back, until its pages only repeat what is known.

A refusal is for now: the same URL found again later may find that its pattern has earned it.
Every refusal names its trap before a colon, so that they can be counted by it.
"""

from array import array
from collections import Counter
from collections.abc import Iterator
from hashlib import blake2b
from typing import Generic, NamedTuple, TypeVar
from zlib import crc32

from msgspec import Struct
from rbloom import Bloom

from freki.admit import shapes
from freki.admit.likeness import Novelty, phrases
from freki.url import hostname, registrable_domain, split

# Names of a folder that are kept apart. A folder with more is a catalogue, and its names are
# titles: they all become `*`.
FAN_OUT = 32

# URLs of a pattern after which its pages are looked at; most patterns of most sites stay below.
UNSUSPICIOUS = 30

# Hosts of a domain that are looked at one by one; all further ones share their patterns, so
# that a farm of hosts is not given every budget once per host.
NEIGHBOURS = 64

# Years around the first date seen. Archives of newspapers that go back further prove themselves.
YEARS = 25

# Combinations of parameters a path may have, and how many more for each different value of its
# richest parameter: topics and products are many, but colours and sizes only multiply.
COMBINATIONS = 1000
COMBINATIONS_PER_VALUE = 20
_MANY_VALUES = 240  # of the 256 that are told apart: an identifier, and no end to it
_MAX_PARAMETERS = 16

# Phrases in which the page for what is missing may differ from itself: it names what is missing.
ECHO = 2

# Bounds of memory, each held twice: 20 MB of patterns, and at most 10 MB of each other kind.
MAX_PATTERNS = 50_000
MAX_HOSTS = 20_000
MAX_LOOKED_AT = 1000
MAX_MISSING = 1000
MAX_PATHS = 2000
MAX_SEEN = 300_000
_LONGEST_KEY = 200

# A Bloom filter that errs lets a URL of a trap pass uncounted; one page of a trap has some
# hundred links, so that it must stay a rare event that breeds no further one.
_ERROR = 1e-4

_Value = TypeVar("_Value")


class _Trap(NamedTuple):
    """What a pattern of a kind may cost."""

    name: str
    floor: int  # URLs that are always allowed
    budget: int | None  # URLs allowed until its pages are known; None is any number
    earns: float = 1  # URLs that a new page pays for
    tolerance: int = 2  # phrases that a page may add without being new


# Where looks alone decide, the floor is what a real section of near duplicates is left with.
_SECTION = _Trap("nothing new", 1000, None, tolerance=0)
_TOKENS = _Trap("session id", 200, None)
_DATED = _Trap("calendar", 100, None)
_SITE = _Trap("nothing new", 1000, None, tolerance=0)

_CALENDAR = _Trap("calendar", 100, 400, earns=4)
_SESSION = _Trap("session id", 50, 200, earns=0.25)
_SUBDOMAINS = _Trap("subdomains", 50, 500, earns=10)
_ODD = {
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
    """Budgets of all patterns, as one worker knows them."""

    def __init__(self) -> None:
        self._patterns = _Recent[_Pattern](MAX_PATTERNS)
        self._hosts = _Recent[str](MAX_HOSTS)
        self._novelties = _Recent[Novelty](MAX_LOOKED_AT)
        self._missing = _Recent["array[int]"](MAX_MISSING)
        self._paths = _Recent[_Combinations](MAX_PATHS)
        self._counted = _Seen(MAX_SEEN)  # URLs that drew on a budget, and hosts
        self._texts = _Seen(MAX_SEEN)
        self._cuts: Counter[str] = Counter()

    def __repr__(self) -> str:
        return f"<Traps {self.statistics()}>"

    def statistics(self) -> Statistics:
        return Statistics(len(self._patterns), len(self._novelties), dict(self._cuts))

    def judge(self, url: str) -> str | None:
        """None, or the name of the trap that this URL is part of, and why. 3 microseconds."""
        trap = self._judge(url)
        if trap is not None:
            self._cuts[trap.partition(":")[0]] += 1
        return trap
