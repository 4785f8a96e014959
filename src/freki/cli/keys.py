"""`freki keys`: who may call the service."""

import argparse
from contextlib import closing

from freki.cli.choose import natural
from freki.cli.options import Parser
from freki.cli.output import harmless
from freki.cli.serve import add_place
from freki.errors import BadInput
from freki.ledger.jobs import keys
from freki.ledger.jobs.keys import Key, Quotas
from freki.ledger.jobs.place import Desk
from freki.ledger.read import iso
from freki.serve.terms import Terms

EXAMPLES = """\
  freki keys add laptop
  freki keys add reports --scope read
  freki keys list
  freki keys revoke 9f2c51d0a7b8
"""

MAX_NAME = 100


def run(command: str, words: list[str]) -> int:
    arguments = parser(command).parse_args(words)
    terms = Terms(data=arguments.data, store=arguments.store)
    terms.place.prepare()
    with closing(terms.place.desk()) as desk:
        {"add": _add, "list": _list, "revoke": _revoke}[arguments.action](desk, arguments)
    return 0


def parser(command: str) -> Parser:
    """The options of `freki keys`."""
    made = Parser(command, "The keys that let callers into a service.", EXAMPLES)
    made.add_argument("action", choices=["add", "list", "revoke"])
    made.add_argument("key", nargs="?", metavar="NAME", help="a name for a new key, or a key's id")
    add_place(made, "data", "store")
    usual = Quotas()
    made.add_argument(
        "--scope",
        action="append",
        choices=keys.SCOPES,
        help="what it may do (default: submit and read); may be repeated",
    )
    made.add_argument(
        "--running",
        type=natural,
        default=usual.running,
        metavar="N",
        help=f"jobs in work at once (default: {usual.running})",
    )
    made.add_argument(
        "--queued",
        type=natural,
        default=usual.queued,
        metavar="N",
        help=f"jobs that wait (default: {usual.queued})",
    )
    made.add_argument(
        "--pages-per-job",
        type=natural,
        default=usual.pages_per_job,
        metavar="N",
        help=f"(default: {usual.pages_per_job})",
    )
    made.add_argument(
        "--pages-per-day",
        type=natural,
        default=usual.pages_per_day,
        metavar="N",
        help=f"(default: {usual.pages_per_day})",
    )
    return made


def _add(desk: Desk, arguments: argparse.Namespace) -> None:
    name = arguments.key
    if not name or len(name) > MAX_NAME:
        raise BadInput("give the key a name, as in: freki keys add laptop")
    quotas = Quotas(
        arguments.running, arguments.queued, arguments.pages_per_job, arguments.pages_per_day
    )
    scopes = tuple(dict.fromkeys(arguments.scope or ("submit", "read")))
    token, _ = keys.add(desk, name, scopes, quotas, desk.now())
    print(token)


def _list(desk: Desk, _: argparse.Namespace) -> None:
    for key in keys.known(desk):
        print(_line(key))


def _line(key: Key) -> str:
    standing = f"revoked {iso(key.revoked_at)}" if key.revoked_at else "live"
    scopes = ",".join(key.scopes)
    return f"{key.id}  {standing:<8}  {iso(key.created_at)}  {scopes:<12}  {harmless(key.name)}"


def _revoke(desk: Desk, arguments: argparse.Namespace) -> None:
    if not arguments.key:
        raise BadInput("which key? freki keys list shows their ids")
    keys.revoke(desk, arguments.key, desk.now())
    print(f"{arguments.key} lets nobody in any more.")
