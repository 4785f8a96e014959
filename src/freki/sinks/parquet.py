"""Rows as Arrow batches with a typed schema: for Parquet files and for queries."""

from collections.abc import Iterable, Iterator
from datetime import datetime
from functools import partial, reduce
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

import msgspec

from freki.errors import MissingExtra
from freki.sinks.part import Part
from freki.sinks.rows import Row

if TYPE_CHECKING:
    import pyarrow as pa

# A row group; with whole texts in the rows it is cut earlier.
GROUP_ROWS = 5_000
GROUP_BYTES = 32 * 2**20

# Fields of an object that become columns; one with more is data by name, and is kept as JSON.
MAX_FIELDS = 200

_INT64: Final = range(-(2**63), 2**63)

_SIMPLE: Final = {type(None): None, bool: "bool", int: "int", float: "float", str: "text"}

Kind = Any  # a word, or ("list", kind) or ("struct", {name: kind})

# Of columns that are known: what is not text. The same names mean the same in every table.
_KNOWN: Final[dict[str, Kind]] = {
    **dict.fromkeys(("status", "depth", "attempts", "bytes", "wire_bytes"), "int"),
    **dict.fromkeys(("noindex", "nofollow"), "bool"),
    **dict.fromkeys(("found_at", "fetched_at"), "time"),
    "redirects": ("list", "text"),
    "headers": ("list", ("list", "text")),
    "timings": (
        "struct",
        dict.fromkeys(("dns", "connect", "tls", "first_byte", "total"), "float"),
    ),
    "links": ("list", ("struct", dict.fromkeys(("url", "text", "rel", "via"), "text"))),
}


def arrow() -> Any:
    """The library, where it is installed."""
    try:
        import pyarrow  # noqa: PLC0415 - an extra
    except ImportError:
        raise MissingExtra("this needs pyarrow: pip install 'freki[parquet]'") from None
    return pyarrow


def known_kinds(columns: Iterable[str]) -> dict[str, Kind]:
    """The types of columns that we name ourselves."""
    return {column: _KNOWN.get(column, "text") for column in columns}


def kinds_of(rows: Iterable[Row]) -> dict[str, Kind]:
    """The narrowest types that hold all rows, in the order in which columns turn up."""
    found: dict[str, Kind] = {}
    for row in rows:
        for name, value in row.items():
            found[name] = _wider(found.get(name), _kind(value))
    return found


def write(rows: Iterable[Row], kinds: dict[str, Kind], part: Part) -> int:
    """A Parquet file; answers with the number of rows."""
    arrow()
    import pyarrow.parquet as pq  # noqa: PLC0415 - an extra

    count = 0
    with pq.ParquetWriter(part, schema(kinds), compression="zstd") as writer:
        for batch in batches(rows, kinds):
            writer.write_batch(batch)
            count += batch.num_rows
    return count


def schema(kinds: dict[str, Kind]) -> "pa.Schema":
    pa = arrow()
    return pa.schema([(name, _type(kind)) for name, kind in kinds.items()])


def batches(rows: Iterable[Row], kinds: dict[str, Kind]) -> Iterator["pa.RecordBatch"]:
    """Row groups: as many rows as a reader wants at once, and memory allows."""
    pa, made = arrow(), schema(kinds)
    left = iter(rows)
    while group := list(_group(left)):
        yield pa.RecordBatch.from_pylist(
            [{name: _fit(row.get(name), kind) for name, kind in kinds.items()} for row in group],
            schema=made,
        )


def _group(rows: Iterator[Row]) -> Iterator[Row]:
    size = 0
    for row in islice(rows, GROUP_ROWS):
        yield row
        size += sum(len(value) for value in row.values() if isinstance(value, str))
        if size > GROUP_BYTES:
            return


def _kind(value: object) -> Kind:
    kind: Kind = _SIMPLE.get(type(value), "json")
    if isinstance(value, list):
        kind = ("list", reduce(_wider, map(_kind, value), None))
    elif isinstance(value, dict) and 0 < len(value) <= MAX_FIELDS:
        kind = ("struct", {name: _kind(inner) for name, inner in value.items()})
    elif kind == "int" and value not in _INT64:
        kind = "json"
    return kind


def _wider(one: Kind, other: Kind) -> Kind:
    """The type that holds both; what has nothing in common is kept as JSON."""
    if one is None or other is None:
        return other if one is None else one
    match one, other:
        case _ if one == other:
            return one
        case ("int", "float") | ("float", "int"):
            return "float"
        case (("list", mine), ("list", yours)):
            return ("list", _wider(mine, yours))
        case (("struct", mine), ("struct", yours)) if len(mine.keys() | yours.keys()) <= MAX_FIELDS:
            return ("struct", {name: _wider(mine.get(name), yours.get(name))
                               for name in [*mine, *(yours.keys() - mine.keys())]})  # fmt: skip
    return "json"


def _type(kind: Kind) -> Any:
    pa = arrow()
    match kind:
        case ("list", inner):
            return pa.list_(_type(inner))
        case ("struct", fields):
            return pa.struct([(name, _type(inner)) for name, inner in fields.items()])
        case _:
            plain = {"int": pa.int64(), "float": pa.float64(), "bool": pa.bool_(),
                     "time": pa.timestamp("ms", tz="UTC")}  # fmt: skip
            return plain.get(kind, pa.string())


def _fit(value: Any, kind: Kind) -> Any:
    """A value as its column takes it."""
    if value is None:
        return None
    match kind:
        case ("list", inner):
            value = [_fit(element, inner) for element in value]
        case ("struct", fields):
            fetch = value.get if isinstance(value, dict) else partial(getattr, value)
            value = {name: _fit(fetch(name), inner) for name, inner in fields.items()}
        case "time":
            value = datetime.fromisoformat(value)
        case "float":
            value = float(value)
        case "json":
            value = msgspec.json.encode(value).decode()
    return value
