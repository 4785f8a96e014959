"""The browsers of a command: found, started, ended."""

import argparse
import asyncio
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from freki.config import DEFAULT_AGENT
from freki.fetch.browser.find import Found, find
from freki.fetch.browser.pool import pool, size_here
from freki.fetch.browser.process import Terms
from freki.fetch.egress import Egress
from freki.steps import Render

# Sites give pages to browsers that they do not give to others; our own name stands behind.
AGENT = (
    "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/156.0.0.0"
    f" Safari/537.36 {DEFAULT_AGENT}"
)


def add_browser(parser: argparse.ArgumentParser) -> None:
    """Which browser, how many, and what they may reach."""
    add = parser.add_argument
    add("--browser", default="", metavar="FILE", help="the program (default: the best there is)")
    add("--browsers", type=whole, metavar="N", help="how many (default: as there are cores)")
    add(
        "--no-sandbox", action="store_true",
        help="without the browser's own protection; only for pages of your own",
    )  # fmt: skip
    add("--insecure", action="store_true", help="accept any TLS certificate")
    add("--no-allow-private", action="store_true", help="reach public addresses only")
    add(
        "--allow-address", action="append", metavar="ADDRESS",
        help="reach this address or network, whatever it is; may be repeated",
    )  # fmt: skip


def whole(text: str) -> int:
    """A number of an option."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError("a whole number from 1 on")
    return int(text)


def found_by(arguments: argparse.Namespace) -> Found:
    """The browser of a command line; `BrowserMissing` where there is none."""
    return find(arguments.browser)


@asynccontextmanager
async def browsers(arguments: argparse.Namespace, jobs: int) -> AsyncIterator[Render]:
    """Browsers for so many jobs."""
    if arguments.no_sandbox:
        print(
            "without its sandbox, a page that breaks the browser has all rights of its user",
            file=sys.stderr,
        )
    size, memory = size_here(arguments.browsers)
    size = size.for_jobs(jobs)
    terms = Terms(
        found=found_by(arguments),
        agent=AGENT,
        sandbox=not arguments.no_sandbox,
        insecure=arguments.insecure,
        memory=memory,
    )
    egress = Egress(not arguments.no_allow_private, arguments.allow_address or ())
    async with pool(terms, size, egress) as render:
        _end_on_sigterm()
        yield render


def _end_on_sigterm() -> None:
    """As Ctrl-C does, so that browsers and their profiles go with us."""
    task = asyncio.current_task()
    assert task is not None
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
