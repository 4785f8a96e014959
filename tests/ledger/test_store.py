import os
import shutil
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from freki.errors import (
    NotAStore,
    StoreDamaged,
    StoreError,
    StoreFull,
    StoreTooNew,
    StoreUnreachable,
)
from freki.ledger.store import (
    APPLICATION_ID,
    VERSION,
    open_existing,
    open_store,
    read_store,
    translated,
)

WAYS: list[Callable[[Path], sqlite3.Connection]] = [open_store, open_existing, read_store]
NOBODY = 65534
ways = pytest.mark.parametrize("way", WAYS)


def dump(path: Path) -> dict[str, bytes | None]:
    """Every file of a folder, but for the empty log that SQLite puts beside what it reads."""
    return {
        str(file): file.read_bytes() if file.is_file() else None
        for file in path.rglob("*")
        if not file.name.endswith(("-shm", "-wal"))
    }


def refuse(path: Path, way: Callable[[Path], sqlite3.Connection], error: type[StoreError]) -> str:
    """Try to open; nothing may change. Answers with the message."""
    before = dump(path.parent) if path.parent.is_dir() else {}
    with pytest.raises(StoreError) as refused:
        way(path)
    assert type(refused.value) is error
    assert str(path) in str(refused.value)
    assert (dump(path.parent) if path.parent.is_dir() else {}) == before
    return str(refused.value)


# What is a store


def test_a_store_is_made_where_there_is_none(tmp_path: Path) -> None:
    with closing(open_store(tmp_path / "new.db")) as db:
        assert db.execute("PRAGMA user_version").fetchone() == (VERSION,)
        assert db.execute("PRAGMA application_id").fetchone() == (APPLICATION_ID,)
        assert db.execute("PRAGMA journal_mode").fetchone() == ("wal",)


def test_an_empty_file_becomes_a_store(tmp_path: Path) -> None:
    path = tmp_path / "empty.db"
    path.touch()
    open_store(path).close()
    read_store(path).close()


def test_an_empty_file_holds_nothing_to_read(tmp_path: Path) -> None:
    path = tmp_path / "empty.db"
    path.touch()
    refuse(path, read_store, StoreUnreachable)


def test_a_store_opens_again_and_keeps_its_secret(tmp_path: Path) -> None:
    secrets = set()
    for _ in range(3):
        with closing(open_store(tmp_path / "freki.db")) as db:
            secrets.add(db.execute("SELECT value FROM secret").fetchone()[0])
    assert len(secrets) == 1
    (secret,) = secrets
    assert len(secret) == 16
    with closing(open_store(tmp_path / "other.db")) as db:
        assert db.execute("SELECT value FROM secret").fetchone()[0] != secret


@pytest.mark.parametrize("name", [":memory:", "file:x.db", "file:x.db?mode=memory", "a?b#c%20.db"])
def test_a_store_is_a_file_whatever_it_is_called(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with closing(open_store(Path(name))):
        assert (tmp_path / name).is_file()
    read_store(Path(name)).close()


@pytest.mark.parametrize(("durability", "level"), [("process", 1), ("power", 2)])
def test_durability_is_as_asked(durability: str, level: int, tmp_path: Path) -> None:
    with closing(open_store(tmp_path / "freki.db", durability=durability)) as db:
        assert db.execute("PRAGMA synchronous").fetchone() == (level,)


def test_who_reads_cannot_write(tmp_path: Path) -> None:
    open_store(tmp_path / "freki.db").close()
    with closing(read_store(tmp_path / "freki.db")) as db, pytest.raises(sqlite3.OperationalError):
        db.execute("DELETE FROM crawl")


def test_processes_that_make_the_same_store_at_once_all_get_it(tmp_path: Path) -> None:
    told = (
        "import sys, pathlib; from freki.ledger.store import open_store; sys.stdin.readline();"
        "db = open_store(pathlib.Path(sys.argv[1]));"
        "print(db.execute('SELECT hex(value) FROM secret').fetchone()[0])"
    )
    command = [sys.executable, "-c", told, str(tmp_path / "freki.db")]
    makers = [
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) for _ in range(3)
    ]
    for maker in makers:
        assert maker.stdin is not None
        maker.stdin.write(b"now\n")
        maker.stdin.flush()
    assert len({maker.communicate()[0] for maker in makers}) == 1
    assert {maker.returncode for maker in makers} == {0}


# What is none


@ways
@pytest.mark.parametrize(
    "content",
    [
        b"Dear diary\n",
        b"SQLite",
        b"SQLite format 3\0",
        b"SQLite format 3\0" + b"x" * 5000,
        b"\0" * 99,
    ],
    ids=["text", "short", "header", "noise", "zeros"],
)
def test_a_file_that_is_no_database_is_refused(
    way: Callable[[Path], sqlite3.Connection], content: bytes, tmp_path: Path
) -> None:
    path = tmp_path / "diary.txt"
    path.write_bytes(content)
    refuse(path, way, NotAStore)


@ways
@pytest.mark.parametrize(
    "pragma", ["application_id = 77", "user_version = 1", "user_version = 99", "user_version = 0"]
)
def test_a_database_of_another_program_is_refused(
    way: Callable[[Path], sqlite3.Connection], pragma: str, tmp_path: Path
) -> None:
    path = tmp_path / "other.db"
    with closing(sqlite3.connect(path)) as db:
        db.execute("CREATE TABLE note (text)")
        db.execute(f"PRAGMA {pragma}")
    refuse(path, way, NotAStore)


@ways
def test_a_store_of_a_later_version_is_refused(
    way: Callable[[Path], sqlite3.Connection], tmp_path: Path
) -> None:
    path = tmp_path / "freki.db"
    with closing(open_store(path)) as db:
        db.execute(f"PRAGMA user_version = {VERSION + 1}")
    assert "upgrade Freki" in refuse(path, way, StoreTooNew)


@ways
def test_a_folder_is_refused(way: Callable[[Path], sqlite3.Connection], tmp_path: Path) -> None:
    path = tmp_path / "folder"
    path.mkdir()
    assert "folder" in refuse(path, way, StoreUnreachable)


@ways
def test_a_device_is_refused(way: Callable[[Path], sqlite3.Connection]) -> None:
    with pytest.raises(StoreUnreachable, match="device"):
        way(Path("/dev/null"))


@ways
@pytest.mark.parametrize("name", ["no/such/folder.db", f"{'x' * 300}.db", "file.txt/freki.db"])
def test_a_place_that_cannot_be_is_refused(
    way: Callable[[Path], sqlite3.Connection], name: str, tmp_path: Path
) -> None:
    (tmp_path / "file.txt").touch()
    refuse(tmp_path / name, way, StoreUnreachable)


@pytest.mark.parametrize("way", [open_existing, read_store])
def test_where_there_is_none_none_is_made(
    way: Callable[[Path], sqlite3.Connection], tmp_path: Path
) -> None:
    assert "crawl first" in refuse(tmp_path / "freki.db", way, StoreUnreachable)


@contextmanager
def _as_nobody() -> Iterator[None]:
    """Nothing is denied to root, so for a while we are somebody else."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)


@ways
def test_a_file_that_may_not_be_read_is_refused(way: Callable[[Path], sqlite3.Connection]) -> None:
    with TemporaryDirectory() as folder:  # pytest's own folders are closed to others
        Path(folder).chmod(0o755)
        path = Path(folder) / "freki.db"
        open_store(path).close()
        path.chmod(0)
        with _as_nobody(), pytest.raises(StoreUnreachable):
            way(path)


def test_a_store_that_may_only_be_read_is_read(tmp_path: Path) -> None:
    path = tmp_path / "freki.db"
    open_store(path).close()
    path.chmod(stat.S_IREAD)
    with closing(read_store(path)) as db:
        assert db.execute("SELECT count(*) FROM crawl").fetchone() == (0,)


# Migrations


def test_a_process_killed_while_it_makes_a_store_leaves_none_or_a_whole_one(
    tmp_path: Path,
) -> None:
    path = tmp_path / "freki.db"
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("BEGIN IMMEDIATE")
        db.execute("CREATE TABLE crawl (id)")
        for file in tmp_path.glob("freki.db*"):
            shutil.copy(file, tmp_path / file.name.replace("freki", "killed"))
        db.execute("ROLLBACK")
    killed = tmp_path / "killed.db"
    refuse(killed, read_store, StoreUnreachable)
    with closing(open_store(killed)) as db:
        assert db.execute("SELECT count(*) FROM url").fetchone() == (0,)


# What SQLite says


def test_a_damaged_store_is_told_to_be_damaged(tmp_path: Path) -> None:
    path = tmp_path / "freki.db"
    with closing(open_store(path)) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    content = bytearray(path.read_bytes())
    content[100:4096] = b"x" * 3996
    path.write_bytes(content)
    with pytest.raises(StoreDamaged, match="damaged"):
        open_store(path)


def test_a_full_device_is_told_to_be_full(tmp_path: Path) -> None:
    with closing(open_store(tmp_path / "freki.db")) as db:
        db.execute("PRAGMA max_page_count = 1")
        with pytest.raises(StoreFull, match="no room"), translated("freki.db"):
            db.execute("CREATE TABLE more AS SELECT zeroblob(1000000)")


def test_mistakes_of_ours_stay_what_they_are(tmp_path: Path) -> None:
    db = open_store(tmp_path / "freki.db")
    db.close()
    with pytest.raises(sqlite3.ProgrammingError), translated("freki.db"):
        db.execute("SELECT 1")
    with pytest.raises(LookupError), translated("freki.db"):
        raise LookupError


def test_other_messages_of_the_database_are_passed_on(tmp_path: Path) -> None:
    db = open_store(tmp_path / "freki.db")
    with pytest.raises(StoreError, match="no such table: nowhere"), translated("freki.db"):
        db.execute("SELECT 1 FROM nowhere")
    db.close()


def test_who_leaves_a_store_does_not_take_the_log_away_from_who_has_it_open_twice(
    tmp_path: Path,
) -> None:
    path = tmp_path / "freki.db"
    with closing(open_store(path)) as first, closing(open_store(path)) as second:
        second.execute("INSERT INTO secret VALUES ('one', x'01')")
        leaver = "import sys; from pathlib import Path; from freki.ledger.store import open_store"
        leaver += "; open_store(Path(sys.argv[1])).close()"
        subprocess.run([sys.executable, "-c", leaver, str(path)], check=True)
        assert path.with_name("freki.db-wal").stat().st_size > 0
        first.execute("INSERT INTO secret VALUES ('two', x'02')")
    with closing(read_store(path)) as db:
        assert db.execute(
            "SELECT count(*) FROM secret WHERE name <> 'fingerprints'"
        ).fetchone() == (2,)
