"""Which discoveries are new? Exact, and cheap for the many that are not.

    Bloom filter: surely new    ->  insert, no look-up
    else: unique fingerprint in the database, compared by path  ->  known, or new

The fingerprint is 48 bits, keyed by a secret of the store, so that nobody can craft URLs that
collide. Two paths that collide all the same are told apart by the stored path, and the later
one takes the next free fingerprint: a URL is never lost to a hash.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from hashlib import blake2b
from typing import Any

from msgspec import Struct
from msgspec.structs import replace
from rbloom import Bloom

from freki.errors import StoreDamaged
from freki.ledger import belief
from freki.ledger.database import Database, Row
from freki.ledger.store import ADVICE
from freki.messages import Discovery, State
from freki.url import split

# 1.2 bytes a URL at one false "perhaps known" in a hundred, which costs one look-up.
BLOOM_ERROR = 0.01
FIRST_BLOOM = 100_000

# Origins with their row number. A page rarely names more, and a miss is one look-up.
MAX_ORIGINS = 50_000

# How far a path may be from its own fingerprint before it counts as damaged: as many other paths
# of its host would have to collide with it.
MAX_COLLISIONS = 8

# A row has its fingerprint twice, and 48 bits are two bytes less each time. Among ten million URLs
# of one host two have the same once in six stores, which costs a look-up.
_BYTES = 6
_HALF, _WHOLE = 1 << (8 * _BYTES - 1), 1 << (8 * _BYTES)

Fingerprint = Callable[[str], int]
"""A signed number for a path, as SQLite stores it."""


class New(Struct, frozen=True, gc=False):
    """A URL the ledger does not know."""

    origin: str
    print: int
    path: str
    found: Discovery


class Known(Struct, frozen=True, gc=False):
    """A URL the ledger knows, found again in a way that may change its row."""

    id: int
    host: int
    found: Discovery


class Found(Struct, frozen=True, gc=False):
    """The row of a URL, as far as depths are concerned."""

    id: int
    host: int
    state: int
    reason: int | None
    depth: int


def fingerprint(path: str, secret: bytes) -> int:
    """The fingerprint of a path in the store with this secret."""
    digest = blake2b(path.encode("utf-8", "replace"), digest_size=_BYTES, key=secret).digest()
    return int.from_bytes(digest, "big", signed=True)


def fits(path: str, print_: int, fingerprint: Fingerprint) -> bool:
    """Whether a stored fingerprint is that of a path, or one it took because others had that."""
    expected = fingerprint(path)
    for _ in range(MAX_COLLISIONS):
        if expected == print_:
            return True
        expected = following(expected)
    return False


class Sieve:
    """Sorts discoveries into new ones and known ones that matter."""

    def __init__(
        self,
        db: Database,
        statements: Mapping[str, str],
        crawl: int,
        fingerprint: Fingerprint,
        first_bloom: int = FIRST_BLOOM,
    ) -> None:
        self._db = db
        self._sql = statements
        self._crawl = crawl
        self._fingerprint = fingerprint
        self._first_bloom = first_bloom
        self._origins: dict[str, int] = {}
        self._strangers: set[str] = set()  # of this batch: hosts that nobody knows
        self._blooms: list[Bloom] = []
        self._size = self._room = 0  # of the last filter
        # Until a filter has seen every row, "not in the filter" says nothing.
        self._complete = self._is_empty()

    def __repr__(self) -> str:
        return f"<Sieve {self.statistics()}>"

    def statistics(self) -> dict[str, int]:
        return {
            "origins": len(self._origins),
            "bloom_bytes": sum(bloom.size_in_bits // 8 for bloom in self._blooms),
        }

    def sift(self, found: Sequence[Discovery]) -> tuple[list[New], list[Known]]:
        """New URLs once each, and known ones whose row this discovery changes."""
        new: dict[tuple[str, int], New] = {}
        known: list[Known] = []
        self._strangers.clear()
        for discovery, origin, path, print_ in self._places(found):
            place = (origin, print_)
            if (other := new.get(place)) is not None and other.path == path:
                new[place] = New(origin, print_, path, _better(discovery, other.found))
                continue
            if other is None and self._complete and self._is_new(origin, print_):
                new[place] = New(origin, print_, path, discovery)
                continue
            self._look_up(New(origin, print_, path, discovery), new, known)
        return list(new.values()), known

    def _places(self, found: Sequence[Discovery]) -> Iterable[tuple[Discovery, str, str, int]]:
        """Each discovery with its origin, path and fingerprint."""
        for discovery in found:
            origin, path = split(discovery.place)
            yield discovery, origin, path, self._fingerprint(path)

    def _row(self, host: int | None, print_: int) -> Row | None:
        """The row of a fingerprint: id, path, state, reason and depth."""
        row: Row | None = self._db.execute(self._sql["url_find"], (host, print_)).fetchone()
        # Every link comes by here, so no more is asked of the row than what is reckoned with.
        if row is not None and not isinstance(row[4], int):
            belief.believed(row, belief.Known)
        return row

    def _row_to_change(self, host: int | None, print_: int) -> Row | None:
        """The same, and nobody else changes it until our transaction ends."""
        return self._row(host, print_)

    def _look_up(self, url: New, new: dict[tuple[str, int], New], known: list[Known]) -> None:
        host = self.host_id(url.origin)
        print_ = url.print
        while True:
            row = None if host is None else self._row(host, print_)
            if row and row[1] == url.path:
                if (change := _change(row, host or 0, url.found)) is not None:
                    known.append(change)
                return
            other = new.get((url.origin, print_))
            if not row and other is None:
                new[(url.origin, print_)] = New(url.origin, print_, url.path, url.found)
                return
            if not row and other is not None and other.path == url.path:
                better = _better(url.found, other.found)
                new[(url.origin, print_)] = New(url.origin, print_, url.path, better)
                return
            print_ = following(print_)

    def sift_again(self, urls: Sequence[New], mark: int) -> tuple[list[New], list[Known]]:
        """After an insert that found some of them taken: rows above `mark` are ours."""
        new: dict[tuple[str, int], New] = {}
        known: list[Known] = []
        for url in urls:
            row = self._row(self.host_id(url.origin), url.print)
            if row is None or row[0] <= mark:
                self._look_up(url, new, known)
        return list(new.values()), known

    def find(self, url: str) -> "Found | None":
        """The row of a URL."""
        origin, path = split(url)
        host = self.host_id(origin)
        print_ = self._fingerprint(path)
        while True:
            row = self._row_to_change(host, print_)
            if row is None or host is None:
                return None
            if row[1] == path:
                return Found(row[0], host, row[2], row[3], row[4])
            print_ = following(print_)

    def verified(
        self, origin: str, host: int, rows: Sequence[tuple[Any, ...]], store: str
    ) -> list[tuple[Any, ...]]:
        """Rows of fingerprint, id, path and more, without the first; one that changed is damage.

        It would be another page that is fetched, and its own would be lost.
        """
        if self.host_id(origin) != host:
            raise StoreDamaged(f"{store}: {ADVICE[StoreDamaged]} (the name of host {host})")
        for print_, id_, path, *_ in rows:
            if not fits(path, print_, self._fingerprint):
                raise StoreDamaged(f"{store}: {ADVICE[StoreDamaged]} (the path of URL {id_})")
        return [row[1:] for row in rows]

    def forget(self) -> None:
        """Drop what was cached of rows: the transaction that wrote them was undone."""
        self._origins.clear()

    def host_id(self, origin: str) -> int | None:
        """The row of a host, or None where there is none yet."""
        host = self._origins.get(origin)
        if host is None:
            row = self._db.execute(self._sql["host_id"], (self._crawl, origin)).fetchone()
            if row is None:
                return None
            if len(self._origins) >= MAX_ORIGINS:
                self._origins.clear()
            host = self._origins[origin] = row[0]
        return host

    def remember(self, stored: Sequence[New]) -> None:
        """Called when a commit made them durable, and not before."""
        for url in stored:
            if self._room == 0:
                self._grow(2 * self._size or self._first_bloom)
            self._blooms[-1].add((self.host_id(url.origin), url.print))
            self._room -= 1

    def load(self, rows: int) -> None:
        """Fill the filter from a store that already has rows, so that new ones need no look-up."""
        if self._complete:
            return
        self._grow(max(rows * 2, self._first_bloom))
        # The rows go from the database into the filter without Python between them.
        self._blooms[-1].update(self._db.execute(self._sql["prints"], (self._crawl,)))
        self._room = max(0, self._room - rows)
        self._complete = True

    def _is_new(self, origin: str, print_: int) -> bool:
        """Whether a URL surely is; of a host that nobody knows, each one is."""
        if origin in self._strangers:
            return True
        host = self.host_id(origin)
        if host is None:
            self._strangers.add(origin)
            return True
        place = (host, print_)
        return not any(place in bloom for bloom in reversed(self._blooms))  # the largest first

    def _grow(self, size: int) -> None:
        """A further filter of twice the size: none is ever rebuilt, and few are asked."""
        self._size = self._room = size
        self._blooms.append(Bloom(size, BLOOM_ERROR))

    def _is_empty(self) -> bool:
        return self._db.execute(self._sql["any_host"], (self._crawl,)).fetchone() is None


def following(print_: int) -> int:
    """The fingerprint that a path takes when another path has its own."""
    return (print_ + 1 + _HALF) % _WHOLE - _HALF


def _better(one: Discovery, other: Discovery) -> Discovery:
    """An admission beats a refusal, then the shorter way counts; a request is kept from either."""
    admitted = one.refused is None
    is_better = one.depth < other.depth
    if admitted != (other.refused is None):
        is_better = admitted
    better, worse = (one, other) if is_better else (other, one)
    if worse.request is not None and better.request is None:
        return replace(better, request=worse.request)
    return better


def _change(row: Row, host: int, found: Discovery) -> Known | None:
    """What a further discovery may change in a known row, if anything."""
    id_, _, state, _, depth = row
    admitted_now = state == State.refused and found.refused is None
    nearer = depth > found.depth and found.refused is None
    asked = state == State.waiting and found.request is not None
    if not (admitted_now or nearer or asked):
        return None
    return Known(id_, host, found)
