"""`freki retry`: puts a class of ended URLs back."""

import sys
from contextlib import closing
from shlex import quote

from freki.cli.choose import add_crawl, add_filters, crawl_of, filter_of
from freki.cli.options import Parser, add_store
from freki.cli.output import counted
from freki.errors import BadInput
from freki.ledger import retry as ledger
from freki.ledger.store import open_existing, translated

EXAMPLES = """\
  freki retry --outcome failed             all that failed, in the crawl begun last
  freki retry docs --reason timeout --host https://example.com
  freki retry --status 5xx                 answers that a server is hopefully over with"""


def run(command: str, words: list[str]) -> int:
    arguments = parser(command).parse_args(words)
    wanted = filter_of(arguments)
    if (wanted.state, wanted.reason, wanted.status, wanted.origin) == (None, None, None, None):
        raise BadInput("which URLs? give --outcome, --reason, --status or --host")
    with translated(str(arguments.store)), closing(open_existing(arguments.store)) as db:
        crawl = crawl_of(db, arguments.name)
        count = ledger.retry(db, crawl.id, wanted)
    print(f"{counted(count, 'URL')} of crawl {crawl.name!r} will be tried again.")
    if count:
        place = f"--name {quote(crawl.name)} --store {quote(str(arguments.store))}"
        print(f"Continue with: freki crawl {place}", file=sys.stderr)
    return 0


def parser(command: str) -> Parser:
    """The options of `freki retry`."""
    made = Parser(command, "Puts ended URLs back, to be fetched again by the next crawl.", EXAMPLES)
    add_crawl(made)
    add_store(made)
    add_filters(made)
    return made
