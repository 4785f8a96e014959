"""`freki export`: a crawl as files for other tools."""

import argparse
import sys
import time
from contextlib import closing
from pathlib import Path

from freki.cli.choose import crawl_of, natural, readable
from freki.cli.options import Parser, add_store
from freki.cli.output import counted
from freki.cli.progress import span
from freki.ledger.place import Place
from freki.ledger.store import read_store, translated
from freki.sinks.export import Export, export
from freki.sinks.rows import EXTRAS
from freki.sinks.wanted import GIB, Wanted, wanted

EXAMPLES = """\
  freki export pages.jsonl                      a line for each page
  freki export pages.parquet --with main        with the text of the main content
  freki export links=site.csv broken.html       all links, and the broken ones for people
  freki export site.warc.gz                     an archive that other archives understand
  freki export site/                            a folder of Markdown files
  freki export s3://bucket/items.jsonl          any place that fsspec knows

What is exported is told by the name (pages, items, urls, links, broken), by WHAT=FILE, or is
items where a crawl has some, else pages. Who is interrupted runs the same command again."""

MB = 10**6


def run(command: str, words: list[str]) -> int:
    arguments = parser(command).parse_intermixed_args(words)
    wants = wanted_by(arguments, arguments.file)
    with closing(read_store(arguments.store)) as db, translated(str(arguments.store)):
        crawl = crawl_of(db, arguments.name)
        for want in wants:
            started = time.monotonic()
            with closing(export(want, db, crawl, spelled(arguments.store))) as made:
                made.finish(db)
            if not arguments.quiet:
                print(told(want, made, time.monotonic() - started), file=sys.stderr)
    return 0


def parser(command: str) -> Parser:
    """The options of `freki export`."""
    made = Parser(command, "Writes a crawl to files, by suffix in the right format.", EXAMPLES)
    made.add_argument("file", nargs="+", type=readable, metavar="FILE", help="[WHAT=]FILE or URL")
    made.add_argument(
        "--name", type=readable, metavar="NAME", help="the crawl (default: the one begun last)"
    )
    add_store(made)
    add_export_options(made)
    made.add_argument("--quiet", action="store_true", help="say nothing; errors only")
    return made


def spelled(store: Place) -> str:
    """The store, the same from every folder: an export goes on with its own store only."""
    return str(store.absolute() if isinstance(store, Path) else store)


def add_export_options(parser: argparse.ArgumentParser) -> None:
    """How files are written."""
    parser.add_argument(
        "--with", action="append", choices=list(EXTRAS), dest="extras", default=[],
        help="pages with this as well; may be repeated",
    )  # fmt: skip
    parser.add_argument(
        "--max-size", type=natural, metavar="MB", default=GIB // MB,
        help="a WARC file larger than this is followed by another one (default: %(default)s)",
    )  # fmt: skip
    parser.add_argument("--overwrite", action="store_true", help="replace files that exist")


def wanted_by(arguments: argparse.Namespace, files: list[str]) -> list[Wanted]:
    """Every export that was asked for; what is wrong with one is told before any begins."""
    size, overwrite = arguments.max_size * MB, arguments.overwrite
    return [wanted(file, arguments.extras, max_bytes=size, overwrite=overwrite) for file in files]


def told(want: Wanted, made: Export, seconds: float) -> str:
    """What was written, in a line."""
    return f"{want.where}: {counted(made.count, 'row')} in {span(seconds)}"
