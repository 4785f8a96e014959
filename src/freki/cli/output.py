"""Rows as a table for people, as JSON lines or CSV for programs."""

import csv
import shutil
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import TextIO

import msgspec
from msgspec import Struct

from freki.sinks.cells import cell

# What came from the web must not steer the terminal: C0, DEL, C1, and what turns text around.
_STEERING = {
    **dict.fromkeys([*range(32), *range(127, 160)], "�"),
    **dict.fromkeys([*range(0x202A, 0x202F), *range(0x2066, 0x206A)], "\N{REPLACEMENT CHARACTER}"),
    ord("\n"): " ",
    ord("\t"): " ",
    ord("\r"): " ",
}

# The same in JSON, where it can be spelled so that nothing is lost.
_STEERING_JSON = {code: f"\\u{code:04x}" for code in _STEERING if code >= 0x7F}

FORMATS = ("table", "jsonl", "csv")

Line = Struct | dict[str, object]


def harmless(text: str) -> str:
    """Text from the web without what steers a terminal."""
    return text.translate(_STEERING)


def counted(count: int, noun: str) -> str:
    """`1 page`, `1,000 pages`."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def write(
    rows: Iterable[Line], columns: Sequence[str], format_: str, out: TextIO | None = None
) -> int:
    """Write rows and answer how many there were. `columns` are those of the table."""
    out = out or sys.stdout
    writers: dict[str, Callable[[Iterable[Line], Sequence[str], TextIO], int]] = {
        "table": _table,
        "jsonl": _jsonl,
        "csv": _csv,
    }
    return writers[format_](rows, columns, out)


def _jsonl(rows: Iterable[Line], _columns: Sequence[str], out: TextIO) -> int:
    count, on_terminal = 0, out.isatty()
    for count, row in enumerate(rows, 1):
        line = msgspec.json.encode(msgspec.to_builtins(row)).decode()
        out.write((line.translate(_STEERING_JSON) if on_terminal else line) + "\n")
    return count


def _csv(rows: Iterable[Line], columns: Sequence[str], out: TextIO) -> int:
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(columns)
    count, on_terminal = 0, out.isatty()
    for count, row in enumerate(rows, 1):
        cells = [cell(_value(row, column)) for column in columns]
        writer.writerow(map(harmless, cells) if on_terminal else cells)
    return count


def _value(row: Line, column: str) -> object:
    return row[column] if isinstance(row, dict) else getattr(row, column)


def _table(rows: Iterable[Line], columns: Sequence[str], out: TextIO) -> int:
    """Columns as wide as the first rows need; the last one takes what the line leaves."""
    lines = [[_shown(_value(row, column)) for column in columns] for row in rows]
    if not lines:
        return 0
    width = shutil.get_terminal_size((120, 24)).columns if out.isatty() else 10_000
    widths = [
        max(len(column), *(len(line[place]) for line in lines))
        for place, column in enumerate(columns)
    ]
    for line in [list(columns), *lines]:
        text = "  ".join(cell.ljust(size) for cell, size in zip(line, widths, strict=True))
        out.write(text.rstrip()[:width] + "\n")
    return len(lines)


def _shown(value: object) -> str:
    match value:
        case None:
            return ""
        case float():
            return f"{value:.2f}"
        case _:
            return harmless(str(value))
