"""`freki fetch`, `freki save`, `freki shell`: one page, without a crawl."""

import argparse
import asyncio
import re
import sys
import tempfile
import webbrowser
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from freki import api
from freki.cli.exits import Exit
from freki.cli.options import Parser
from freki.cli.output import harmless
from freki.errors import BadInput
from freki.spider.page import Page
from freki.testing.spiders import SUFFIX, save

EXAMPLES = {
    "fetch": (
        "  freki fetch https://example.com --css h1\n"
        "  freki fetch https://example.com --css 'a::attr(href)'\n"
        "  freki fetch https://example.com --markdown > page.md"
    ),
    "save": "  freki save https://example.com tests/pages/start.page",
    "shell": "  freki shell https://example.com",
}

ABOUT = {
    "fetch": "Fetches one page, and prints it or what is asked of it.",
    "save": "Saves one page for the tests of a spider.",
    "shell": "Fetches one page, to try out selectors on it.",
}

WELCOME = """\
page           {page!r}
page.css(…)    page.xpath(…)    page.links    page.data    page.markdown
fetch(url)     fetches another one, as page
view(page)     shows it in a browser\
"""


def run(command: str, words: list[str]) -> int:
    arguments = parser(command).parse_args(words)
    page = _fetched(arguments.url, arguments)
    return {"fetch": _print, "save": _save, "shell": _shell}[command](page, arguments)


def parser(command: str) -> Parser:
    """The options of a command that is about one page."""
    made = Parser(command, ABOUT[command], EXAMPLES[command])
    made.add_argument("url", metavar="URL", help="which page")
    if command == "save":
        made.add_argument(
            "file", nargs="?", type=Path, metavar="FILE", help="where to (default: after the URL)"
        )
    if command == "fetch":
        _add_questions(made)
    made.add_argument(
        "--header", action="append", default=[], metavar="TEXT", help="send this; may be repeated"
    )
    made.add_argument("--user-agent", metavar="TEXT", help="who we say we are")
    made.add_argument("--timeout", metavar="SECONDS", help="for a whole answer")
    made.add_argument("--cache", metavar="TEXT", help="a folder in which answers are kept")
    made.add_argument(
        "--insecure", action="store_true", default=None, help="accept any TLS certificate"
    )
    return made


def _add_questions(made: Parser) -> None:
    wanted = made.add_mutually_exclusive_group()
    wanted.add_argument("--css", metavar="SELECTOR", help="the text of each match, one a line")
    wanted.add_argument("--xpath", metavar="EXPRESSION", help="the same by XPath 1.0")
    for name, what in QUESTIONS.items():
        wanted.add_argument(f"--{name}", action="store_true", help=what)


QUESTIONS = {
    "headers": "status and headers",
    "links": "where it leads, one a line",
    "text": "the words a person would see",
    "markdown": "the whole page as Markdown",
    "main": "the main content as Markdown",
    "data": "what it says for machines, as JSON",
}


def _fetched(url: str, arguments: argparse.Namespace) -> Page:
    given = {
        name: getattr(arguments, name) for name in ("user_agent", "timeout", "cache", "insecure")
    }
    settings = {name: value for name, value in given.items() if value is not None}
    headers = dict(_header(line) for line in arguments.header)
    return asyncio.run(api.fetch(url, settings=settings, headers=headers))


def _header(line: str) -> tuple[str, str]:
    name, colon, value = line.partition(":")
    if not colon:
        raise BadInput(f"--header {line!r}: write it as NAME: VALUE")
    return name.strip(), value.strip()


def _print(page: Page, arguments: argparse.Namespace) -> int:
    """Prints what was asked for; exits with 1 where a selector matches nothing."""
    found = None
    if arguments.css is not None:
        found = page.css(arguments.css)
    elif arguments.xpath is not None:
        found = page.xpath(arguments.xpath)
    if found is not None:
        _say("".join(f"{text}\n" for text in found.texts))
        if not found:
            print(f"nothing matches on {page.url}", file=sys.stderr)
            return 1
    else:
        asked = next((name for name in QUESTIONS if getattr(arguments, name)), "body")
        _SAID[asked](page)
    return Exit.finished if page.status < 400 else _told_status(page)


def _told_status(page: Page) -> Exit:
    print(f"{page.url} answered with status {page.status}", file=sys.stderr)
    return Exit.nothing_fetched


def _say(text: str) -> None:
    """To a terminal nothing that could steer it."""
    if sys.stdout.isatty():
        text = "\n".join(harmless(line) for line in text.split("\n"))
    sys.stdout.write(text if text.endswith("\n") else f"{text}\n")


def _say_body(page: Page) -> None:
    raw = getattr(sys.stdout, "buffer", None)
    if raw is None or sys.stdout.isatty():
        _say(page.html)
        return
    sys.stdout.flush()
    raw.write(page.body)
    raw.flush()


def _say_headers(page: Page) -> None:
    lines = [f"{name}: {value}" for name, value in page.response.headers]
    _say("\n".join([f"{page.status} {page.url}", *lines]))


_SAID: dict[str, Callable[[Page], None]] = {
    "body": _say_body,
    "headers": _say_headers,
    "links": lambda page: _say("".join(f"{link.url}\n" for link in page.links) or "\n"),
    "text": lambda page: _say(page.text),
    "markdown": lambda page: _say(page.markdown),
    "main": lambda page: _say(page.main_markdown),
    "data": lambda page: _say(msgspec.json.format(msgspec.json.encode(page.data)).decode()),
}


def _save(page: Page, arguments: argparse.Namespace) -> int:
    path = arguments.file or Path(_name_for(page.url))
    if path.exists():
        raise BadInput(f"{path} exists; give another FILE, or remove it first")
    if not path.parent.is_dir():
        raise BadInput(f"{path}: there is no folder {path.parent}; make it first")
    save(page, path)
    print(path)
    return Exit.finished if page.status < 400 else _told_status(page)


def _name_for(url: str) -> str:
    """A file name that says which page it is."""
    name = re.sub(r"[^\w.-]+", "-", url.partition("://")[2]).strip("-.")
    return f"{name[:100]}{SUFFIX}"


def _shell(page: Page, arguments: argparse.Namespace) -> int:
    import freki  # noqa: PLC0415 - for the person at the keyboard
    from freki.cli.shell import interact  # noqa: PLC0415

    names: dict[str, Any] = {"freki": freki, "page": page, "view": view}

    def fetch(url: str) -> Page:
        """Fetch another page; it is `page` from now on."""
        names["page"] = _fetched(url, arguments)
        return names["page"]  # type: ignore[no-any-return]

    names["fetch"] = fetch
    interact(names, WELCOME.format(page=page))
    return Exit.finished


def view(page: Page) -> str:
    """Show a page in a browser, as it was fetched; answers with the file."""
    address = page.base.replace("&", "&amp;").replace('"', "&quot;")
    base = f'<base href="{address}">'.encode()
    with tempfile.NamedTemporaryFile("wb", prefix="freki-", suffix=".html", delete=False) as file:
        file.write(base + page.body)
    webbrowser.open(Path(file.name).as_uri())
    return file.name
