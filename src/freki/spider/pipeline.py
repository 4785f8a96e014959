"""What becomes of an item between the spider and the ledger: a list of functions, in order.

    pipelines = [clean, freki.validate(Book), freki.dedupe("isbn")]

A function gets the item, and the page if it wants it, and answers with the item. It may be
async. `raise freki.Drop("no price")` drops an item; an exception costs that item and nothing
else. Both are kept with their reason: `freki items --dropped`, `freki items --failed`.
"""

import inspect
import traceback
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import is_dataclass
from typing import Any

import msgspec
from msgspec import Struct

from freki.errors import BadSpider, FrekiError
from freki.messages import Fate, Item
from freki.spider.batch import Batch
from freki.spider.page import Page

Pipeline = Callable[..., Any]
"""Gets an item, or an item and its page; answers with what goes on."""

# Of an item that cannot be stored, so much is told.
_TOLD = 1000

# The last lines of a traceback say where it was.
_TRACED = 8000


class Drop(Exception):
    """Raised by a pipeline: this item is not wanted, because."""


class Dedupe(Struct, frozen=True):
    """A place in the list where items that are known already are dropped."""

    fields: tuple[str, ...]

    def key(self, item: object) -> str:
        values = [_field(item, name) for name in self.fields]
        return msgspec.json.encode(values, enc_hook=str).decode()


def dedupe(*fields: str) -> Dedupe:
    """Drops an item if one with the same values in these fields was kept before in this crawl.

    The ledger decides, so it holds over restarts and for all workers.
    """
    if not fields or not all(isinstance(name, str) for name in fields):
        raise BadSpider('dedupe needs the names of fields, as in freki.dedupe("isbn")')
    return Dedupe(fields)


def validate(kind: type) -> Pipeline:
    """Makes items of this type out of dicts, and drops what does not fit."""
    model = getattr(kind, "model_validate", None)

    def convert(item: Any) -> Any:
        if isinstance(item, kind):
            return item
        try:
            return model(item) if model else msgspec.convert(item, kind, strict=False)
        except (ValueError, TypeError) as error:  # pydantic's and msgspec's errors are such
            raise Drop(f"not valid: {error}") from None

    return convert


class Pipelines:
    """The list of one spider, looked at once."""

    def __init__(self, functions: Sequence[Pipeline | Dedupe | Batch]) -> None:
        if isinstance(functions, str) or not isinstance(functions, Sequence):
            raise BadSpider("pipelines is a list of functions, as in pipelines = [clean]")
        self.batches = [step for step in functions if isinstance(step, Batch)]
        before = functions[: len(functions) - len(self.batches)]
        if any(isinstance(step, Batch) for step in before):
            raise BadSpider("batches come last: they get items after they were stored")
        self._steps = [(step, _wants_page(step)) for step in before if not isinstance(step, Batch)]

    async def keep(self, item: object, page: Page) -> Item:
        """The item as it is stored, whatever became of it."""
        key = None
        kind = _kind(item)
        try:
            for step, wants_page in self._steps:
                if isinstance(step, Dedupe):
                    key = step.key(item)
                    continue
                item = await _through(step, item, page if wants_page else None)
            return Item(encoded(item), _kind(item), key=key)
        except Drop as reason:
            return Item(_as_far_as_possible(item), kind, Fate.dropped, str(reason))
        except FrekiError:
            raise
        except Exception:  # noqa: BLE001 - user code: it costs this item
            return Item(_as_far_as_possible(item), kind, Fate.failed, trace())


async def _through(step: Pipeline, item: object, page: Page | None) -> object:
    result = step(item) if page is None else step(item, page)
    if isinstance(result, Awaitable):
        result = await result
    if result is None:
        name = getattr(step, "__name__", repr(step))
        raise TypeError(f"{name} answered None; return the item, or raise freki.Drop(reason)")
    return result


def _wants_page(function: Pipeline | Dedupe) -> bool:
    if isinstance(function, Dedupe):
        return False
    if not callable(function) or isinstance(function, type):
        raise BadSpider(f"a pipeline is a function of an item, and {function!r} is none")
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return False
    needed = [
        one for one in parameters if one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD)
    ]
    if not 1 <= len(needed) <= 2:
        name = getattr(function, "__name__", repr(function))
        raise BadSpider(
            f"the pipeline {name} takes {len(needed)} arguments; it gets (item) or (item, page)"
        )
    return len(needed) == 2


def is_item(value: object) -> bool:
    """Whether something can be an item: a dict, a dataclass, a msgspec or pydantic model."""
    if isinstance(value, type):
        return False
    return (
        isinstance(value, dict | Struct)
        or is_dataclass(value)
        or hasattr(value, "model_dump_json")
        or hasattr(value, "__attrs_attrs__")
    )


def encoded(item: object) -> bytes:
    """An item as JSON."""
    dump = getattr(item, "model_dump_json", None)
    if dump is not None:
        return str(dump()).encode()
    return msgspec.json.encode(item)


def trace() -> str:
    """The traceback of the exception that is being handled."""
    return traceback.format_exc()[-_TRACED:]


def _kind(item: object) -> str:
    return "" if isinstance(item, dict) else type(item).__name__


def _as_far_as_possible(item: object) -> bytes:
    try:
        return encoded(item)
    except Exception:  # noqa: BLE001 - of whatever kind: it is not stored, only told
        return msgspec.json.encode(repr(item)[:_TOLD])


def _field(item: object, name: str) -> object:
    found = item.get(name) if isinstance(item, dict) else getattr(item, name, None)
    if found is None:
        raise LookupError(f"dedupe({name!r}): the item has no {name}")
    return found
