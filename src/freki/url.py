"""URLs, by the parser that browsers use.

Every URL in Freki went through `parse` or `join` once and is from then on the
serialised form of the WHATWG URL standard, without fragment and credentials.
A second parser anywhere would be a hole: two parsers that disagree about the
host of one text are how address checks are fooled.
"""

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

from ada_url import URL, URLSearchParams
from ada_url import join_url as _ada_join
from publicsuffixlist import PublicSuffixList

from freki.errors import BadUrl

# Browsers accept 2 MiB, servers commonly 8 KiB; sitemaps.org allows 2,048. A
# longer one is nearly always a trap, and parsing time grows with the length.
MAX_LENGTH = 8192

# A longer URL is seldom linked twice, and many of them would make a `Joiner` large.
_REMEMBERED = 512

_PORTS = {"http": 80, "https": 443}

_ORIGIN_STARTS = 8  # the first slash after "https://" or "http://h" ends the origin

# A relative path that no parser changes: names of letters, digits, "-", "_", "~" and inner dots,
# after any number of "../". It has no scheme, host, query or escape that could be read two ways.
_PLAIN_NAME = r"[A-Za-z0-9_~-][A-Za-z0-9_.~-]*+"
_PLAIN_PATH = re.compile(rf"((?:\.\./)*+)(?=.)(?:{_PLAIN_NAME}/)*(?:{_PLAIN_NAME})?").fullmatch


# A host name with a dot, or `localhost`, as people write it where they forget the scheme.
_AUTHORITY = re.compile(r"(?:localhost|[^\s/?#:@]+\.[^\s/?#:@.]+)(?::(?P<port>\d+))?(?![^/?#])")


class Parts(NamedTuple):
    """A URL as the ledger keeps it: hosts are stored once, paths per URL."""

    origin: str  # scheme://host[:port], the unit of politeness
    path: str  # path and query, byte for byte as they go into the request


def parse(text: str, limit: int = MAX_LENGTH) -> str:
    """The normal form of an absolute http(s) URL that a person typed; raises `BadUrl`."""
    text = text.strip()
    if len(text) > limit:
        raise BadUrl(f"this URL has {len(text)} characters; the limit is {limit}")
    try:
        parsed = URL(text)
    except (ValueError, UnicodeError):
        raise BadUrl(f"not a valid URL: {text!r}{_hint(text)}") from None
    if parsed.protocol not in ("http:", "https:"):
        scheme = f"has the scheme {parsed.protocol.rstrip(':')!r}"
        raise BadUrl(f"{text!r} {scheme}; Freki crawls http and https{_hint(text)}")
    if parsed.username or parsed.password:
        raise BadUrl("a URL with a user name or password in it would end up in logs and stores")
    url = parsed.href.partition("#")[0]
    if len(url) > limit:
        raise BadUrl(f"encoded, this URL has {len(url)} characters; the limit is {limit}")
    return url


def _hint(text: str) -> str:
    """What was meant, where only the scheme is missing."""
    rest = text.removeprefix("//")
    authority = _AUTHORITY.match(rest)
    if authority is None:
        return ""
    # Sites on one's own machine, and on ports of their own, are seldom encrypted.
    plain = authority["port"] not in (None, "443") or rest.startswith("localhost")
    return f" (did you mean http{'' if plain else 's'}://{rest}?)"


def join(base: str, href: str) -> str | None:
    """The URL that `href` on page `base` leads to, or None where that is no http(s) page."""
    if _least_length(href) > MAX_LENGTH:
        return None
    try:
        url = _ada_join(base, href)
    except (ValueError, UnicodeError):
        return None
    if not url.startswith(("https://", "http://")):
        return None
    cut = url.find("#")
    if cut >= 0:
        url = url[:cut]
    if "@" in url and "@" in split(url).origin:
        url = _without_credentials(url)
    return url if len(url) <= MAX_LENGTH else None


def _least_length(href: str) -> int:
    """No URL made of this can be shorter, unless what is long in it is the fragment.

    A character beyond ASCII takes six at least. To look first is worth it: a
    host name of 8,000 combining marks takes the parser 14 ms, and a page holds
    a thousand of them.
    """
    if href.isascii():
        return len(href)
    plain = len(href.encode("ascii", "ignore"))
    return plain + 6 * (len(href) - plain)


def _without_credentials(url: str) -> str:
    parsed = URL(url)
    parsed.username = parsed.password = ""
    return parsed.href


class Joiner(dict[str, str | None]):
    """Remembers `join` for one directory: `joiner[href]`.

    Pages of a directory repeat the same relative links hundreds of times; a
    dictionary hit costs 40 ns where a join costs 1,600. `clear` it when it is
    larger than you like; it holds nothing that cannot be computed again.

    The empty string says that the directory is not enough: "?page=2" is meant
    from the page itself, and the caller must `join` it with that.
    """

    def __init__(self, base: str) -> None:
        super().__init__()
        self._base = base
        self._root = len(split(base).origin) + 1

    def __missing__(self, href: str) -> str | None:
        cut = href.find("#")
        # Blanks at the end of an href are dropped, but not those before a fragment.
        url = self[href[:cut]] if cut > 0 and href[cut - 1] > " " else self._join(href)
        if len(href) <= _REMEMBERED and len(url or "") <= _REMEMBERED:
            self[href] = url
        return url

    def _join(self, href: str) -> str | None:
        if (plain := _PLAIN_PATH(href)) is not None:
            return self._below(plain.end(1), href)
        url = join(self._base, href)
        # Only such a URL can have kept the page's own name, so most are joined only once.
        if url and url.partition("?")[0] == self._base and join(f"{self._base}-", href) != url:
            return ""
        return url

    def _below(self, climb: int, href: str) -> str | None:
        """What is left of `href` after its first `climb` characters, which are "../../"."""
        folder = len(self._base)
        for _ in range(climb // len("../")):
            if folder == self._root:
                break
            folder = self._base.rindex("/", 0, folder - 1) + 1
        url = self._base[:folder] + href[climb:]
        return url if len(url) <= MAX_LENGTH else None


def directory(url: str) -> str:
    """The part of a URL that relative links of a page are resolved against."""
    query = url.find("?")
    return url[: url.rindex("/", 0, query if query >= 0 else len(url)) + 1]


def split(url: str) -> Parts:
    """Origin and path of a URL that `parse` or `join` made."""
    slash = url.index("/", _ORIGIN_STARTS)
    return Parts(url[:slash], url[slash:])


def hostname(url: str) -> str:
    """The host of a URL without its port; brackets of IPv6 kept."""
    netloc = split(url).origin.partition("://")[2]
    if netloc.endswith("]") or ":" not in netloc:
        return netloc
    return netloc.rpartition(":")[0]


def port_of(url: str) -> int:
    """The port that a URL names, or that of its scheme."""
    scheme, _, authority = split(url).origin.partition("://")
    port = authority.rpartition("]")[2].partition(":")[2]
    return int(port) if port else _PORTS[scheme]


def is_address(host: str) -> bool:
    """Whether a host, as `hostname` gives it, is an IP address."""
    # WHATWG URL 3.5: a host that ends in a number is an IPv4 address or no host.
    return host.endswith("]") or host.rpartition(".")[2].isdigit()


def key(url: str, dropped: frozenset[str] = frozenset()) -> str:
    """What two URLs must share to count as the same page.

    `parse` already lower-cased scheme and host, and dropped default port and
    fragment. Case of path and query, blank values and percent-encoding stay:
    servers do tell them apart, and merging what a server tells apart loses
    pages silently. Only parameters named in `dropped` are left out.
    """
    if not dropped or "?" not in url:
        return url
    path, _, query = url.partition("?")
    kept = [pair for pair in query.split("&") if pair.partition("=")[0] not in dropped]
    return f"{path}?{'&'.join(kept)}" if kept else path


@lru_cache(maxsize=1)
def _suffixes() -> PublicSuffixList:
    return PublicSuffixList()


@lru_cache(maxsize=4096)
def registrable_domain(host: str) -> str:
    """`example.co.uk` for `www.example.co.uk`; the host itself for an address or a bare suffix."""
    if is_address(host):
        return host
    domain: str | None = _suffixes().privatesuffix(host.rstrip("."))
    return domain or host


def encode_form(pairs: Iterable[tuple[str, str]]) -> str:
    """Names and values as `application/x-www-form-urlencoded`: WHATWG URL 5.2."""
    encoded = URLSearchParams("")
    for name, value in pairs:
        encoded.append(str(name), str(value))
    return str(encoded)
