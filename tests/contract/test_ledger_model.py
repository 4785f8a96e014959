"""The ledger beside a model of it that is a dictionary: whatever happens, they agree."""

import tempfile
from functools import lru_cache
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
)

from freki.errors import LeaseLost
from freki.messages import Batch, Claim, Discovery, Outcome, Reason, State
from freki.testing.bench import POLITE, SHARED, Hand, StoreBench, again, discovery, failed, page

URLS = [f"http://{host}/{number}" for host in "abc" for number in range(6)]
ENDS = st.sampled_from(["page", "failed", "again", "kept"])
FOUND = st.lists(st.tuples(st.sampled_from(URLS), st.booleans()), max_size=4)


class Worker:
    """A worker as the model sees it."""

    def __init__(self, hand: Hand, until: float) -> None:
        self.hand = hand
        self.until = until
        self.alive = True
        self.claims: list[Claim] = []


class Known:
    """A URL as the model sees it."""

    def __init__(self, state: State) -> None:
        self.state = state
        self.due = 0.0


class LedgerMachine(RuleBasedStateMachine):
    """A crawl of eighteen URLs by workers that come, go, and die."""

    def __init__(self) -> None:
        super().__init__()
        self.bench = StoreBench(_store())
        self.now = 0.0
        self.workers: list[Worker] = []
        self.known: dict[str, Known] = {}

    @initialize(shared=st.booleans())
    def begin(self, shared: bool) -> None:
        self.terms = SHARED if shared else POLITE
        self.come()

    @rule()
    @precondition(lambda self: len(self.alive) < 4)
    def come(self) -> None:
        self.reap()
        self.workers.append(
            Worker(self.bench.worker(self.terms, self.now), self.now + self.terms.lease)
        )

    @rule(seconds=st.sampled_from([0.5, 5.0, 31.0]))
    def wait(self, seconds: float) -> None:
        self.now += seconds

    @rule(who=st.integers(0, 3))
    def renew(self, who: int) -> None:
        if (worker := self.pick(who)) is not None:
            worker.until = self.now + self.terms.lease
            self.reap(besides=worker)
            worker.hand.renew(self.now)

    @rule(who=st.integers(0, 3))
    def leave(self, who: int) -> None:
        if (worker := self.pick(who)) is not None:
            worker.hand.leave(self.now)
            self.bury(worker)

    @rule(who=st.integers(0, 3), hosts=st.integers(0, 3))
    def claim(self, who: int, hosts: int) -> None:
        if (worker := self.pick(who)) is None:
            return
        for claim in worker.hand.next_claims(self.now, hosts):
            known = self.known[claim.url]
            assert known.state is State.waiting
            assert known.due <= self.now
            known.state = State.leased
            worker.claims.append(claim)

    @rule(who=st.integers(0, 3), ends=st.lists(ENDS, min_size=1), found=FOUND)
    def commit(self, who: int, ends: list[str], found: list[tuple[str, bool]]) -> None:
        if (worker := self.pick(who)) is None:
            return
        outcomes = [
            outcome
            for claim, end in zip(list(worker.claims), ends, strict=False)
            if (outcome := self.end(worker, claim, end)) is not None
        ]
        worker.hand.ledger.commit(
            worker.hand.session, Batch(self.now, outcomes, discoveries=self.find(found))
        )

    def end(self, worker: Worker, claim: Claim, end: str) -> Outcome | None:
        known = self.known[claim.url]
        if end == "kept":
            return None
        worker.claims.remove(claim)
        if end == "again":
            known.state, known.due = State.waiting, self.now + 3.0
            return again(claim, known.due)
        known.state = State.done if end == "page" else State.failed
        return page(claim) if end == "page" else failed(claim)

    def find(self, found: list[tuple[str, bool]]) -> list[Discovery]:
        for url, welcome in found:
            known = self.known.setdefault(url, Known(State.refused))
            if welcome and known.state is State.refused:
                known.state = State.waiting
        return [
            discovery(url, refused=None if welcome else Reason.excluded) for url, welcome in found
        ]

    @rule(who=st.integers(0, 9), found=FOUND)
    @precondition(lambda self: len(self.alive) < len(self.workers))
    def commit_late(self, who: int, found: list[tuple[str, bool]]) -> None:
        dead = [worker for worker in self.workers if not worker.alive]
        worker = dead[who % len(dead)]
        late = Batch(
            self.now,
            [page(claim) for claim in worker.claims],
            discoveries=[discovery(url) for url, _ in found],
        )
        before = self.bench.dump()
        with pytest.raises(LeaseLost):
            worker.hand.ledger.commit(worker.hand.session, late)
        assert self.bench.dump() == before

    @rule()
    @precondition(lambda self: self.workers)
    def kill_all(self) -> None:
        """Nobody says goodbye; the first to come after the lease takes it all back."""
        self.bench.reopen()
        self.now += 31.0
        self.reap()
        self.workers.clear()
        self.come()

    @invariant()
    def agree(self) -> None:
        self.bench.check()
        assert {row.url: row.state for row in self.bench.rows()} == {
            url: known.state for url, known in self.known.items()
        }

    def teardown(self) -> None:
        """Whatever happened: one worker more, and every URL comes to its end."""
        self.bench.reopen()
        self.now += 1000.0
        last = self.bench.worker(self.terms, self.now)
        while last.work(self.now, hosts=0).open:
            self.now += 5.0
            last.commit(*(page(claim) for claim in last.next_claims(self.now, 9)))
        self.bench.check()
        assert all(row.state >= State.done for row in self.bench.rows())
        self.bench.close()

    @property
    def alive(self) -> list[Worker]:
        return [worker for worker in self.workers if worker.alive]

    def pick(self, who: int) -> Worker | None:
        alive = self.alive
        return alive[who % len(alive)] if alive else None

    def reap(self, besides: Worker | None = None) -> None:
        for worker in self.alive:
            if worker is not besides and worker.until < self.now:
                self.bury(worker)

    def bury(self, worker: Worker) -> None:
        worker.alive = False
        for claim in worker.claims:
            self.known[claim.url].state = State.waiting
            self.known[claim.url].due = 0.0


@lru_cache(maxsize=1)
def _store() -> Path:
    """One file for all examples, each of which is a crawl of its own."""
    folder = tempfile.TemporaryDirectory()
    _folders.append(folder)
    return Path(folder.name) / "freki.db"


_folders: list["tempfile.TemporaryDirectory[str]"] = []

TestLedgerAndModel = LedgerMachine.TestCase
TestLedgerAndModel.settings = settings(
    max_examples=25,
    stateful_step_count=20,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
