"""A byte of a store changes behind our back: it is found, or it was one field, and nothing is lost.

Every flip gets copies of one store of a crawl that is not finished. All commands are tried on
one, as it is, and a crawl; another one is repaired first.
"""

import random
import shutil
import sqlite3
import subprocess
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import msgspec
import pytest
from tests.chaos.conftest import Measured, Scale
from tests.chaos.flip import Flip, Ordeal, Plan, change
from tests.chaos.rig import PYTHON, Site, crawl, kill, pause, start

from freki.cli.exits import Exit
from freki.testing.history import History

FLIP = Path(__file__).with_name("flip.py")

AT_ONCE = 2

# Pages before the store is copied: some are stored by then, and some wait.
HALFWAY = 12

# Seconds between two requests, so that there is time to look.
SLOWLY = 0.05

# SQLite keeps what a page of the file means in its first bytes.
PAGE, HEAD = 4096, 64

# A damaged log of SQLite is a shorter one: its last commits are gone, as after a power cut.
LOG = "-wal"

ENDED = {Exit.finished, Exit.bad_input, Exit.store_unreachable, Exit.nothing_fetched}
ENDED |= {Exit.limit_reached}

PAGES = """
SELECT origin || path, page.url FROM url JOIN host ON host.id = url.host
LEFT JOIN page ON page.url = url.id WHERE state >= 2
"""

Field = tuple[str, object, int]  # table, number of the row, column


@pytest.fixture(scope="module")
def halfway(hut: Site, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A crawl that was killed when half of it was done: one part in the file, one in the log."""
    folder = tmp_path_factory.mktemp("halfway")
    store = folder / "freki.db"
    crawl(hut.url, store, f"--max-pages={HALFWAY // 2}", code=Exit.limit_reached)
    with closing(sqlite3.connect(store)) as reader:  # which keeps the log from being put away
        reader.execute("BEGIN").execute("SELECT * FROM url").fetchone()
        process = start(hut.url, store, f"--delay={SLOWLY}", "--max-pages=1000")
        pause(process, until=lambda: is_half_done(store))
        kill(process)
        kept = folder / "kept"
        kept.mkdir()
        for part in ("", LOG):
            shutil.copy(f"{store}{part}", kept / f"freki.db{part}")
    return kept / "freki.db"


def is_half_done(store: Path) -> bool:
    """Some pages are stored, and a worker has some in hand."""
    with closing(sqlite3.connect(store)) as db:
        (stored,) = db.execute("SELECT count(*) FROM page").fetchone()
        (leased,) = db.execute("SELECT count(*) FROM url WHERE state = 1").fetchone()
    return bool(stored > HALFWAY and leased)


@pytest.fixture(scope="module")
def put_away(halfway: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same store with all of it in the file."""
    store = tmp_path_factory.mktemp("put away") / "freki.db"
    for part in ("", LOG):
        shutil.copy(f"{halfway}{part}", f"{store}{part}")
    with closing(sqlite3.connect(store)) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return store


def some(dice: random.Random, file: Path, part: str, count: int) -> list[Flip]:
    """Most of them where something is written, some where SQLite keeps what a page means."""
    content = file.read_bytes()
    written = [place for place, byte in enumerate(content) if byte]
    flips: dict[Flip, None] = {}
    while len(flips) < count:
        kind = len(flips) % 4
        place = dice.choice(written) if kind else dice.randrange(len(content))
        if kind == 1:
            place = place // PAGE * PAGE + dice.randrange(HEAD)
        flips[Flip(part, min(place, len(content) - 1), 1 << dice.randrange(8))] = None
    return list(flips)


def endure(store: Path, url: str, flips: Sequence[Flip]) -> list[Ordeal]:
    """Try them all, by some processes at once."""

    def of_one(share: Sequence[Flip]) -> list[Ordeal]:
        plan = msgspec.json.encode(Plan(str(store), url, list(share)))
        command = [*PYTHON, str(FLIP)]
        done = subprocess.run(command, input=plan, stdout=subprocess.PIPE, check=True)
        return [msgspec.json.decode(line, type=Ordeal) for line in done.stdout.splitlines()]

    with ThreadPoolExecutor(AT_ONCE) as threads:
        shares = [flips[number::AT_ONCE] for number in range(AT_ONCE)]
        return [ordeal for share in threads.map(of_one, shares) for ordeal in share]


def test_a_flipped_byte_is_found_or_was_one_field_and_nothing_else_is_lost(
    hut: Site,
    quiet: History,
    put_away: Path,
    scale: Scale,
    dice: random.Random,
    measured: Measured,
    tmp_path: Path,
) -> None:
    flips = some(dice, put_away, "", scale.flips)
    ordeals = endure(put_away, hut.url, flips)
    before = fields(put_away)
    how: Counter[str] = Counter()
    for ordeal in ordeals:
        assert_told(ordeal)
        changed = differences(before, put_away, ordeal.flip, tmp_path / "compared.db")
        found = any(answer.code == Exit.store_unreachable for answer in ordeal.looks.values())
        assert found or len(changed) <= 1, (ordeal, changed)
        assert_nothing_else_is_lost(ordeal, quiet)
        how["found" if found else "one field" if changed else "nothing"] += 1
    told = ", ".join(f"{what} {times}" for what, times in how.most_common())
    measured("10 flipped bytes", f"{len(ordeals)}: {told}")


def test_a_flipped_byte_of_the_log_costs_its_last_commits(
    hut: Site, quiet: History, halfway: Path, scale: Scale, dice: random.Random, measured: Measured
) -> None:
    log = halfway.with_name(f"{halfway.name}{LOG}")
    ordeals = endure(halfway, hut.url, some(dice, log, LOG, max(1, scale.flips // 4)))
    for ordeal in ordeals:
        assert_told(ordeal)
        assert_nothing_else_is_lost(ordeal, quiet)
    measured("   of the log", f"{len(ordeals)}: all crawled to their ends")


def assert_told(ordeal: Ordeal) -> None:
    """Every command ended by itself, and said what it had to say in words."""
    answers = {**ordeal.looks, "crawl": ordeal.crawled}
    answers |= {"repair": ordeal.repaired, "crawl after it": ordeal.again}
    for name, answer in answers.items():
        unknown = name == "explain" and answer.code == 1
        assert answer.code in ENDED or unknown, (name, ordeal.flip, answer)
        assert "Traceback" not in answer.said, (name, ordeal.flip, answer)


def assert_nothing_else_is_lost(ordeal: Ordeal, quiet: History) -> None:
    """A crawl that says it is finished is; after a repair, all but the field are as they were."""
    if ordeal.crawled.code == Exit.finished:
        assert len(lost(Path(ordeal.store), quiet)) <= 1, ordeal
    if ordeal.again.code == Exit.finished:
        assert len(lost(Path(ordeal.mended), quiet)) <= 1, ordeal


def lost(store: Path, quiet: History) -> set[str]:
    """What has no outcome, and what has no page though it is done without a flip."""
    with closing(sqlite3.connect(store)) as db:
        db.text_factory = bytes
        pages = {url.decode("utf-8", "replace"): page for url, page in db.execute(PAGES)}
    return {
        row.url
        for row in quiet.rows
        if row.url not in pages or (row.digests and pages[row.url] is None)
    }


def fields(store: Path) -> dict[Field, object]:
    """Every field of every row."""
    found: dict[Field, object] = {}
    with closing(sqlite3.connect(store)) as db:
        db.text_factory = bytes
        names = "SELECT name FROM sqlite_schema WHERE type = 'table'"
        for (table,) in db.execute(names).fetchall():
            rows = db.execute(f'SELECT * FROM "{table.decode()}"').fetchall()
            found |= {
                (table.decode(), number, column): value
                for number, row in enumerate(rows)
                for column, value in enumerate(row)
            }
    return found


def differences(before: dict[Field, object], store: Path, flip: Flip, copy: Path) -> set[Field]:
    """What a program sees otherwise."""
    shutil.copy(store, copy)
    change(copy, flip)
    try:
        after = fields(copy)
    except (sqlite3.Error, UnicodeDecodeError):
        return {("unreadable", 0, 0)}
    places = before.keys() | after.keys()
    return {place for place in places if before.get(place) != after.get(place)}
