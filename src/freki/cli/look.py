"""`freki status`, `freki urls`, `freki pages`: what a store knows."""

import argparse
import sys
from collections.abc import Sequence
from contextlib import closing
from typing import Any

import msgspec

from freki.cli.choose import (
    add_crawl,
    add_filters,
    crawl_of,
    filter_of,
    natural,
    origin,
    status_range,
)
from freki.cli.options import Parser, add_store
from freki.cli.output import FORMATS, harmless, write
from freki.cli.search import pages_that_say
from freki.config import nearest
from freki.errors import BadInput
from freki.ledger import crawls, order, read
from freki.ledger.database import Database
from freki.ledger.store import legible, read_store
from freki.messages import State

URL_COLUMNS = ("url", "state", "outcome", "reason", "status", "depth", "attempts", "parent")
PAGE_COLUMNS = ("status", "url", "title", "content_type", "depth", "bytes", "fetched_at")

EXAMPLES = {
    "status": "  freki status\n  freki status docs --json",
    "urls": (
        "  freki urls --outcome failed\n"
        "  freki urls --outcome failed --group reason,host      why are pages missing?\n"
        "  freki urls --reason out_of_scope --format csv > outside.csv"
    ),
    "pages": (
        "  freki pages --status 404\n"
        "  freki pages --sort size --descending --limit 10\n"
        "  freki pages --text 'opening hours' --format jsonl | jq .title"
    ),
}
TABLE_ROWS = 100

# Names of other crawls, below the sums of one.
SHOWN = 8


def run(command: str, words: list[str]) -> int:
    arguments = parser(command).parse_args(words)
    with closing(read_store(arguments.store)) as db, legible(str(arguments.store)):
        crawl = crawl_of(db, arguments.name)
        show = {"status": _status, "urls": _urls, "pages": _pages}[command]
        show(db, crawl, arguments)
    return 0


def parser(command: str) -> Parser:
    """The options of a command that looks at a store."""
    about = {
        "status": "How a crawl stands: counts by state, outcome and reason, and its hosts.",
        "urls": "The URLs of a crawl with state, outcome and reason.",
        "pages": "The pages of a crawl.",
    }
    made = Parser(command, about[command], EXAMPLES[command])
    add_crawl(made)
    add_store(made)
    if command == "status":
        made.add_argument("--json", action="store_true", help="one JSON object")
        return made
    made.add_argument("--format", choices=FORMATS, default="table", help="default: table")
    made.add_argument(
        "--limit", type=natural, metavar="N",
        help=f"at most so many rows (default: {TABLE_ROWS} in a table, else all)",
    )  # fmt: skip
    _add_order(made, "urls" if command == "urls" else "pages")
    if command == "urls":
        add_filters(made)
        made.add_argument("--state", choices=["waiting", "leased"], help="only open URLs")
        made.add_argument("--depth", type=natural, metavar="N", help="only this depth")
        made.add_argument(
            "--group", type=_columns, metavar="COLUMNS",
            help=f"count by these, as reason,host; of {', '.join(read.GROUPS)}",
        )  # fmt: skip
    else:
        made.add_argument(
            "--host", type=origin, metavar="ORIGIN", help="only this host, as https://example.com"
        )
        made.add_argument("--status", type=status_range, metavar="CODE", help="as 404 or 4xx")
        made.add_argument(
            "--type", metavar="TYPE", help="content types that begin so, as text/html"
        )
        made.add_argument(
            "--redirects", action="store_true", help="also answers that only lead elsewhere"
        )
        made.add_argument(
            "--links", action="store_true", help="with the links of each page (jsonl)"
        )
    return made


def _add_order(parser: argparse.ArgumentParser, what: order.What) -> None:
    parser.add_argument(
        "--text", metavar="TEXT",
        help="only with this in the address or title, or with these words in what the page says",
    )  # fmt: skip
    parser.add_argument("--sort", choices=order.SORTS[what], help="default: in order of discovery")
    parser.add_argument("--descending", action="store_true", help="the largest first")


def _status(db: Database, crawl: crawls.Crawl, arguments: argparse.Namespace) -> None:
    sums, hosts = read.status(db, crawl.id), read.hosts(db, crawl.id)
    status, ended_at = crawl.status, crawl.ended_at
    if status == "running":
        ended_at = None
    if status == "running" and crawls.worked_on_by(db, crawl) is None:
        status = "interrupted"  # its process was killed and could not say so
    if arguments.json:
        line = {
            "crawl": crawl.name,
            "run": crawl.run,
            "status": status,
            "seeds": crawl.seeds,
            "started_at": read.iso(crawl.started_at),
            "ended_at": read.iso(ended_at) if ended_at else None,
            "seconds": round(crawl.seconds, 3),
            "wire_bytes": crawl.wire_bytes,
            **msgspec.to_builtins(sums),
            "items": read.item_counts(db, crawl.id),
            "hosts": msgspec.to_builtins(hosts),
        }
        print(msgspec.json.encode(line).decode())
        return
    print(f"{harmless(crawl.name)}, run {crawl.run}: {status}")
    print(sums_table(sums))
    if waiting := [host for host in hosts if host.waiting]:
        print("\nhosts with most to do")
        write(waiting, ("waiting", "delay", "failures", "host"), "table")
    if others := [harmless(name) for name in crawls.names(db) if name != crawl.name]:
        more = f" and {len(others) - SHOWN:,} more" if len(others) > SHOWN else ""
        print(f"\nother crawls in this store: {', '.join(others[:SHOWN])}{more}")


def sums_table(sums: read.Status) -> str:
    """The sums of a crawl in a few aligned lines; they add up to the first."""
    lines = [f"  {'discovered':<11}{sums.discovered:>12,}"]
    for name in ("done", "failed", "refused", "waiting", "leased"):
        reasons = sums.reasons.get(name, {})
        ranked = sorted(reasons.items(), key=lambda reason: -reason[1])
        why = ", ".join(f"{reason} {count:,}" for reason, count in ranked)
        lines.append(f"  {name:<11}{getattr(sums, name):>12,}   {why}".rstrip())
    return "\n".join(lines)


def _urls(db: Database, crawl: crawls.Crawl, arguments: argparse.Namespace) -> None:
    if arguments.state and arguments.outcome:
        raise BadInput(
            "--state is about open URLs and --outcome about ended ones; give one of them"
        )
    wanted = msgspec.structs.replace(
        filter_of(arguments), depth=arguments.depth, **_order(db, crawl, arguments)
    )
    if arguments.state:
        wanted = msgspec.structs.replace(wanted, state=State[arguments.state])
    if arguments.group:
        groups = read.grouped(db, crawl.id, wanted, arguments.group)
        columns: Sequence[str] = ("count", *arguments.group)
        count = write(groups, columns, arguments.format)
    else:
        columns = URL_COLUMNS if arguments.format == "table" else read.UrlLine.__struct_fields__
        rows = (row.line for row in order.listed(db, crawl.id, "urls", wanted))
        count = write(rows, columns, arguments.format)
    _say_if_cut(count, arguments)


def _pages(db: Database, crawl: crawls.Crawl, arguments: argparse.Namespace) -> None:
    if arguments.links and arguments.format != "jsonl":
        raise BadInput("--links needs --format jsonl; a row has no room for them")
    wanted = read.Filter(
        status=arguments.status,
        origin=arguments.host,
        content_type=arguments.type,
        redirects=arguments.redirects or (arguments.status or (0, 0))[0] // 100 == 3,
        **_order(db, crawl, arguments),
    )
    flat = [name for name in read.PageLine.__struct_fields__ if name not in ("headers", "links")]
    columns = PAGE_COLUMNS if arguments.format == "table" else flat
    found = order.listed(db, crawl.id, "pages", wanted, with_links=arguments.links)
    rows = (row.line for row in found)
    _say_if_cut(write(rows, columns, arguments.format), arguments)


def _order(db: Database, crawl: crawls.Crawl, arguments: argparse.Namespace) -> dict[str, Any]:
    """What both lists can be asked for: which rows in which order, and how many."""
    text = arguments.text
    return {
        "text": text,
        "among": pages_that_say(db, arguments.store, crawl.id, text) if text else None,
        "sort": arguments.sort,
        "descending": arguments.descending,
        "limit": _limit(arguments),
    }


def _limit(arguments: argparse.Namespace) -> int:
    if arguments.limit is not None:
        return int(arguments.limit)
    return TABLE_ROWS if arguments.format == "table" else -1


def _say_if_cut(count: int, arguments: argparse.Namespace) -> None:
    if count == 0 and arguments.format == "table":
        print("nothing matches", file=sys.stderr)
    if arguments.limit is None and arguments.format == "table" and count == TABLE_ROWS:
        print(f"the first {TABLE_ROWS}; --limit N or --format jsonl shows more", file=sys.stderr)


def _columns(text: str) -> tuple[str, ...]:
    columns = tuple(text.split(","))
    for column in columns:
        if column not in read.GROUPS:
            near = nearest(column, list(read.GROUPS)) or f"; they are: {', '.join(read.GROUPS)}"
            raise argparse.ArgumentTypeError(f"there is no column {column!r}{near}")
    return columns
