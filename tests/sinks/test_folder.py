"""A folder of Markdown: names that no page chose, front matter that every reader understands."""

import string
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.command import freki
from tests.sinks.crawled import crawled

from freki.sinks.folder import file_name, page, slug
from freki.sinks.rows import Row

HARMLESS = set(string.ascii_lowercase + string.digits + "-")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    with crawled(tmp_path / "freki.db"):
        run = freki("export", f"{tmp_path}/site/", "--store", tmp_path / "freki.db", "--quiet")
        assert run.code == 0, run.err
    return tmp_path / "site"


def front(path: Path) -> dict[str, object]:
    _, head, _ = path.read_text("utf-8").split("---\n", 2)
    told = (line.partition(": ") for line in head.splitlines())
    return {name: msgspec.json.decode(value) for name, _, value in told}


def test_every_page_that_is_text_has_a_file(folder: Path) -> None:
    (host,) = folder.iterdir()
    assert host.name.startswith("127-0-0-1-")
    paths = {str(front(path)["url"]).partition("/")[2].partition("/")[2].partition("/")[2]
             for path in host.iterdir()}  # fmt: skip
    assert paths == {"", "twin", "twin2", "packed", "etc/passwd?x=%2e%2e"}


def test_a_file_tells_where_it_is_from_and_what_it_says(folder: Path) -> None:
    home = next(folder.glob("*/index-*.md"))
    told = front(home)
    assert (told["title"], told["language"]) == ('=HYPERLINK("http://evil/")', "en")
    assert told["status"] == 200
    assert "# Hälló" in home.read_text("utf-8")


def test_nothing_is_left_beside_it(folder: Path) -> None:
    names = {path.name for path in folder.parent.iterdir()}
    assert names - {"freki.db", "freki.db-wal", "freki.db-shm"} == {"site"}


def test_a_folder_that_exists_stays_as_it_is(folder: Path) -> None:
    before = sorted(folder.rglob("*"))
    store = folder.parent / "freki.db"
    run = freki("export", f"{folder}/", "--store", store, "--overwrite")
    assert run.code == 2
    assert "remove it, or name another folder" in run.err
    assert sorted(folder.rglob("*")) == before


@given(st.text(max_size=400))
def test_no_name_leads_out_of_the_folder(path: str) -> None:
    name = file_name("http://a", f"/{path}")
    assert set(name) <= HARMLESS
    assert 16 <= len(name) <= 100
    assert set(slug(path)) <= HARMLESS


def test_urls_of_the_same_letters_have_files_of_their_own() -> None:
    assert file_name("http://a", "/x/y") != file_name("http://a", "/x-y")


def test_front_matter_keeps_what_could_end_it() -> None:
    row: Row = {"url": "http://a/", "title": "a\n---\n\x85\u2028: #\U0010ffff", "markdown": "text"}
    written = page(row).decode()
    assert written.count("---\n") == 2
    assert r'title: "a\n---\n\u0085\u2028: #\U0010ffff"' in written
