"""SQL lives in `.sql` files; this reads the named statements out of them."""

import re
import sqlite3
from collections.abc import Iterator
from importlib.resources import files

_NAME = re.compile(r"^-- name: (\w+)\n", re.MULTILINE)


def script(file: str) -> str:
    """A whole file of `ledger/sql/`."""
    return (files("freki.ledger") / "sql" / file).read_text("utf-8")


def making(file: str) -> Iterator[str]:
    """The statements of a file that makes tables, as SQLite takes them one by one."""
    statement = ""
    for line in script(file).splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""


def statements(file: str) -> dict[str, str]:
    """The statements that follow a line `-- name: …`, by that name."""
    _, *rest = _NAME.split(script(file))
    return {name: _without_comments(text) for name, text in zip(rest[::2], rest[1::2], strict=True)}


def _without_comments(text: str) -> str:
    """One statement on its own; a comment after it belongs to the next one."""
    lines = (line for line in text.splitlines() if not line.startswith("--"))
    return "\n".join(lines).strip().removesuffix(";")
