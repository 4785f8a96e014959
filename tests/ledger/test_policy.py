import random
from collections import defaultdict
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from freki.ledger.policy import Agenda, Manners
from freki.messages import Claim, HostRest, HostWork


def work(host: int, count: int = 1, **known: Any) -> HostWork:
    """Some claims of a host."""
    claims = [Claim(host * 1000 + n, host, f"http://h{host}/{n}", 0) for n in range(count)]
    return HostWork(host, f"http://h{host}", claims, **known)


def agenda(*works: HostWork, **manners: Any) -> Agenda:
    made = Agenda(Manners(**manners))
    made.add(works)
    return made


def starts(agenda: Agenda, answers: list[float], now: float = 0.0) -> list[float]:
    """When claims go out, one after the other, if they are answered so fast."""
    dates = []
    for elapsed in answers:
        claim = agenda.take(now)
        if claim is None:
            now = max(now, agenda.next_at() or now)
            claim = agenda.take(now)
        assert claim is not None
        dates.append(now)
        now += elapsed
        agenda.settle(claim, now, elapsed)
    return dates


# Distance


def test_a_fixed_delay_lies_between_an_answer_and_the_next_request() -> None:
    assert starts(agenda(work(1, 3), delay=2.0), [0.5, 0.5, 0.5]) == [0.0, 2.5, 5.0]


def test_a_host_is_not_asked_before_the_date_it_came_with() -> None:
    assert starts(agenda(work(1, next_at=7.0), delay=1.0), [0.1]) == [7.0]


def test_a_host_that_ran_empty_goes_on_resting() -> None:
    hosts = agenda(work(1), delay=5.0)
    assert starts(hosts, [1.0]) == [0.0]
    hosts.add([work(1)])
    assert hosts.take(5.9) is None
    assert hosts.take(6.0) is not None


def test_a_host_that_was_dropped_comes_back_with_the_rest_it_left_with() -> None:
    hosts = agenda(work(1), delay=5.0)
    starts(hosts, [1.0])
    (rest,) = hosts.hungry()
    assert rest.next_at == 6.0
    hosts.drop([1])
    assert hosts.hosts == 0
    hosts.add([work(1, next_at=rest.next_at)])
    assert hosts.take(5.9) is None
    assert hosts.take(6.0) is not None


def test_one_request_at_a_time_waits_for_its_answer_however_long_it_takes() -> None:
    hosts = agenda(work(1, 2), delay=0.0)
    claim = hosts.take(0.0)
    assert claim is not None
    assert hosts.take(1000.0) is None
    hosts.settle(claim, 1000.0, 1000.0)
    assert hosts.take(1000.0) is not None


def test_several_at_once_keep_their_distance_from_start_to_start() -> None:
    hosts = agenda(work(1, 9), delay=1.0, concurrency=3)
    dates = [now / 10 for now in range(50) if hosts.take(now / 10) is not None]
    assert dates == [0.0, 1.0, 2.0]
    assert hosts.active == 3


def test_a_host_without_delay_gets_as_many_at_once_as_allowed() -> None:
    hosts = agenda(work(1, 9), delay=0.0, concurrency=4)
    taken = [claim for _ in range(9) if (claim := hosts.take(0.0)) is not None]
    assert len(taken) == 4
    hosts.settle(taken[0], 0.0, 0.1)
    assert hosts.take(0.0) is not None
    assert hosts.take(0.0) is None


def test_a_pause_for_the_whole_host_is_kept_by_what_stands_in_line_already() -> None:
    hosts = agenda(work(1, 9), delay=0.0, concurrency=2)
    first = hosts.take(0.0)
    assert first is not None
    hosts.settle(first, 1.0, 1.0, pause_until=60.0)
    assert hosts.take(59.9) is None
    assert hosts.take(60.0) is not None


def test_thousands_of_hosts_that_are_told_to_rest_at_once_are_no_trouble() -> None:
    hosts = agenda(*(work(host, 3) for host in range(5000)), delay=0.0, concurrency=2)
    for claim in [hosts.take(0.0) for _ in range(5000)]:
        assert claim is not None
        hosts.settle(claim, 0.0, 0.0, pause_until=9.0)
    assert hosts.take(8.9) is None
    assert hosts.take(9.0) is not None


def test_a_fixed_delay_holds_whatever_was_learnt_with_other_settings() -> None:
    hosts = agenda(work(1, 2, delay=0.25), delay=5.0)
    claim = hosts.take(0.0)
    assert claim is not None
    assert hosts.settle(claim, 1.0, None).next_at == 6.0


# A pause that is learnt


def test_a_learnt_pause_rises_at_once_and_falls_slowly() -> None:
    manners = Manners()
    pause = manners.pause(None, 4.0)
    assert pause == 4.0
    falling = [pause := manners.pause(pause, 1.0) for _ in range(20)]
    assert falling == sorted(falling, reverse=True)
    assert falling[0] == pytest.approx(3.1)
    assert falling[-1] == pytest.approx(1.0, abs=0.01)
    assert manners.pause(pause, 9.0) == 9.0


@given(st.floats(0, 1000), st.none() | st.floats(0, 100), st.floats(0, 10), st.floats(0, 100))
def test_a_learnt_pause_stays_between_floor_and_ceiling(
    elapsed: float, learnt: float | None, floor: float, above: float
) -> None:
    manners = Manners(min_delay=floor, max_delay=floor + above)
    assert floor <= manners.pause(learnt, elapsed) <= floor + above
    assert manners.standing_pause(learnt) >= floor


def test_where_floor_and_ceiling_contradict_each_other_the_longer_pause_holds() -> None:
    assert Manners(min_delay=40.0, max_delay=30.0).pause(None, 1.0) == 40.0


def test_a_pause_follows_the_response_time_of_its_own_host() -> None:
    hosts = agenda(work(1, 3), work(2, 3))
    dates = defaultdict(list)
    now = 0.0
    while (date := hosts.next_at()) is not None:
        now = max(now, date)
        claim = hosts.take(now)
        assert claim is not None
        dates[claim.host].append(now)
        hosts.settle(claim, now, 3.0 if claim.host == 1 else 0.5)
    assert [round(b - a, 2) for a, b in pairwise(dates[1])] == [3.0, 3.0]
    assert [round(b - a, 2) for a, b in pairwise(dates[2])] == [0.5, 0.5]


def test_a_crawl_delay_is_kept_up_to_the_longest_pause_and_one_at_a_time() -> None:
    hosts = agenda(work(1, 9), work(2, 9), delay=1.0, max_delay=30.0, concurrency=4)
    hosts.ask(1, 10.0)
    hosts.ask(2, 86_400.0)
    hosts.ask(3, 5.0)
    for host, delay in ((1, 10.0), (2, 30.0)):
        claim = hosts.take(0.0)
        assert claim is not None
        assert claim.host == host
        assert hosts.settle(claim, 1.0, 1.0).next_at == 1.0 + delay


def test_a_crawl_delay_does_not_shorten_a_pause() -> None:
    hosts = agenda(work(1, 2), delay=20.0)
    hosts.ask(1, 3.0)
    claim = hosts.take(0.0)
    assert claim is not None
    assert hosts.settle(claim, 1.0, 1.0).next_at == 21.0


# Fairness


def test_hosts_take_turns() -> None:
    hosts = agenda(work(1, 4), work(2, 4), work(3, 2), delay=0.0, concurrency=9)
    order = [claim.host for _ in range(10) if (claim := hosts.take(0.0)) is not None]
    assert order == [1, 2, 3, 1, 2, 3, 1, 2, 1, 2]


def test_a_slow_host_does_not_hold_up_others() -> None:
    hosts = agenda(work(1, 5), work(2, 5), delay=1.0)
    slow = hosts.take(0.0)
    assert slow is not None
    served = 0
    for now in range(20):
        if (claim := hosts.take(float(now))) is not None:
            assert claim.host == 2
            served += 1
            hosts.settle(claim, float(now), 0.0)
    assert served == 5


# Failures


def test_a_host_that_is_not_reached_is_tried_after_growing_pauses() -> None:
    hosts = agenda(work(1, 9), delay=0.0)
    dates, now = [], 0.0
    for _ in range(9):
        claim = hosts.take(now)
        assert claim is not None
        dates.append(now)
        hosts.settle(claim, now, None)
        now = hosts.next_at() or now
    assert [round(b - a) for a, b in pairwise(dates)] == [1, 2, 4, 8, 16, 32, 60, 60]
    assert hosts.failures(1) == 9


def test_what_failed_at_the_same_time_is_one_trouble() -> None:
    hosts = agenda(work(1, 9), delay=0.0, concurrency=5)
    for claim in [hosts.take(0.0) for _ in range(5)]:
        assert claim is not None
        hosts.settle(claim, 0.5, None)
    assert hosts.failures(1) == 1


def test_an_answer_ends_the_trouble() -> None:
    hosts = agenda(work(1, 9, failures=3), delay=0.0)
    claim = hosts.take(0.0)
    assert claim is not None
    hosts.settle(claim, 0.1, 0.1)
    assert hosts.failures(1) == 0


# Claims that need no request


def test_what_is_put_back_is_the_next_to_go_and_the_host_rests_first() -> None:
    hosts = agenda(work(1, 3), delay=2.0)
    claim = hosts.take(0.0)
    assert claim is not None
    hosts.put_back(claim, 0.5, 0.5)
    assert hosts.take(2.4) is None
    assert hosts.take(2.5) == claim


def test_what_needs_no_request_costs_no_pause() -> None:
    hosts = agenda(work(1, 100), delay=10.0)
    for _ in range(100):
        claim = hosts.take(0.0)
        assert claim is not None
        hosts.give_up(claim)
    assert [rest.host for rest in hosts.hungry()] == [1]


def test_a_host_that_says_later_rests_until_then() -> None:
    hosts = agenda(work(1, 2), delay=0.0)
    claim = hosts.take(0.0)
    assert claim is not None
    hosts.give_up(claim, pause_until=30.0)
    assert hosts.rest(1) == HostRest(1, 30.0)
    assert hosts.take(29.9) is None
    assert hosts.take(30.0) is not None


# Addresses


def test_hosts_on_one_address_share_its_pause() -> None:
    hosts = agenda(*(work(host, 3) for host in range(4)), work(9, 3), delay=1.0, per_address=True)
    for claim in [hosts.take(0.0) for _ in range(5)]:
        assert claim is not None
        address = "192.0.2.9" if claim.host == 9 else "192.0.2.1"
        hosts.settle(claim, 0.0, 0.0, address=address)
    dates = defaultdict(list)
    for tenth in range(200):
        taken = [claim for _ in range(5) if (claim := hosts.take(tenth / 10)) is not None]
        for claim in taken:
            dates[claim.host == 9].append(tenth / 10)
            hosts.settle(claim, tenth / 10, 0.0)
    assert dates[True] == [1.0, 2.0]
    assert len(dates[False]) == 8
    assert min(later - sooner for sooner, later in pairwise(dates[False])) >= 0.99


def test_addresses_of_hosts_that_are_gone_are_forgotten() -> None:
    hosts = Agenda(Manners(delay=0.0, per_address=True))
    for host in range(1000):
        hosts.add([work(host)])
        claim = hosts.take(float(host))
        assert claim is not None
        hosts.settle(claim, float(host), 0.0, address=f"192.0.2.{host}")
        hosts.drop([host])
    assert len(hosts._addresses) < 50


# Bookkeeping


def test_only_hosts_whose_claims_are_used_up_are_hungry() -> None:
    hosts = agenda(work(1, 2), delay=0.0)
    for left in (True, False):
        claim = hosts.take(0.0)
        assert claim is not None
        assert not hosts.is_hungry
        hosts.settle(claim, 0.0, 0.0)
        assert hosts.is_hungry is not left


def test_a_host_is_dropped_only_if_nothing_of_it_is_in_hand() -> None:
    hosts = agenda(work(1, 2), delay=0.0)
    hosts.drop([1, 99])
    assert (hosts.hosts, hosts.waiting) == (1, 2)


def test_hosts_of_which_enough_is_in_hand_are_named() -> None:
    hosts = agenda(work(1, 2), work(2, 5))
    assert hosts.full(3) == [2]
    assert hosts.full(1) == [1, 2]


def test_what_was_cleared_is_gone() -> None:
    hosts = agenda(work(1, 2), work(2, 5))
    hosts.take(0.0)
    hosts.clear()
    assert (hosts.hosts, hosts.waiting, hosts.active, hosts.next_at()) == (0, 0, 0, None)
    assert hosts.take(1e9) is None


@pytest.mark.parametrize("seed", range(300))
def test_however_a_crawl_goes_every_claim_goes_out_once_and_never_too_soon(seed: int) -> None:
    dice = random.Random(seed)
    delay = dice.choice([0.0, 0.5, 2.0])
    manners = Manners(delay, concurrency=dice.choice([1, 1, 3]))
    hosts = Agenda(manners)
    ledger = {host: work(host, dice.randrange(1, 12)).claims for host in range(5)}
    waiting_at = dict.fromkeys(ledger, 0.0)
    ready: dict[int, float] = {}
    flying: list[tuple[Claim, float]] = []
    gone: list[Claim] = []
    now = 0.0
    for _ in range(2000):
        now += dice.random()
        _refill(hosts, ledger, waiting_at, dice)
        if (claim := hosts.take(now)) is not None:
            assert now >= ready.get(claim.host, 0.0)
            gone.append(claim)
            flying.append((claim, now))
            assert sum(other.host == claim.host for other, _ in flying) <= manners.concurrency
            if manners.concurrency > 1:
                ready[claim.host] = now + delay
        if flying and dice.random() < 0.5:
            claim, began = flying.pop(dice.randrange(len(flying)))
            reached = dice.random() < 0.9
            hosts.settle(claim, now, now - began if reached else None)
            if manners.concurrency == 1:
                ready[claim.host] = now + delay
    assert not any(ledger.values())
    assert len(gone) == len({claim.id for claim in gone})
    assert hosts.waiting == 0
    assert hosts.active == len(flying)


def _refill(
    hosts: Agenda, ledger: dict[int, list[Claim]], waiting_at: dict[int, float], dice: random.Random
) -> None:
    """Some claims of hosts that are hungry or not held, as a ledger would give them."""
    for rest in hosts.hungry():
        waiting_at[rest.host] = rest.next_at
        if not ledger[rest.host] or dice.random() < 0.3:
            hosts.drop([rest.host])
    for host, claims in list(ledger.items()):
        if claims and dice.random() < 0.1:
            count = dice.randrange(1, 4)
            some, ledger[host] = claims[:count], claims[count:]
            hosts.add([HostWork(host, "", some, next_at=waiting_at[host])])
