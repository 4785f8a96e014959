"""Bodies and pictures beside the database: in a folder, or in any place that fsspec knows.

A row whose `data` is empty has its bytes here, under the digest that the row names; so no name of
a blob comes from outside, and to write one twice does no harm. A blob is there, and on disk, before
the row that names it. What a crash left without a row, `sweep` removes.
"""

import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from secrets import token_hex
from typing import Any, Final, Protocol

from freki.errors import NO_ROOM, BadInput, MissingExtra, StoreDamaged, StoreFull, StoreUnreachable
from freki.ledger.database import Database
from freki.ledger.statements import statements

SQL: Final = statements("blobs.sql")

# Files that wait for the disk at once: a file system settles all of them in one go.
AT_ONCE = 16

# What no row names is left alone until then: its row may be on the way.
YOUNG = 86_400.0


class Kind(StrEnum):
    """What a blob is. Bodies are compressed, so a picture that was also a body is two blobs."""

    body = "bodies"
    picture = "pictures"


class Blobs(Protocol):
    """Where blobs are kept."""

    def keep(self, kind: Kind, blobs: Mapping[bytes, bytes]) -> None:
        """Keep bytes under their digests; on return they outlive whatever happens."""
        ...

    def read(self, kind: Kind, digest: bytes) -> bytes | None: ...

    def names(self, kind: Kind, before: float) -> Iterator[str]:
        """What was last kept before a date, and what somebody did not finish."""
        ...

    def drop(self, kind: Kind, name: str) -> None: ...


def blobs_at(place: str) -> Blobs:
    """The blobs of a folder or a URL."""
    return _Elsewhere(place) if "://" in place else _Folder(Path(place))


def blobs_of(db: Database) -> Blobs | None:
    """Where a store keeps its bodies and pictures, or None where it does so itself."""
    return blobs_at(place) if (place := _place_of(db)) else None


def settle(db: Database, place: str) -> None:
    """From now on this store keeps bodies and pictures there, each store in a folder of its own."""
    if place.startswith("file://"):
        place = place.removeprefix("file://")
    root = place.rstrip("/") if "://" in place else str(Path(place).absolute())
    if _place_of(db) is None:
        mine = f"{root}/freki-{token_hex(8)}"
        blobs_at(mine).keep(Kind.body, {})
        db.execute(SQL["settle"], (mine.encode(),))
    if (settled := _place_of(db) or "").rpartition("/")[0] != root:
        raise BadInput(
            f"this store keeps its bodies in {settled.rpartition('/')[0]}; leave --blobs out"
        )


def _place_of(db: Database) -> str | None:
    row = db.execute(SQL["place"]).fetchone()
    return bytes(row[0]).decode() if row else None


class Shelf:
    """The bytes of rows, wherever they are."""

    def __init__(self, db: Database) -> None:
        self._db = db
        self._blobs: Blobs | None = None

    def take(self, kind: Kind, digest: bytes, data: bytes | None) -> bytes | None:
        """What a row has in `data`, or else the blob store; None where it was not kept."""
        if data is None or len(data):
            return data
        found = self.find(kind, digest)
        if found is None:
            raise StoreDamaged(
                f"{self._blobs!r} has lost one of its {kind}, {digest.hex()}; freki check --repair "
                "lets its pages be fetched again"
            )
        return found

    def find(self, kind: Kind, digest: object) -> bytes | None:
        """A blob, or None where there is none; a digest that is damaged has none."""
        blobs = self._opened()
        return blobs.read(kind, digest) if blobs and isinstance(digest, bytes) else None

    def drop(self, kind: Kind, digest: object) -> None:
        blobs = self._opened()
        if blobs and isinstance(digest, bytes):
            blobs.drop(kind, digest.hex())

    def _opened(self) -> Blobs | None:
        self._blobs = self._blobs or blobs_of(self._db)
        return self._blobs


def sweep(db: Database) -> int:
    """Remove what no row names; answers with how many blobs that were.

    Workers may go on meanwhile: who keeps a blob again makes it young again.
    """
    blobs, swept = blobs_of(db), 0
    for kind in Kind if blobs else ():
        assert blobs is not None
        for name in blobs.names(kind, time.time() - YOUNG):
            digest = _digest(name)
            if digest is None or db.execute(SQL[kind], (digest,)).fetchone() is None:
                blobs.drop(kind, name)
                swept += 1
    return swept


def _digest(name: str) -> bytes | None:
    with suppress(ValueError):
        return bytes.fromhex(name)
    return None


def _path(kind: Kind, name: str) -> str:
    return f"{kind}/{name.lstrip('.')[:2]}/{name}"


@contextmanager
def _reaching(place: object) -> Iterator[None]:
    """Turns what storages raise into our errors, with what to do about them."""
    try:
        yield
    except OSError as error:
        if error.errno in NO_ROOM:
            raise StoreFull(f"{place}: there is no room left; free some, then run the same command "
                            "again") from error  # fmt: skip
        what = error.strerror or str(error) or type(error).__name__
        advice = "bodies cannot be read or written here; check the place and its permissions"
        raise StoreUnreachable(f"{place}: {advice} ({what})") from error


class _Folder:
    """A folder that all machines see. A file gets its name when it is whole and on disk."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def __repr__(self) -> str:
        return str(self._root)

    def keep(self, kind: Kind, blobs: Mapping[bytes, bytes]) -> None:
        with _reaching(self):
            paths = {self._root / _path(kind, digest.hex()): blobs[digest] for digest in blobs}
            folders = {path.parent for path in paths} or {self._root / kind}
            for folder in folders:
                folder.mkdir(parents=True, exist_ok=True)
            _each(lambda item: _keep_file(*item), paths.items())
            _each(_sync_folder, folders | {folder.parent for folder in folders})

    def read(self, kind: Kind, digest: bytes) -> bytes | None:
        with _reaching(self):
            try:
                return (self._root / _path(kind, digest.hex())).read_bytes()
            except FileNotFoundError:
                return None

    def names(self, kind: Kind, before: float) -> Iterator[str]:
        with _reaching(self):
            for path in (self._root / kind).glob("??/*"):
                with suppress(FileNotFoundError):
                    if path.stat().st_mtime < before:
                        yield path.name

    def drop(self, kind: Kind, name: str) -> None:
        with _reaching(self):
            (self._root / _path(kind, name)).unlink(missing_ok=True)


def _each(act: Callable[[Any], None], of: Iterable[Any]) -> None:
    some = list(of)
    if len(some) < 2:
        for one in some:
            act(one)
        return
    with ThreadPoolExecutor(min(AT_ONCE, len(some)), "blobs") as threads:
        list(threads.map(act, some))


def _keep_file(path: Path, data: bytes) -> None:
    with suppress(FileNotFoundError):
        os.utime(path)
        return
    part = path.with_name(f".{path.name}.{token_hex(4)}")
    with part.open("xb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    part.replace(path)


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


class _Elsewhere:
    """A storage that fsspec knows. It is whole or not there, as object stores have it."""

    def __init__(self, place: str) -> None:
        try:
            import fsspec  # noqa: PLC0415 - an extra
        except ModuleNotFoundError:
            raise MissingExtra(f"{place} needs fsspec: pip install 'freki[remote]'") from None
        try:
            self._storage, self._root = fsspec.core.url_to_fs(place)
        except ImportError as error:
            raise MissingExtra(f"{place}: {error}") from None
        except ValueError as error:
            raise BadInput(f"{place}: {error}") from None
        self._place = place

    def __repr__(self) -> str:
        return self._place

    def keep(self, kind: Kind, blobs: Mapping[bytes, bytes]) -> None:
        with _reaching(self):
            paths = {self._at(kind, digest.hex()): blobs[digest] for digest in blobs}
            if paths:
                self._storage.pipe(paths)

    def read(self, kind: Kind, digest: bytes) -> bytes | None:
        with _reaching(self):
            try:
                return bytes(self._storage.cat_file(self._at(kind, digest.hex())))
            except FileNotFoundError:
                return None

    def names(self, kind: Kind, before: float) -> Iterator[str]:
        with _reaching(self):
            for path in self._storage.find(f"{self._root}/{kind}"):
                with suppress(FileNotFoundError):
                    changed: datetime = self._storage.modified(path)
                    if changed.timestamp() < before:
                        yield path.rpartition("/")[2]

    def drop(self, kind: Kind, name: str) -> None:
        with _reaching(self), suppress(FileNotFoundError):
            self._storage.rm_file(self._at(kind, name))

    def _at(self, kind: Kind, name: str) -> str:
        return f"{self._root}/{_path(kind, name)}"
