"""What a worker believes of a store that anything may have happened to.

A byte that changes makes a number a text, and a date one in a thousand years. Rows that decide what
is done next are held against what may stand there; else the error is that of a damaged store.
"""

from typing import Annotated, Any, Final

import msgspec
from msgspec import Meta

from freki.ledger.alive import surely_dead

# Beyond this a date of a session is none: ten seconds after it was set thirty ahead it is renewed.
# The clock may have been set back since, so only one that stays as it is counts as silence.
SILENCE = 60.0

_Number = Annotated[int, Meta(ge=-(2**53), le=2**53)]
Session = tuple[int, float, str, str]

# As the statements ask for them: `sessions`, `hosts_due`, `urls_due`, `url_find`, `url_standing`.
SESSIONS: Final = list[Session]
HOST: Final = tuple[
    int, str, float, float | None, _Number, _Number,
    bytes | None, float | None, _Number | None, _Number | None,
]  # fmt: skip
URLS: Final = list[tuple[int, int, str, _Number, _Number, _Number, _Number, bytes | None]]
KNOWN: Final = tuple[int, str, int, int | None, _Number]
STANDING: Final = tuple[int, int | None, _Number]
DATE: Final = float | None


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
