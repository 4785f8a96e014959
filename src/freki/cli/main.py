"""`freki`: finds the command and runs it.

The command's module is imported only when it is asked for, and the help of `freki` itself needs
none of them: it answers in a few hundredths of a second.
"""

import os
import sys
from collections.abc import Sequence
from importlib import import_module
from io import TextIOWrapper
from pathlib import Path

from freki.cli.exits import Exit, of_error
from freki.errors import NO_ROOM, FrekiError
from freki.version import __version__

# Name, module with `run(arguments) -> int`, and what it does in one line.
COMMANDS = {
    "crawl": ("freki.cli.crawl", "crawl a site, with live progress; resumes by itself"),
    "status": ("freki.cli.look", "counts by state, outcome, reason and host"),
    "urls": ("freki.cli.look", "the ledger of URLs, filtered, as table, jsonl or csv"),
    "pages": ("freki.cli.look", "the stored pages, as table, jsonl or csv"),
    "items": ("freki.cli.items", "what spiders and rules took out of the pages"),
    "export": ("freki.cli.export", "a crawl as JSONL, CSV, Parquet, WARC, Markdown and more"),
    "query": ("freki.cli.query", "SQL about pages, URLs, links and items"),
    "explain": ("freki.cli.explain", "the story of one URL"),
    "retry": ("freki.cli.retry", "puts a class of ended URLs back, to be fetched again"),
    "check": ("freki.cli.check", "looks whether a store is sound, and repairs it"),
    "move": ("freki.cli.move", "copies a store to PostgreSQL or back, also unfinished"),
    "worker": ("freki.cli.worker", "works on a crawl of a store, beside its other workers"),
    "serve": ("freki.cli.serve", "crawls and screenshots over HTTP, for many callers"),
    "keys": ("freki.cli.keys", "who may call the service"),
    "new": ("freki.cli.new", "a small project: a spider, a saved page and a test"),
    "fetch": ("freki.cli.page", "one page, or what selectors find on it"),
    "shell": ("freki.cli.page", "one page, to try out selectors on it"),
    "save": ("freki.cli.page", "one page, saved for the tests of a spider"),
    "backup": ("freki.cli.backup", "copies the folder of a service, while it runs"),
    "robots": ("freki.cli.robots", "which rule of a robots.txt decides about a URL"),
    "shot": ("freki.cli.shot", "pictures of pages, as people see them"),
    "diff": ("freki.cli.diff", "what changed between two pictures of a page"),
    "demo": ("freki.cli.demo", "a built-in site, crawled, without the internet"),
    "doctor": ("freki.cli.doctor", "what this machine has and lacks"),
    "completion": ("freki.cli.completion", "completion for bash, zsh or fish"),
}

USAGE = """\
Freki crawls web sites, loses nothing and explains every URL.

usage: freki COMMAND [OPTIONS]

{commands}

  freki crawl https://example.com      crawl a site into freki.db
  freki status                         what was found, and what was refused and why
  freki demo                           see it work, without the internet

freki COMMAND --help explains a command. freki --version prints the version."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs a command and answers with its exit code."""
    _mend_streams()
    try:
        code = _answer(list(sys.argv[1:] if arguments is None else arguments))
        sys.stdout.flush()
    except BrokenPipeError:
        # Whoever read our output has seen enough, as `head` does.
        _discard_output()
        return Exit.finished
    except OSError as error:
        if error.errno not in NO_ROOM:
            raise
        _discard_output()
        print("freki: there is no room left where the output goes", file=sys.stderr)
        return Exit.storage_full
    except KeyboardInterrupt:
        return Exit.interrupted
    return code


def usage() -> str:
    """The help of `freki` itself."""
    lines = [f"  {name:<12}{what}" for name, (_, what) in COMMANDS.items()]
    return USAGE.format(commands="\n".join(lines))


def _answer(words: list[str]) -> int:
    if not words or words[0] in ("-h", "--help", "help"):
        print(usage())
        return Exit.finished
    if words[0] in ("-V", "--version"):
        print(f"freki {__version__}")
        return Exit.finished
    if words[0] not in COMMANDS:
        return _unknown(words[0])
    return _run(words[0], words[1:])


def _run(command: str, arguments: list[str]) -> int:
    module = import_module(COMMANDS[command][0])
    try:
        code: int = module.run(command, arguments)
    except FrekiError as error:
        print(f"freki {command}: {error}", file=sys.stderr)
        return of_error(error)
    except SystemExit as end:  # how argparse answers --help and what it does not understand
        return end.code if isinstance(end.code, int) else Exit.bad_input
    return code


def _unknown(word: str) -> int:
    from difflib import get_close_matches  # noqa: PLC0415 - see the head of this file

    near = get_close_matches(word, COMMANDS, n=1)
    looks_like_a_url = "." in word or "/" in word
    hint = f"did you mean {near[0]}?" if near else "freki --help lists the commands"
    if looks_like_a_url:
        hint = f"did you mean freki crawl {word}?"
    print(f"freki: there is no command {word!r}; {hint}", file=sys.stderr)
    return Exit.bad_input


def _mend_streams() -> None:
    """A closed stream swallows what it is given, and a character it cannot show is escaped."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:  # this also keeps the store from becoming file 1 or 2
            setattr(sys, name, Path(os.devnull).open("w", encoding="utf-8"))  # noqa: SIM115 - for good
        elif isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _discard_output() -> None:
    """What is still in the buffer goes nowhere; else Python would complain of it at the end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


if __name__ == "__main__":
    sys.exit(main())
