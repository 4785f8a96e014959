"""How facts are told to people: numbers, sizes, times, reasons."""

import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from freki.messages import MEANINGS
from freki.url import split

NOTHING = "\u2013"  # a dash, where there is no number

_AGAIN = 'It may have been a moment: "What is wrong" has a button to try again.'

# What whoever misses a page can do.
ADVICE = {
    "http_error": "The site has no such page, or could not make it. Below is who links to it.",
    "out_of_scope": 'A crawl that goes further ("How far") fetches it.',
    "excluded": 'The crawl was told so: "Only URLs like", "No URLs like" or its sitemaps.',
    "depth": "A greater depth brings it; it can be changed while the crawl runs.",
    "budget": "The crawl was told how many pages of a host are enough.",
    "trap": "Addresses like it went on and on. Where that is wrong, start a crawl at this one.",
    "robots": "The site asks crawlers to stay away. Whoever owns it can allow it there.",
    "robots_unreachable": "Nothing of a site is fetched before its rules are known. " + _AGAIN,
    "nofollow": "The crawl was told to heed that.",
    "too_many_redirects": "The site sends visitors in a circle, or a long way round.",
    "host_down": _AGAIN,
    "too_large": "The crawl was told how much of a page is enough.",
    "not_wanted": "The crawl was told which kinds of pages to take.",
    "blocked_address": "Whoever runs this service decides which addresses it reaches.",
} | dict.fromkeys(
    ("dns", "connect", "tls", "timeout", "too_slow", "incomplete", "protocol", "busy", "crash"),
    _AGAIN,
)


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


def advice(name: str | None) -> str:
    """What to do about it, where anything can be done."""
    return ADVICE.get(name or "", "")


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
        number, rate, size, milliseconds, span, ago, moment, reason, advice, plain, path_of,
        outside,
    )
}  # fmt: skip
