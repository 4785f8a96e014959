"""Items handed on in batches."""

from pathlib import Path
from typing import Any

import pytest
from tests.spider.books import SHOP
from tests.spider.exploring import explore

import freki
from freki.errors import BadSpider


class Receiver:
    """Remembers what it got; raises as it is told to."""

    def __init__(self, *cannot: int, ill: bool = False) -> None:
        self.batches: list[list[int]] = []
        self.ids: list[int] = []
        self.cannot, self.ill = cannot, ill

    async def __call__(self, items: list[freki.Stored]) -> None:
        numbers = [item.data["n"] for item in items]
        if self.ill or set(numbers) & set(self.cannot):
            raise OSError("not this")
        self.batches.append(numbers)
        self.ids += [item.id for item in items]


def giving(receiver: Any, size: int = 2, items: int = 5) -> type[freki.Spider]:
    class Giving(freki.Spider):
        start = [SHOP]
        pipelines = [freki.batch(receiver, size)]

        def parse(self, page: freki.Page) -> Any:
            return [{"n": number} for number in range(items)]

    return Giving


def test_items_come_in_order_and_in_batches() -> None:
    receiver = Receiver()
    explored = explore(giving(receiver))
    assert receiver.batches == [[0, 1], [2, 3], [4]]
    assert len(explored.items) == 5


def test_an_item_that_cannot_be_taken_fails_alone() -> None:
    receiver = Receiver(3)
    explored = explore(giving(receiver, size=5))
    assert receiver.batches == [[0], [1], [2], [4]]
    assert [item["n"] for item in explored.items] == [0, 1, 2, 4]
    ((item, why),) = explored.failed
    assert (item, why.splitlines()[-1]) == ({"n": 3}, "OSError: not this")


def test_a_receiver_that_is_ill_loses_nothing_and_goes_on_when_it_is_well(tmp_path: Path) -> None:
    store = tmp_path / "freki.db"
    with pytest.raises(BadSpider, match="takes no items; they are kept"):
        explore(giving(Receiver(ill=True)), store=store)
    well = Receiver()
    explore(giving(well), store=store)
    assert well.batches == [[0, 1], [2, 3], [4]]


def test_what_was_taken_is_not_handed_over_again(tmp_path: Path) -> None:
    store, receiver = tmp_path / "freki.db", Receiver()

    class Two(giving(receiver)):  # type: ignore[misc]
        name = "giving"
        start = [SHOP, f"{SHOP}book/1"]

    explore(Two, store=store, max_pages=1)
    explore(Two, store=store, max_pages=2)
    assert len(receiver.ids) == len(set(receiver.ids)) == 10


def test_a_batch_that_is_not_last_is_told() -> None:
    class Wrong(freki.Spider):
        start = [SHOP]
        pipelines = [freki.batch(Receiver()), freki.dedupe("n")]

        def parse(self, page: freki.Page) -> None: ...

    with pytest.raises(BadSpider, match="batches come last"):
        explore(Wrong)
    with pytest.raises(BadSpider, match="batch needs a function"):
        freki.batch(Receiver(), size=0)
