"""An HTTP cache on disk, for one user: RFC 9111.

    folder/3f/3fa2….answer      MessagePack, zstd; written beside and then renamed

What decides is pure and stands below the class. Comments name the sections of the RFC.
"""

import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import UTC
from email.utils import parsedate_to_datetime
from hashlib import blake2b
from pathlib import Path
from secrets import token_hex

import msgspec
from msgspec import Struct
from msgspec.structs import replace
from zstandard import ZstdCompressor, ZstdDecompressor, ZstdError

from freki.errors import BadConfig
from freki.messages import Claim, Failure, Request, Response
from freki.steps import Fetch

# RFC 9110 15.1: what may be kept without being told how long; 206 is left out.
_HEURISTIC = frozenset({200, 203, 204, 300, 301, 308, 404, 405, 410, 414, 501})

# 4.2.2: a tenth of the time since the last change, and not for longer than a day.
_TENTH = 0.1
_LONGEST_GUESS = 86_400.0

_SAFE = frozenset({"GET", "HEAD", "OPTIONS"})

# 3.2: these say something about one message, not about what is kept.
_OF_ONE_MESSAGE = frozenset(
    [
        "connection",
        "content-length",
        "content-encoding",
        "transfer-encoding",
        "keep-alive",
        "te",
        "trailer",
        "upgrade",
    ]
)


class Stored(Struct, frozen=True):
    """An answer, and what is needed to say whether it may be used again."""

    response: Response
    asked_at: float
    answered_at: float
    vary: dict[str, str]  # what the request had of the headers that Vary names


class Cache:
    """Calling it with a fetch is a `steps.Middleware`."""

    def __init__(
        self, folder: Path, always: float = 0.0, clock: Callable[[], float] = time.time
    ) -> None:
        self._folder = folder
        self._always = always  # seconds for which an answer is used whatever it says
        self._clock = clock
        self._decoder = msgspec.msgpack.Decoder(Stored)
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise BadConfig(f"--cache {folder}: {error.strerror}") from None

    def __repr__(self) -> str:
        return f"<Cache {self._folder}>"

    def __call__(self, fetch: Fetch) -> Fetch:
        async def call(claim: Claim) -> Response | Failure:
            request = claim.request or Request()
            if request.method != "GET" or request.body:
                answer = await fetch(claim)
                self._invalidate(claim, request, answer)
                return answer
            return await self._get(claim, request, fetch)

        return call

    async def _get(self, claim: Claim, request: Request, fetch: Fetch) -> Response | Failure:
        wanted, now = dict(request.headers), self._clock()
        stored = self._read(claim.url)
        if stored is not None and not matches(stored, wanted):
            stored = None
        if stored is not None and self._is_fresh(stored, wanted, now):
            return replace(stored.response, cached=True)
        if stored is not None and (conditions := validators(stored.response)):
            extra = (*request.headers, *conditions)
            asking = replace(claim, request=replace(request, headers=extra))
        else:
            stored, asking = None, claim
        answer = await fetch(asking)
        if isinstance(answer, Failure):
            return answer
        if stored is not None and answer.status == 304:
            answer = freshened(stored.response, answer)
        if may_store(answer, wanted) or (self._always and answer.status < 500):
            self._write(Stored(answer, now, self._clock(), varied(answer, wanted)), claim.url)
        return answer

    def _is_fresh(self, stored: Stored, wanted: Mapping[str, str], now: float) -> bool:
        if self._always and now - stored.answered_at < self._always:
            return True
        return is_fresh(stored, wanted, now)

    def _invalidate(self, claim: Claim, request: Request, answer: Response | Failure) -> None:
        """4.4: what an unsafe request changed is not kept."""
        if request.method in _SAFE or isinstance(answer, Failure) or answer.status >= 400:
            return
        with suppress(FileNotFoundError):
            self._place(claim.url).unlink()

    def _place(self, url: str) -> Path:
        digest = blake2b(url.encode(), digest_size=16).hexdigest()
        return self._folder / digest[:2] / f"{digest}.answer"

    def _read(self, url: str) -> Stored | None:
        """What cannot be read was not kept."""
        try:
            packed = self._place(url).read_bytes()
            stored = self._decoder.decode(ZstdDecompressor().decompress(packed))
        except (OSError, ZstdError, msgspec.DecodeError):
            return None
        return stored if stored.response.url == url else None

    def _write(self, stored: Stored, url: str) -> None:
        """Where there is no room, an answer is not kept, and the crawl goes on without."""
        place = self._place(url)
        beside = place.with_suffix(f".{token_hex(4)}")
        packed = ZstdCompressor(level=1).compress(msgspec.msgpack.encode(stored))
        try:
            place.parent.mkdir(exist_ok=True)
            beside.write_bytes(packed)
            beside.replace(place)
        except OSError:
            with suppress(OSError):
                beside.unlink()


def may_store(response: Response, request: Mapping[str, str]) -> bool:
    """3: whether a private cache may keep an answer to GET."""
    told = told_by(response)
    if "no-store" in told or "no-store" in directives(request.get("cache-control", "")):
        return False
    if "*" in _all(response, "vary") or response.status in (206, 304):
        return False
    explicit = "max-age" in told or response.header("expires") is not None
    return explicit or response.status in _HEURISTIC


def matches(stored: Stored, request: Mapping[str, str]) -> bool:
    """4.1: whether the request has the same headers where the answer depends on them."""
    return all(request.get(name, "") == value for name, value in stored.vary.items())


def varied(response: Response, request: Mapping[str, str]) -> dict[str, str]:
    """What an answer says it depends on, as the request had it."""
    names = _all(response, "vary").lower().split(",")
    return {name.strip(): request.get(name.strip(), "") for name in names if name.strip()}


def is_fresh(stored: Stored, request: Mapping[str, str], now: float) -> bool:
    """4.2: whether an answer may be used without asking its server."""
    told = told_by(stored.response)
    asked = directives(request.get("cache-control", ""))
    if "no-cache" in told or "no-cache" in asked:
        return False
    age = current_age(stored, now)
    most = _seconds(asked.get("max-age"))
    return age < lifetime(stored) and (most is None or age <= most)


def lifetime(stored: Stored) -> float:
    """4.2.1: for how many seconds an answer is fresh."""
    response = stored.response
    told = told_by(response)
    if "max-age" in told:
        return _seconds(told["max-age"]) or 0.0
    date = _date(response.header("date")) or stored.answered_at
    if (expires := response.header("expires")) is not None:
        until = _date(expires)  # 5.3: a date that is none is in the past
        return 0.0 if until is None else max(0.0, until - date)
    changed = _date(response.header("last-modified"))
    if changed is None or response.status not in _HEURISTIC:
        return 0.0
    return min(max(0.0, (date - changed) * _TENTH), _LONGEST_GUESS)


def current_age(stored: Stored, now: float) -> float:
    """4.2.3: how old an answer is, as far as can be known."""
    date = _date(stored.response.header("date"))
    apparent = max(0.0, stored.answered_at - date) if date is not None else 0.0
    delay = stored.answered_at - stored.asked_at
    told = (_seconds(stored.response.header("age")) or 0.0) + delay
    return max(apparent, told) + max(0.0, now - stored.answered_at)


def validators(response: Response) -> tuple[tuple[str, str], ...]:
    """4.3.1: how to ask whether an answer still holds; nothing where that cannot be asked."""
    found = []
    if tag := response.header("etag"):
        found.append(("if-none-match", tag))
    if changed := response.header("last-modified"):
        found.append(("if-modified-since", changed))
    return tuple(pair for pair in found if pair[1].isascii())


def freshened(stored: Response, confirmed: Response) -> Response:
    """4.3.4: the stored answer with the headers of the 304 that confirmed it."""
    new = {name: value for name, value in confirmed.headers if name not in _OF_ONE_MESSAGE}
    kept = tuple((name, value) for name, value in stored.headers if name not in new)
    return replace(
        stored, headers=(*kept, *new.items()), timings=confirmed.timings,
        wire_bytes=confirmed.wire_bytes, address=confirmed.address, cached=False,
    )  # fmt: skip


def told_by(response: Response) -> dict[str, str]:
    """What an answer says about keeping it."""
    return directives(_all(response, "cache-control"))


def _all(response: Response, name: str) -> str:
    """RFC 9110 5.3: several lines of a list are one list."""
    return ", ".join(value for own, value in response.headers if own == name)


def directives(header: str) -> dict[str, str]:
    """5.2: names in lower case, and what is behind their equals sign."""
    told: dict[str, str] = {}
    for part in header.split(","):
        name, _, value = part.strip().partition("=")
        if name:
            told.setdefault(name.strip().lower(), value.strip().strip('"'))
    return told


def _seconds(text: str | None) -> float | None:
    """1.2.2: what is no number of seconds is none, which is the cautious reading."""
    text = (text or "").strip()
    return float(text[:12]) if text.isascii() and text.isdigit() else None


def _date(text: str | None) -> float | None:
    if not text:
        return None
    try:
        date = parsedate_to_datetime(text)
        # The zone "-0000" says nothing; our own is not meant.
        return (date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp()
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
