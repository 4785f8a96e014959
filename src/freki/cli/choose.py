"""Which crawl, and which of its URLs: the options that several commands share."""

import argparse

from freki.config import nearest
from freki.errors import BadInput, BadUrl
from freki.ledger import crawls, read
from freki.ledger.database import Database
from freki.messages import Reason, State
from freki.url import parse, split


def add_crawl(parser: argparse.ArgumentParser) -> None:
    """The crawl a command is about."""
    parser.add_argument(
        "name", nargs="?", type=readable, help="the crawl (default: the one begun last)"
    )


def readable(word: str) -> str:
    """A word of the command line that is text, and not bytes that nobody can read."""
    try:
        word.encode()
    except UnicodeEncodeError:
        raise argparse.ArgumentTypeError(f"{word!r} is not valid UTF-8") from None
    return word


def origin(text: str) -> str:
    """A host as the ledger spells it; any URL of it will do."""
    try:
        return split(parse(text)).origin
    except BadUrl as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def crawl_of(db: Database, name: str | None) -> crawls.Crawl:
    """The latest run of a crawl, or of the one begun last."""
    crawl = crawls.newest(db) if name is None else crawls.find(db, name)
    if crawl is None and name is None:
        raise BadInput("there is no crawl in this store yet; freki crawl URL makes one")
    if crawl is None:
        known = crawls.names(db)
        listed = ", ".join(known[:10]) or "none"
        raise BadInput(
            f"there is no crawl {name!r}{nearest(str(name), known)}; the store has: {listed}"
        )
    return crawl


def add_filters(parser: argparse.ArgumentParser) -> None:
    """Which ended URLs."""
    parser.add_argument("--outcome", choices=["done", "failed", "refused"], help="only ended URLs")
    parser.add_argument("--reason", type=reason, metavar="REASON", help="as timeout, robots, depth")
    parser.add_argument(
        "--host", type=origin, metavar="ORIGIN", help="only this host, as https://example.com"
    )
    parser.add_argument("--status", type=status_range, metavar="CODE", help="as 404 or 4xx")


def filter_of(arguments: argparse.Namespace) -> read.Filter:
    """What the options of `add_filters` ask for."""
    return read.Filter(
        state=State[arguments.outcome] if arguments.outcome else None,
        reason=arguments.reason,
        status=arguments.status,
        origin=arguments.host,
    )


def natural(text: str) -> int:
    """A whole number that is not negative."""
    if not (text.isascii() and text.isdigit() and len(text) < 19):
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 0 on")
    return int(text)


def status_range(text: str) -> tuple[int, int]:
    """`404` is 404 to 404, `4xx` is 400 to 499."""
    if len(text) == 3 and text[0] in "12345" and text[1:].lower() == "xx":
        return int(text[0]) * 100, int(text[0]) * 100 + 99
    if len(text) == 3 and text.isascii() and text.isdigit():
        return int(text), int(text)
    raise argparse.ArgumentTypeError(f"{text!r} is not a status like 404 or 4xx")


def reason(text: str) -> Reason:
    """A reason by its name."""
    try:
        return Reason[text]
    except KeyError:
        names = [known.name for known in Reason]
        near = nearest(text, names)
        raise argparse.ArgumentTypeError(
            f"there is no reason {text!r}{near or '; they are: ' + ', '.join(names)}"
        ) from None
