"""What a person sees while a crawl runs: on a terminal, and in a log."""

import os
import re
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from threading import Event

import pytest
from tests.background import background
from tests.command import PATIENCE, ended, freki, on_terminal, start
from tests.system.scripted import page, scripted

from freki.cli.progress import Speed, held_up, size, span
from freki.engine.pulse import Beat, Pulse
from freki.messages import Claim, Outcome, Reason, State
from freki.steps import Work
from freki.testing.server import Site, serve
from freki.testing.synthetic import Web

TOKEN = re.compile(r"\x1b\[(?P<how>[?\d;]*)(?P<what>[A-Za-z])|\r|\n|[^\x1b\r\n]+")
SLOW = ("--delay", "0", "--concurrency", "2")


@pytest.fixture(scope="module")
def slow() -> Iterator[Site]:
    """Takes long enough to crawl that there is something to watch."""
    with background(serve(Web(pages=20, delay=0.03))) as site:
        yield site


def left_on_screen(shown: str) -> list[str]:
    """The lines that stay when all that was shown has been moved, erased and overwritten."""
    lines, row = [""], 0
    for token in TOKEN.finditer(shown):
        match token["what"] or token[0]:
            case "\r" | "m" | "h" | "l":
                pass
            case "\n":
                row += 1
                lines += [""] * (row + 1 - len(lines))
            case "A":
                row -= int(token["how"] or 1)
            case "K":
                lines[row] = ""
            case text:
                lines[row] += text
    return [line for line in lines if line]


def test_the_live_view_shows_the_crawl_and_leaves_nothing_but_the_summary(
    slow: Site, store: Path
) -> None:
    run = on_terminal("crawl", "--store", store, *SLOW, "--name", "watched", slow.url)
    assert run.code == 0
    assert " to do   0 failed" in run.out
    assert run.out.count("\x1b[?25l") == run.out.count("\x1b[?25h") == 1  # the cursor
    screen = left_on_screen(run.out)
    assert screen[0].startswith("watched: finished after ")
    assert screen[-1].startswith(f"Kept in {store}. ")
    assert len(screen) == 8


def test_quiet_shows_nothing_on_a_terminal_either(slow: Site, store: Path) -> None:
    run = on_terminal("crawl", "--store", store, *SLOW, "--quiet", slow.url)
    assert (run.code, run.out) == (0, "")


@pytest.mark.parametrize("name", ["[red]", "a\\"])
def test_a_name_that_looks_like_markup_is_shown_as_it_is(
    name: str, slow: Site, store: Path
) -> None:
    run = on_terminal("crawl", "--store", store, *SLOW, "--name", name, slow.url)
    assert run.code == 0
    assert f"\x1b[1m{name}\x1b[0m  " in run.out


def test_without_a_terminal_nothing_but_text_goes_to_the_log(slow: Site, store: Path) -> None:
    run = freki("crawl", "--store", store, *SLOW, slow.url)
    assert run.err == ""  # too short for the first line
    assert "\x1b" not in run.out


def test_a_log_that_nobody_takes_any_more_does_not_end_a_crawl(store: Path) -> None:
    reading, writing = os.pipe()
    asked = Event()
    with background(
        scripted({"/": page("/next"), "/next": page("/last"), "/last": page()})
    ) as site:
        site.note = lambda path: asked.set() if path == "/next" else None
        words = ("crawl", "--store", store, "--delay", "0.2", "--json", f"{site.url}/")
        process = start(*words, stderr=writing)
        os.close(writing)
        os.close(reading)
        assert asked.wait(PATIENCE)
        process.send_signal(signal.SIGTERM)  # of which it has something to log
        run = ended(process)
    assert (run.code, run.json["status"]) == (130, "interrupted")


def test_a_crawl_that_stands_still_says_what_it_waits_for() -> None:
    pulse, claim = Pulse(), Claim(1, 1, "http://a/x", 0)
    later = time.time() + 4000
    told = "robots.txt answers with status 503"
    waits = Outcome(claim, State.waiting, Reason.robots_unreachable, told, later)
    pulse.note(claim, None, waits)
    text = held_up(Beat() + pulse.statistics(), Speed(), Work([]))
    assert text.startswith(f"waiting for http://a ({told}), which is tried again in 1:06:")


def test_what_is_over_holds_nothing_up() -> None:
    over = Beat(trouble="http://a (status 429)", trouble_until=1.0)
    assert held_up(over, Speed(), Work([], next_due=time.time() + 1.0)) == ""


def test_a_continued_crawl_that_stands_still_says_until_when() -> None:
    text = held_up(Beat(), Speed(), Work([], next_due=time.time() + 4000))
    assert text.startswith("every host rests; the first may be asked again in 1:06:")


@pytest.mark.parametrize(
    ("count", "text"),
    [(0, "0 B"), (999, "999 B"), (1000, "1.0 KB"), (16_400_000, "16.4 MB"), (2e16, "20000.0 TB")],
)
def test_sizes_are_told_in_thousands(count: float, text: str) -> None:
    assert size(count) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0.0 s"), (4.24, "4.2 s"), (60, "1:00"), (187.9, "3:07"), (3729, "1:02:09")],
)
def test_times_are_told_as_a_clock_tells_them(seconds: float, text: str) -> None:
    assert span(seconds) == text
