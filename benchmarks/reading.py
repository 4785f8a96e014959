"""The reader of pages in C beside the tree: whether both say the same, and what each takes.

./bench reading [FOLDER...] [--mutated SECONDS] [--write]

Without folders, all HTML below /usr/share/doc. With --mutated, pages of these folders are damaged
for so long, and each is read both ways as well.
"""

import argparse
import random
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from time import process_time
from typing import NamedTuple

from benchmarks.report import machine, publish, table
from tests.markup import Markup

from freki import native
from freki.extract.page import of_telling, parsed, told
from freki.extract.telling import by_reader
from freki.messages import Page, Response

ALL = Path("/usr/share/doc")
Read = Callable[[Response], Page | None]

HEADERS = ("text/html", "text/html; charset=utf-8")  # with and without what servers may say


class Reading(NamedTuple):
    """What became of the pages of one place."""

    place: str
    pages: int = 0
    size: int = 0
    left: int = 0  # to the tree
    different: int = 0
    reader: float = 0.0  # seconds
    tree: float = 0.0

    def row(self) -> list[str]:
        pages = self.pages
        return [
            self.place, f"{pages:,}", f"{self.size / pages / 1000:.1f} KB",
            f"{self.left / pages:.2%}", str(self.different),
            f"{self.reader / pages * 1e6:.0f} µs", f"{self.tree / pages * 1e6:.0f} µs",
        ]  # fmt: skip


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", nargs="*", type=Path)
    parser.add_argument("--mutated", type=float, default=0.0, metavar="SECONDS")
    parser.add_argument("--write", action="store_true", help="put it into the documentation")
    wanted = parser.parse_args(arguments)
    if native.HERE is None:
        sys.exit("There is no reader to compare; `freki doctor` tells why.")
    folders = wanted.folders or sorted(path for path in ALL.iterdir() if path.is_dir())
    readings = [_compared(_package(folder), _bodies(_pages(folder))) for folder in folders]
    readings = [reading for reading in readings if reading.pages]
    if wanted.mutated:
        readings.append(_compared("damaged pages", _damaged(folders, wanted.mutated)))
    head = ["pages of", "pages", "size", "left to the tree", "different", "reader", "tree"]
    publish(
        "reading",
        f"{table(head, [reading.row() for reading in readings])}\n\n{machine()}.",
        write=wanted.write,
    )
    sys.exit(any(reading.different for reading in readings))


def _package(folder: Path) -> str:
    return folder.relative_to(ALL).parts[0] if folder.is_relative_to(ALL) else folder.name


def _pages(folder: Path) -> list[Path]:
    return sorted(
        path for path in folder.rglob("*.htm*")
        if path.suffix in (".html", ".htm") and path.is_file() and not path.is_symlink()
    )  # fmt: skip


def _bodies(paths: Iterable[Path]) -> Iterator[bytes]:
    return (path.read_bytes() for path in paths)


def _damaged(folders: Iterable[Path], seconds: float) -> Iterator[bytes]:
    paths = [path for folder in folders for path in _pages(folder)]
    chosen = random.Random(1).sample(paths, min(1000, len(paths)))
    whole = [body for path in chosen if 0 < len(body := path.read_bytes()) < 30_000]
    seed = int(time.time())
    markup = Markup(seed)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        yield markup.page()
        yield markup.mutated(whole)


def _compared(place: str, bodies: Iterable[bytes]) -> Reading:
    pages = size = left = different = 0
    reader = tree = 0.0
    for body in bodies:
        response = Response("http://h/a/page", 200, (), body, HEADERS[pages % len(HEADERS)])
        found, seconds = _timed(_read, response)
        reader += seconds
        expected, seconds = _timed(_parsed, response)
        tree += seconds
        pages += 1
        size += len(body)
        left += found is None
        if found is not None and found != expected:
            different += 1
            print(f"different: {body[:2000]!r}")
    return Reading(place, pages, size, left, different, reader, tree)


def _timed(
    read: Callable[[Response], Page | None], response: Response
) -> tuple[Page | None, float]:
    started = process_time()
    page = read(response)
    return page, process_time() - started


def _read(response: Response) -> Page | None:
    telling = by_reader(response)
    return None if telling is None else of_telling(response, telling)


def _parsed(response: Response) -> Page:
    return told(response, parsed(response))


if __name__ == "__main__":
    main()
