"""Items handed to somebody outside, in batches, after they were stored.

    pipelines = [clean, freki.batch(to_my_database, size=500)]

The ledger remembers how far a receiver came. A crash between what it did and our note of it hands
the same batch to it again, with the same ids: who stores by id has each item once.
"""

import asyncio
import inspect
import traceback
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any

import msgspec
from msgspec import Struct

from freki.errors import BadSpider
from freki.ledger.delivery import delivered, undelivered
from freki.ledger.read import ItemLine
from freki.steps import Ask

# How often it is looked whether there is something to hand over, and how long a receiver that
# takes nothing is left alone.
LOOK_EVERY = 0.5
TRY_AGAIN = 5.0

# What is being handed over when the crawl ends has so long to be taken.
LAST_SECONDS = 30.0

_TRACED = 8000  # characters of a traceback


class Stored(Struct, frozen=True):
    """An item as a receiver gets it."""

    id: int  # the same for the same item, however often it is handed over
    url: str  # the page it was found on
    kind: str  # the name of its type; empty for a plain dict
    data: dict[str, Any]


Receiver = Callable[[list[Stored]], Awaitable[None] | None]


class Batch(Struct, frozen=True):
    """A place at the end of the pipelines."""

    receiver: Receiver
    size: int

    @property
    def name(self) -> str:
        return getattr(self.receiver, "__qualname__", type(self.receiver).__qualname__)


def batch(receiver: Receiver, size: int = 100) -> Batch:
    """Hands items to a function in lists of at most `size`, after they were stored."""
    if not callable(receiver) or size < 1:
        raise BadSpider("batch needs a function of a list, as freki.batch(store, size=100)")
    return Batch(receiver, size)


@asynccontextmanager
async def delivering(batches: Sequence[Batch], ask: Ask) -> AsyncIterator[None]:
    """Hand over what is stored while the block runs, and the rest at its end."""
    lines = [_Line(batch, ask) for batch in batches]
    tasks = [asyncio.create_task(line.go_on()) for line in lines]
    try:
        yield
    finally:
        for line in lines:
            line.over.set()
        await _ended(tasks)
    for line in lines:
        while await line.hand_over():
            pass


async def _ended(tasks: Sequence[asyncio.Task[None]]) -> None:
    """What is being handed over may be finished; what hangs is left."""
    if tasks:
        await asyncio.wait(tasks, timeout=LAST_SECONDS)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


class _Line:
    """The way of items to one receiver."""

    def __init__(self, batch: Batch, ask: Ask) -> None:
        self._batch = batch
        self._ask = ask
        self._is_well = False  # it took something
        self.over = asyncio.Event()

    def __repr__(self) -> str:
        return f"<_Line to {self._batch.name}>"

    async def go_on(self) -> None:
        """Hand over whatever comes, until it is over."""
        while not self.over.is_set():
            pause = LOOK_EVERY
            try:
                while not self.over.is_set() and await self.hand_over():
                    pass
            except BadSpider:  # it may be well again in a while; at the end it is told
                pause = TRY_AGAIN
            with suppress(TimeoutError):
                async with asyncio.timeout(pause):
                    await self.over.wait()

    async def hand_over(self) -> bool:
        """The next batch; answers whether there was one."""
        name = self._batch.name
        lines: list[ItemLine] = await self._ask(undelivered, name, self._batch.size)
        if not lines:
            return False
        items = [_stored(line) for line in lines]
        failed: list[tuple[int, str]] = []
        why = await _take(self._batch, items)
        if why is not None:
            failed = await self._one_by_one(items, why)
        self._is_well = True
        await self._ask(delivered, name, items[-1].id, failed)
        return True

    async def _one_by_one(self, items: list[Stored], why: str) -> list[tuple[int, str]]:
        """Which items of a batch cannot be taken; all of them means that the receiver is ill."""
        told = {item.id: why for item in items}
        if len(items) > 1:
            answers = [(item.id, await _take(self._batch, [item])) for item in items]
            told = {id_: answer for id_, answer in answers if answer is not None}
        if len(told) == len(items) and not (self._is_well and len(items) == 1):
            raise BadSpider(
                f"{self._batch.name} takes no items; they are kept, and the same command hands "
                f"them over when it is mended:\n{why.rstrip()}"
            )
        return list(told.items())


async def _take(batch: Batch, items: list[Stored]) -> str | None:
    """None, or the traceback of what the receiver raised."""
    try:
        taken = batch.receiver(items)
        if inspect.isawaitable(taken):
            await taken
    except Exception:  # noqa: BLE001 - user code: it is told, and tried again
        return traceback.format_exc()[-_TRACED:]
    return None


def _stored(line: ItemLine) -> Stored:
    return Stored(line.id, line.url, line.kind, msgspec.json.decode(line.data))
