"""How values are written for the server."""

from types import NoneType
from typing import Any

from psycopg import Connection
from psycopg.adapt import Dumper
from psycopg.types.numeric import Int8Dumper
from psycopg.types.string import StrDumper, StrDumperUnknown


def spell_our_way(line: Connection[Any]) -> None:
    """Every whole number is a bigint: a statement is prepared once, and not for each size."""
    line.adapters.register_dumper(int, Int8Dumper)
    line.adapters.register_dumper(list, _Array)
    line.adapters.register_dumper(str, _Text)
    line.adapters.register_dumper(str, _UntypedText)


def _without_nul(text: str) -> str:
    """Text as PostgreSQL can keep it."""
    return text.replace("\0", "\N{REPLACEMENT CHARACTER}") if "\0" in text else text


class _Text(StrDumper):
    """Text whose type is known."""

    def dump(self, obj: str) -> Any:
        return super().dump(_without_nul(obj))


class _UntypedText(StrDumperUnknown):
    """The same, where the statement says which type is meant."""

    def dump(self, obj: str) -> Any:
        return super().dump(_without_nul(obj))


class _Array(Dumper):
    """A column of a batch. psycopg's own, for lists in lists, costs five times as much."""

    def dump(self, obj: list[Any]) -> bytes:
        kinds = set(map(type, obj))
        if kinds.isdisjoint((str, NoneType)):
            return f"{{{','.join(map(str, obj))}}}".encode()
        return f"{{{','.join(map(_spelt, obj))}}}".encode()


def _spelt(value: object) -> str:
    if value is None:
        return "NULL"
    if not isinstance(value, str):
        return str(value)
    text = value.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{_without_nul(text)}"'
