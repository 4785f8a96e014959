"""What a look at a store finds, and what is left of it when the file is damaged."""

import re
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from tests.ledger.test_captures import NOW, seen

from freki.ledger import captures
from freki.ledger.check import findings, repair
from freki.ledger.salvage import TABLES, salvage
from freki.ledger.statements import script
from freki.ledger.store import open_store

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


def test_pictures_are_saved_from_a_damaged_store(store: Path, tmp_path: Path) -> None:
    kept, lost = salvage(store, tmp_path / "rescued.db")
    assert kept > 0
    assert lost == 0
    with closing(sqlite3.connect(tmp_path / "rescued.db")) as db:
        for table in ("rendering", "capture", "thumbnail", "picture", "likeness"):
            (count,) = db.execute(f"SELECT count(*) FROM {table}").fetchone()
            assert count > 0, table
