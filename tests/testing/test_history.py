from freki.testing.auditor import Access
from freki.testing.history import Bounds, History, judge

NOTHING = History((), {})


def access(start: float, end: float) -> Access:
    return Access("a", "/robots.txt", "GET", 200, "freki", start, start, end)


def test_requests_beyond_the_limit_are_impolite() -> None:
    history = History((), {}, log=(access(0.0, 2.0), access(1.0, 3.0)))
    judgement = judge(history, NOTHING, Bounds(at_once=1))
    assert judgement.impolite == ("a had 2 requests at once",)


def test_requests_of_a_killed_process_are_not_counted_with_those_of_the_next() -> None:
    log = (access(0.0, 2.0), access(1.0, 3.0))
    history = History((), {}, log=log, kills=(0.9,))
    assert not judge(history, NOTHING, Bounds(at_once=1)).impolite


def test_requests_of_the_next_process_are_counted_together() -> None:
    log = (access(0.0, 2.0), access(1.0, 3.0), access(1.5, 3.0))
    history = History((), {}, log=log, kills=(0.9,))
    judgement = judge(history, NOTHING, Bounds(at_once=1))
    assert judgement.impolite == ("a had 2 requests at once",)
