import random
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from freki.admit.likeness import (
    DULL,
    MAX_PERIOD,
    MAX_PHRASES,
    NEAR,
    PATIENCE,
    WINDOW,
    Novelty,
    distance,
    phrases,
    said,
    simhash,
)

WORDS = (
    *("alder", "birch", "cedar", "elder", "fir", "hazel", "larch", "maple"),
    *("oak", "pine", "rowan", "spruce", "willow", "yew"),
)


def prose(seed: int, sentences: int = 200) -> list[str]:
    dice = random.Random(seed)
    return [" ".join(dice.choices(WORDS, k=6)).capitalize() + "." for _ in range(sentences)]


def month(name: str, days: int) -> str:
    grid = "\n".join(str(day) for day in range(1, days + 1))
    return f"Events in the town hall\n{name} 2026\nMon Tue Wed Thu Fri\n{grid}\nNo events, sorry."


def test_equal_texts_have_equal_fingerprints() -> None:
    assert simhash(" ".join(prose(1))) == simhash("\n".join(prose(1)))


def test_a_fingerprint_has_64_bits() -> None:
    prints = [simhash(" ".join(prose(seed, 20))) for seed in range(200)]
    assert all(0 <= print_ < 1 << 64 for print_ in prints)
    for bit in range(64):
        assert 40 < sum(print_ >> bit & 1 for print_ in prints) < 160


def test_different_texts_are_far_apart() -> None:
    distances = [
        distance(simhash(" ".join(prose(2 * seed))), simhash(" ".join(prose(2 * seed + 1))))
        for seed in range(50)
    ]
    assert min(distances) > 10
    assert 29 < sum(distances) / len(distances) < 35


def test_a_text_with_one_other_sentence_is_near() -> None:
    sentences = prose(3)
    near = 0
    for number in range(0, 200, 5):
        changed = [*sentences[:number], "Quite another sentence.", *sentences[number + 1 :]]
        near += distance(simhash(" ".join(sentences)), simhash(" ".join(changed))) <= NEAR
    assert near >= 36


def test_a_sentence_more_changes_nothing_else() -> None:
    sentences = prose(4)
    assert len(phrases(" ".join(["New.", *sentences])) ^ phrases(" ".join(sentences))) == 1


def test_an_empty_calendar_is_the_same_page_in_every_month() -> None:
    assert simhash(month("May", 31)) == simhash(month("February", 28))
    assert simhash(month("Mai", 31)) == simhash(month("Dezember", 31))


def test_numbers_make_no_difference() -> None:
    assert phrases("Page 9 of 10, 1,200 results") == phrases("Page 10 of 10, 3 results")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("我们到处找。没有找到", "没有找到\uff0c我们到处找"),
        ("“Read it,” he said — twice", "he said\ntwice\nread it"),
        ("Read IT", "read it"),
    ],
)
def test_phrases_end_at_marks_of_any_script(one: str, other: str) -> None:
    assert phrases(one) == phrases(other)


def test_a_text_without_marks_is_cut_by_words() -> None:
    words = [f"{a}{b}" for a in WORDS for b in WORDS]
    one, other = " ".join(words), " ".join([*words[:-1], "end"])
    assert len(phrases(one) - phrases(other)) == 1


def test_a_single_word_of_any_length_is_a_phrase() -> None:
    assert len(phrases("ä" * 100)) == len(phrases("ä" * 100, None)) == 1


def test_a_page_that_quotes_its_url_says_no_more_for_it() -> None:
    quoting = "We looked for {}.\nThere is no {} here"
    one, other = (said(quoting.format(path, path), path) for path in ("/lost/lamp", "/old"))
    assert one == other
    search = said("Nothing was found for crooked lamps", "/search?q=crooked lamps")
    assert search == phrases("nothing was found for")


def test_a_text_has_a_bounded_number_of_phrases() -> None:
    text = "\n".join(a + b + c + d for a in WORDS for b in WORDS for c in WORDS for d in "xyz")
    assert len(phrases(text)) == MAX_PHRASES


@given(st.text())
def test_any_text_has_a_fingerprint(text: str) -> None:
    assert 0 <= simhash(text) < 1 << 64
    assert simhash(text + "\n17") == simhash(text)


def test_every_process_computes_the_same_fingerprint() -> None:
    program = "from freki.admit.likeness import simhash; print(simhash('One fish, two fish.'))"
    found = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(sys.path)},
            capture_output=True,
            check=True,
        ).stdout
        for seed in "12"
    }
    assert found == {b"%d\n" % simhash("One fish, two fish.")}


def pages(texts: list[str]) -> Novelty:
    """A pattern whose pages were all looked at."""
    novelty = Novelty()
    for text in texts:
        novelty.wants(0)
        novelty.learn(phrases(text), tolerance=0)
    return novelty


MENU = "\n".join(f"{one} {other}" for one in WORDS for other in WORDS)


def test_pages_that_differ_in_one_phrase_of_two_hundred_are_new() -> None:
    novelty = pages([f"{MENU}\nThe {a} {b} lamp" for a in WORDS[:10] for b in WORDS[:10]])
    assert novelty.earned >= 98
    assert not novelty.is_dull


def test_pages_that_repeat_each_other_are_dull() -> None:
    assert pages([f"{MENU}\nPage {number}" for number in range(WINDOW)]).is_dull
    assert not pages([f"{MENU}\nPage {number}" for number in range(DULL)]).is_dull


def test_pages_that_take_turns_are_dull() -> None:
    assert pages([f"{MENU}\n{WORDS[number % 5]} again" for number in range(40)]).is_dull


def test_a_tolerance_overlooks_what_little_a_page_adds() -> None:
    novelty = Novelty()
    for number in range(40):
        novelty.wants(0)
        novelty.learn(phrases(f"{MENU}\n{WORDS[number % 14]} {WORDS[number % 13]}"), tolerance=2)
    assert novelty.is_dull


def test_a_long_section_may_have_a_long_stretch_of_the_same() -> None:
    new = [" ".join(prose(seed, 5)) for seed in range(200)]
    same = ["Nothing new"] * (200 // PATIENCE)
    assert pages([*new, *same[:-4]]).is_proven
    assert pages([*new, *same, *same[:10]]).is_dull


def test_a_dull_pattern_recovers_when_it_brings_something_new() -> None:
    novelty = pages(["Nothing new"] * 50 + [" ".join(prose(seed, 5)) for seed in range(5)])
    assert not novelty.is_dull


def test_pages_that_were_known_elsewhere_are_dull() -> None:
    novelty = Novelty()
    for _ in range(WINDOW):
        novelty.wants(0)
        novelty.repeat()
    assert novelty.is_dull
    assert not novelty.is_missing


def test_pages_for_what_is_missing_are_dull_and_called_so() -> None:
    novelty = Novelty()
    for _ in range(WINDOW):
        novelty.wants(0)
        novelty.miss()
    assert novelty.is_dull
    assert novelty.is_missing


def test_a_proven_pattern_is_looked_at_less_and_less() -> None:
    novelty, looks = Novelty(), 0
    for number in range(3200):
        if novelty.wants(number):
            looks += 1
            novelty.learn(phrases(" ".join(prose(number, 5))), tolerance=0)
    assert WINDOW < looks < 3200 / MAX_PERIOD + 2 * WINDOW
    assert 3100 < novelty.earned <= 3200


def test_copies_of_a_page_are_looked_at_together() -> None:
    novelty = Novelty()
    rounds: list[set[int]] = [set(), set(), set()]
    for looked in rounds:
        for name in range(2000):
            if novelty.wants(name):
                looked.add(name)
                novelty.learn(phrases(" ".join(prose(len(looked), 5))), tolerance=-1)
    assert 50 < len(rounds[1]) < 100
    assert rounds[1] == rounds[2]
    assert rounds[1] < rounds[0]


def test_copies_of_one_name_are_looked_at_too() -> None:
    novelty, looks = Novelty(), 0
    for number in range(5000):
        if novelty.wants(1):
            looks += 1
            novelty.learn(phrases(" ".join(prose(number, 5))), tolerance=0)
    assert 60 < looks < 100
