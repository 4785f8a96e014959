from pathlib import Path

import pytest

from freki.testing.auditor import (
    Access,
    duplicates,
    most_in_flight,
    read,
    spacings,
    violations,
)


def access(
    start: float, end: float | None = None, *, host: str = "a", path: str = "/", status: int = 200
) -> Access:
    end = start if end is None else end
    return Access(host, path, "GET", status, "test", 1_700_000_000 + start, start, end)


def test_a_log_that_keeps_the_delay_has_no_violations() -> None:
    assert violations([access(0.0), access(1.0), access(2.5)], delay=1.0) == []


def test_an_empty_log_is_innocent() -> None:
    assert violations([], delay=1.0) == []
    assert (spacings([]), most_in_flight([]), duplicates([])) == ({}, {}, {})


def test_two_requests_too_close_are_a_violation_that_names_both() -> None:
    first, second, third = access(0.0), access(0.4), access(1.4)
    (violation,) = violations([first, second, third], delay=1.0)
    assert (violation.host, violation.first, violation.second) == ("a", first, second)
    assert violation.spacing == pytest.approx(0.4)


def test_every_violation_counts() -> None:
    assert len(violations([access(number / 10) for number in range(10)], delay=1.0)) == 9


@pytest.mark.parametrize(("spacing", "found"), [(0.996, 0), (0.994, 1)])
def test_the_way_may_take_some_milliseconds(spacing: float, found: int) -> None:
    assert len(violations([access(0.0), access(spacing)], delay=1.0)) == found


def test_without_tolerance_the_delay_is_exact() -> None:
    log = [access(0.0), access(0.999), access(1.999)]
    assert len(violations(log, delay=1.0, tolerance=0.0)) == 1


def test_hosts_do_not_wait_for_each_other() -> None:
    log = [access(0.0, host="a"), access(0.1, host="b"), access(1.0, host="a")]
    assert violations(log, delay=1.0) == []


def test_the_order_of_the_log_does_not_matter() -> None:
    log = [access(2.0), access(0.0), access(1.0)]
    assert violations(log, delay=1.0) == []
    assert spacings(log) == {"a": 1.0}


def test_the_spacing_of_a_host_is_its_smallest_distance() -> None:
    log = [access(0.0), access(3.0), access(3.5), access(9.0), access(0.2, host="b")]
    assert spacings(log) == {"a": 0.5}


def test_what_overlaps_is_in_flight_together() -> None:
    log = [access(0.0, 5.0), access(1.0, 2.0), access(1.5, 3.0), access(4.0, 6.0)]
    assert most_in_flight(log) == {"a": 3}


def test_who_comes_as_another_leaves_meets_nobody() -> None:
    assert most_in_flight([access(0.0, 1.0), access(1.0, 2.0)]) == {"a": 1}


def test_a_request_without_duration_was_in_flight() -> None:
    assert most_in_flight([access(0.0, 0.0), access(0.0, 0.0, host="b")]) == {"a": 1, "b": 1}


def test_what_was_fetched_twice_is_a_duplicate() -> None:
    log = [access(0.0, path="/x"), access(1.0, path="/x"), access(2.0, path="/y")]
    assert duplicates(log) == {("a", "/x"): 2}


def test_the_same_path_of_two_hosts_is_no_duplicate() -> None:
    assert duplicates([access(0.0, host="a"), access(1.0, host="b")]) == {}


def test_robots_txt_may_be_fetched_again() -> None:
    assert duplicates([access(0.0, path="/robots.txt"), access(1.0, path="/robots.txt")]) == {}


def test_a_head_request_is_no_fetch() -> None:
    assert duplicates([access(0.0), access(1.0)._replace(method="HEAD")]) == {}


@pytest.mark.parametrize("status", [0, 429, 503])
def test_who_was_told_later_may_come_again(status: int) -> None:
    assert duplicates([access(0.0, status=status), access(1.0)]) == {}
    assert duplicates([access(0.0, status=status), access(1.0), access(2.0)]) == {("a", "/"): 2}


def test_a_journal_that_was_cut_off_is_read_up_to_its_last_whole_line(tmp_path: Path) -> None:
    journal = tmp_path / "access.jsonl"
    whole = (
        '{"host": "a", "path": "/é", "method": "GET", "status": 200, "agent": "test",'
        ' "wall": 1700000001.0, "start": 1.0, "end": 2.0}\n'
    )
    journal.write_text(whole * 2 + whole[:40], encoding="utf-8")
    assert read(journal) == [access(1.0, 2.0, path="/é")] * 2


def test_a_journal_without_a_line_is_an_empty_log(tmp_path: Path) -> None:
    journal = tmp_path / "access.jsonl"
    journal.touch()
    assert read(journal) == []
