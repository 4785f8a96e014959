"""`freki retry`: puts a class of ended URLs back."""

import sys
from contextlib import closing

from freki.cli.choose import add_crawl, add_filters, crawl_of, filter_of
from freki.cli.options import Parser, add_store
from freki.errors import BadInput
from freki.ledger import retry as ledger
from freki.ledger.store import open_existing

EXAMPLES = """\
  freki retry --outcome failed             all that failed, in the crawl begun last
  freki retry docs --reason timeout --host https://example.com
  freki retry --status 5xx                 answers that a server is hopefully over with"""


def run(command: str, words: list[str]) -> int:
    arguments = parser(command).parse_args(words)
    wanted = filter_of(arguments)
    if (wanted.state, wanted.reason, wanted.status, wanted.origin) == (None, None, None, None):
        raise BadInput("which URLs? give --outcome, --reason, --status or --host")
    with closing(open_existing(arguments.store)) as db:
        crawl = crawl_of(db, arguments.name)
        count = ledger.retry(db, crawl.id, wanted)
    print(f"{count:,} URLs of crawl {crawl.name!r} wait again.")
    if count:
        print(f"Continue with: freki crawl --name {crawl.name} --store {arguments.store}", file=sys.stderr)
    return 0


def parser(command: str) -> Parser:
    """The options of `freki retry`."""
    made = Parser(command, "Puts ended URLs back, to be fetched again by the next crawl.", EXAMPLES)
    add_crawl(made)
    add_store(made)
    add_filters(made)
    return made
