"""How facts are told to people: numbers, sizes, times, reasons."""

import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from freki.url import split

NOTHING = "\u2013"  # a dash, where there is no number

REASONS = {
    "ok": "a page",
    "redirect": "leads elsewhere",
    "http_error": "the server answered with an error",
    "sitemap": "a sitemap",
    "checked": "a link to outside, checked",
    "dns": "its name has no address",
    "connect": "no connection could be made",
    "tls": "no secure connection could be made",
    "timeout": "no answer in time",
    "too_slow": "the answer came too slowly",
    "too_large": "it is larger than is taken",
    "incomplete": "the answer broke off",
    "protocol": "the answer is no HTTP",
    "decode": "its compression is broken",
    "bad_redirect": "it leads to no place",
    "not_wanted": "its kind is not wanted",
    "blocked_address": "its address must not be reached from here",
    "out_of_scope": "outside of what the crawl is about",
    "excluded": "left out by a pattern",
    "depth": "further from the start than the crawl goes",
    "budget": "its host gave as many pages as wanted",
    "robots": "robots.txt does not allow it",
    "robots_unreachable": "robots.txt could not be read",
    "host_down": "its host could not be reached, again and again",
    "trap": "its pattern brought nothing new any more",
    "too_many_redirects": "too many redirects in a row led to it",
    "nofollow": "links to it say nofollow",
}


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
    """What a reason means, in a few words."""
    return "" if not name else REASONS.get(name, name.replace("_", " "))


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
        number, rate, size, milliseconds, ago, moment, reason, plain, path_of, outside,
    )
}  # fmt: skip
