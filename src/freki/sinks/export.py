"""Taking a crawl away: rows in a format to a place.

An export that is only ever added to can follow a crawl, and goes on where it was interrupted. One
that must know everything before it begins, as Parquet its columns, is written as a whole.
"""

import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Final, Protocol

from freki.errors import BadInput
from freki.fetch.http import STANDARD
from freki.ledger import read
from freki.ledger.crawls import Crawl
from freki.ledger.database import Database
from freki.sinks import graph, parquet, report, rows
from freki.sinks.folder import Folder
from freki.sinks.part import Note, Part, is_remote, local, numbered, part
from freki.sinks.rows import CHUNK, COLUMNS, PAGE_COLUMNS, Placed, Row
from freki.sinks.tables import Csv, JsonLines, Lines
from freki.sinks.wanted import Wanted
from freki.sinks.warc import Warc

# A crash loses no more than this of the work; to keep it costs a sync of the disk.
KEEP_ROWS: Final = 20_000
KEEP_SECONDS: Final = 5.0

Source = Callable[[Database, int], Iterator[Placed]]


class Export(Protocol):
    """An export that is under way."""

    count: int  # rows so far

    def advance(self, db: Database) -> None:
        """Take what was stored since."""
        ...

    def finish(self, db: Database) -> None:
        """Take the rest, and give the file its name."""
        ...

    def close(self) -> None:
        """Leave it as it is; one that can be continued will be."""
        ...


class Target(Protocol):
    """What is added to: a file, files, a folder."""

    @property
    def note(self) -> Note:
        """How far it came."""
        ...

    def add(self, placed: Placed, count: int, /) -> int:
        """Add rows behind the `count` that are there; answers with how many were added."""
        ...

    def keep(self, position: int, count: int) -> None: ...

    def finish(self, position: int, count: int) -> None: ...

    def close(self) -> None: ...


def export(want: Wanted, db: Database, crawl: Crawl, store: str) -> Export:
    """The export, begun or continued."""
    what = want.what or ("items" if read.item_counts(db, crawl.id)["kept"] else "pages")
    identity = (store, crawl.name, crawl.run, crawl.started_at, what, want.format, *want.extras)
    job = "|".join(map(str, identity))
    source = _source(what, want.extras, crawl.id)
    match want.format:
        case ".warc" | ".warc.gz":
            answers: Source = lambda db, after: rows.answers(db, crawl.id, after)  # noqa: E731
            return Growing(answers, Archive(want, job, crawl))
        case "/" if source is not None:
            return Growing(source, _folder(want, job))
        case ".jsonl" if source is not None:
            return Growing(source, File(want, job, JsonLines()))
        case ".csv" if source is not None and what != "items":  # whose columns are known last
            return Growing(source, File(want, job, Csv(_columns(what, want.extras))))
        case _:
            return Whole(want, crawl, job, what)


def _folder(want: Wanted, job: str) -> Folder:
    if is_remote(want.where):
        raise BadInput(f"{want.where}: a folder of Markdown is written to this machine only")
    return Folder(local(want.where), job)


def _columns(what: str, extras: tuple[str, ...]) -> tuple[str, ...]:
    return (*PAGE_COLUMNS, *extras) if what == "pages" else COLUMNS[what]


def _source(what: str, extras: tuple[str, ...], crawl: int) -> Source | None:
    """Rows in the order in which they were stored; None where they come in another."""
    match what:
        case "pages":
            return lambda db, after: rows.pages(db, crawl, after, extras)
        case "links":
            return lambda db, after: rows.links(db, crawl, after)
        case "items":
            return lambda db, after: rows.items(db, crawl, after)
        case _:
            return None


class Growing:
    """What is only ever added to."""

    def __init__(self, source: Source, target: Target) -> None:
        self._source = source
        self._target = target
        self._position = target.note.position
        self.count = target.note.count
        self._kept_at = time.monotonic()
        self._kept = self.count

    def __repr__(self) -> str:
        return f"<Growing {self._target!r} rows={self.count}>"

    def advance(self, db: Database) -> None:
        taken = CHUNK
        while taken >= CHUNK:
            taken = 0
            for taken, placed in enumerate(self._source(db, self._position), 1):
                self.count += self._target.add(placed, self.count)
                self._position = placed.position
            if self._is_due():
                self._target.keep(self._position, self.count)
                self._kept, self._kept_at = self.count, time.monotonic()

    def _is_due(self) -> bool:
        since = self.count - self._kept
        return since >= KEEP_ROWS or (since > 0 and time.monotonic() > self._kept_at + KEEP_SECONDS)

    def finish(self, db: Database) -> None:
        self.advance(db)
        self._target.finish(self._position, self.count)

    def close(self) -> None:
        self._target.close()


class File:
    """Rows as lines of one file."""

    def __init__(self, want: Wanted, job: str, lines: Lines) -> None:
        self._part = part(want.where, job, overwrite=want.overwrite)
        self._lines = lines
        if not self._part.note.offset:
            self._part.write(lines.head())

    def __repr__(self) -> str:
        return f"<File {self._part!r}>"

    @property
    def note(self) -> Note:
        return self._part.note

    def add(self, placed: Placed, _count: int) -> int:
        self._part.write(b"".join(map(self._lines.line, placed.rows)))
        return len(placed.rows)

    def keep(self, position: int, count: int) -> None:
        self._part.keep(position, count)

    def finish(self, position: int, count: int) -> None:
        self._part.finish(position, count)

    def close(self) -> None:
        self._part.close()


class Archive:
    """Answers as WARC, in as many files as their size asks for."""

    def __init__(self, want: Wanted, job: str, crawl: Crawl) -> None:
        self._part = part(want.where, job, overwrite=want.overwrite)
        self._want = want
        self._begun = read.iso(crawl.started_at)
        sent = [("User-Agent", crawl.settings.politeness.full_agent), *map(_field, STANDARD)]
        self._warc = Warc(job, sent, compressed=want.format.endswith(".gz"))
        self._begin()

    def __repr__(self) -> str:
        return f"<Archive {self._part!r} {self._warc!r}>"

    @property
    def note(self) -> Note:
        return self._part.note

    def _begin(self) -> None:
        """Every file begins with what it is; one that is continued has that already."""
        name = numbered(Path(self._want.where), self._part.note.number).name
        head = self._warc.head(name, self._begun)
        if not self._part.note.offset:
            self._part.write(head)

    def add(self, placed: Placed, count: int) -> int:
        (arrival,) = placed.rows
        if arrival.body is None:  # it was not kept
            return 0
        if self._part.tell() >= self._want.max_bytes:
            self._part.roll(placed.position - 1, count)
            self._begin()
        self._part.write(self._warc.records(arrival))
        return 1

    def keep(self, position: int, count: int) -> None:
        self._part.keep(position, count)

    def finish(self, position: int, count: int) -> None:
        self._part.finish(position, count)

    def close(self) -> None:
        self._part.close()


def _field(line: str) -> tuple[str, str]:
    name, _, value = line.partition(": ")
    return name, value


class Whole:
    """What is written in one go, at the end."""

    def __init__(self, want: Wanted, crawl: Crawl, job: str, what: str) -> None:
        self._want = want
        self._crawl = crawl
        self._what = what
        self.count = 0
        if want.format == ".parquet":
            parquet.arrow()  # who misses it shall know before a crawl and not after it
        self._part = part(want.where, f"{job}|{time.time()}", overwrite=want.overwrite)

    def __repr__(self) -> str:
        return f"<Whole {self._part!r} rows={self.count}>"

    def advance(self, db: Database) -> None:
        """Too early."""

    def finish(self, db: Database) -> None:
        self._written(db, self._part)
        self._part.finish(0, self.count)

    def _written(self, db: Database, out: Part) -> None:
        crawl = self._crawl
        match self._want.format:
            case ".parquet":
                self.count = parquet.write(self._rows(db), self._kinds(db), out)
            case ".graphml":
                links = rows.every(partial(rows.links, db, crawl.id))
                for piece in graph.graphml(rows.urls(db, crawl.id), self._counted(links)):
                    out.write(piece)
            case ".html":
                for piece in report.report(crawl.name, self._counted(self._rows(db))):
                    out.write(piece)
            case _:
                lines = self._lines(db)
                out.write(lines.head())
                for row in self._counted(self._rows(db)):
                    out.write(lines.line(row))

    def _counted(self, found: Iterator[Row]) -> Iterator[Row]:
        for row in found:
            self.count += 1
            yield row

    def _rows(self, db: Database) -> Iterator[Row]:
        source = _source(self._what, self._want.extras, self._crawl.id)
        if source is not None:
            return rows.every(partial(source, db))
        return {"urls": rows.urls, "broken": rows.broken}[self._what](db, self._crawl.id)

    def _kinds(self, db: Database) -> dict[str, parquet.Kind]:
        if self._what == "items":
            return parquet.kinds_of(self._rows(db))
        return parquet.known_kinds(_columns(self._what, self._want.extras))

    def _lines(self, db: Database) -> Lines:
        if self._want.format == ".jsonl":
            return JsonLines()
        return Csv(list(self._kinds(db)))

    def close(self) -> None:
        self._part.close()
