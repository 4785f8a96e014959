"""SQL over a crawl, in DuckDB: what a statement names is copied into tables of a temporary file.

DuckDB cannot be given the store itself: the extension that reads SQLite comes from the internet.
A copy streams, so memory stays bounded, and the statement can do no harm: it sees only the copy,
and may open no file, no address and no extension.
"""

import re
import tempfile
from collections.abc import Generator, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec

from freki.errors import BadQuery, MissingExtra
from freki.ledger.database import Database
from freki.sinks import parquet, rows
from freki.sinks.rows import COLUMNS, EXTRAS, PAGE_COLUMNS, Row

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

TABLES: Final = ("pages", "urls", "links", "items")

# Rows that are handed on at once.
CHUNK: Final = 1000

# What the statement and the copy may take; beyond, DuckDB goes to the disk.
MEMORY: Final = "1GB"

# What asks and changes nothing; DESCRIBE, SUMMARIZE, SHOW and FROM count as the first.
_QUESTIONS: Final = ("SELECT", "EXPLAIN")

_SAFE: Final[dict[str, str | bool | int | float | list[str]]] = {
    "memory_limit": MEMORY,
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "python_enable_replacements": "false",  # a name in SQL is never a variable of ours
}
_LOCK: Final = (
    "SET TimeZone = 'UTC'",
    "SET enable_external_access = false",
    "SET lock_configuration = true",
)


def query(db: Database, crawl: int, sql: str) -> Generator[Row, None, None]:
    """The rows that a statement answers with."""
    try:
        import duckdb  # noqa: PLC0415 - an extra
    except ImportError:
        raise MissingExtra("this needs DuckDB: pip install 'freki[query,parquet]'") from None
    parquet.arrow()
    with tempfile.TemporaryDirectory(prefix="freki-query-") as folder:
        settings = {**_SAFE, "temp_directory": folder}
        try:
            with duckdb.connect(Path(folder) / "copy", config=settings) as copy:
                _fill(db, crawl, copy, sql)
                for statement in _LOCK:
                    copy.execute(statement)
                yield from _answers(copy, sql)
        except duckdb.Error as error:
            raise BadQuery(str(error)) from None


def _fill(db: Database, crawl: int, copy: "DuckDBPyConnection", sql: str) -> None:
    named = _named(copy, sql)
    for table in TABLES:
        # What columns items have, only a look at all of them tells.
        if table in named or table != "items" or not named:
            _copy(db, crawl, copy, table, sql, filled=table in named)


def _named(copy: "DuckDBPyConnection", sql: str) -> set[str]:
    """The tables that the statement reads, so that no others are filled."""
    statements = copy.extract_statements(sql)
    if len(statements) != 1:
        raise BadQuery("one statement at a time; this has several, or none")
    if statements[0].type.name not in _QUESTIONS:
        raise BadQuery("only questions are answered: SELECT, DESCRIBE, SUMMARIZE, EXPLAIN")
    return {name.lower() for name in copy.get_table_names(sql)}


def _copy(
    db: Database, crawl: int, copy: "DuckDBPyConnection", table: str, sql: str, *, filled: bool
) -> None:
    """A table with its columns, and with its rows where they are asked for."""
    pa = parquet.arrow()
    found, kinds = _table(db, crawl, table, sql)
    batches = parquet.batches(found, kinds) if filled else iter(())
    reader = pa.RecordBatchReader.from_batches(parquet.schema(kinds), batches)
    copy.register("arriving", reader)
    copy.execute(f"CREATE TABLE {table} AS SELECT * FROM arriving")  # noqa: S608 - one of ours
    copy.unregister("arriving")


def _table(
    db: Database, crawl: int, table: str, sql: str
) -> tuple[Iterator[Row], dict[str, parquet.Kind]]:
    match table:
        case "pages":
            extras = _extras(sql)
            found = rows.every(lambda after: rows.pages(db, crawl, after, extras))
            return found, parquet.known_kinds((*PAGE_COLUMNS, *extras))
        case "urls":
            return rows.urls(db, crawl), parquet.known_kinds(COLUMNS["urls"])
        case "links":
            return rows.every(partial(rows.links, db, crawl)), parquet.known_kinds(COLUMNS["links"])
        case _:
            kinds = parquet.kinds_of(rows.every(partial(rows.items, db, crawl)))
            # A table has at least one column.
            return rows.every(partial(rows.items, db, crawl)), kinds or {"value": "text"}


def _extras(sql: str) -> tuple[str, ...]:
    """What of a page must be computed, and is only where the statement has its name."""
    words = set(re.findall(r"\w+", sql.lower()))
    return tuple(name for name in EXTRAS if name in words and name != "links")


def _answers(copy: "DuckDBPyConnection", sql: str) -> Iterator[Row]:
    result: Any = copy.sql(sql)
    if result is None:  # a statement that answers with nothing
        return
    reader = result.to_arrow_reader(CHUNK)
    names = _unique(reader.schema.names)
    for batch in reader:
        columns = [column.to_pylist() for column in batch.columns]
        for values in zip(*columns, strict=True):
            yield dict(zip(names, msgspec.to_builtins(values), strict=True))


def _unique(names: list[str]) -> list[str]:
    """Two columns of one name would be one in an object."""
    return [f"{name}_{names[:at].count(name)}" if name in names[:at] else name
            for at, name in enumerate(names)]  # fmt: skip
