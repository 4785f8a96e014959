"""Signals in the middle of a crawl: how it ends, what it says, and that nothing is lost or doubled.

The signals come from the server, with the request they shall interrupt: no clock is involved.
"""

import itertools
import signal
from collections.abc import Iterator, Mapping
from concurrent.futures import Future
from pathlib import Path
from subprocess import Popen
from threading import Event
from typing import Any

import msgspec
import pytest
from tests.background import background
from tests.command import PATIENCE, Run, call, ended, start
from tests.system.scripted import Scripted, answer, page, scripted

PAGES = 150

Stored = dict[str, tuple[int, str]]


@pytest.fixture(scope="module")
def tree() -> Iterator[Scripted]:
    """Pages that each link to the next two, up and to the start; some are missing."""
    script = {
        f"/{number}": page("/0", f"/{number // 2}", *_children(number)) for number in range(PAGES)
    }
    with background(scripted({**script, "/": script["/0"], "/7": answer(404)})) as site:
        yield site


def _children(number: int) -> list[str]:
    return [f"/{child}" for child in (2 * number + 1, 2 * number + 2) if child < PAGES + 5]


def words(site: Scripted, store: Path) -> tuple[str | Path, ...]:
    return ("crawl", "--store", store, "--delay", "0", "--concurrency", "4", f"{site.url}/")


def interrupted(site: Scripted, store: Path, signals: Mapping[int, int]) -> Run:
    """A crawl that gets a signal with its nth request, for every n."""
    started: Future[Popen[str]] = Future()
    numbers = itertools.count(1)

    def note(path: str) -> None:
        site.asked.append(path)
        if number := signals.get(next(numbers)):
            started.result(PATIENCE).send_signal(number)

    site.asked.clear()
    site.note = note
    try:
        process = start(*words(site, store))
        started.set_result(process)
        return ended(process)
    finally:
        site.note = site.asked.append


def stored(store: Path) -> Stored:
    """Status and digest of every page, by its URL."""
    lines = call("pages", "--store", store, "--format", "jsonl").out.splitlines()
    rows = [msgspec.json.decode(line) for line in lines]
    found = {row["url"]: (row["status"], row["sha256"]) for row in rows}
    assert len(found) == len(rows)
    return found


def status(store: Path) -> dict[str, Any]:
    sums: dict[str, Any] = call("status", "--store", store, "--json").json
    parts = [sums[name] for name in ("done", "failed", "refused", "waiting", "leased")]
    assert sums["discovered"] == sum(parts)
    return sums


@pytest.fixture(scope="module")
def undisturbed(tree: Scripted, tmp_path_factory: pytest.TempPathFactory) -> Stored:
    """What a crawl that nobody interrupts stores."""
    store = tmp_path_factory.mktemp("undisturbed") / "freki.db"
    assert call(*words(tree, store)).code == 0
    return stored(store)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("nth", [1, 2, 40])
def test_the_first_signal_drains_and_the_same_command_continues(
    nth: int, number: signal.Signals, tree: Scripted, undisturbed: Stored, tmp_path: Path
) -> None:
    store = tmp_path / "freki.db"
    run = interrupted(tree, store, {nth: number})
    assert run.code == 130
    assert run.err == "Stopping: requests in flight may end. Ctrl-C again stops at once.\n"
    assert ": interrupted after " in run.out
    assert "\nThe same command continues the crawl.\n" in run.out
    sums = status(store)
    assert (sums["status"], sums["leased"]) == ("interrupted", 0)
    # What was answered is stored: nothing has to be asked for again.
    before = set(tree.asked) - {"/robots.txt"}
    assert sums["done"] == len(before)

    tree.asked.clear()
    run = call(*words(tree, store))
    assert run.code == 0
    assert run.err.startswith(f"Continuing crawl '{tree.url.removeprefix('http://')}': ")
    assert stored(store) == undisturbed
    assert before.isdisjoint(tree.asked)
    assert len(tree.asked) == len(set(tree.asked))


def test_the_second_signal_ends_at_once_and_loses_nothing(tmp_path: Path) -> None:
    store = tmp_path / "freki.db"
    script = {"/": page("/silence", "/last"), "/last": page(), "/silence": None}
    with background(scripted(script)) as site:
        asked = Event()
        site.note = lambda path: asked.set() if path == "/silence" else None
        process = start(*words(site, store))
        assert asked.wait(PATIENCE)
        process.send_signal(signal.SIGINT)
        assert process.stderr
        assert process.stderr.readline().startswith("Stopping: ")
        process.send_signal(signal.SIGINT)  # or it would wait for the silent one
        run = ended(process)
        assert run.code == 131
        assert "Traceback" not in run.err
        assert status(store)["status"] == "interrupted"

        site.script = {**script, "/silence": page()}
        assert call(*words(site, store)).code == 0
        assert set(stored(store)) == {f"{site.url}{path}" for path in script}


@pytest.mark.parametrize("nth", [3, 60, 130])
def test_after_a_kill_the_same_command_completes_the_crawl(
    nth: int, tree: Scripted, undisturbed: Stored, tmp_path: Path
) -> None:
    store = tmp_path / "freki.db"
    run = interrupted(tree, store, {nth: signal.SIGKILL})
    assert run.code == -signal.SIGKILL
    assert status(store)["status"] == "interrupted"
    assert set(stored(store)) < set(undisturbed)
    assert call(*words(tree, store)).code == 0
    assert stored(store) == undisturbed
    assert status(store)["status"] == "finished"
