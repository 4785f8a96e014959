"""Was the crawler a good guest? Judged by the server's access log alone.

Every function is pure and takes the log in any order. A host is what the request
named as one: address or name, with port. Starts and ends are readings of the
server's monotonic clock, so logs of two servers must not be mixed.
"""

import json
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

# Statuses that invite another request: no answer at all, "too many" and "not now".
_ASK_AGAIN = frozenset({0, 429, 503})


class Access(NamedTuple):
    """One request. A named tuple because the server makes one for each: a third of the cost."""

    host: str
    path: str
    method: str
    status: int  # 0 where no answer began
    agent: str
    wall: float  # seconds since the epoch when the request was complete
    start: float  # the same moment by the monotonic clock
    end: float  # when the last byte was handed to the network, or the connection ended


@dataclass(frozen=True, slots=True)
class Violation:
    """Two requests that followed each other too soon."""

    host: str
    spacing: float  # seconds between their starts
    first: Access
    second: Access


def read(path: Path) -> list[Access]:
    """The log that a server wrote as JSON lines; a last line that was cut off is left out."""
    lines = path.read_text(encoding="utf-8").split("\n")
    return [Access(**json.loads(line)) for line in lines[:-1]]


def violations(log: Iterable[Access], delay: float, tolerance: float = 0.005) -> list[Violation]:
    """Every pair of consecutive requests to a host closer than `delay`, robots.txt included.

    The tolerance is for the way: two requests that left a crawler at the right
    distance may reach the server some milliseconds closer.
    """
    return [
        Violation(host, second.start - first.start, first, second)
        for host, visits in _by_host(log).items()
        for first, second in pairwise(visits)
        if second.start - first.start < delay - tolerance
    ]


def spacings(log: Iterable[Access]) -> dict[str, float]:
    """The smallest distance between two starts, for every host with at least two requests."""
    return {
        host: min(second.start - first.start for first, second in pairwise(visits))
        for host, visits in _by_host(log).items()
        if len(visits) > 1
    }


def most_in_flight(log: Iterable[Access]) -> dict[str, int]:
    """How many requests each host had to work on at the same time, at most."""
    return {host: _peak(visits) for host, visits in _by_host(log).items()}


def duplicates(log: Iterable[Access]) -> dict[tuple[str, str], int]:
    """Host and path of whatever was fetched more than once, and how often.

    robots.txt may be asked for again, and so may what answered "later" or not at all.
    """
    fetched = Counter(
        (visit.host, visit.path)
        for visit in log
        if visit.method == "GET" and visit.path != "/robots.txt" and visit.status not in _ASK_AGAIN
    )
    return {url: times for url, times in fetched.items() if times > 1}


def _by_host(log: Iterable[Access]) -> dict[str, list[Access]]:
    hosts: defaultdict[str, list[Access]] = defaultdict(list)
    for visit in sorted(log, key=lambda visit: visit.start):
        hosts[visit.host].append(visit)
    return hosts


def _peak(visits: Iterable[Access]) -> int:
    ends: list[float] = []
    most = 0
    for visit in visits:
        while ends and ends[0] <= visit.start:
            heappop(ends)
        heappush(ends, visit.end)
        most = max(most, len(ends))
    return most
