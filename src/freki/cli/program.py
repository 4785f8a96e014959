"""`--spider` and `--extract`: which program reads the pages."""

import argparse
from pathlib import Path

from freki.cli.options import Parser
from freki.errors import BadInput
from freki.ledger.crawls import Crawl
from freki.spider.load import load
from freki.spider.rules import rules_from
from freki.spider.spider import Spider


def add_program(parser: Parser) -> None:
    """The two options."""
    parser.add_argument(
        "--spider",
        metavar="WHERE",
        help="a spider of yours: file.py, file.py:Class or module:Class",
    )
    parser.add_argument(
        "--extract", type=Path, metavar="FILE", help="take out the fields that this TOML file names"
    )


def spider_of(arguments: argparse.Namespace) -> Spider | None:
    """The program that was named, loaded; None for none."""
    if arguments.spider is not None and arguments.extract is not None:
        raise BadInput("--spider and --extract are two ways to say the same; give one of them")
    if arguments.extract is not None:
        return rules_from(arguments.extract)
    return None if arguments.spider is None else load(arguments.spider)


def words_of(arguments: argparse.Namespace) -> str:
    """How the program was named, as the store keeps it."""
    if arguments.extract is not None:
        return f"--extract {arguments.extract}"
    return "" if arguments.spider is None else f"--spider {arguments.spider}"


def flags_of(arguments: argparse.Namespace) -> list[str]:
    """The same for a further worker."""
    if arguments.extract is not None:
        return ["--extract", str(arguments.extract)]
    return [] if arguments.spider is None else ["--spider", arguments.spider]


def refuse_other(crawl: Crawl, words: str) -> None:
    """A crawl goes on with the program it was begun with, or pages would be read by nobody."""
    if bool(crawl.program) == bool(words):
        return
    if words:
        raise BadInput(
            f"crawl {crawl.name!r} was begun without a program; begin another with --name NAME"
        )
    raise BadInput(
        f"crawl {crawl.name!r} is read by a program; go on with {crawl.program}, "
        "or begin another with --name NAME"
    )
