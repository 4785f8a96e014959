"""Pictures are stored once, found by what they are, and grouped by how they look."""

import asyncio
from collections.abc import Iterator
from contextlib import closing
from hashlib import sha256
from pathlib import Path

import pytest
from msgspec.structs import replace

from freki.ledger import captures
from freki.ledger.captures import Wanted
from freki.ledger.database import Database
from freki.ledger.place import Place
from freki.ledger.store import open_store
from freki.messages import Reason
from freki.pictures import Rendering, Shot, Unrendered
from freki.testing.render import FakeBrowser

NOW = 1_800_000_000.0
A = "http://a/"


@pytest.fixture(params=["file", pytest.param("server", marks=pytest.mark.system)])
def db(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Database]:
    place: Place = tmp_path / "freki.db"
    if request.param == "server":
        place = request.getfixturevalue("postgres").schema()
    with closing(open_store(place)) as made:
        yield made


def seen(url: str = A, **wish: object) -> Rendering:
    browser = FakeBrowser(latency=0.0)
    browser.page(url, title="A page")
    rendering = asyncio.run(browser(Shot(url=url, **wish)))  # type: ignore[arg-type]
    assert isinstance(rendering, Rendering)
    return rendering


def count(db: Database, table: str) -> int:
    return int(db.execute(f"SELECT count(*) FROM {table}").fetchone()[0])


def test_a_visit_comes_back_as_it_was_stored(db: Database) -> None:
    rendering = replace(seen(), console=("Error: no",), settled=False)
    id_ = captures.store(db, NOW, rendering)
    (line,) = captures.renderings(db, Wanted(id=id_))
    assert (line.url, line.title, line.reason) == (A, "A page", "ok")
    assert (line.console, line.settled, line.phases) == (["Error: no"], False, rendering.phases)
    (capture,) = line.captures
    assert (capture.width, capture.height, capture.format) == (1280, 800, "webp")
    assert capture.phash == f"{rendering.captures[0].phash:016x}"
    assert [thumbnail.width for thumbnail in capture.thumbnails] == [160, 480]
    picture = captures.picture(db, bytes.fromhex(capture.sha256))
    assert picture == rendering.captures[0].picture
    assert sha256(picture.data).hexdigest() == capture.sha256


def test_a_failure_has_its_class_and_no_picture(db: Database) -> None:
    captures.store(db, NOW, Unrendered(url=A, reason=Reason.crash, detail="it died"))
    (line,) = captures.renderings(db, Wanted(failed=True))
    assert (line.reason, line.detail, line.captures) == ("crash", "it died", [])
    assert count(db, "picture") == 0


def test_the_same_picture_is_stored_once(db: Database) -> None:
    captures.store(db, NOW, seen())
    captures.store(db, NOW + 1, seen())
    assert count(db, "rendering") == count(db, "capture") == 2
    assert count(db, "picture") == 3  # with two thumbnails


def test_captures_that_look_alike_are_a_group(db: Database) -> None:
    rendering = seen()
    (capture,) = rendering.captures
    assert capture.phash is not None
    for bits in (0, 0b11111, 1 << 63 | 1, 0b111111):
        near = replace(capture, phash=capture.phash ^ bits)
        captures.store(db, NOW, replace(rendering, captures=(near,)), crawl=7)
    likenesses = [line.captures[0].likeness for line in captures.renderings(db, Wanted(crawl=7))]
    assert likenesses == [1, 1, 1, 4]
    assert captures.groups(db, 7) == [(1, 3)]
    alike = captures.renderings(db, Wanted(crawl=7, likeness=1))
    assert [line.id for line in alike] == [1, 2, 3]
    assert captures.numbers(db, Wanted(crawl=7, stacked=True)) == [1, 4]
    assert captures.stacks(db, [1, 4]) == {1: 3, 4: 1}
    captures.store(db, NOW, Unrendered(url=A, reason=Reason.crash, detail="it died"), crawl=7)
    two = (rendering.captures[0], replace(near, phash=capture.phash ^ 0xFF << 20))
    captures.store(db, NOW, replace(rendering, captures=two), crawl=7)
    assert captures.numbers(db, Wanted(crawl=7, stacked=True)) == [1, 4, 5, 6]  # one is new


def test_visits_are_found_by_what_they_say_and_answer(db: Database) -> None:
    captures.store(db, NOW, replace(seen("http://a/Long_100%"), status=404))
    captures.store(db, NOW, seen("http://b/"))
    assert captures.numbers(db, Wanted(text="long")) == [1]
    assert captures.numbers(db, Wanted(text="a PAGE")) == [1, 2]
    assert captures.numbers(db, Wanted(text="g%1")) == []
    assert captures.numbers(db, Wanted(status=(400, 499))) == [1]
    assert captures.numbers(db, Wanted(after=1)) == [2]


def test_what_looks_alike_in_another_crawl_is_no_group(db: Database) -> None:
    for crawl in (1, 2):
        captures.store(db, NOW, seen(), crawl=crawl)
    assert captures.groups(db) == []


def test_blank_captures_are_no_group_of_their_own(db: Database) -> None:
    rendering = seen()
    blank = replace(rendering, captures=(replace(rendering.captures[0], blank=True),))
    captures.store(db, NOW, blank)
    captures.store(db, NOW, blank)
    assert captures.groups(db) == []
    assert len(list(captures.renderings(db, Wanted(blank=True)))) == 2


def test_a_picture_goes_with_the_last_visit_that_has_it(db: Database) -> None:
    first, second = (captures.store(db, NOW, seen()) for _ in range(2))
    captures.drop(db, first)
    assert count(db, "picture") == 3
    captures.drop(db, second)
    assert count(db, "picture") == count(db, "thumbnail") == count(db, "likeness") == 0


def test_a_picture_of_another_crawl_is_not_there(db: Database) -> None:
    captures.store(db, NOW, seen(), 7)
    (line,) = captures.renderings(db, Wanted(crawl=7))
    for sha256_ in (line.captures[0].sha256, line.captures[0].thumbnails[0].sha256):
        digest = bytes.fromhex(sha256_)
        assert captures.picture(db, digest, 7) is not None
        assert captures.picture(db, digest, 8) is None
