"""`freki serve`: crawls and screenshots over HTTP, for many callers."""

import argparse
import asyncio
from collections.abc import Callable
from contextlib import closing
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from msgspec import structs

from freki.cli.choose import natural
from freki.cli.exits import Exit
from freki.cli.options import Parser
from freki.errors import BadInput
from freki.ledger.blobs import settle
from freki.ledger.jobs import keys
from freki.ledger.place import place
from freki.ledger.store import open_existing
from freki.serve import logs, supervisor
from freki.serve.terms import Terms, refuse_open_door

EXAMPLES = """\
  freki serve                                      for this machine only
  freki serve --workers 4 --data service-data
  freki serve --host 0.0.0.0                       for others too, once there is a key
  freki serve --store postgresql://freki@db/freki  on many machines

It lets nobody on other machines in before there is a key, and reaches no private address.
"""

NEEDED = ("fastapi", "uvicorn", "prometheus_client", "jinja2")


def run(command: str, words: list[str]) -> int:
    arguments = parser(command).parse_args(words)
    _refuse_without_libraries()
    terms = _terms(arguments)
    if terms.blobs and not terms.store:
        raise BadInput("--blobs is for a service on a server (--store); others keep all in --data")
    terms.place.prepare()
    if terms.blobs:
        with closing(open_existing(place(terms.store))) as db:
            settle(db, terms.blobs)
    with closing(terms.place.desk()) as desk:
        refuse_open_door(terms, has_key=keys.any_live(desk))
    logs.begin("supervisor", quiet=terms.quiet)
    if arguments.only == "workers":
        return _supervise(terms, None)
    with supervisor.listen(terms.host, terms.port) as listener:
        if arguments.only == "web":
            terms = structs.replace(terms, workers=0)
        return _supervise(terms, listener)


def parser(command: str) -> Parser:
    """The options of `freki serve`: the fields of `Terms`, and which part to run."""
    made = Parser(command, "Crawls and screenshots over HTTP, for many callers.", EXAMPLES)
    for field in structs.fields(Terms):
        _add(made, field)
    made.add_argument("--only", choices=["web", "workers"], help="only this part, beside others")
    return made


def add_place(made: argparse.ArgumentParser, *names: str) -> None:
    """Where a service keeps everything; the same for every command."""
    for field in structs.fields(Terms):
        if field.name in names:
            _add(made, field)


def _add(made: argparse.ArgumentParser, field: structs.FieldInfo) -> None:
    kind, (meta,) = field.type.__origin__, field.type.__metadata__
    flag, default = "--" + field.name.replace("_", "-"), field.default
    if kind is bool:
        made.add_argument(flag, action="store_true", help=meta.description)
    elif default == ():
        text = f"{meta.description}; may be repeated"
        made.add_argument(flag, action="append", metavar="NAME", help=text)
    else:
        shown = f" (default: {default})" if default != "" else ""
        type_, metavar = READ_BY.get(kind, (str, "TEXT"))
        text = f"{meta.description}{shown}"
        made.add_argument(flag, type=type_, default=default, metavar=metavar, help=text)


def _amount(text: str) -> float:
    amount = float(text)
    if not 0 <= amount < float("inf"):
        raise ValueError
    return amount


READ_BY: dict[type, tuple[Callable[[str], Any], str]] = {
    int: (natural, "N"),
    float: (_amount, "N"),
    Path: (Path, "FOLDER"),
}


def _refuse_without_libraries() -> None:
    missing = [name for name in NEEDED if find_spec(name) is None]
    if missing:
        raise BadInput(
            f"the service needs {', '.join(missing)}; install it with pip install 'freki[service]'"
        )


def _terms(arguments: argparse.Namespace) -> Terms:
    given = {field.name: getattr(arguments, field.name) for field in structs.fields(Terms)}
    given["known_as"] = tuple(arguments.known_as or ())
    given["public_url"] = arguments.public_url.rstrip("/")
    return Terms(**given)


def _supervise(terms: Terms, listener: supervisor.Listener | None) -> int:
    where = supervisor.address(listener) if listener else f"jobs of {terms.place}"

    async def serve() -> None:
        await supervisor.Supervisor(terms, listener).run(
            lambda: print(f"Freki serves {where}; Ctrl-C ends it.", flush=True)
        )

    asyncio.run(serve())
    return Exit.finished
