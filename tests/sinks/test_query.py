"""SQL over a crawl: every row is there, and a statement reaches nothing else."""

import csv
import io
from pathlib import Path

import msgspec
import pytest
from tests.command import freki
from tests.sinks.crawled import crawled, filled


@pytest.fixture(scope="module")
def crawl(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    store = tmp_path_factory.mktemp("query") / "freki.db"
    with crawled(store) as site:
        return site, store


@pytest.fixture(scope="module")
def items(tmp_path_factory: pytest.TempPathFactory) -> Path:
    store = tmp_path_factory.mktemp("items") / "freki.db"
    filled(store, 3, [b'{"name":"a","price":2}', b'{"name":"b","price":2.5,"tags":["x"]}'])
    return store


def ask(store: Path, sql: str, *words: str) -> list[dict[str, object]]:
    run = freki("query", sql, "--store", store, "--format", "jsonl", *words)
    assert run.code == 0, run.err
    return [msgspec.json.decode(line) for line in run.out.splitlines()]


def test_the_tables_have_what_the_commands_tell(crawl: tuple[str, Path]) -> None:
    _, store = crawl
    for table, command in (("pages", "pages"), ("urls", "urls")):
        told = freki(command, "--store", store, "--format", "jsonl").out.splitlines()
        rows = [msgspec.json.decode(line) for line in told]
        asked = ask(store, f"from {table}")
        assert {row["url"] for row in rows} == {row["url"] for row in asked}
        assert set(asked[0]) == set(rows[0]) - {"links"}
    ((links,),) = (row.values() for row in ask(store, "select count(*) from links"))
    lines = freki("pages", "--store", store, "--format", "jsonl", "--links", "--redirects")
    assert links >= sum(  # type: ignore[operator]  # sitemaps have links as well
        len(msgspec.json.decode(line)["links"]) for line in lines.out.splitlines()
    )


def test_tables_can_be_joined(crawl: tuple[str, Path]) -> None:
    site, store = crawl
    asked = ask(
        store,
        "select distinct links.text from links join urls on urls.url = links.target "
        "where urls.status = 404 and links.via = 'link' order by 1",
    )
    assert asked == [{"text": "words that lead nowhere"}]
    assert site


def test_columns_have_types(crawl: tuple[str, Path]) -> None:
    (row,) = ask(
        crawl[1],
        "select typeof(status) a, typeof(fetched_at) b, typeof(noindex) c, timings.total > 0 d, "
        "headers[1][1] e from pages limit 1",
    )
    assert list(row.values()) == ["BIGINT", "TIMESTAMP WITH TIME ZONE", "BOOLEAN", True,
                                  "content-length"]  # fmt: skip


def test_what_is_costly_is_there_where_it_is_named(crawl: tuple[str, Path]) -> None:
    site, store = crawl
    (row,) = ask(store, f"select main, text from pages where url = '{site}/'")
    assert "Hälló\n" in str(row["main"])
    assert "main" not in ask(store, "from pages limit 1")[0]


def test_items_are_a_table(items: Path) -> None:
    (row,) = ask(items, "select sum(price) total, count(tags) tagged from items")
    assert row == {"total": 4.5, "tagged": 1}


def test_a_crawl_without_items_has_an_empty_table(crawl: tuple[str, Path]) -> None:
    assert ask(crawl[1], "from items") == []
    assert {row["name"] for row in ask(crawl[1], "show tables")} == {
        "items", "links", "pages", "urls"
    }  # fmt: skip


@pytest.mark.parametrize(
    "sql",
    [
        "select * from '{here}'",
        "select * from read_csv('/etc/passwd')",
        "select * from read_text('{here}')",
        "select * from glob('/*')",
        "select * from read_parquet('http://127.0.0.1:9/x')",
        "select * from sqlite_scan('{here}', 'page')",
        "copy pages to '{out}'",
        "copy (select 1) to '{out}'",
        "export database '{out}'",
        "attach '{out}'",
        "install httpfs",
        "load '{out}'",
        "set enable_external_access = true",
        "pragma enable_external_access",
        "set lock_configuration = false",
        "insert into pages select * from pages",
        "drop table pages",
        "select 1; select 2",
        "",
        "selec 1",
        "select nothing from pages",
        "select * from page",
        "select store from pages",
        "select * from db",
    ],
)
def test_a_statement_reaches_nothing_but_the_tables(crawl: tuple[str, Path], sql: str) -> None:
    _, store = crawl
    out = store.parent / "out"
    before = store.read_bytes(), sorted(store.parent.iterdir())
    run = freki("query", sql.format(here=store, out=out), "--store", store)
    assert (run.code, run.out) == (2, "")
    assert run.err.startswith("freki query: ")
    assert "Traceback" not in run.err
    assert (store.read_bytes(), sorted(store.parent.iterdir())) == before


def test_answers_are_tables_json_and_csv(crawl: tuple[str, Path]) -> None:
    _, store = crawl
    sql = "select status, count(*) n, status from pages where status = 404 group by all"
    assert ask(store, sql) == [{"status": 404, "n": 1, "status_1": 404}]
    table = freki("query", sql, "--store", store).out.splitlines()
    assert table[0].split() == ["status", "n", "status_1"]
    formula = "select '=1+1' as a, [1, 2] as b, null as c, current_date as d"
    told = freki("query", formula, "--store", store, "--format", "csv").out
    (row,) = csv.DictReader(io.StringIO(told))
    assert (row["a"], row["b"], row["c"]) == ("'=1+1", "[1,2]", "")


def test_a_table_for_people_has_an_end(crawl: tuple[str, Path]) -> None:
    _, store = crawl
    run = freki("query", "select unnest(range(1000)) n", "--store", store)
    assert len(run.out.splitlines()) == 101
    assert "the first 100; --limit N shows more" in run.err
    run = freki("query", "from range(1000)", "--store", store, "--limit", "2")
    assert len(run.out.splitlines()) == 3
    assert freki("query", "from range(0)", "--store", store).err == "no rows\n"
