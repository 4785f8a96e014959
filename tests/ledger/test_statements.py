import re
import sqlite3
from contextlib import closing
from importlib.resources import files
from pathlib import Path

import pytest

import freki
from freki.ledger.jobs.folder import Folder
from freki.ledger.statements import statements
from freki.ledger.store import open_store
from freki.ledger.texts import opened

FILES = sorted(
    file.name
    for file in (files("freki.ledger") / "sql").iterdir()
    if file.name.endswith(".sql") and "schema" not in file.name
)


TWINS = sorted(
    file.name
    for file in (files("freki.ledger") / "sql" / "postgres").iterdir()
    if "schema" not in file.name
)


@pytest.mark.parametrize("file", FILES)
def test_every_statement_is_one_that_the_store_understands(file: str, tmp_path: Path) -> None:
    db = _database(file, tmp_path)
    for name, statement in statements(file).items():
        assert ";" not in statement.replace("';'", ""), name
        db.execute(f"EXPLAIN {statement}", _nothing(statement))
    db.close()


def _database(file: str, folder: Path) -> sqlite3.Connection:
    """The store, the service's own, or an index of texts."""
    if file == "index.sql":
        with closing(open_store(folder / "freki.db")) as db, opened(folder / "index", db):
            return sqlite3.connect(folder / "index")
    if file != "jobs.sql":
        return open_store(folder / "freki.db")
    place = Folder(folder)
    place.prepare()
    return sqlite3.connect(place.jobs)


# What there are few of: sessions, crawls, and the parameters of a statement.
FEW = re.compile(r"SCAN (session|crawl|json_each|CONSTANT ROW|\()")


@pytest.mark.parametrize("file", ["ledger.sql", "crawls.sql"])
def test_no_statement_of_a_crawl_looks_at_every_row(file: str, tmp_path: Path) -> None:
    db = open_store(tmp_path / "freki.db")
    for name, statement in statements(file).items():
        plan = [
            row[3] for row in db.execute(f"EXPLAIN QUERY PLAN {statement}", _nothing(statement))
        ]
        scans = [line for line in plan if "SCAN" in line and not FEW.search(line)]
        assert scans == [], name
    db.close()


def _nothing(statement: str) -> tuple[None, ...] | dict[str, None]:
    """As many parameters as a statement wants."""
    named = re.findall(r"(?<!:):(\w+)", statement)
    if named:
        return dict.fromkeys(named)
    numbered = max((n for n in range(1, 20) if f"?{n}" in statement), default=0)
    return (None,) * (numbered or statement.count("?"))


def test_every_statement_is_used() -> None:
    assert freki.__file__ is not None
    source = "".join(path.read_text("utf-8") for path in Path(freki.__file__).parent.rglob("*.py"))
    files_ = [*FILES, *(f"postgres/{file}" for file in TWINS)]
    unused = [name for file in files_ for name in statements(file) if f'"{name}"' not in source]
    assert unused == []


@pytest.mark.parametrize("file", FILES)
def test_no_name_is_given_twice(file: str) -> None:
    text = (files("freki.ledger") / "sql" / file).read_text("utf-8")
    assert text.count("-- name: ") == len(statements(file))
