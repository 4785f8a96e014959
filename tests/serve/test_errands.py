"""What becomes of a job when its crawl went to the end."""

import pytest

from freki.errors import BadInput, LeaseLost, StoreUnreachable
from freki.ledger.jobs.shift import MOST_ATTEMPTS
from freki.serve.errands import concluded
from freki.serve.worker import gone_wrong, pause

SUMS: dict[str, object] = {"discovered": 2, "waiting": 0, "leased": 0, "pages": 1, "reasons": {}}


@pytest.mark.parametrize(
    ("sums", "limited", "state"),
    [
        ({}, False, "done"),
        ({"waiting": 1}, True, "done"),
        ({"pages": 0, "reasons": {"failed": {"timeout": 2}}}, False, "failed"),
        # A server that crashed after the work took the last of it along.
        ({"discovered": 0, "pages": 0}, False, "queued"),
        ({"waiting": 1}, False, "queued"),
        ({"leased": 1, "pages": 0}, False, "queued"),
    ],
)
def test_a_crawl_of_which_something_was_lost_is_not_over(
    sums: dict[str, object], limited: bool, state: str
) -> None:
    result = concluded({**SUMS, **sums}, limited=limited)
    assert result.state == state
    assert result.went_wrong == (state == "queued")


def test_what_breaks_off_again_and_again_waits_longer_each_time() -> None:
    pauses = [pause(attempts) for attempts in range(1, MOST_ATTEMPTS)]
    assert pauses == sorted(pauses)
    assert (pauses[0], pauses[-1], sum(pauses) > 240.0) == (2.0, 60.0, True)


@pytest.mark.parametrize(
    ("error", "state"),
    [
        (StoreUnreachable("away"), "queued"),
        (LeaseLost("taken over"), "queued"),
        (ExceptionGroup("both", [LeaseLost("taken over")]), "queued"),
        (BadInput("wrong"), "failed"),
        (ValueError(), "failed"),
    ],
)
def test_a_job_is_not_to_blame_for_a_store_that_was_away(error: Exception, state: str) -> None:
    assert gone_wrong(error).state == state
