"""JSON lines, CSV and Parquet: the same rows, and nothing that a spreadsheet would run."""

import csv
import io
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import pyarrow.parquet as pq
import pytest
from tests.command import freki
from tests.sinks.crawled import crawled, exporting, filled

from freki.sinks.cells import cell


@pytest.fixture
def store(tmp_path: Path) -> Path:
    with crawled(tmp_path / "freki.db"):
        pass
    return tmp_path / "freki.db"


def lines(path: Path) -> list[dict[str, object]]:
    return [msgspec.json.decode(line) for line in path.read_bytes().splitlines()]


def export(store: Path, *words: str | Path) -> None:
    run = freki("export", *words, "--store", store, "--quiet")
    assert (run.code, run.err) == (0, "")


def test_every_format_has_the_same_rows(store: Path, tmp_path: Path) -> None:
    for kind in ("pages", "urls", "links", "broken"):
        files = [tmp_path / f"{kind}.{suffix}" for suffix in ("jsonl", "csv", "parquet")]
        export(store, *files)
        rows = lines(files[0])
        assert rows
        table = list(csv.DictReader(io.StringIO(files[1].read_text("utf-8"), newline="")))
        assert [list(row) for row in table] == [list(row) for row in rows]
        cells = [[cell(value) for value in row.values()] for row in rows]
        assert [list(row.values()) for row in table] == cells
        typed = pq.read_table(files[2])
        assert typed.column_names == list(rows[0])
        assert typed.num_rows == len(rows)


def test_the_rows_are_those_that_the_store_tells(store: Path, tmp_path: Path) -> None:
    export(store, tmp_path / "pages.jsonl", tmp_path / "urls.jsonl")
    told = freki("pages", "--store", store, "--format", "jsonl").out.splitlines()
    without_links = [msgspec.json.decode(line) for line in told]
    for row in without_links:
        del row["links"]
    by_url = sorted(lines(tmp_path / "pages.jsonl"), key=lambda row: str(row["url"]))
    assert by_url == sorted(without_links, key=lambda row: str(row["url"]))
    urls = freki("urls", "--store", store, "--format", "jsonl").out
    assert (tmp_path / "urls.jsonl").read_text() == urls


@pytest.mark.parametrize("formula", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1"])
def test_no_text_of_a_page_becomes_a_formula(formula: str) -> None:
    assert cell(formula) == f"'{formula}"
    assert cell(-1) == "-1"


def test_a_hostile_title_stays_text_in_every_cell(store: Path, tmp_path: Path) -> None:
    export(store, tmp_path / "pages.csv")
    with (tmp_path / "pages.csv").open(newline="", encoding="utf-8") as file:
        home = next(csv.DictReader(file))
    assert home["title"] == '\'=HYPERLINK("http://evil/")'
    assert home["description"] == 'a, "b" c'


def test_parquet_has_types(store: Path, tmp_path: Path) -> None:
    export(store, tmp_path / "pages.parquet", "--with", "links", "--with", "main")
    table = pq.read_table(tmp_path / "pages.parquet")
    types = {field.name: str(field.type) for field in table.schema}
    assert (types["status"], types["noindex"]) == ("int64", "bool")
    assert types["fetched_at"] == "timestamp[ms, tz=UTC]"
    home = table.to_pylist()[0]
    assert datetime(2020, 1, 1, tzinfo=UTC) < home["fetched_at"]
    assert ["content-type", "text/html; charset=utf-8"] in home["headers"]
    assert home["links"][0]["url"].startswith("http://127.0.0.1")
    assert "Hälló\n" in home["main"]


def test_parquet_is_written_in_groups(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("freki.sinks.parquet.GROUP_ROWS", 100)
    filled(tmp_path / "freki.db", 250)
    export(tmp_path / "freki.db", tmp_path / "pages.parquet")
    file = pq.ParquetFile(tmp_path / "pages.parquet")
    assert [file.metadata.row_group(n).num_rows for n in range(3)] == [100, 100, 50]


def test_pages_have_what_was_asked_for(store: Path, tmp_path: Path) -> None:
    asked = [word for name in ("html", "text", "markdown", "main", "links")
             for word in ("--with", name)]  # fmt: skip
    export(store, tmp_path / "pages.jsonl", *asked)
    by_path = {
        str(row["url"]).partition(
            "/",
        )[2]: row
        for row in lines(tmp_path / "pages.jsonl")
    }
    home = next(row for url, row in by_path.items() if url.count("/") == 2 and url.endswith("/"))
    assert str(home["html"]).startswith("<html lang=")
    assert "](http://127.0.0.1:" in str(home["markdown"])
    picture = next(row for row in by_path.values() if row["content_type"] == "image/png")
    assert [picture[name] for name in ("html", "text", "markdown", "main")] == [None] * 4


ITEMS = [
    b'{"name":"a","price":1,"tags":["x"],"size":{"w":1}}',
    b'{"name":"b","price":2.5,"tags":[],"more":[1,"two"],"size":{"w":2,"h":3}}',
    b'{"name":null,"price":null,"huge":123456789012345678901234567890,"mixed":1}',
    b'{"mixed":"one","=cmd":true}',
]


def test_items_are_taken_as_they_are(tmp_path: Path) -> None:
    filled(tmp_path / "freki.db", 1, ITEMS)
    export(tmp_path / "freki.db", tmp_path / "out.jsonl")
    assert lines(tmp_path / "out.jsonl") == [msgspec.json.decode(item) for item in ITEMS]


def test_the_columns_of_items_are_all_their_fields(tmp_path: Path) -> None:
    filled(tmp_path / "freki.db", 1, ITEMS)
    export(tmp_path / "freki.db", tmp_path / "out.csv", tmp_path / "out.parquet")
    with (tmp_path / "out.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    names = ["name", "price", "tags", "size", "more", "huge", "mixed"]
    assert list(rows[0]) == [*names, "'=cmd"]
    assert rows[0]["tags"] == '["x"]'
    table = pq.read_table(tmp_path / "out.parquet")
    types = {field.name: str(field.type) for field in table.schema}
    assert types["price"] == "double"
    assert types["size"] == "struct<w: int64, h: int64>"
    assert types["tags"] == "list<element: string>"
    read = table.to_pylist()
    assert read[1]["more"] == ["1", '"two"']
    assert read[2]["huge"] == "123456789012345678901234567890"
    assert [row["mixed"] for row in read] == [None, None, "1", '"one"']


def test_a_crawl_without_items_is_exported_as_pages(store: Path, tmp_path: Path) -> None:
    export(store, tmp_path / "out.jsonl")
    assert "final_url" in lines(tmp_path / "out.jsonl")[0]


def test_an_export_of_many_pages_needs_no_more_than_one_look_at_each(tmp_path: Path) -> None:
    filled(tmp_path / "freki.db", 1100)
    with exporting(tmp_path / "freki.db", tmp_path / "pages.jsonl") as made:
        assert made.whole() == 1100
    urls = [row["url"] for row in lines(tmp_path / "pages.jsonl")]
    assert len(set(urls)) == 1100
