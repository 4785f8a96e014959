"""Pages that arrive together are read in rounds, and others get their turn between these."""

import asyncio
import time

from freki.engine.turns import LONGEST_ROUND, WOKEN, Turns

PAGES = 40


def test_who_else_waits_gets_a_turn_between_many_pages() -> None:
    async def crowd() -> list[str]:
        turns, order = Turns(), []

        async def page() -> None:
            await turns()
            until = time.monotonic() + LONGEST_ROUND / 4
            while time.monotonic() < until:  # reading it keeps the loop busy
                pass
            order.append("page")

        async def somebody_else() -> None:
            for _ in range(3):
                await asyncio.sleep(0)
                order.append("somebody else")

        async with asyncio.TaskGroup() as group:
            for _ in range(PAGES):
                group.create_task(page())
            group.create_task(somebody_else())
        return order

    order = asyncio.run(crowd())
    assert order.count("page") == PAGES
    assert order.index("somebody else") < PAGES / 2


def test_who_waits_does_not_look_again_and_again() -> None:
    """Hundreds of pages that each take half a round: what waiting costs does not grow with them."""
    looks, now = 0, 0.0

    def clock() -> float:
        nonlocal looks
        looks += 1
        return now

    async def page(turns: Turns, number: int, read: list[int]) -> None:
        nonlocal now
        await turns()
        now += LONGEST_ROUND / 2
        read.append(number)

    async def crowd(pages: int) -> list[int]:
        turns, read = Turns(clock), list[int]()
        async with asyncio.TaskGroup() as group:
            for number in range(pages):
                group.create_task(page(turns, number, read))
        return read

    assert sorted(asyncio.run(crowd(500))) == list(range(500))
    assert looks < 500 * WOKEN


def test_a_page_that_comes_alone_is_read_at_once() -> None:
    async def alone() -> int:
        turns, rounds = Turns(), 0

        async def count() -> None:
            nonlocal rounds
            while True:
                await asyncio.sleep(0)
                rounds += 1

        counting = asyncio.create_task(count())
        await asyncio.sleep(LONGEST_ROUND * 2)
        before = rounds
        await turns()
        counting.cancel()
        return rounds - before

    assert asyncio.run(alone()) <= 2
