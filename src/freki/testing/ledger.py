"""What every ledger must do: a suite to inherit from, with a bench for the implementation.

    class TestMine(LedgerContract):
        @pytest.fixture(autouse=True)
        def _bench(self, tmp_path):
            self.bench = MyBench(tmp_path)

Its tests are facts about the contract in `steps.Ledger`. What they need from an implementation
is in `testing/bench.py`.
"""

from concurrent.futures import ThreadPoolExecutor

from msgspec.structs import replace

from freki.messages import Claim, Outcome, Reason, State
from freki.testing.bench import (
    POLITE,
    SHARED,
    Bench,
    Hand,
    again,
    discovery,
    failed,
    page,
    redirect,
    rest,
)
from freki.testing.ledger_finds import FindsContract
from freki.testing.ledger_programs import ProgramsContract
from freki.testing.ledger_sessions import SessionsContract

A = "http://a/"
B = "http://b/"
PAGES = [f"http://a/{number}" for number in range(20)]


class ClaimsContract:
    """Who may fetch what, and when."""

    bench: Bench

    # Claims

    def test_every_url_is_claimed_once(self) -> None:
        worker = self.bench.worker()
        worker.seed(*PAGES)
        claims = claimed = worker.claim()
        while claims:
            worker.commit(*(page(claim) for claim in claims))
            self.bench.check()
            claims = worker.claim(refill=[rest(claims[0])])
            claimed += claims
        assert [claim.url for claim in claimed] == PAGES
        assert self.bench.count(State.done) == len(PAGES)

    def test_a_claim_says_what_is_known_of_its_url(self) -> None:
        worker = self.bench.worker()
        worker.seed(A)
        (first,) = worker.claim()
        worker.commit(redirect(first, "http://b/moved"))
        (moved,) = worker.claim()
        assert (moved.url, moved.depth, moved.hops, moved.attempt) == ("http://b/moved", 0, 1, 1)
        worker.commit(page(moved, "http://c/"))
        (linked,) = worker.claim()
        assert (linked.url, linked.depth, linked.hops) == ("http://c/", 1, 0)

    def test_urls_come_by_priority_and_then_in_the_order_of_discovery(self) -> None:
        worker = self.bench.worker()
        ranks = {"late": 9, "first": 0, "second": 0, "soon": 5, "third": 0, "at once": -3}
        worker.find(
            *(replace(discovery(f"{A}{name}"), priority=rank) for name, rank in ranks.items())
        )
        order = [claim.url.removeprefix(A) for claim in worker.claim()]
        assert order == ["at once", "first", "second", "third", "soon", "late"]

    def test_no_more_than_a_hosts_share_is_claimed_at_once(self) -> None:
        worker = self.bench.worker()
        worker.seed(*PAGES, *(f"{B}{number}" for number in range(20)))
        per_host = [len(work.claims) for work in worker.work().hosts]
        assert per_host == [POLITE.per_host, POLITE.per_host]
        self.bench.check()

    def test_only_as_many_hosts_as_wanted_are_claimed(self) -> None:
        worker = self.bench.worker()
        worker.seed(*(f"http://h{number}/" for number in range(5)))
        assert [len(worker.claim(hosts=hosts)) for hosts in (2, 0, 1, 9)] == [2, 0, 1, 2]

    def test_two_workers_never_get_the_same_url(self) -> None:
        for terms in (POLITE, SHARED):
            one, two = self.bench.worker(terms), self.bench.worker(terms)
            one.seed(*PAGES, *(f"http://{name}/" for name in "bcdef"))
            claimed: list[Claim] = []
            for _ in range(6):
                claimed += one.claim(hosts=2) + two.claim(hosts=2)
                self.bench.check()
            assert len({claim.url for claim in claimed}) == len(claimed)
            one.leave()
            two.leave()

    def test_a_date_that_nobody_sets_holds_nothing_up(self) -> None:
        for terms, url in ((POLITE, A), (SHARED, B)):
            worker = self.bench.worker(terms)
            worker.seed(url)
            (claim,) = worker.claim()
            worker.commit(again(claim, due=1e12), rests=[rest(claim, 1e12)])
            worker.leave()
            worker = self.bench.worker(terms)
            assert worker.work().next_due == 0.0
            (claim,) = worker.claim()
            worker.commit(page(claim))
            worker.leave()
            self.bench.check()

    # Hosts

    def test_a_host_with_a_delay_belongs_to_one_worker_at_a_time(self) -> None:
        one, two = self.bench.worker(), self.bench.worker()
        one.seed(*PAGES, B)
        mine = one.claim(hosts=1)
        assert {claim.url for claim in mine} == set(PAGES[: POLITE.per_host])
        assert [claim.url for claim in two.claim()] == [B]
        assert [claim.url for claim in one.claim(refill=[rest(mine[0])])] == PAGES[8:16]

    def test_a_host_of_somebody_else_cannot_be_refilled(self) -> None:
        one, two = self.bench.worker(), self.bench.worker()
        one.seed(*PAGES)
        (claim, *_) = one.claim()
        assert two.claim(refill=[rest(claim)]) == []

    def test_a_host_without_a_delay_is_shared(self) -> None:
        one, two = self.bench.worker(SHARED), self.bench.worker(SHARED)
        one.seed(*PAGES)
        assert [claim.url for claim in one.claim()] == PAGES[:8]
        assert [claim.url for claim in two.claim()] == PAGES[8:16]

    def test_a_shared_host_that_is_refilled_gives_each_url_once(self) -> None:
        worker = self.bench.worker(SHARED)
        worker.seed(*PAGES)
        (first, *_) = worker.claim()
        claims = worker.claim(refill=[rest(first)])
        assert [claim.url for claim in claims] == PAGES[8 : 8 + len(claims)]
        worker.commit(*(page(claim) for claim in claims))
        self.bench.check()

    def test_a_host_that_has_no_more_is_let_go_with_the_rest_it_must_keep(self) -> None:
        one, two = self.bench.worker(), self.bench.worker()
        one.seed(A)
        (claim,) = one.claim(now=0.0)
        one.commit(page(claim), now=1.0)
        assert one.work(now=1.0, refill=[rest(claim, next_at=6.0)]).hosts == []
        two.find(discovery(f"{A}new"))
        assert two.work(now=5.9).hosts == []
        assert two.work(now=5.9).next_due == 6.0
        assert [claim.url for claim in two.claim(now=6.0)] == [f"{A}new"]

    def test_a_rest_that_comes_late_does_not_shorten_a_longer_one(self) -> None:
        worker = self.bench.worker()
        worker.seed(A, B)
        first, second = worker.claim(hosts=1) + worker.claim(hosts=1)
        worker.work(now=1.0, refill=[rest(first, next_at=9.0)])
        worker.commit(page(first, f"{A}x"), page(second), now=1.0, rests=[rest(first, 2.0)])
        assert worker.claim(now=8.9) == []
        assert [claim.url for claim in worker.claim(now=9.0)] == [f"{A}x"]

    def test_the_host_that_has_rested_longest_comes_first(self) -> None:
        worker = self.bench.worker()
        worker.seed(A, B, "http://c/")
        claims = worker.claim()
        rests = [
            rest(claim, next_at) for claim, next_at in zip(claims, (3.0, 1.0, 2.0), strict=True)
        ]
        worker.claim(refill=rests)
        worker.commit(*(page(claim, f"{claim.url}x") for claim in claims))
        order = [host.origin for host in worker.work(now=9.0).hosts]
        assert order == ["http://b", "http://c", "http://a"]

    def test_a_host_that_the_worker_has_enough_of_is_left_out(self) -> None:
        worker = self.bench.worker(SHARED)
        worker.seed(*PAGES, B)
        first = worker.claim(hosts=1)
        full = [claim.host for claim in first[:1]]
        work = worker.ledger.claim(worker.session, 0.0, 9, [], full)
        assert [host.origin for host in work.hosts] == ["http://b"]
        assert work.next_due is None

    # Dates

    def test_a_url_to_try_again_comes_at_its_date_and_counts_its_attempts(self) -> None:
        worker = self.bench.worker()
        worker.seed(A)
        (claim,) = worker.claim(now=0.0)
        worker.commit(again(claim, due=5.0), now=1.0)
        self.bench.check()
        assert self.bench.row(A).due == 5.0
        idle = worker.work(now=1.0, refill=[rest(claim)])
        assert (idle.hosts, idle.next_due, idle.open, idle.leased) == ([], 5.0, 1, 0)
        assert worker.claim(now=4.9) == []
        (second,) = worker.claim(now=5.0)
        assert (second.url, second.attempt) == (A, 2)
        assert self.bench.row(A).due is None

    def test_what_is_due_is_not_held_up_by_what_is_not(self) -> None:
        worker = self.bench.worker()
        worker.seed(*PAGES[:3])
        one, two, three = worker.claim(now=0.0)
        worker.commit(again(one, due=50.0), page(two), again(three, due=2.0), now=1.0)
        assert [claim.url for claim in worker.claim(now=2.0, refill=[rest(one)])] == [three.url]

    # Limits

    def test_the_page_limit_is_exact_and_redirects_are_no_pages(self) -> None:
        terms = replace(POLITE, max_pages=10)
        worker = self.bench.worker(terms)
        worker.seed(*PAGES)
        moved = set(PAGES[::3])
        work = worker.work()
        while work.hosts:
            for claim in work.hosts[0].claims:
                ends = redirect(claim, f"{claim.url}/to") if claim.url in moved else page(claim)
                worker.commit(ends)
            self.bench.check()
            work = worker.work(refill=[rest(work.hosts[0])])
        assert work.limit_reached
        assert self.bench.count(State.done, Reason.ok) == 10
        assert work.leased == 0
        assert work.open > 0

    def test_a_full_crawl_names_no_date_to_wait_for(self) -> None:
        worker = self.bench.worker(replace(POLITE, max_pages=1))
        worker.seed(A, B)
        worker.claim()
        work = worker.work()
        assert (work.hosts, work.limit_reached, work.next_due) == ([], True, None)

    def test_a_failure_makes_room_for_another_page(self) -> None:
        worker = self.bench.worker(replace(POLITE, max_pages=1))
        worker.seed(A, B)
        (claim,) = worker.claim()
        worker.commit(failed(claim))
        (second,) = worker.claim()
        worker.commit(page(second))
        assert worker.work().limit_reached

    def test_the_page_limit_is_exact_for_workers_that_claim_at_the_same_time(self) -> None:
        terms = replace(SHARED, max_pages=25, per_host=3)
        workers = [self.bench.worker(terms) for _ in range(3)]
        workers[0].seed(*PAGES, *(f"{B}{number}" for number in range(20)))
        with ThreadPoolExecutor(len(workers)) as threads:
            list(threads.map(_fetch_all, workers))
        assert self.bench.count(State.done, Reason.ok) == 25
        self.bench.check()

    def test_the_page_limit_of_a_host_is_exact_and_the_rest_is_refused(self) -> None:
        terms = replace(POLITE, max_pages_per_host=3)
        worker = self.bench.worker(terms)
        worker.seed(*PAGES[:6], B)
        claims = worker.claim()
        assert [claim.url for claim in claims] == [*PAGES[:3], B]
        worker.commit(*(page(claim) for claim in claims))
        assert worker.claim(refill=[rest(claims[0])]) == []
        self.bench.check()
        assert self.bench.count(State.done) == 4
        assert self.bench.count(State.refused, Reason.budget) == 3


class LedgerContract(ClaimsContract, ProgramsContract, SessionsContract, FindsContract):
    """The whole suite."""


def _fetch_all(worker: Hand) -> None:
    """Claim and commit until the limit leaves nothing."""
    now = 0.0
    while True:
        now += 1.0
        work = worker.work(now, hosts=1)
        ends: list[Outcome] = []
        for claim in (claim for host in work.hosts for claim in host.claims):
            moved = claim.url.endswith("5")
            ends.append(redirect(claim, f"{claim.url}/to") if moved else page(claim))
        worker.commit(*ends, now=now)
        if work.limit_reached and not work.leased:
            return
