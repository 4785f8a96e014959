"""Bodies and pictures, wherever they are kept: in the database, in a folder, at a URL."""

import json
import os
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import NamedTuple
from uuid import uuid4

import fsspec
import pytest
from msgspec.structs import replace
from tests.ledger.test_captures import NOW, seen

from freki.errors import BadInput, MissingExtra, StoreDamaged, StoreUnreachable
from freki.ledger import blobs, captures, read, texts
from freki.ledger.blobs import Kind, blobs_at, blobs_of, settle, sweep
from freki.ledger.check import findings, repair
from freki.ledger.database import Database
from freki.ledger.place import Place
from freki.ledger.store import open_store
from freki.messages import Claim
from freki.testing.bench import SHARED, StoreBench, page

ONE, OTHER = b"<p>one</p>", b"<p>other</p>" * 100
ENDED = 200_000.0  # longer than what is new is left alone


class Kept(NamedTuple):
    """A store, and where its bodies are."""

    place: Place
    blobs: str | None


@pytest.fixture(params=["file", pytest.param("server", marks=pytest.mark.system)])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    if request.param == "server":
        found: Place = request.getfixturevalue("postgres").schema()
        return found
    return tmp_path / "freki.db"


@pytest.fixture(params=["folder", "url"])
def elsewhere(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return str(tmp_path / "blobs") if request.param == "folder" else f"memory://{uuid4().hex}"


@pytest.fixture(params=[False, True], ids=["in the database", "beside it"])
def kept(request: pytest.FixtureRequest, place: Place, elsewhere: str) -> Kept:
    if request.param:
        with closing(open_store(place)) as db:
            settle(db, elsewhere)
    return Kept(place, elsewhere if request.param else None)


@pytest.fixture
def beside(place: Place, elsewhere: str) -> Iterator[Database]:
    """A store with two pages, whose bodies are beside it."""
    with closing(open_store(place)) as db:
        settle(db, elsewhere)
        crawled(place)
        yield db


def crawled(place: Place) -> list[Claim]:
    with closing(StoreBench(place)) as bench:
        worker = bench.worker(replace(SHARED, per_host=99))
        worker.seed("http://a/1", "http://a/2", "http://a/3")
        claims = worker.claim()
        bodies = (ONE, OTHER, ONE)
        worker.commit(*(page(claim, body=body) for claim, body in zip(claims, bodies, strict=True)))
    return claims


def names(db: Database, kind: Kind = Kind.body) -> list[str]:
    found = blobs_of(db)
    assert found is not None
    return sorted(found.names(kind, float("inf")))


def test_bodies_come_back_as_they_were(kept: Kept) -> None:
    claims = crawled(kept.place)
    with closing(open_store(kept.place)) as db:
        bodies = {claim.url[-1]: read.body(db, claim.id) for claim in claims}
        assert sorted(filter(None, bodies.values())) == sorted([ONE, OTHER, ONE])
        arrived = [line.body for line in read.arrivals(db, 1, 0, -1, bodies=True, every=True)]
        assert arrived == [ONE, OTHER, ONE]
        (here,) = db.execute("SELECT sum(length(data)) FROM body").fetchone()
        assert (here == 0) == (kept.blobs is not None)
        assert not list(findings(db))


def test_what_pages_say_is_found(kept: Kept, tmp_path: Path) -> None:
    crawled(kept.place)
    with (
        closing(open_store(kept.place)) as db,
        texts.opened(tmp_path / "index", db) as index,
    ):
        while texts.read_on(index, db, 1, lambda _kind, body: body.decode()):
            pass
        assert len(json.loads(texts.hits(index, "one"))) == 2


def test_pictures_come_back_as_they_were(kept: Kept) -> None:
    rendering = seen()
    with closing(open_store(kept.place)) as db:
        captures.store(db, NOW, rendering)
        captures.store(db, NOW, rendering)
        picture = rendering.captures[0].picture
        assert captures.picture(db, picture.digest) == picture
        assert not list(findings(db))
        if kept.blobs is not None:
            assert len(names(db, Kind.picture)) == 3  # with two thumbnails, once each


def test_a_name_is_a_digest_and_nothing_else(beside: Database) -> None:
    assert len(names(beside)) == 2
    assert all(len(bytes.fromhex(name)) == 32 for name in names(beside))


def test_what_is_lost_or_changed_is_found_and_fetched_again(beside: Database, place: Place) -> None:
    kept = blobs_of(beside)
    assert kept is not None
    first, last = map(bytes.fromhex, names(beside))
    kept.drop(Kind.body, first.hex())
    kept.drop(Kind.body, last.hex())
    kept.keep(Kind.body, {last: b"something else"})
    with pytest.raises(StoreDamaged, match="freki check"):
        list(read.arrivals(beside, 1, 0, -1, bodies=True, every=True))
    mended, is_sound = repair(beside, "store")
    assert is_sound
    assert len(mended) == 2
    assert beside.execute("SELECT count(*) FROM url WHERE state = 0").fetchone() == (3,)
    assert names(beside) == []  # or what is fetched again would be taken for kept
    crawled(place)
    assert not list(findings(beside))
    bodies = [line.body for line in read.arrivals(beside, 2, 0, -1, bodies=True, every=True)]
    assert sorted(filter(None, bodies)) == sorted([ONE, OTHER, ONE])


def test_what_no_row_names_is_swept_when_it_is_old(
    beside: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = blobs_of(beside)
    assert kept is not None
    named = names(beside)
    kept.keep(Kind.body, {b"\1" * 32: b"of a worker that was killed"})
    kept.keep(Kind.picture, {b"\2" * 32: b"likewise"})
    assert sweep(beside) == 0  # its row may be on the way
    monkeypatch.setattr(blobs, "YOUNG", -ENDED)
    assert sweep(beside) == 2
    assert names(beside) == named
    assert not list(findings(beside))


def test_a_store_has_one_place_for_its_bodies(beside: Database, elsewhere: str) -> None:
    settle(beside, elsewhere)
    with pytest.raises(BadInput, match="leave --blobs out"):
        settle(beside, f"{elsewhere}2")


def test_stores_that_share_a_place_do_not_sweep_each_others(
    tmp_path: Path, elsewhere: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(blobs, "YOUNG", -ENDED)
    for name in ("one.db", "other.db"):
        with closing(open_store(tmp_path / name)) as db:
            settle(db, elsewhere)
            crawled(tmp_path / name)
            assert sweep(db) == 0
    with closing(open_store(tmp_path / "one.db")) as db:
        assert sweep(db) == 0
        assert not list(findings(db))


# --- a folder ---


def test_what_a_crash_left_half_written_is_swept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with closing(open_store(tmp_path / "freki.db")) as db:
        settle(db, str(tmp_path / "blobs"))
        crawled(tmp_path / "freki.db")
        (some, *_) = (tmp_path / "blobs").glob("*/bodies/??/*")
        half = some.with_name(f".{some.name}.1234")
        half.write_bytes(b"half")
        monkeypatch.setattr(blobs, "YOUNG", -ENDED)
        assert sweep(db) == 1
        assert (some.exists(), half.exists()) == (True, False)


def test_what_is_kept_again_is_young_again(tmp_path: Path) -> None:
    kept = blobs_at(str(tmp_path))
    kept.keep(Kind.body, {b"\1" * 32: b"x"})
    (file,) = tmp_path.glob("bodies/*/*")
    os.utime(file, (0, 0))
    assert [*kept.names(Kind.body, 1.0)] == [file.name]
    kept.keep(Kind.body, {b"\1" * 32: b"x"})
    assert [*kept.names(Kind.body, 1.0)] == []


def test_a_folder_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with closing(open_store(tmp_path / "freki.db")) as db, pytest.raises(StoreUnreachable):
        settle(db, str(tmp_path / "file"))


# --- a URL ---


def test_a_place_that_fsspec_does_not_know_is_told(tmp_path: Path) -> None:
    with closing(open_store(tmp_path / "freki.db")) as db:
        with pytest.raises(BadInput, match="nosuch"):
            settle(db, "nosuch://bucket")
        assert blobs_of(db) is None


def test_what_a_storage_needs_is_named(tmp_path: Path) -> None:
    missing = next(
        name for name in ("s3", "gcs", "abfs")
        if name in fsspec.available_protocols() and not _is_installed(name)
    )  # fmt: skip
    with (
        closing(open_store(tmp_path / "freki.db")) as db,
        pytest.raises(MissingExtra, match=r"[Ii]nstall"),
    ):
        settle(db, f"{missing}://bucket")


def _is_installed(protocol: str) -> bool:
    try:
        fsspec.get_filesystem_class(protocol)
    except ImportError:
        return False
    return True
