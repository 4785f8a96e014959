"""The part of the suite for ledgers about who works: see `testing/ledger.py`."""

from collections.abc import Callable

from msgspec.structs import replace

from freki.errors import LeaseLost
from freki.messages import Batch, State
from freki.testing.bench import POLITE, Bench, Hand, discovery, failed, page, rest

A = "http://a/"
B = "http://b/"
PAGES = [f"http://a/{number}" for number in range(20)]


class SessionsContract:
    """Workers come, go, and die."""

    bench: Bench

    def test_who_leaves_gives_everything_back(self) -> None:
        one = self.bench.worker()
        one.seed(*PAGES, B)
        before = [row.url for row in self.bench.rows()]
        held = one.claim()
        one.commit(page(held[0]))
        one.leave(now=5.0)
        self.bench.check()
        assert self.bench.count(State.leased) == 0
        assert self.bench.count(State.waiting) == len(before) - 1
        two = self.bench.worker(now=5.0)
        assert len(two.claim(now=6.0)) == POLITE.per_host + 1

    def test_what_is_given_back_was_not_an_attempt(self) -> None:
        one = self.bench.worker()
        one.seed(A)
        one.claim()
        one.leave()
        (claim,) = self.bench.worker().claim(now=10.0)
        assert claim.attempt == 1

    def test_what_a_dead_worker_held_counts_as_tried(self) -> None:
        one = self.bench.worker()
        one.seed(A)
        one.claim()
        (claim,) = self.bench.worker(now=100.0).claim(now=110.0)
        assert claim.attempt == 2

    def test_the_end_of_a_lease_is_noticed_by_who_joins(self) -> None:
        one = self.bench.worker(now=0.0)
        one.seed(A)
        one.claim()
        self.bench.worker(now=30.0)
        assert self.bench.count(State.leased) == 1
        self.bench.worker(now=30.1)
        assert self.bench.count(State.waiting) == 1
        self.bench.check()

    def test_the_end_of_a_lease_is_noticed_by_who_renews(self) -> None:
        one, two = self.bench.worker(now=0.0), self.bench.worker(now=20.0)
        one.seed(A)
        one.claim()
        two.renew(now=30.0)
        assert self.bench.count(State.leased) == 1
        two.renew(now=30.1)
        assert self.bench.count(State.waiting) == 1

    def test_who_renews_keeps_the_lease(self) -> None:
        one, two = self.bench.worker(now=0.0), self.bench.worker(now=0.0)
        one.seed(A)
        (claim,) = one.claim()
        for now in (20.0, 40.0, 60.0):
            one.renew(now)
            two.renew(now)
        one.commit(page(claim))
        assert self.bench.count(State.done) == 1

    def test_who_is_late_but_was_not_missed_keeps_the_lease(self) -> None:
        worker = self.bench.worker(now=0.0)
        worker.seed(A)
        (claim,) = worker.claim(now=1000.0)
        worker.renew(now=2000.0)
        worker.commit(page(claim))

    def test_hosts_of_the_dead_rest_before_they_are_visited_again(self) -> None:
        one = self.bench.worker(now=0.0)
        one.seed(A)
        one.claim(now=0.0)
        two = self.bench.worker(now=40.0)
        assert two.claim(now=40.9) == []
        assert [claim.url for claim in two.claim(now=41.0)] == [A]

    def test_hosts_of_the_dead_rest_as_long_as_they_are_known_to_want(self) -> None:
        one = self.bench.worker(now=0.0)
        one.seed(A, f"{A}x")
        claim, other = one.claim(now=0.0)
        one.commit(failed(claim), rests=[replace(rest(claim), delay=7.0)])
        two = self.bench.worker(now=40.0)
        assert two.claim(now=46.9) == []
        assert [claim.url for claim in two.claim(now=47.0)] == [other.url]

    def test_nothing_of_a_late_commit_is_stored(self) -> None:
        one = self.bench.worker(now=0.0)
        one.seed(A)
        (claim,) = one.claim()
        two = self.bench.worker(now=100.0)
        before = self.bench.dump()
        late = Batch(
            100.0, [page(claim, "http://new/", body=b"new")], [rest(claim, 999.0)],
            discoveries=[discovery("http://newer/")],
        )  # fmt: skip
        attempts: list[Callable[[], object]] = [
            lambda: one.ledger.commit(one.session, late),
            lambda: one.claim(100.0),
            lambda: one.renew(100.0),
        ]
        for refused in attempts:
            assert _raises_lease_lost(refused)
            assert self.bench.dump() == before
        (again_,) = two.claim(now=101.0)
        two.commit(page(again_))
        self.bench.check()

    def test_a_session_that_is_not_renewed_ends_whatever_its_date_is(self) -> None:
        """Its clock was wrong, or its row was damaged."""
        silent = self.bench.worker(now=1e9)
        silent.seed(A)
        silent.claim(1e9)
        witness = self.bench.worker(now=0.0)
        for now in (20.0, 40.0, 60.0):
            witness.renew(now)
            assert self.bench.count(State.leased) == 1
        witness.renew(now=80.0)
        assert self.bench.count(State.waiting) == 1
        self.bench.check()

    def test_who_has_nothing_to_do_knows_whether_that_will_change(self) -> None:
        one, two = self.bench.worker(), self.bench.worker()
        one.seed(A)
        (claim,) = one.claim()
        assert not one.work().stuck
        assert not two.work().stuck
        two.leave()
        assert not one.work().stuck
        one.commit(page(claim))
        done = one.work()
        assert (done.open, done.stuck) == (0, True)

    def test_who_lost_a_lease_may_join_again(self) -> None:
        one = self.bench.worker(now=0.0)
        one.seed(A)
        one.claim()
        self.bench.worker(now=100.0)
        anew = Hand(one.ledger, now=100.0)
        (claim,) = anew.claim(now=101.0)
        anew.commit(page(claim, B), now=101.0)
        assert self.bench.count(State.done) == 1
        self.bench.check()

    def test_leaving_twice_or_after_the_lease_changes_nothing(self) -> None:
        one = self.bench.worker(now=0.0)
        one.seed(A)
        one.claim()
        two = self.bench.worker(now=100.0)
        two.claim(now=101.0)
        before = self.bench.dump()
        one.leave(now=102.0)
        one.leave(now=102.0)
        assert self.bench.dump() == before

    def test_work_goes_on_where_a_killed_process_left_it(self) -> None:
        one = self.bench.worker(now=0.0)
        one.seed(*PAGES[:6])
        claims = one.claim()
        one.commit(*(page(claim, f"{claim.url}/more") for claim in claims[:2]))
        self.bench.reopen()
        two = self.bench.worker(now=31.0)
        assert sorted(claim.url for claim in two.claim(now=32.0)) == sorted(
            [*PAGES[2:6], f"{PAGES[0]}/more", f"{PAGES[1]}/more"]
        )
        self.bench.check()


def _raises_lease_lost(act: Callable[[], object]) -> bool:
    try:
        act()
    except LeaseLost:
        return True
    return False
