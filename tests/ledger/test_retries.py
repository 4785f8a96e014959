"""Jobs whose URLs are tried again: a wish that nothing loses, whoever dies, and whatever it was."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from freki.ledger.jobs import orders, retries, shift
from freki.ledger.jobs.folder import Folder
from freki.ledger.jobs.keys import ANYBODY, Key, Quotas
from freki.ledger.jobs.orders import Accepted, Hook, Job, Order, Refusal, Result
from freki.ledger.jobs.place import Desk, Place
from freki.ledger.jobs.retries import MOST, Anew, reopen
from freki.ledger.jobs.served import Served
from freki.ledger.jobs.shift import LEASE, Shift
from freki.ledger.read import Filter
from freki.messages import Reason

TIMEOUTS = Filter(reason=Reason.timeout)
ERRORS = Filter(status=(500, 599), origin="https://a.example")
COOKIES: dict[str, object] = {"cookies": ["a=b"]}
HOOK = Hook("https://a.example/", ("finished",), "a secret of 16")


@pytest.fixture(params=["folder", pytest.param("server", marks=pytest.mark.system)])
def desk(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Desk]:
    place: Place = Folder(tmp_path / "data")
    if request.param == "server":
        place = Served(request.getfixturevalue("postgres").schema())
    place.prepare()
    with closing(place.desk()) as made:
        yield made


@pytest.fixture
def worker(desk: Desk) -> Shift:
    return shift.begin(desk, 0.0)


def begun(desk: Desk, worker: Shift, hook: Hook | None = None) -> Job:
    """A job in work."""
    order = Order("crawl", "x", {}, ["http://a/"], {}, COOKIES, hook)
    accepted = orders.accept(desk, order, ANYBODY, 10, 0.0, None)
    assert isinstance(accepted, Accepted)
    return taken(desk, worker)


def taken(desk: Desk, worker: Shift) -> Job:
    job = shift.take(desk, worker, orders.KINDS, 2.0)
    assert job is not None
    return job


def ended(desk: Desk, worker: Shift, hook: Hook | None = None) -> Job:
    job = begun(desk, worker, hook)
    shift.finish(desk, worker, job, Result("failed", "timeout", "no page was stored"), 1.0)
    return found(desk, job)


def found(desk: Desk, job: Job) -> Job:
    known = orders.find(desk, job.id)
    assert known is not None
    return known


def wish(desk: Desk, job: Job, wanted: Filter = TIMEOUTS, hook: Hook | None = None) -> Job:
    answer = reopen(desk, job.id, wanted, ANYBODY, 10, 2.0, Anew(hook, COOKIES))
    assert isinstance(answer, Job)
    return answer


def test_one_that_has_ended_waits_for_its_turn_and_knows_what_to_try(
    desk: Desk, worker: Shift
) -> None:
    job = wish(desk, ended(desk, worker))
    assert (job.state, job.reason, job.ended_at, job.again) == ("queued", None, None, [TIMEOUTS])
    assert taken(desk, worker).attempts == 1
    assert retries.wished(desk, job.id) == [TIMEOUTS]


def test_the_same_wish_is_noted_once_and_others_beside_it(desk: Desk, worker: Shift) -> None:
    job = ended(desk, worker)
    for wanted in (TIMEOUTS, ERRORS, TIMEOUTS):
        wish(desk, job, wanted)
    assert retries.wished(desk, job.id) == [TIMEOUTS, ERRORS]


def test_what_is_wished_while_another_wish_is_carried_out_is_kept(
    desk: Desk, worker: Shift
) -> None:
    job = wish(desk, ended(desk, worker))
    done = retries.wished(desk, job.id)
    wish(desk, job, ERRORS)
    retries.carried_out(desk, job.id, done)
    assert retries.wished(desk, job.id) == [ERRORS]


def test_one_in_work_begins_anew_with_it(desk: Desk, worker: Shift) -> None:
    job = wish(desk, begun(desk, worker))
    assert (job.state, job.wish) == ("running", "reload")
    shift.give_back(desk, worker, job, Result("queued"), 2.0)
    assert taken(desk, worker).again == [TIMEOUTS]


def test_one_that_ends_at_that_moment_has_not_ended(desk: Desk, worker: Shift) -> None:
    job = begun(desk, worker, HOOK)
    wish(desk, job)
    shift.finish(desk, worker, job, Result("done"), 2.0)
    known = found(desk, job)
    assert (known.state, known.again, known.hook) == ("queued", [TIMEOUTS], HOOK)
    retries.carried_out(desk, job.id, [TIMEOUTS])
    shift.finish(desk, worker, taken(desk, worker), Result("done"), 2.0)
    assert found(desk, job).state == "done"


def test_one_that_rests_goes_on_resting(desk: Desk, worker: Shift) -> None:
    job = begun(desk, worker)
    orders.pause(desk, job.id, 1.0)
    assert wish(desk, job).wish == "pause"
    shift.give_back(desk, worker, job, Result("paused"), 2.0)
    known = wish(desk, job, ERRORS)
    assert (known.state, known.again) == ("paused", [TIMEOUTS, ERRORS])


def test_the_wish_outlives_the_worker(desk: Desk, worker: Shift) -> None:
    job = wish(desk, begun(desk, worker))
    later = LEASE + 3.0
    other = shift.begin(desk, later)
    next_one = shift.take(desk, other, orders.KINDS, later)
    assert next_one is not None
    assert (next_one.id, next_one.again) == (job.id, [TIMEOUTS])


def test_one_that_never_comes_through_is_given_up(desk: Desk, worker: Shift) -> None:
    job = wish(desk, begun(desk, worker))
    for _ in range(shift.MOST_ATTEMPTS):
        shift.finish(desk, worker, job, Result("failed", "crash"), 2.0)
        shift.take(desk, worker, orders.KINDS, 2.0)
    known = found(desk, job)
    assert (known.state, known.reason, known.again) == ("failed", "crash", None)


def test_who_cancels_wants_no_new_try(desk: Desk, worker: Shift) -> None:
    job = wish(desk, begun(desk, worker))
    orders.cancel(desk, job.id, 2.0)
    shift.finish(desk, worker, job, orders.CANCELLED, 2.0)
    known = found(desk, job)
    assert (known.state, known.again) == ("cancelled", None)


def test_one_that_is_deleted_is_not_gone_on_with(desk: Desk, worker: Shift) -> None:
    job = wish(desk, begun(desk, worker))
    assert orders.drop(desk, job.id) is False
    shift.finish(desk, worker, job, orders.CANCELLED, 2.0)
    (gone,) = orders.abandoned(desk)
    assert (gone.id, gone.state, gone.again) == (job.id, "cancelled", None)


def test_it_is_noted_which_secrets_went_and_one_can_be_given_anew(
    desk: Desk, worker: Shift
) -> None:
    job = ended(desk, worker, HOOK)
    assert (job.secrets, job.hook, job.dropped) == (None, None, ["cookies", "webhook"])
    refused = reopen(desk, job.id, TIMEOUTS, ANYBODY, 10, 2.0, Anew(HOOK))
    assert isinstance(refused, Refusal)
    assert (refused.reason, found(desk, job)) == ("secrets_dropped", job)
    assert "its cookies were deleted" in refused.detail
    without = wish(desk, job)
    assert (without.hook, without.secrets, without.dropped) == (None, COOKIES, ["webhook"])
    anew = wish(desk, job, ERRORS, HOOK)
    assert (anew.hook, anew.dropped) == (HOOK, [])


def test_it_is_counted_like_a_new_job(desk: Desk, worker: Shift) -> None:
    job = ended(desk, worker)
    poor = Key(ANYBODY.id, "poor", ("submit",), Quotas(queued=0), 0.0)
    for caller, most, reason in ((poor, 10, "quota_queued"), (ANYBODY, 0, "queue_full")):
        refused = reopen(desk, job.id, TIMEOUTS, caller, most, 2.0, Anew(None, COOKIES))
        assert isinstance(refused, Refusal)
        assert refused.reason == reason
    assert found(desk, job) == job


def test_wishes_have_a_bound(desk: Desk, worker: Shift) -> None:
    job = ended(desk, worker)
    for number in range(MOST):
        wish(desk, job, Filter(message=str(number)))
    assert isinstance(
        reopen(desk, job.id, TIMEOUTS, ANYBODY, 10, 2.0, Anew(None, COOKIES)), Refusal
    )
    assert len(retries.wished(desk, job.id)) == MOST


def test_one_that_was_deleted_is_gone(desk: Desk, worker: Shift) -> None:
    job = ended(desk, worker)
    orders.drop(desk, job.id)
    assert reopen(desk, job.id, TIMEOUTS, ANYBODY, 10, 2.0) is None
    assert retries.wished(desk, job.id) == []


def test_what_was_opened_again_waits_since_then(desk: Desk, worker: Shift) -> None:
    wish(desk, ended(desk, worker))
    assert orders.oldest_queued(desk) == 2.0
