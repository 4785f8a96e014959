"""What a program took out of pages, and what an export writes: each once, whoever is killed."""

import json
import random
import subprocess
from collections import Counter
from contextlib import suppress
from pathlib import Path
from subprocess import TimeoutExpired

import pytest
from tests.chaos.conftest import Measured, Scale
from tests.chaos.rig import PYTHON, Process, Site, end, kill, launch, now
from tests.chaos.rig import crawl as crawl_all

# An item for each page, and one for each title, which several pages share.
PROGRAM = """
import freki

class Titles(freki.Spider):
    start = ["{url}"]
    follow_links = True
    pipelines = [freki.dedupe("name")]

    def parse(self, page):
        yield {{"name": page.url}}
        yield {{"name": page.css("title").text}}
"""

# Seconds that a crawl and an export live at most before they are killed.
LIVES, WRITES = 1.2, 0.6

# Of the kills of the long form.
SHARE = 10

# That go on where they were.
FORMATS = ("jsonl", "warc")


def freki(*words: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run([*PYTHON, "-m", "freki", *words], capture_output=True, check=True)


@pytest.fixture
def program(library: Site, tmp_path: Path) -> Path:
    file = tmp_path / "titles.py"
    file.write_text(PROGRAM.format(url=library.url), "utf-8")
    return file


def crawl(program: Path, store: Path) -> Process:
    words = (f"--spider={program}", "--quiet", "--delay=0", f"--store={store}")
    return launch("-m", "freki", "crawl", *words)


def names(store: Path) -> Counter[str]:
    """How often each item was kept."""
    run = freki("items", f"--store={store}", "--format=jsonl")
    return Counter(json.loads(line)["data"]["name"] for line in run.stdout.splitlines())


def test_items_are_there_once_whoever_is_killed(
    program: Path, scale: Scale, dice: random.Random, measured: Measured, tmp_path: Path
) -> None:
    assert end(crawl(program, tmp_path / "quiet.db"))[0] == 0
    store, kills = tmp_path / "freki.db", 0
    process = crawl(program, store)
    while kills < max(3, scale.kills // SHARE):
        with suppress(TimeoutExpired):
            process.wait(dice.uniform(0, LIVES))
        kills += process.returncode is None
        if process.returncode is not None:
            break
        kill(process)
        process = crawl(program, store)
    assert end(process)[0] == 0
    assert names(store) == names(tmp_path / "quiet.db")
    assert set(names(store).values()) == {1}
    measured("1 kill -9 of a program", f"{kills} kills, {names(store).total():,} items, each once")


@pytest.fixture(scope="module")
def stored(library: Site, tmp_path_factory: pytest.TempPathFactory) -> Path:
    store = tmp_path_factory.mktemp("stored") / "freki.db"
    crawl_all(library.url, store)
    return store


@pytest.mark.parametrize("suffix", FORMATS)
def test_an_export_has_every_page_once_whoever_is_killed(
    suffix: str,
    stored: Path,
    scale: Scale,
    dice: random.Random,
    measured: Measured,
    tmp_path: Path,
) -> None:
    whole, pieces = (tmp_path / name / f"pages.{suffix}" for name in ("whole", "pieces"))
    for file in (whole, pieces):
        file.parent.mkdir()
    more = ["--with=markdown"] if suffix == "jsonl" else []
    words = ["-m", "freki", "export", f"--store={stored}", *more]
    began = now()
    assert end(launch(*words, f"pages={whole}"))[0] == 0
    took, kills = now() - began, 0
    while not pieces.exists() and kills < max(3, scale.kills // SHARE):
        process = launch(*words, f"pages={pieces}")
        with suppress(TimeoutExpired):
            process.wait(dice.uniform(0, took * 0.8))
        kills += process.returncode is None
        kill(process)
    if not pieces.exists():
        assert end(launch(*words, f"pages={pieces}"))[0] == 0
    assert contents(pieces) == contents(whole)
    measured(f"  of an export to {suffix}", f"{kills} kills, every page once")


def contents(file: Path) -> list[bytes]:
    """The rows of an export, without what tells when it was made."""
    lines = file.read_bytes().split(b"\n")
    return [line for line in lines if not line.startswith((b"WARC-Date", b"WARC-Record-ID"))]
