import asyncio
import time
from contextlib import suppress

import pytest

from freki.testing.virtual import Stuck, run


def test_an_hour_takes_an_hour_by_the_clock_of_the_loop_and_no_time() -> None:
    async def wait() -> float:
        loop = asyncio.get_running_loop()
        before = loop.time()
        await asyncio.sleep(3600)
        return loop.time() - before

    began = time.monotonic()
    assert run(wait()) == 3600
    assert time.monotonic() - began < 1


def test_timers_come_in_order_and_at_their_dates() -> None:
    dates: list[float] = []

    async def note(after: float) -> None:
        await asyncio.sleep(after)
        dates.append(asyncio.get_running_loop().time())

    async def both() -> None:
        await asyncio.gather(*(note(after) for after in (0.3, 0.1, 0.2, 0.1)))

    run(both())
    assert dates == pytest.approx([0.1, 0.1, 0.2, 0.3])


def test_what_is_ready_runs_before_time_goes_on() -> None:
    async def spin() -> float:
        for _ in range(1000):
            await asyncio.sleep(0)
        return asyncio.get_running_loop().time()

    assert run(spin()) == 0


def test_a_timeout_is_exact() -> None:
    async def give_up() -> float:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(2.5):
                await asyncio.sleep(1000)
        return asyncio.get_running_loop().time()

    assert run(give_up()) == 2.5


def test_waiting_for_nothing_is_an_error_and_no_hang() -> None:
    async def wait() -> None:
        await asyncio.Event().wait()

    with pytest.raises(TimeoutError):
        run(wait(), limit=10)


def test_who_does_not_heed_the_limit_is_told_to_be_stuck() -> None:
    async def stubborn() -> None:
        with suppress(asyncio.CancelledError):
            await asyncio.Event().wait()
        await asyncio.Event().wait()

    with pytest.raises(Stuck):
        run(stubborn(), limit=10)


def test_what_goes_on_for_ever_is_ended_at_the_limit() -> None:
    async def tick() -> None:
        loop = asyncio.get_running_loop()

        def again() -> None:
            loop.call_later(10, again)

        again()
        await asyncio.Event().wait()

    with pytest.raises(TimeoutError):
        run(tick(), limit=1000)


def test_errors_come_out_as_they_are() -> None:
    async def fail() -> None:
        await asyncio.sleep(1)
        raise LookupError("here")

    with pytest.raises(LookupError, match="here"):
        run(fail())
