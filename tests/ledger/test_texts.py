"""The index of what pages say: made in parts, true to its store, thrown away freely."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace

from freki.ledger import texts
from freki.ledger.order import listed
from freki.ledger.place import Place
from freki.ledger.read import Filter
from freki.ledger.retry import retry
from freki.ledger.store import open_store, read_store
from freki.ledger.texts import expression, hits, is_behind, opened, pages_read, throw_away
from freki.testing.bench import SHARED, StoreBench, page

SAID = {
    "http://a/1": "The quick brown fox jumps over the lazy dog",
    "http://a/2": "Der schnelle Fuchs springt; Müller & Söhne, opening hours 9 to 17",
    "http://a/3": "全文検索エンジンは速い",
    "http://a/4": "quickly opened, hours of opening",
}


@pytest.fixture(params=["file", pytest.param("server", marks=pytest.mark.system)])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    made: Place = tmp_path / "freki.db"
    if request.param == "server":
        made = request.getfixturevalue("postgres").schema()
    fill(made, SAID)
    return made


def fill(store: Place, said: dict[str, str]) -> None:
    with closing(StoreBench(store)) as bench:
        worker = bench.worker(replace(SHARED, per_host=2_000))
        worker.seed(*said)
        worker.commit(*(page(claim, body=said[claim.url].encode()) for claim in worker.claim()))


@pytest.fixture
def index(tmp_path: Path) -> Path:
    return tmp_path / "index"


def search(store: Place, index: Path, *wanted: str, most: int = 10**9) -> list[list[int]]:
    """Read what is new, at most so many parts of it, and search."""
    with closing(read_store(store)) as db, opened(index, db) as found:
        while most and texts.read_on(found, db, 1, lambda _, body: body.decode()):
            most -= 1
        return [msgspec.json.decode(hits(found, text), type=list[int]) for text in wanted]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("quick", [1, 4]),  # a word finds those that begin with it
        ("QUICK fox", [1]),
        ("fox quick", [1]),
        ('"quick"', [1]),
        ('"quick brown"', [1]),
        ('"brown quick"', []),
        ("opening hours", [2, 4]),
        ('"opening hours"', [2]),
        ("muller sohne", [2]),
        ("Müller", [2]),
        ("検索", [3]),
        ("索検", []),
        ("qu", []),  # too short to stand for others
        ("fo*", []),
        ("nothing", []),
        ("", []),
        ("%", []),
        ('"', []),
        ('"unclosed', []),
        ("fox OR fuchs", []),
        ("fox) OR (fuchs", []),
        ("words:fox", []),
        ("fox' --", [1]),
        ("fox\0dog", [1]),
        ("NEAR(quick fox)", []),
        ("-fox", [1]),
    ],
)
def test_a_search_is_words_and_nothing_of_it_is_a_command(
    text: str, found: list[int], store: Place, index: Path
) -> None:
    assert search(store, index, text) == [found]


def test_what_is_new_is_read_and_what_was_read_is_not_read_again(tmp_path: Path) -> None:
    store, index = tmp_path / "freki.db", tmp_path / "index"
    fill(store, {f"http://a/{n}": f"word{n}" for n in range(texts.CHUNK * 2 + 1)})
    with closing(read_store(store)) as db:
        for behind in (True, True, False, False):
            search(store, index, most=1)
            with opened(index, db) as found:
                assert is_behind(found, db, 1) == behind
        with opened(index, db) as found:
            assert pages_read(found, 1) == texts.CHUNK * 2 + 1
    assert search(store, index, f"word{texts.CHUNK * 2}") == [[texts.CHUNK * 2 + 1]]


def test_pages_that_say_much_are_read_in_smaller_parts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, index = tmp_path / "freki.db", tmp_path / "index"
    fill(store, SAID)
    monkeypatch.setattr(texts, "MOST_LETTERS", 10)
    for count in (1, 2, 3, 4, 4):
        search(store, index, most=1)
        with closing(read_store(store)) as db, opened(index, db) as found:
            assert pages_read(found, 1) == count


def test_a_page_that_is_fetched_again_is_found_by_what_it_says_now(tmp_path: Path) -> None:
    store, index = tmp_path / "freki.db", tmp_path / "index"
    fill(store, SAID)
    assert search(store, index, "fox") == [[1]]
    with closing(open_store(store)) as db:
        assert retry(db, 1, Filter(status=(200, 200))) == len(SAID)
    fill_again(store)
    well, fox = search(store, index, "well", "fox")
    with closing(read_store(store)) as db:
        for text, found, count in (("well", well, 4), ("fox", fox, 0)):
            wanted = Filter(text=text, among=msgspec.json.encode(found).decode())
            assert len(list(listed(db, 1, "pages", wanted))) == count


def fill_again(store: Path) -> None:
    with closing(StoreBench(store)) as bench:
        bench._crawl = 1
        worker = bench.worker(replace(SHARED, per_host=99))
        worker.commit(*(page(claim, body=b"well") for claim in worker.next_claims(9.0)))


def damaged(index: Path) -> Iterator[None]:
    index.write_bytes(b"no database")
    yield
    index.write_bytes(b"")
    yield
    index.write_bytes(index.read_bytes()[:5_000])
    yield
    throw_away(index)
    yield


def test_an_index_that_is_none_is_made_anew(tmp_path: Path) -> None:
    store, index = tmp_path / "freki.db", tmp_path / "index"
    fill(store, SAID)
    search(store, index, "fox")
    for _ in damaged(index):
        assert search(store, index, "fox") == [[1]]


def test_the_index_of_another_store_or_of_a_later_copy_is_not_believed(tmp_path: Path) -> None:
    store, other, index = tmp_path / "freki.db", tmp_path / "other.db", tmp_path / "index"
    fill(store, SAID)
    fill(other, {"http://a/": "something else", "http://b/": "fox"})
    assert search(store, index, "fox") == [[1]]
    assert search(other, index, "fox", "dog") == [[2], []]
    with closing(open_store(other)) as db:  # as a copy that was made before its last page
        db.execute("DELETE FROM page WHERE id = 2")
    assert search(other, index, "fox", "else") == [[], [1]]


def test_nobody_else_may_read_it(store: Place, index: Path) -> None:
    search(store, index, "fox")
    assert {file.stat().st_mode & 0o077 for file in texts.files_of(index) if file.exists()} == {0}


def test_a_search_is_spelt_as_the_index_wants_it() -> None:
    assert expression('one "two three" é') == '"one"* AND "two three" AND "é"'
