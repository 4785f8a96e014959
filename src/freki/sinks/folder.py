"""Pages as a folder of Markdown files with front matter: one folder a host, one file a page.

No name comes from a page: it is made of the letters and digits of the URL, and of a hash that
tells two URLs apart whose letters are the same.
"""

import os
import re
from hashlib import blake2b
from pathlib import Path
from typing import Final

import msgspec

from freki.errors import ExportUnwritable
from freki.sinks.part import (
    NOTE,
    SUFFIX,
    Note,
    beside,
    read_note,
    sync_folder,
    write_note,
    writing,
)
from freki.sinks.rows import Placed, Row
from freki.url import split

# Characters of a name that come from the URL; file systems take 255 bytes.
MAX_NAME: Final = 80

_OTHER: Final = re.compile(r"[^a-z0-9]+")

FRONT: Final = ("url", "title", "description", "language", "status", "fetched_at", "canonical")


class Folder:
    """A folder that gets its name when all is in it."""

    def __init__(self, final: Path, job: str) -> None:
        self._final = final
        self._unnamed = beside(final, SUFFIX)
        if final.exists():
            raise ExportUnwritable(f"{final} exists; remove it, or name another folder")
        with writing(str(final)):
            if not final.parent.is_dir():
                raise ExportUnwritable(
                    f"{final}: there is no folder {final.parent}; create it first"
                )
            self.note = read_note(final, job)
            self._unnamed.mkdir(exist_ok=True)

    def __repr__(self) -> str:
        return f"<Folder {self._final} {self.note}>"

    def add(self, placed: Placed, _count: int) -> int:
        """The file of a page that is text; the same page again is the same file."""
        written = [
            row for row in placed.rows if row.get("main_markdown", row.get("markdown")) is not None
        ]
        for row in written:
            self._write(row)
        return len(written)

    def _write(self, row: Row) -> None:
        origin, path = split(str(row["url"]))
        with writing(str(self._final)):
            folder = self._unnamed / slug(origin.partition("://")[2])
            folder.mkdir(exist_ok=True)
            (folder / f"{file_name(origin, path)}.md").write_bytes(page(row))

    def keep(self, position: int, count: int) -> None:
        self.note = Note(self.note.job, position, count)
        with writing(str(self._final)):
            os.sync()  # a call for each of thousands of files would take minutes
            write_note(self._final, self.note)

    def finish(self, position: int, count: int) -> None:
        self.keep(position, count)
        with writing(str(self._final)):
            beside(self._final, NOTE).unlink()
            self._unnamed.replace(self._final)
            sync_folder(self._final.parent)

    def close(self) -> None:
        """Nothing is open."""


def page(row: Row) -> bytes:
    """Front matter and Markdown. A JSON string is a YAML string as well."""
    known = ((name, row.get(name)) for name in FRONT)
    lines = [f"{name}: {_yaml(value)}" for name, value in known if value is not None]
    text = str(row.get("main_markdown", row.get("markdown")))
    return "\n".join(["---", *lines, "---", "", text, ""]).encode()


def _yaml(value: object) -> str:
    # YAML 1.2, 5.1: C1 controls and some others must be escaped, which JSON does not ask for.
    text = msgspec.json.encode(value).decode()
    return "".join(char if char.isprintable() else _escaped(ord(char)) for char in text)


def _escaped(code: int) -> str:
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"


def file_name(origin: str, path: str) -> str:
    """`blog-2026-hello-1f3a9c0b5d7e2468`; the hash tells /a/b and /a-b apart."""
    told = blake2b(f"{origin}{path}".encode(), digest_size=8).hexdigest()
    return f"{slug(path)[:MAX_NAME]}-{told}".lstrip("-")


def slug(text: str) -> str:
    """Small letters, digits and lines between; never a dot, a slash or nothing at all."""
    return _OTHER.sub("-", text.lower()).strip("-")[:200] or "index"
