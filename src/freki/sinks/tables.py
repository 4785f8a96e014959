"""Rows as JSON lines and as CSV: bytes that are only ever added to."""

import csv
import io
from collections.abc import Sequence
from typing import Protocol

import msgspec

from freki.sinks.cells import cell
from freki.sinks.rows import Row


class Lines(Protocol):
    """A format in which rows follow each other."""

    def head(self) -> bytes:
        """What comes before the first row."""
        ...

    def line(self, row: Row) -> bytes: ...


class JsonLines:
    """One JSON object a line."""

    def head(self) -> bytes:
        return b""

    def line(self, row: Row) -> bytes:
        return msgspec.json.encode(row) + b"\n"


class Csv:
    """A line of names, then a line a row; JSON in the cells of what is a list or an object."""

    def __init__(self, columns: Sequence[str]) -> None:
        self._columns = columns

    def head(self) -> bytes:
        return _csv_line([cell(column) for column in self._columns])

    def line(self, row: Row) -> bytes:
        return _csv_line([cell(row.get(column)) for column in self._columns])


def _csv_line(cells: list[str]) -> bytes:
    out = io.StringIO(newline="")
    csv.writer(out, lineterminator="\n").writerow(cells)
    return out.getvalue().encode()
