"""What becomes of items on their way to the store."""

from dataclasses import dataclass
from typing import Any

import pydantic
import pytest
from tests.spider.books import SHOP
from tests.spider.exploring import Explored, explore

import freki


@dataclass
class Book:
    title: str
    price: float


class Model(pydantic.BaseModel):
    title: str
    price: float


def through(*pipelines: Any, items: list[Any] | None = None) -> Explored:
    """What becomes of some items that go through these."""
    given = [{"title": "a", "price": "1.5"}, {"title": "b"}] if items is None else items
    steps = pipelines

    class Giving(freki.Spider):
        start = [SHOP]
        pipelines = list(steps)

        def parse(self, page: freki.Page) -> Any:
            return given

    return explore(Giving)


def test_items_go_through_all_of_them_in_order() -> None:
    def first(item: dict[str, Any]) -> dict[str, Any]:
        return item | {"steps": "1"}

    async def second(item: dict[str, Any], page: freki.Page) -> dict[str, Any]:
        return item | {"steps": item["steps"] + "2", "url": page.url}

    assert through(first, second, items=[{}]).items == [{"steps": "12", "url": SHOP}]


@pytest.mark.parametrize("kind", [Book, Model])
def test_validate_makes_items_and_drops_what_does_not_fit(kind: type) -> None:
    explored = through(freki.validate(kind))
    assert explored.items == [{"title": "a", "price": 1.5}]
    ((item, why),) = explored.dropped
    assert item == {"title": "b"}
    assert "price" in why


def test_dropped_items_keep_their_reason() -> None:
    def choose(item: dict[str, Any]) -> dict[str, Any]:
        if "price" not in item:
            raise freki.Drop("no price")
        return item

    explored = through(choose)
    assert len(explored.items) == 1
    assert explored.dropped == [({"title": "b"}, "no price")]


def test_an_exception_costs_its_item_and_keeps_its_traceback() -> None:
    def divide(item: dict[str, Any]) -> dict[str, Any]:
        return {"half": float(item["price"]) / 2}

    explored = through(divide)
    assert explored.items == [{"half": 0.75}]
    ((item, why),) = explored.failed
    assert item == {"title": "b"}
    assert why.endswith("KeyError: 'price'\n")


def test_who_forgets_to_return_is_told() -> None:
    def forget(item: dict[str, Any]) -> None:
        item["seen"] = True

    explored = through(forget)
    assert explored.items == []
    assert "forget answered None; return the item, or raise freki.Drop" in explored.failed[0][1]


def test_what_json_cannot_hold_fails_alone() -> None:
    explored = through(items=[{"x": object()}, {"x": 1}])
    assert explored.items == [{"x": 1}]
    ((item, why),) = explored.failed
    assert item.startswith("{'x': <object object")
    assert "TypeError" in why


def test_twins_are_dropped_by_their_fields() -> None:
    twins = [{"a": 1, "b": 1}, {"a": 1, "b": 2}, {"a": 1, "b": 1}, Book("x", 1.0)]
    explored = through(freki.dedupe("a", "b"), items=twins)
    assert explored.items == [{"a": 1, "b": 1}, {"a": 1, "b": 2}]
    assert "has the same key" in explored.dropped[0][1]
    assert "the item has no a" in explored.failed[0][1]


def test_dedupe_without_fields_is_told() -> None:
    with pytest.raises(freki.errors.BadSpider, match="names of fields"):
        freki.dedupe()
