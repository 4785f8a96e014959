import asyncio
import threading
from collections.abc import Iterator

import pytest

from freki.fetch.egress import Egress
from freki.fetch.names import MAX_NAMES, Names, by_system
from freki.messages import Failure, Reason


class Resolver:
    """A resolver that answers when it is told to."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.released = threading.Event()

    def __call__(self, host: str) -> list[str]:
        self.asked.append(host)
        if host.startswith("slow"):
            self.released.wait(10)
        if host.startswith("missing"):
            raise OSError(-2, "Name or service not known")
        return ["192.0.2.1", "2001:db8::1"]


@pytest.fixture
def resolver() -> Iterator[Resolver]:
    made = Resolver()
    yield made
    made.released.set()


def test_a_host_is_asked_for_once_however_many_ask(resolver: Resolver) -> None:
    async def ask() -> list[object]:
        names = Names(5, Egress(True), resolver)
        return list(await asyncio.gather(*(names.ask("a.example") for _ in range(100))))

    answers = asyncio.run(ask())
    assert resolver.asked == ["a.example"]
    assert answers == [["192.0.2.1", "2001:db8::1"]] * 100


def test_a_resolver_that_hangs_for_some_holds_up_no_other(resolver: Resolver) -> None:
    async def ask() -> int:
        names = Names(5, Egress(True), resolver)
        async with asyncio.TaskGroup() as group:
            for number in range(100):
                group.create_task(names.ask(f"slow{number}.example"))
            await asyncio.sleep(0)
            await names.ask("quick.example")
            waiting = sum(
                1 for number in range(100) if names.recall(f"slow{number}.example") is None
            )
            resolver.released.set()
        return waiting

    assert asyncio.run(ask()) == 100


def test_no_answer_in_time_is_a_failure(resolver: Resolver) -> None:
    async def ask() -> object:
        return await Names(0.05, Egress(True), resolver).ask("slow.example")

    answer = asyncio.run(ask())
    assert isinstance(answer, Failure)
    assert answer.reason is Reason.dns
    assert "slow.example" in answer.detail


def test_a_name_that_does_not_exist_is_remembered_too(resolver: Resolver) -> None:
    async def ask() -> object:
        names = Names(5, Egress(True), resolver)
        await names.ask("missing.example")
        return names.recall("missing.example")

    remembered = asyncio.run(ask())
    assert isinstance(remembered, Failure)
    assert "Name or service not known" in remembered.detail


def test_what_is_remembered_is_bounded_and_the_oldest_goes(resolver: Resolver) -> None:
    async def ask() -> tuple[object, object]:
        names = Names(5, Egress(True), resolver)
        for number in range(MAX_NAMES + 1):
            names._remember(f"{number}.example", ["192.0.2.1"])
        return names.recall("0.example"), names.recall(f"{MAX_NAMES}.example")

    assert asyncio.run(ask()) == (None, ["192.0.2.1"])


def test_the_system_knows_this_machine() -> None:
    assert by_system("localhost") == by_system("a.b.localhost") == ["127.0.0.1", "::1"]
    assert by_system("127.0.0.1") == ["127.0.0.1"]


@pytest.mark.parametrize(
    ("found", "kept"),
    [
        (["192.0.2.1", "8.8.8.8", "::1"], ["8.8.8.8"]),
        (["169.254.169.254"], None),
        (["::ffff:10.0.0.1", "127.0.0.1"], None),
    ],
)
def test_of_mixed_addresses_only_those_are_kept_that_may_be_reached(
    found: list[str], kept: list[str] | None
) -> None:
    async def ask() -> object:
        return await Names(5, Egress(allow_private=False), lambda _: found).ask("mixed.example")

    answer = asyncio.run(ask())
    if kept is not None:
        assert answer == kept
        return
    assert isinstance(answer, Failure)
    assert answer.reason is Reason.blocked_address
    assert not any(address in answer.detail for address in found)
