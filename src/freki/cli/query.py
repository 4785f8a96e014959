"""`freki query`: SQL over a crawl."""

import sys
from collections.abc import Iterator
from contextlib import closing
from itertools import chain, islice

from freki.cli.choose import crawl_of, natural, readable
from freki.cli.options import Parser, add_store
from freki.cli.output import FORMATS, write
from freki.ledger.store import read_store, translated
from freki.sinks.query import query
from freki.sinks.rows import Row

EXAMPLES = """\
  freki query "select status, count(*) from pages group by status"
  freki query "select url, title from pages where title ilike '%error%'" --format csv
  freki query "select target, count(*) n from links group by target order by n desc limit 20"
  freki query "select * from items"

The tables are pages, urls, links and items; DESCRIBE pages shows the columns of one. Of
pages, html, text, markdown and main are computed where the statement has their name."""

TABLE_ROWS = 100


def run(command: str, words: list[str]) -> int:
    arguments = parser(command).parse_args(words)
    limit = arguments.limit
    if limit is None and arguments.format == "table":
        limit = TABLE_ROWS
    with closing(read_store(arguments.store)) as db, translated(str(arguments.store)):
        crawl = crawl_of(db, arguments.name)
        with closing(query(db, crawl.id, arguments.sql)) as found:
            _show(found, limit, arguments.format)
    return 0


def parser(command: str) -> Parser:
    """The options of `freki query`."""
    made = Parser(command, "Answers SQL about a crawl (DuckDB). Changes nothing.", EXAMPLES)
    made.add_argument("sql", metavar="SQL", type=readable, help="one statement")
    made.add_argument(
        "--name", type=readable, metavar="NAME", help="the crawl (default: the one begun last)"
    )
    add_store(made)
    made.add_argument("--format", choices=FORMATS, default="table", help="default: table")
    made.add_argument(
        "--limit", type=natural, metavar="N",
        help=f"at most so many rows (default: {TABLE_ROWS} in a table, else all)",
    )  # fmt: skip
    return made


def _show(found: Iterator[Row], limit: int | None, format_: str) -> None:
    first = next(found, None) if limit != 0 else None
    if first is None:
        print("no rows", file=sys.stderr)
        return
    rows = islice(chain([first], found), limit)
    write(rows, list(first), format_)
    if next(found, None) is not None:
        print(f"the first {limit}; --limit N shows more", file=sys.stderr)
