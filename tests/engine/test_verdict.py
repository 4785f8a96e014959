import time
from datetime import UTC, datetime
from email.utils import format_datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from freki.engine.verdict import (
    LONGEST_PAUSE,
    LONGEST_RETRY,
    PASSING,
    PASSING_STATUS,
    REDIRECTS,
    STRAINED_ATTEMPTS,
    STRAINED_STATUS,
    UNREACHED,
    judge,
    retry_after,
)
from freki.messages import Claim, Failure, Reason, Response
from freki.steps import Verdict

NOW = 1_800_000_000.0
FAILURES = [reason for reason in Reason if 20 <= reason < 50]


def claim(attempt: int = 1) -> Claim:
    return Claim(1, 1, "http://a/x", 0, attempt)


def judged(
    answer: Response | Failure, attempt: int = 1, attempts: int = 3, chance: float = 0.5
) -> Verdict:
    return judge(claim(attempt), answer, NOW, attempts, chance)


def status(code: int, **headers: str) -> Response:
    found = tuple((name.replace("_", "-"), value) for name, value in headers.items())
    return Response("http://a/x", code, found, b"")


# Answers


@pytest.mark.parametrize("code", [200, 201, 203, 204, 206, 300, 304, 305])
def test_an_answer_is_done(code: int) -> None:
    assert judged(status(code)) == Verdict(Reason.ok)


@pytest.mark.parametrize("code", [400, 401, 403, 404, 410, 418, 451, 501, 505, 599, 999])
def test_an_error_page_is_done_as_well(code: int) -> None:
    assert judged(status(code)) == Verdict(Reason.http_error, f"status {code}")


@pytest.mark.parametrize("code", sorted(REDIRECTS))
def test_a_redirect_says_where_it_leads(code: int) -> None:
    assert judged(status(code, location="/y")) == Verdict(Reason.redirect, "/y")


@pytest.mark.parametrize("location", ["", "mailto:me@a", "http://[", "javascript:1", "http://a b/"])
def test_a_redirect_that_leads_nowhere_has_failed(location: str) -> None:
    verdict = judged(status(302, location=location))
    assert (verdict.reason, verdict.failed, verdict.retry_at) == (Reason.bad_redirect, True, None)


def test_a_redirect_to_itself_with_a_cookie_is_tried_with_the_cookie() -> None:
    back = status(302, location="/x#top", set_cookie="seen=1")
    assert judged(back).retry_at == NOW
    assert judged(back, attempt=3) == Verdict(Reason.redirect, "/x#top")
    assert judged(status(302, location="/x")) == Verdict(Reason.redirect, "/x")
    assert judged(status(302, location="/y", set_cookie="a=b")).retry_at is None


def test_a_target_is_read_as_utf_8() -> None:
    assert judged(status(302, location="/caf\xc3\xa9")).detail == "/café"
    assert judged(status(302, location="/caf\xe9")).detail == "/caf\xe9"


def test_of_a_target_that_is_none_only_the_beginning_is_kept() -> None:
    assert len(judged(status(302, location="/" + "x" * 1_000_000)).detail) < 300


# Trying again


@pytest.mark.parametrize("code", sorted(PASSING_STATUS - STRAINED_STATUS))
def test_what_may_go_better_later_is_tried_again_and_is_an_answer_in_the_end(code: int) -> None:
    assert judged(status(code), attempt=1).retry_at == NOW + 1.0
    assert judged(status(code), attempt=2).retry_at == NOW + 2.0
    assert judged(status(code), attempt=3) == Verdict(Reason.http_error, f"status {code}")


@pytest.mark.parametrize("reason", sorted(PASSING))
def test_a_failure_that_may_pass_is_tried_again_and_has_failed_in_the_end(reason: Reason) -> None:
    assert judged(Failure(reason, "why"), attempt=2).retry_at == NOW + 2.0
    last = judged(Failure(reason, "why"), attempt=3)
    assert (last.failed, last.retry_at, last.reason, last.detail) == (True, None, reason, "why")


@pytest.mark.parametrize("reason", sorted(set(FAILURES) - PASSING))
def test_a_failure_that_will_not_pass_has_failed(reason: Reason) -> None:
    verdict = judged(Failure(reason, "why"))
    assert (verdict.failed, verdict.retry_at) == (True, None)


@pytest.mark.parametrize("reason", FAILURES)
def test_a_host_that_was_not_reached_is_told_apart(reason: Reason) -> None:
    for attempt in (1, 3):
        assert judged(Failure(reason), attempt).unreached is (reason in UNREACHED)


@given(st.integers(1, 10**6), st.floats(0, 1), st.sampled_from([500, 503]))
def test_pauses_are_spread_and_bounded_however_often_it_was_tried(
    attempt: int, chance: float, code: int
) -> None:
    verdict = judged(status(code), attempt, attempts=10**7, chance=chance)
    assert verdict.retry_at is not None
    assert 0.75 <= verdict.retry_at - NOW <= LONGEST_PAUSE + 1.25 * LONGEST_RETRY


def test_chance_spreads_what_would_come_together() -> None:
    dates = [judged(status(500), chance=chance).retry_at for chance in (0.0, 0.5, 1.0)]
    assert dates == [NOW + 0.75, NOW + 1.0, NOW + 1.25]


# Strain


@pytest.mark.parametrize("code", sorted(STRAINED_STATUS))
def test_a_strained_host_pauses_as_a_whole_and_longer_each_time(code: int) -> None:
    pauses = [judged(status(code), attempt).pause_until - NOW for attempt in range(1, 5)]
    assert pauses == [5.0, 10.0, 20.0, 40.0]


def test_a_strained_host_gets_more_tries() -> None:
    for attempt in range(1, STRAINED_ATTEMPTS):
        verdict = judged(status(503), attempt)
        assert verdict.retry_at is not None
        assert verdict.retry_at >= verdict.pause_until
    last = judged(status(503), STRAINED_ATTEMPTS)
    assert (last.reason, last.failed, last.retry_at) == (Reason.http_error, False, None)
    assert last.pause_until > NOW


@pytest.mark.parametrize(
    ("value", "pause"), [("120", 120.0), ("0", 0.0), ("9" * 400, LONGEST_PAUSE)]
)
def test_a_host_pauses_as_long_as_it_asks_within_reason(value: str, pause: float) -> None:
    assert judged(status(429, retry_after=value)).pause_until == NOW + pause


def test_retry_after_may_be_a_date() -> None:
    """RFC 9110 10.2.3, in all three formats of 5.6.7."""
    later = datetime.fromtimestamp(NOW + 90, UTC)
    assert retry_after(format_datetime(later, usegmt=True), NOW) == 90.0
    assert retry_after(later.strftime("%A, %d-%b-%y %H:%M:%S GMT"), NOW) == 90.0
    assert retry_after(later.strftime("%a %b %e %H:%M:%S %Y"), NOW) == 90.0


def test_a_date_without_a_zone_is_not_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.tzset()
    pause = retry_after("Fri, 15 Jan 2027 08:01:30 -0000", NOW)
    monkeypatch.undo()
    time.tzset()
    assert pause == 90.0


@pytest.mark.parametrize(
    "value", ["Mon, 01 Jan 2001 00:00:00 GMT", "Mon, 01 Jan 0001 00:00:00 GMT"]
)
def test_a_date_that_is_over_asks_for_nothing(value: str) -> None:
    assert retry_after(value, NOW) == 0.0


@pytest.mark.parametrize(
    "value", [None, "", "soon", "-5", "1.5", "1e3", "٣", "Mon, 99 Foo", "0x10", "Mon, 32 Jan 2027"]
)
def test_what_says_nothing_is_none(value: str | None) -> None:
    assert retry_after(value, NOW) is None


@given(
    st.text(max_size=60) | st.from_regex(r"\w{3}, \d{1,3} \w{3} \d{1,12} [\d:]{1,9} [-+]?\w{1,9}")
)
def test_no_retry_after_makes_trouble(value: str) -> None:
    pause = retry_after(value, NOW)
    assert pause is None or pause >= 0
