"""Command lines, made from the typed settings: every option is written down once, in config.py."""

import argparse
import types
import typing
from collections.abc import Iterable
from pathlib import Path
from typing import NoReturn

from freki.cli.exits import Exit
from freki.config import Option, nearest, options
from freki.ledger.place import place

PARTS = {
    "scope": "what belongs to the crawl",
    "politeness": "how hosts are treated",
    "fetching": "how pages are fetched",
    "keeping": "what is stored",
}

DEFAULT_STORE = Path("freki.db")


# What a text is, where that is not for the help to say.
_METAVARS = {
    "include": "PATTERN",
    "exclude": "PATTERN",
    "types": "TYPE",
    "cache": "FOLDER",
    "allow_address": "NETWORK",
    "proxy": "URL",
    "workers": "N|auto",
}


class Parser(argparse.ArgumentParser):
    """An argument parser that names the nearest option for one it does not know."""

    def __init__(self, command: str, description: str, examples: str) -> None:
        super().__init__(
            prog=f"freki {command}",
            description=description,
            epilog=f"examples:\n{examples}",
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )

    def error(self, message: str) -> NoReturn:
        prefix = "unrecognized arguments: "
        if message.startswith(prefix):
            word = message.removeprefix(prefix).split(" ")[0].partition("=")[0]
            message = f"there is no option {word}{nearest(word, self.flags())}"
            if not word.startswith("-"):
                message = f"what is {word!r} for? This command takes less"
        self.exit(
            Exit.bad_input, f"{self.prog}: {message}\n{self.prog} --help explains the options\n"
        )

    def flags(self) -> list[str]:
        """Every option this command takes."""
        return [flag for action in self._actions for flag in action.option_strings]


def add_store(parser: argparse.ArgumentParser, default: Path = DEFAULT_STORE) -> None:
    """Where the crawl is kept; the same for every command."""
    parser.add_argument(
        "--store",
        type=place,
        default=default,
        metavar="STORE",
        help=f"a file, or postgresql://USER@HOST/DATABASE (default: {default})",
    )


def add_settings(parser: argparse.ArgumentParser) -> None:
    """Every option of a crawl, grouped by part."""
    groups = {part: parser.add_argument_group(title) for part, title in PARTS.items()}
    for option in options():
        _add(groups[option.part], option)


def settings_of(arguments: argparse.Namespace) -> dict[str, object]:
    """The settings that were given, by name."""
    return {option.name: getattr(arguments, option.name) for option in options()}


def _add(group: argparse._ArgumentGroup, option: Option) -> None:
    kind = _plain(option.type)
    shown = "" if option.default in (None, False, ()) else f" (default: {option.default})"
    shown = " (default: on)" if option.default is True else shown
    text = f"{option.help}{shown}".replace("%", "%%")
    if kind is bool:
        # Both ways: a crawl that is continued keeps what it was told before.
        group.add_argument(option.flag, action=argparse.BooleanOptionalAction, help=text)
    elif typing.get_origin(kind) is tuple:
        group.add_argument(
            option.flag,
            action="append",
            metavar=_metavar(option.name, str),
            help=f"{option.help}; may be repeated",
        )
    elif typing.get_origin(kind) is typing.Literal:
        choices: Iterable[str] = typing.get_args(kind)
        group.add_argument(option.flag, choices=list(choices), help=text)
    else:
        group.add_argument(option.flag, metavar=_metavar(option.name, kind), help=text)


def _plain(kind: object) -> object:
    """The type without `None` and without constraints."""
    if isinstance(kind, types.UnionType) or typing.get_origin(kind) is typing.Union:
        kind = next(part for part in typing.get_args(kind) if part is not type(None))
    while hasattr(kind, "__metadata__"):
        kind = kind.__origin__  # type: ignore[attr-defined]  # what Annotated wraps
    return kind


def _metavar(name: str, kind: object) -> str:
    by_type = {int: "N", float: "SECONDS"}.get(typing.cast("type", kind), "TEXT")
    return _METAVARS.get(name, by_type)
