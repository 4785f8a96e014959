from hypothesis import given
from hypothesis import strategies as st

from freki.admit.lately import Lately, Seen


def test_what_was_never_put_is_none() -> None:
    assert Lately[int](2)["a"] is None


@given(st.lists(st.sampled_from("abcdefghijklmnop")), st.integers(1, 5))
def test_at_most_twice_the_room_is_held(keys: list[str], room: int) -> None:
    lately = Lately[int](room)
    for number, key in enumerate(keys):
        lately[key] = number
        assert lately[key] == number
        assert lately.held() <= 2 * room


@given(st.lists(st.sampled_from("abcdefghijklmnop")))
def test_what_is_asked_for_again_and_again_is_kept(keys: list[str]) -> None:
    lately = Lately[int](3)
    lately["me"] = 1
    for key in keys:
        lately[key] = 0
        assert lately["me"] == 1


def test_what_nobody_asks_for_is_forgotten() -> None:
    lately = Lately[int](2)
    for key in "abcde":
        lately[key] = 1
    assert lately["a"] is None
    assert lately["c"] == 1


def test_texts_are_seen_once_they_were_added() -> None:
    seen = Seen(10)
    assert "a" not in seen
    seen.add("a")
    assert "a" in seen
    assert b"a" in seen


@given(st.integers(0, 30))
def test_the_last_texts_are_remembered(more: int) -> None:
    seen = Seen(10)
    for number in range(more):
        seen.add(f"earlier {number}")
    seen.add("me")
    for number in range(9):
        seen.add(f"later {number}")
    assert "me" in seen


def test_older_texts_are_forgotten() -> None:
    seen = Seen(10)
    for number in range(100):
        seen.add(str(number))
    assert [number for number in range(100) if str(number) in seen] == list(range(80, 100))


def test_text_that_is_no_unicode_can_be_seen() -> None:
    seen = Seen(2)
    seen.add("\ud800")
    assert "\ud800" in seen
