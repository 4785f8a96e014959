"""`freki items`: what was taken out of pages, and what became of it."""

from collections.abc import Iterator
from contextlib import closing

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from freki.cli.choose import add_crawl, crawl_of, natural
from freki.cli.exits import Exit
from freki.cli.options import Parser, add_store
from freki.cli.output import FORMATS, write
from freki.ledger import read
from freki.ledger.store import read_store
from freki.messages import Fate

COLUMNS = ("id", "fate", "kind", "data", "detail", "url")
TABLE_ROWS = 100
MOST_SHOWN = 80  # characters of an item in a table


class Row(Struct, frozen=True):
    """An item as it is shown."""

    id: int
    url: str
    kind: str
    fate: str
    found_at: str
    data: object
    detail: str | None


def run(command: str, words: list[str]) -> int:
    arguments = parser(command).parse_args(words)
    with closing(read_store(arguments.store)) as db:
        crawl = crawl_of(db, arguments.name)
        fate = None if arguments.fate == "all" else Fate[arguments.fate]
        limit = arguments.limit
        if limit is None:
            limit = TABLE_ROWS if arguments.format == "table" else -1
        lines = read.items(db, crawl.id, fate, limit=limit)
        if arguments.format == "table":
            write(map(_short, _rows(lines)), COLUMNS, "table")
        else:
            write(_rows(lines), Row.__struct_fields__, arguments.format)
    return Exit.finished


def _rows(lines: Iterator[read.ItemLine]) -> Iterator[Row]:
    for line in lines:
        data = msgspec.json.decode(line.data)
        yield Row(line.id, line.url, line.kind, line.fate, line.found_at, data, line.detail)


def _short(row: Row) -> Row:
    """For a line of a table: the beginning of the item, and the end of a traceback."""
    data = msgspec.json.encode(row.data).decode()
    data = data if len(data) <= MOST_SHOWN else f"{data[: MOST_SHOWN - 1]}…"
    detail = row.detail and row.detail.rstrip().rpartition("\n")[2]
    return replace(row, data=data, detail=detail)


def parser(command: str) -> Parser:
    """The options of `freki items`."""
    made = Parser(
        command,
        "Lists what spiders and rules took out of the pages of a crawl.",
        "  freki items                                what was kept\n"
        "  freki items --fate failed --format jsonl   with the traceback of each",
    )
    add_crawl(made)
    add_store(made)
    made.add_argument("--format", choices=FORMATS, default="table", help="default: table")
    made.add_argument(
        "--fate", choices=[*(fate.name for fate in Fate), "all"], default="kept",
        help="what became of them: kept, dropped, failed or all (default: kept)",
    )  # fmt: skip
    made.add_argument(
        "--limit", type=natural, metavar="N",
        help=f"at most so many rows (default: {TABLE_ROWS} in a table, else all)",
    )  # fmt: skip
    return made
