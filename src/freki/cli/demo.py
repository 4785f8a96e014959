"""`freki demo`: a built-in site on this machine, crawled and shown. Needs no internet."""

import asyncio
import time
from contextlib import closing
from pathlib import Path

from freki import config
from freki.cli import crawl as crawling
from freki.cli.options import Parser, add_store
from freki.cli.output import write
from freki.ledger import crawls, read
from freki.ledger.database import Database
from freki.ledger.store import open_store
from freki.testing.server import serve
from freki.testing.synthetic import Web

NAME = "demo"
STORE = Path("freki-demo.db")

# A little of everything that real sites have, so that the summary has something to explain.
SITE = Web(
    seed=2, pages=300, redirects=0.06, missing=0.04, duplicates=0.02, files=0.05,
    messy=0.2, cross_links=0.05,
)  # fmt: skip


def run(command: str, words: list[str]) -> int:
    arguments = parser(command).parse_args(words)
    with closing(open_store(arguments.store)) as db:
        return crawling.run_loop(_demo(db, arguments))


def parser(command: str) -> Parser:
    """The options of `freki demo`."""
    made = Parser(
        command,
        "Serves a small site on this machine, crawls it and shows what was found.",
        "  freki demo\n  freki demo --stay      keep the site up, to look at it in a browser",
    )
    add_store(made, STORE)
    made.set_defaults(json=False, quiet=False)
    made.add_argument("--stay", action="store_true", help="serve the site until Ctrl-C")
    return made


async def _demo(db: Database, arguments: crawling.Arguments) -> int:
    async with serve(SITE) as site:
        print(f"A library of {SITE.pages} books and halls is at {site.url}; crawling it …\n")
        settings = config.settings({"politeness": {"delay": 0}})
        begun = crawls.begin(db, NAME, [site.url], settings, time.time())
        plan = crawling.Plan(begun, begun.seeds, resumed=False)
        code = await crawling.carry_out(db, arguments, plan)
        print("\nSome of its pages:\n")
        wanted = read.Filter(content_type="text/html", limit=8)
        write(read.pages(db, begun.id, wanted), ("status", "title", "url"), "table")
        print(f"\nTry: freki urls --store {arguments.store} --status 4xx")
        if arguments.stay:
            print(f"The site stays at {site.url} until Ctrl-C.")
            await asyncio.Event().wait()
    return code
