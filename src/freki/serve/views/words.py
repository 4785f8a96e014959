"""How facts are told to people: numbers, sizes, times, reasons."""

import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from freki.messages import MEANINGS
from freki.url import split

NOTHING = "\u2013"  # a dash, where there is no number


def number(value: float | None) -> str:
    return NOTHING if value is None else f"{value:,.0f}"


def rate(value: float | None) -> str:
    return NOTHING if value is None else f"{value:,.1f}"


def size(value: float | None) -> str:
    """Bytes, as people read them."""
    if value is None:
        return NOTHING
    for unit in ("B", "kB", "MB"):
        if abs(value) < 1000:
            return f"{value:,.0f} {unit}" if unit == "B" else f"{value:,.1f} {unit}"
        value /= 1000
    return f"{value:,.1f} GB"


def milliseconds(seconds: float | None) -> str:
    return NOTHING if seconds is None else f"{seconds * 1000:,.0f} ms"


def span(seconds: float) -> str:
    """How long, roughly."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def ago(when: float | str | None) -> str:
    """How long ago, roughly; a date for what is older than a day."""
    if when is None:
        return NOTHING
    at = when if isinstance(when, float | int) else _seconds(when)
    passed = max(0.0, time.time() - at)
    for length, unit in ((60, "s"), (60, "min"), (24, "h")):
        if passed < length:
            return f"{passed:.0f} {unit} ago"
        passed /= length
    return f"{datetime.fromtimestamp(at, UTC):%Y-%m-%d %H:%M}"


def moment(when: float | str | None) -> str:
    if when is None:
        return NOTHING
    at = when if isinstance(when, float | int) else _seconds(when)
    return f"{datetime.fromtimestamp(at, UTC):%Y-%m-%d %H:%M:%S}"


def reason(name: str | None) -> str:
    """What a reason means, in a few words; one that jobs have, and no URL, says it itself."""
    known = MEANINGS.get(name or "")
    return known.words if known else plain(name)


def reasons() -> dict[str, str]:
    """What each reason means."""
    return {name: known.words for name, known in MEANINGS.items()}


def seconds_until(when: str | None) -> float:
    return 0.0 if when is None else _seconds(when) - time.time()


def plain(name: str | None) -> str:
    return "" if not name else name.replace("_", " ")


def path_of(url: str) -> str:
    """A URL without its host, where there is room for no more."""
    try:
        return split(url).path
    except ValueError:
        return url


def outside(url: str | None) -> str:
    """A link out of here, or nothing where it is none that a browser should follow."""
    return url if url and url.startswith(("https://", "http://")) else ""


def _seconds(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()


FILTERS: dict[str, Callable[..., Any]] = {
    each.__name__: each
    for each in (
        number, rate, size, milliseconds, span, ago, moment, reason, plain, path_of, outside,
    )
}  # fmt: skip
