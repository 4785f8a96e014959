"""`--spider` with `--set`, and `--extract`: which program reads the pages."""

import argparse
import shlex
from pathlib import Path

from freki.cli.options import Parser
from freki.errors import BadInput
from freki.ledger.crawls import Crawl
from freki.spider.load import load
from freki.spider.rules import rules_from
from freki.spider.spider import Spider


def add_program(parser: Parser) -> None:
    """The options."""
    parser.add_argument(
        "--spider",
        metavar="WHERE",
        help="a spider of yours: file.py, file.py:Class or module:Class",
    )
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        dest="given",
        metavar="NAME=VALUE",
        help="an argument of the spider; may be given several times",
    )
    parser.add_argument(
        "--extract", type=Path, metavar="FILE", help="take out the fields that this TOML file names"
    )


def spider_of(arguments: argparse.Namespace) -> Spider | None:
    """The program that was named, loaded; None for none."""
    if arguments.spider is not None and arguments.extract is not None:
        raise BadInput("--spider and --extract are two ways to say the same; give one of them")
    given = _given(arguments.given)
    if given and arguments.spider is None:
        raise BadInput("--set gives arguments to a spider; name it with --spider")
    if arguments.extract is not None:
        return rules_from(arguments.extract)
    return None if arguments.spider is None else load(arguments.spider, given)


def _given(pairs: list[str]) -> dict[str, str]:
    split = [pair.partition("=") for pair in pairs]
    for name, equals, text in split:
        if not (name and equals):
            raise BadInput(f"--set {name}{equals}{text}: write NAME=VALUE")
    return {name: text for name, _, text in split}


def words_of(arguments: argparse.Namespace) -> str:
    """How the program was named, as the store keeps it: without arguments, which may be secret."""
    return shlex.join(flags_of(arguments)[:2])


def flags_of(arguments: argparse.Namespace) -> list[str]:
    """How the program was named, for a further worker."""
    if arguments.extract is not None:
        return ["--extract", str(arguments.extract)]
    if arguments.spider is None:
        return []
    return ["--spider", arguments.spider, *(f"--set={pair}" for pair in arguments.given)]


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
