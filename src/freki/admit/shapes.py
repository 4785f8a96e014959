"""What a URL looks like: which of its parts are names, and which only count or wander.

Pure, and linear in the length. All functions take a path with its query as `url.split` gives
it. A shape stands for everything that differs only in numbers or random letters, so that a
pattern of URLs can be told from a single page.
"""

import re
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Literal, NamedTuple

# Longer than 2,048 is nothing that sitemaps.org lets a site name. Titles in percent-encoded
# scripts reach 800.
LONG = 2048

# The deepest trees of source code on the web have some sixteen segments.
DEEP = 20

# So often does no honest path have the same name in it; twice is common in source code.
REPEATS = 3

NUMBER, TOKEN, DATE, ANY = "#", "~", "{date}", "*"
YEAR, MONTH, DAY = "{year}", "{month}", "{day}"
COMMON = frozenset((NUMBER, TOKEN, DATE, ANY, YEAR, MONTH, DAY, ""))

# A longer name is a title; there will be many. One that is longer still is not remembered.
_LONGEST_NAME = 32
_REMEMBERED = 160

_NUMBERS = re.compile(r"\d+", re.ASCII)
_YEAR = re.compile(r"(?:19|20|21)\d\d", re.ASCII)
_MONTH = re.compile(r"0?[1-9]|1[0-2]", re.ASCII)
_DAY = re.compile(r"0?[1-9]|[12]\d|3[01]", re.ASCII)
_DATE = re.compile(
    r"(?:19|20|21)\d\d(?:-\d\d?){1,2}|(?:19|20|21)\d\d(?:0[1-9]|1[0-2])(?:[0-2]\d|3[01])", re.ASCII
)
_FIRST_YEAR = re.compile(r"(?<!\d)(\d{4})(?=(?:\d\d){0,2}(?!\d))", re.ASCII)

# UUIDs; hashes in hexadecimal; runs of letters and digits that change too often to be a word.
_SHORTEST_TOKEN = 16
_TOKEN = re.compile(
    r"(?:[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}"
    r"|(?=[a-f]*\d)(?=\d*[a-f])[0-9a-f]{16,}"
    r"|(?=(?:[a-z_]*\d){3})(?=(?:[\d_]*[a-z]){3})[0-9a-z_]{16,}"
    r")(?:\.[a-z]{1,5})?",
    re.IGNORECASE | re.ASCII,
)

# Parameters that can be nothing else, and some that may hold a story or a search as well.
_SESSION = re.compile(
    r"phpsessid|jsessionid|aspsessionid\w*|session_?id|sessid|cfid|cftoken|zenid|oscsid",
    re.IGNORECASE | re.ASCII,
)
_LONGEST_ID = len("aspsessionid")
_PERHAPS_SESSION = re.compile(r"sid|s|sess|session", re.IGNORECASE)
_RANDOM = re.compile(r"(?=[a-z_-]*\d)(?=[\d_-]*[a-z])[0-9a-z_-]{8,}", re.IGNORECASE | re.ASCII)
_SESSION_IN_PATH = re.compile(r";(\w{1,32})=([^/;]*)|/\(([AFS])\((\w{8,64})\)\)", re.ASCII)

# Names of parameters that hold a date, and of those that only choose what is shown of it.
_DATES = frozenset(
    (
        *("year", "month", "day", "date", "week", "yr", "mo", "y", "m", "d"),
        *("eventdate", "startdate", "start_date", "caldate", "cal_date", "tribe-bar-date"),
        *("jahr", "monat", "tag", "datum", "annee", "mois", "jour", "ano", "mes", "dia", "fecha"),
    )
)
_INITIALS = frozenset("ymd")
_VIEWS = frozenset(
    ("view", "mode", "action", "type", "tab", "display", "format", "lang", "task", "option")
)
_CALENDARS = frozenset(("cal", "calendar", "calendario", "calendrier", "kalender"))

Oddity = Literal["too long", "too deep", "repeating segments"]


class Session(NamedTuple):
    """A URL that carries a session id."""

    name: str  # of the parameter, without what only one server adds to it
    base: str  # path and query without it


def oddity(path: str) -> Oddity | None:
    """What no honest URL looks like."""
    if len(path) > LONG:
        return "too long"
    place, _, query = path.partition("?")
    depth = place.count("/")
    if depth > DEEP:
        return "too deep"
    if depth >= REPEATS and _repeats(place[1:].split("/")):
        return "repeating segments"
    if query and _repeats(query.split("&")):
        return "repeating segments"
    return None


def session(path: str) -> Session | None:
    """The session id in a path, by the names it has in the wild."""
    if "=" not in path and "/(" not in path:
        return None
    place, _, query = path.partition("?")
    ids: list[str] = []

    def drop(found: re.Match[str]) -> str:
        if found[3] is None and not _is_session(found[1], found[2]):
            return found[0]
        ids.append(found[1] or found[3])
        return ""

    place = _SESSION_IN_PATH.sub(drop, place)
    kept = []
    for pair in query.split("&"):
        name, _, value = pair.partition("=")
        if _is_session(name, value):
            ids.append(name)
        else:
            kept.append(pair)
    if not ids:
        return None
    return Session(ids[0][:_LONGEST_ID], f"{place}?{'&'.join(kept)}".rstrip("?"))


def segments(place: str) -> list[str]:
    """The shapes of a path without its query; a year is one only where a month follows."""
    parts = place[1:].split("/")
    shapes = list(map(_shape if len(place) <= _REMEMBERED else shape, parts))
    if shapes.count(NUMBER) > 1:
        _find_date(parts, shapes)
    return shapes


def names(query: str) -> list[str]:
    """The shapes of the names of all parameters, each once."""
    return sorted({shape(pair.partition("=")[0]) for pair in query.split("&")})


def shape(name: str) -> str:
    """A segment of a path, or the name of a parameter, without what only counts or wanders."""
    return _shape(name) if len(name) <= _REMEMBERED else ANY


def dates(shapes: Sequence[str], names: Sequence[str]) -> Literal["only", "also"] | None:
    """Whether all that varies in a URL is a date, or a date and something else."""
    words = {name.lower() for name in names}
    dated = words & _DATES
    if dated and (dated - _INITIALS or len(dated) > 1):
        plain = not any(NUMBER in part or part in (TOKEN, ANY) for part in shapes)
        return "only" if plain and words <= _DATES | _VIEWS | _CALENDARS else "also"
    last = shapes[-1] or (shapes[-2] if len(shapes) > 1 else "")
    if last in (MONTH, DAY, DATE):
        return "only"
    if last == NUMBER and not _CALENDARS.isdisjoint(shapes):
        return "also"
    return None


def year(path: str) -> int | None:
    """The first number of a dated URL that can be a year."""
    found = _FIRST_YEAR.search(path)
    return int(found[1]) if found else None


@lru_cache(maxsize=8192)
def _shape(name: str) -> str:
    if name.isdigit():
        return DATE if _DATE.fullmatch(name) else NUMBER
    if _NUMBERS.search(name):
        if _DATE.fullmatch(name):
            return DATE
        if len(name) >= _SHORTEST_TOKEN and _TOKEN.fullmatch(name):
            return TOKEN
        name = _NUMBERS.sub(NUMBER, name)
    return name if len(name) <= _LONGEST_NAME else ANY


def _find_date(parts: list[str], shapes: list[str]) -> None:
    for number, (part, following) in enumerate(pairwise(parts)):
        if shapes[number] == NUMBER and _YEAR.fullmatch(part) and _MONTH.fullmatch(following):
            shapes[number : number + 2] = YEAR, MONTH
            if _DAY.fullmatch("".join(parts[number + 2 : number + 3])):
                shapes[number + 2] = DAY
            return


def _repeats(parts: list[str]) -> bool:
    if len(parts) - len(set(parts)) < REPEATS - 1:
        return False
    # Numbers may: /2011/11/11/11, and the drawers of a cache.
    return any(times >= REPEATS and not part.isdigit() for part, times in Counter(parts).items())


def _is_session(name: str, value: str) -> bool:
    if _SESSION.fullmatch(name):
        return True
    return bool(_PERHAPS_SESSION.fullmatch(name) and _RANDOM.fullmatch(value))
