"""Where an export goes: whole under its own name, or not at all.

While it grows, a file has `.part` behind its name, and beside it a note of how far it came. Who
is killed goes on from the note: what was written behind it is cut off, so nothing is doubled.
"""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, Protocol

import msgspec
from msgspec import Struct

from freki.errors import NO_ROOM, BadInput, ExportFull, ExportUnwritable, MissingExtra

SUFFIX = ".part"
NOTE = ".part.json"


class Note(Struct, frozen=True):
    """How far an export came."""

    job: str  # what is exported of which store: another one begins anew
    position: int = 0  # of the last row that is in the file
    count: int = 0
    offset: int = 0
    number: int = 1  # of the file, where there are several


class Part(Protocol):
    """A file that is being written."""

    note: Note

    def write(self, data: bytes, /) -> int: ...

    def tell(self) -> int: ...

    def flush(self) -> None: ...

    @property
    def closed(self) -> bool: ...

    def keep(self, position: int, count: int) -> None:
        """Make durable what was written so far."""
        ...

    def roll(self, position: int, count: int) -> None:
        """Finish this file, and go on in the next one."""
        ...

    def finish(self, position: int, count: int) -> None:
        """Give the file its name."""
        ...

    def close(self) -> None:
        """Leave it as it is, to go on later."""
        ...


def part(where: str, job: str, *, overwrite: bool) -> Part:
    """The file at a path or URL, from where an earlier run of the same job was interrupted."""
    if is_remote(where):
        return RemotePart(where, job, overwrite=overwrite)
    return LocalPart(local(where), job, overwrite=overwrite)


def is_remote(where: str) -> bool:
    scheme, found, _ = where.partition("://")
    return bool(found) and scheme != "file"


def local(where: str) -> Path:
    return Path(where.removeprefix("file://"))


def is_there(where: str) -> bool:
    """Whether an export got its name already; of other places, only who writes there knows."""
    return not is_remote(where) and local(where).exists()


@contextmanager
def writing(where: str) -> Iterator[None]:
    """Turns what the file system raises into our errors, with what to do about them."""
    try:
        yield
    except OSError as error:
        if error.errno in NO_ROOM:
            raise ExportFull(
                f"{where}: there is no room left; free some, then run the same command again"
            ) from error
        what = error.strerror or str(error) or type(error).__name__
        raise ExportUnwritable(f"{where}: cannot be written ({what})") from error


def refuse_existing(where: Path, *, overwrite: bool) -> None:
    if not where.parent.is_dir():
        raise ExportUnwritable(f"{where}: there is no folder {where.parent}; create it first")
    if where.is_dir():
        raise ExportUnwritable(f"{where}: this is a folder; name another file")
    if where.exists() and not overwrite:
        raise ExportUnwritable(f"{where} exists; --overwrite replaces it")


class LocalPart:
    """A file of this machine."""

    def __init__(self, final: Path, job: str, *, overwrite: bool) -> None:
        self._final = final
        with writing(str(final)):
            self.note = read_note(final, job)
            refuse_existing(numbered(final, self.note.number), overwrite=overwrite)
            self._file = self._opened()
            size = os.fstat(self._file.fileno()).st_size
            if size < self.note.offset:
                self.note = Note(job)
            if size > self.note.offset:
                self._file.truncate(self.note.offset)
            self._name_earlier()

    def __repr__(self) -> str:
        return f"<LocalPart {self._final} {self.note}>"

    @property
    def closed(self) -> bool:
        return self._file.closed

    def _opened(self) -> BinaryIO:
        """For appending: nothing is cut off before it is sure that nobody else is at it."""
        file = beside(numbered(self._final, self.note.number), SUFFIX).open("ab")
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.close()
            raise ExportUnwritable(f"{self._final}: another process is writing it") from None
        return file

    def _name_earlier(self) -> None:
        """Whole files whose names a killed process did not come to."""
        for number in range(1, self.note.number):
            earlier = numbered(self._final, number)
            if (unnamed := beside(earlier, SUFFIX)).exists():
                unnamed.replace(earlier)

    def write(self, data: bytes, /) -> int:
        with writing(str(self._final)):
            return self._file.write(data)

    def tell(self) -> int:
        return self._file.tell()

    def flush(self) -> None:
        with writing(str(self._final)):
            self._file.flush()

    def keep(self, position: int, count: int) -> None:
        self._note(Note(self.note.job, position, count, self.tell(), self.note.number))

    def roll(self, position: int, count: int) -> None:
        full, number = numbered(self._final, self.note.number), self.note.number + 1
        self._note(Note(self.note.job, position, count, 0, number))
        with writing(str(self._final)):
            beside(full, SUFFIX).replace(full)
            self._file.close()
            self._file = self._opened()

    def finish(self, position: int, count: int) -> None:
        last = numbered(self._final, self.note.number)
        self.keep(position, count)
        with writing(str(self._final)):
            beside(self._final, NOTE).unlink()  # first: a note without its file says nothing
            beside(last, SUFFIX).replace(last)
            sync_folder(last.parent)
            self._file.close()

    def close(self) -> None:
        with suppress(OSError):  # of a full disk; what counts is what the note says
            self._file.close()

    def _note(self, note: Note) -> None:
        with writing(str(self._final)):
            self._file.flush()
            os.fsync(self._file.fileno())
            write_note(self._final, note)
        self.note = note


class RemotePart:
    """A file of some storage that fsspec knows. What was interrupted begins anew."""

    def __init__(self, url: str, job: str, *, overwrite: bool) -> None:
        self.note = Note(job)
        self._url = url
        try:
            import fsspec  # noqa: PLC0415 - an extra
        except ImportError:
            raise MissingExtra(f"{url} needs fsspec: pip install 'freki[remote]'") from None
        try:
            self._storage, self._path = fsspec.core.url_to_fs(url)
        except (ValueError, ImportError) as error:
            raise BadInput(f"{url}: {error}") from None
        with writing(url):
            if not overwrite and self._storage.exists(self._path):
                raise ExportUnwritable(f"{url} exists; --overwrite replaces it")
            try:
                self._file = self._storage.open(self._path + SUFFIX, "wb")
            except NotImplementedError:
                raise BadInput(f"{url}: this storage can only be read") from None
        self._size = 0

    def __repr__(self) -> str:
        return f"<RemotePart {self._url}>"

    @property
    def closed(self) -> bool:
        return bool(self._file.closed)

    def write(self, data: bytes, /) -> int:
        with writing(self._url):
            self._file.write(data)
        self._size += len(data)
        return len(data)

    def tell(self) -> int:
        return self._size

    def flush(self) -> None:
        """Storages take what they get when the file is closed."""

    def keep(self, position: int, count: int) -> None:
        self.note = Note(self.note.job, position, count, number=self.note.number)

    def roll(self, position: int, count: int) -> None:
        self._name()
        self.note = Note(self.note.job, position, count, number=self.note.number + 1)
        with writing(self._url):
            self._file = self._storage.open(self._numbered() + SUFFIX, "wb")
        self._size = 0

    def finish(self, position: int, count: int) -> None:
        self._name()
        self.keep(position, count)

    def close(self) -> None:
        """Nothing of it stays: an upload cannot be continued."""
        with suppress(OSError):
            self._file.close()
            self._storage.rm(self._numbered() + SUFFIX)

    def _name(self) -> None:
        with writing(self._url):
            self._file.close()
            self._storage.mv(self._numbered() + SUFFIX, self._numbered())

    def _numbered(self) -> str:
        folder, slash, name = self._path.rpartition("/")
        return f"{folder}{slash}{numbered(Path(name), self.note.number)}"


def numbered(final: Path, number: int) -> Path:
    """`a.warc.gz`, `a-00002.warc.gz`, …"""
    if number == 1:
        return final
    stem, dot, suffixes = final.name.partition(".")
    return final.with_name(f"{stem}-{number:05}{dot}{suffixes}")


def beside(final: Path, suffix: str) -> Path:
    return final.with_name(final.name + suffix)


def read_note(final: Path, job: str) -> Note:
    """Where the same job was interrupted, or the beginning."""
    try:
        note = msgspec.json.decode(beside(final, NOTE).read_bytes(), type=Note)
    except (OSError, msgspec.MsgspecError):
        return Note(job)
    return note if note.job == job else Note(job)


def write_note(final: Path, note: Note) -> None:
    fresh, place = beside(final, NOTE + ".new"), beside(final, NOTE)
    with fresh.open("wb") as file:
        file.write(msgspec.json.encode(note))
        file.flush()
        os.fsync(file.fileno())
    fresh.replace(place)
    sync_folder(place.parent)


def sync_folder(folder: Path) -> None:
    """A name is durable when its folder is."""
    place = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(place)
    finally:
        os.close(place)
