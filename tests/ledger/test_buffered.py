import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from itertools import islice

import pytest

from freki.errors import LeaseLost, StoreFull
from freki.ledger.buffered import BATCH, CAPACITY, LINGER, Buffered, Written
from freki.messages import Batch, Claim, HostRest, HostRules
from freki.steps import Session, Work
from freki.testing import virtual
from freki.testing.bench import discovery, failed

CLAIMS = [Claim(number, 1, f"http://a/{number}", 0) for number in range(2000)]


class Memory:
    """A ledger that only remembers what was committed."""

    def __init__(self) -> None:
        self.on_commit: Callable[[], object] = lambda: None
        self.batches: list[Batch] = []
        self.calls: list[str] = []
        self.error: Exception | None = None

    def join(self, now: float) -> Session:
        self.calls.append("join")
        return Session(1, 1)

    def renew(self, session: Session, now: float) -> None:
        self.calls.append("renew")

    def leave(self, session: Session, now: float) -> None:
        self.calls.append("leave")

    def claim(
        self,
        session: Session,
        now: float,
        hosts: int,
        refill: Sequence[HostRest],
        full: Sequence[int] = (),
    ) -> Work:
        self.calls.append(f"claim {hosts} {len(refill)} {list(full)}")
        return Work([])

    def commit(self, session: Session, batch: Batch) -> None:
        if self.error is not None:
            raise self.error
        self.batches.append(batch)
        self.on_commit()

    @property
    def written(self) -> list[int]:
        return [outcome.claim.id for batch in self.batches for outcome in batch.outcomes]


@asynccontextmanager
async def buffer(memory: Memory) -> AsyncIterator[Buffered]:
    """A buffer whose writer runs."""
    buffered = Buffered(memory, asyncio.get_running_loop().time, None)
    await buffered.join()
    async with asyncio.TaskGroup() as group:
        writer = group.create_task(buffered.write())
        yield buffered
        writer.cancel()
    await buffered.leave()


def run(act: Callable[[Buffered], Awaitable[None]]) -> Memory:
    memory = Memory()

    async def whole() -> None:
        async with buffer(memory) as buffered:
            await act(buffered)

    virtual.run(whole())
    return memory


def now() -> float:
    return asyncio.get_running_loop().time()


def test_what_was_put_is_written_in_order() -> None:
    async def act(buffered: Buffered) -> None:
        for claim in CLAIMS[:1000]:
            await buffered.room()
            buffered.put(failed(claim))
        await buffered.drain()

    assert run(act).written == list(range(1000))


def test_a_single_outcome_waits_a_moment_for_company() -> None:
    async def act(buffered: Buffered) -> None:
        buffered.put(failed(CLAIMS[0]))
        await asyncio.sleep(LINGER / 2)
        buffered.put(failed(CLAIMS[1]))
        assert buffered.statistics() == Written(0, 0, 2)
        await asyncio.sleep(LINGER)
        assert buffered.statistics() == Written(1, 2, 0)

    memory = run(act)
    assert [batch.at for batch in memory.batches] == [LINGER]


def test_a_full_batch_does_not_wait() -> None:
    async def act(buffered: Buffered) -> None:
        for claim in CLAIMS[:BATCH]:
            buffered.put(failed(claim))
        await buffered.drain()
        assert now() == 0.0

    assert [len(batch.outcomes) for batch in run(act).batches] == [BATCH]


def test_who_makes_a_batch_full_ends_the_wait_for_company() -> None:
    async def act(buffered: Buffered) -> None:
        buffered.put(failed(CLAIMS[0]))
        await asyncio.sleep(LINGER / 2)
        for claim in CLAIMS[1:BATCH]:
            buffered.put(failed(claim))
        await asyncio.sleep(LINGER / 4)
        assert buffered.statistics() == Written(1, BATCH, 0)

    run(act)


def test_who_drains_waits_for_what_comes_in_during_a_commit_too() -> None:
    memory = Memory()

    async def whole() -> None:
        async with buffer(memory) as buffered:
            more = iter(CLAIMS[1:3])

            def put_one() -> None:
                for claim in islice(more, 1):
                    buffered.put(failed(claim))

            memory.on_commit = put_one
            buffered.put(failed(CLAIMS[0]))
            await buffered.drain()
            assert memory.written == [0, 1, 2]

    virtual.run(whole())


def test_who_drains_waits_for_all_that_was_put_and_no_longer() -> None:
    async def act(buffered: Buffered) -> None:
        await buffered.drain()
        buffered.put(failed(CLAIMS[0]))
        await buffered.drain()
        assert now() == 0.0
        assert buffered.statistics() == Written(1, 1, 0)
        await buffered.drain()

    assert run(act).written == [0]


def test_there_is_room_for_two_batches_and_who_comes_then_waits() -> None:
    async def act(buffered: Buffered) -> None:
        for claim in CLAIMS[:CAPACITY]:
            await buffered.room()
            buffered.put(failed(claim))
        assert buffered.statistics().commits == 0
        waiting = [asyncio.ensure_future(_put(buffered, claim)) for claim in CLAIMS[CAPACITY:900]]
        await asyncio.sleep(0)
        assert buffered.statistics().buffered == CAPACITY
        await asyncio.gather(*waiting)
        await buffered.drain()

    memory = run(act)
    assert memory.written == list(range(900))
    assert max(len(batch.outcomes) for batch in memory.batches) == CAPACITY


async def _put(buffered: Buffered, claim: Claim) -> None:
    await buffered.room()
    buffered.put(failed(claim))


def test_of_a_host_the_last_rest_counts() -> None:
    async def act(buffered: Buffered) -> None:
        buffered.put(failed(CLAIMS[0]), HostRest(1, 5.0))
        buffered.put(failed(CLAIMS[1]), HostRest(2, 6.0))
        buffered.put(failed(CLAIMS[2]), HostRest(1, 7.0))
        buffered.put(failed(CLAIMS[3]))
        await buffered.drain()

    (batch,) = run(act).batches
    assert batch.rests == [HostRest(1, 7.0), HostRest(2, 6.0)]


def test_rules_and_what_they_name_are_written_without_an_outcome() -> None:
    rules = HostRules(1, "http://a", 0.0, 200)
    sitemap = discovery("http://a/sitemap.xml")

    async def act(buffered: Buffered) -> None:
        buffered.put_rules(rules, [sitemap])
        await buffered.drain()

    (batch,) = run(act).batches
    assert (batch.outcomes, batch.rules, batch.discoveries) == ([], [rules], [sitemap])


def test_a_commit_is_told() -> None:
    told: list[float] = []

    async def act(buffered: Buffered) -> None:
        buffered.on_commit = lambda: told.append(now())
        buffered.put(failed(CLAIMS[0]))
        await asyncio.sleep(1.0)

    run(act)
    assert told == [LINGER]


@pytest.mark.parametrize("error", [LeaseLost("gone"), StoreFull("full")])
def test_a_commit_that_fails_ends_the_writer_with_that_error(error: Exception) -> None:
    memory = Memory()
    memory.error = error

    async def whole() -> None:
        async with buffer(memory) as buffered:
            buffered.put(failed(CLAIMS[0]))
            await buffered.drain()

    with pytest.raises(ExceptionGroup) as failed_with:
        virtual.run(whole())
    assert failed_with.value.exceptions == (error,)


def test_what_was_forgotten_is_not_written() -> None:
    async def act(buffered: Buffered) -> None:
        buffered.put(failed(CLAIMS[0]), HostRest(1, 5.0))
        buffered.put_rules(HostRules(1, "http://a", 0.0, 200), [discovery("http://a/x")])
        buffered.forget()
        await buffered.drain()
        buffered.put(failed(CLAIMS[1]))
        await buffered.drain()

    (batch,) = run(act).batches
    assert [outcome.claim.id for outcome in batch.outcomes] == [1]
    assert (batch.rests, batch.rules, batch.discoveries) == ([], [], [])


def test_the_session_is_joined_held_and_left_once() -> None:
    async def act(buffered: Buffered) -> None:
        await buffered.claim(5, [HostRest(1, 0.0)], [7])
        await buffered.renew()
        await buffered.leave()

    assert run(act).calls == ["join", "claim 5 1 [7]", "renew", "leave"]


def test_who_is_cancelled_in_a_commit_does_not_cut_it_off() -> None:
    memory = Memory()

    async def whole() -> None:
        loop = asyncio.get_running_loop()
        committing = asyncio.Event()
        memory.on_commit = lambda: loop.call_soon_threadsafe(committing.set)
        with ThreadPoolExecutor(1) as thread:
            buffered = Buffered(memory, now, thread)
            await buffered.join()
            buffered.put(failed(CLAIMS[0]))
            writer = asyncio.ensure_future(buffered.write())
            await committing.wait()
            writer.cancel()
            await buffered.leave()

    asyncio.run(whole())
    assert memory.calls == ["join", "leave"]
    assert memory.written == [0]
