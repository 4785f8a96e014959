"""`freki move`: copies a store into another one, from a file to a server or back."""

from contextlib import closing
from shlex import quote

from freki.cli.options import Parser
from freki.cli.output import counted
from freki.errors import BadInput
from freki.ledger import move as ledger
from freki.ledger.place import place
from freki.ledger.store import open_store, read_store, translated

EXAMPLES = """\
  freki move freki.db postgresql://crawler@db.example/crawls     go on with more machines
  freki move postgresql://crawler@db.example/crawls freki.db     and bring it home again"""


def run(command: str, words: list[str]) -> int:
    arguments = parser(command).parse_args(words)
    source, target = arguments.source, arguments.target
    if source == target:
        raise BadInput("both are the same store")
    with (
        translated(str(source)),
        closing(read_store(source)) as old,
        translated(str(target)),
        closing(open_store(target)) as new,
    ):
        copied = ledger.move(old, new)
    pages = counted(copied["page"], "stored answer")
    print(f"{counted(copied['crawl'], 'crawl')} with {counted(copied['url'], 'URL')} and {pages}.")
    print(f"{source} was left as it is; go on with: freki crawl --store {quote(str(target))} …")
    return 0


def parser(command: str) -> Parser:
    """The options of `freki move`."""
    made = Parser(
        command,
        "Copies a store into one that holds nothing yet. Unfinished crawls go on from there.",
        EXAMPLES,
    )
    made.add_argument("source", type=place, metavar="FROM", help="a file, or postgresql://…")
    made.add_argument("target", type=place, metavar="TO", help="a file, or postgresql://…")
    return made
