"""What a look at a store finds, and what is left of it when the file is damaged."""

import re
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from tests.ledger.test_captures import NOW, seen

from freki import config
from freki.ledger import captures, crawls
from freki.ledger.check import findings, repair
from freki.ledger.opened import ledger_of
from freki.ledger.salvage import TABLES, salvage
from freki.ledger.statements import script
from freki.ledger.store import open_store
from freki.ledger.terms import Terms
from freki.messages import (
    Batch,
    Discovery,
    Link,
    Outcome,
    Page,
    Reason,
    Response,
    State,
    Via,
    Visit,
)

# What is counted again, and what ends with its process.
MADE_AGAIN = {"tally", "session"}


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """With a picture that a browser took."""
    with closing(open_store(tmp_path / "freki.db")) as db:
        captures.store(db, NOW, seen())
        assert not list(findings(db))
    return tmp_path / "freki.db"


def test_every_table_is_saved() -> None:
    made = set(re.findall(r"^CREATE TABLE (\w+)", script("schema_1.sql"), re.MULTILINE))
    assert set(TABLES) == made - MADE_AGAIN


@pytest.mark.parametrize(
    ("damage", "found"),
    [
        ("DELETE FROM rendering", "has no visit"),
        ("DELETE FROM picture WHERE id = (SELECT picture FROM capture)", "has no picture"),
        ("DELETE FROM capture", "shows nothing"),
        ("UPDATE picture SET data = x'00' || data", "is not what its digest says"),
    ],
)
def test_a_picture_without_its_visit_is_found_and_dropped(
    damage: str, found: str, store: Path
) -> None:
    with closing(open_store(store)) as db:
        db.execute(damage)
        mended, is_sound = repair(db, "freki.db")
        assert any(found in finding.what for finding in mended)
        assert is_sound
        assert not list(findings(db))


def test_what_links_to_a_row_that_went_without_a_word_is_fetched_again(tmp_path: Path) -> None:
    store, url = tmp_path / "freki.db", "https://a.example/"
    with closing(open_store(store)) as db:
        crawl = crawls.begin(db, "a", [url], config.settings(), 0.0)
        ledger = ledger_of(db, str(store), crawl.id, Terms())
        session = ledger.join(0.0)
        ledger.commit(session, Batch(0.0, discoveries=[Discovery(url, 0, 0, Via.seed)]))
        (claim,) = ledger.claim(session, 1.0, 1, []).hosts[0].claims
        visit = Visit(1.0, Response(url, 200, (), b"a"), Page([Link(f"{url}gone")]))
        ledger.commit(session, Batch(1.0, [Outcome(claim, State.done, Reason.ok, visit=visit)]))
        ledger.leave(session, 2.0)
    salvage(store, tmp_path / "rescued.db")
    with closing(sqlite3.connect(tmp_path / "rescued.db")) as db:
        assert db.execute("SELECT state FROM url").fetchall() == [(State.waiting,)]


def test_pictures_are_saved_from_a_damaged_store(store: Path, tmp_path: Path) -> None:
    kept, lost = salvage(store, tmp_path / "rescued.db")
    assert kept > 0
    assert lost == 0
    with closing(sqlite3.connect(tmp_path / "rescued.db")) as db:
        for table in ("rendering", "capture", "thumbnail", "picture", "likeness"):
            (count,) = db.execute(f"SELECT count(*) FROM {table}").fetchone()
            assert count > 0, table
