"""What a worker believes of a store that anything may have happened to.

A byte that changes makes a number a text, and a date one in a thousand years. Rows that decide what
is done next are held against what may stand there; else the error is that of a damaged store.
"""

from typing import Annotated, Any, Final, NamedTuple

import msgspec
from msgspec import Meta

from freki.ledger.alive import surely_dead

# Beyond this a date of a session is none: ten seconds after it was set thirty ahead it is renewed.
# The clock may have been set back since, so only one that stays as it is counts as silence.
SILENCE = 60.0

_Number = Annotated[int, Meta(ge=-(2**53), le=2**53)]


class Session(NamedTuple):
    """A row of `sessions`."""

    id: int
    until: float
    machine: str
    process: str


class Host(NamedTuple):
    """A row of `hosts_due`."""

    id: int
    origin: str
    next_at: float
    delay: float | None
    failures: _Number
    pages: _Number
    robots: bytes | None
    robots_at: float | None
    robots_status: _Number | None
    robots_tries: _Number | None


class Url(NamedTuple):
    """A row of `urls_due`."""

    print: int
    id: int
    path: str
    depth: _Number
    attempts: _Number
    hops: _Number
    via: _Number
    request: bytes | None


class Known(NamedTuple):
    """A row of `url_find`."""

    id: int
    path: str
    state: int
    reason: int | None
    depth: _Number


class Standing(NamedTuple):
    """A row of `url_standing`."""

    state: int
    reason: int | None
    depth: _Number


class Date(NamedTuple):
    """A row of one date."""

    date: float | None


# Named tuples, because msgspec looks at those once; a plain one costs ten times as much.
SESSIONS: Final = list[Session]
URLS: Final = list[Url]


def believed(found: Any, kind: Any) -> Any:
    """What was found, where it is of its kind; else a `DecodeError`, which stands for damage."""
    return msgspec.convert(found, kind)


class Heard:
    """When each session of a crawl showed that it lives."""

    def __init__(self) -> None:
        self._since: dict[int, tuple[float, float]] = {}  # its date, and when we first saw that

    def is_over(self, session: Session, now: float) -> bool:
        """Whether its lease is over, its process is dead, or nobody renews a date far away."""
        id_, until, machine, process = session
        if until < now or surely_dead(machine, process):
            self._since.pop(id_, None)
            return True
        if until < now + SILENCE:
            return False
        date, since = self._since.get(id_, (until, now))
        self._since[id_] = (until, since if date == until else now)
        return date == until and now > since + SILENCE
