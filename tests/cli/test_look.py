"""`freki status`, `urls` and `pages`: what a store knows, in formats that programs can rely on."""

import csv
import io
import sqlite3
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.background import background
from tests.command import Run, call, freki, on_terminal
from tests.system.scripted import answer, page, scripted

from freki.testing.server import Site

URL_FIELDS = [
    "url",
    "state",
    "outcome",
    "reason",
    "detail",
    "status",
    "depth",
    "parent",
    "via",
    "attempts",
    "found_at",
]
PAGE_FIELDS = [
    "url",
    "final_url",
    "redirects",
    "status",
    "title",
    "content_type",
    "charset",
    "language",
    "description",
    "canonical",
    "depth",
    "parent",
    "via",
    "fetched_at",
    "bytes",
    "wire_bytes",
    "sha256",
    "http",
    "address",
    "timings",
    "headers",
    "noindex",
    "nofollow",
    "links",
]
STATUS_FIELDS = [
    "crawl",
    "run",
    "status",
    "seeds",
    "started_at",
    "ended_at",
    "seconds",
    "wire_bytes",
    "discovered",
    "done",
    "failed",
    "refused",
    "waiting",
    "leased",
    "reasons",
    "pages",
    "items",
    "hosts",
]

# Sets the window's title, turns the text red, moves the cursor, by 7-bit and 8-bit controls, and
# turns the writing direction around.
HOSTILE = "a\x1b]0;owned\x07\x1b[31mred\x9b2Jgone\x7f\u202eback"


@pytest.fixture(scope="module")
def crawled(site: Site, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with a whole crawl."""
    store = tmp_path_factory.mktemp("crawled") / "freki.db"
    run = freki("crawl", "--store", store, "--delay", "0", "--quiet", site.url)
    assert run == (0, "", "")
    return store


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with titles that mean harm."""
    store = tmp_path_factory.mktemp("hostile") / "freki.db"
    script = {
        "/": page("/steering", "/formula"),
        "/steering": _titled(HOSTILE),
        "/formula": _titled("=cmd|' /C calc'!A0"),
    }
    with background(scripted(script)) as site:
        run = freki("crawl", "--store", store, "--delay", "0", "--quiet", f"{site.url}/")
    assert run == (0, "", "")
    return store


def _titled(title: str) -> bytes:
    html = f"<meta charset=utf-8><title>{title}</title>".encode()
    return answer(200, html, content_type="text/html; charset=utf-8")


def rows(run: Run) -> list[dict[str, Any]]:
    assert (run.code, run.err) == (0, "")
    return [msgspec.json.decode(line) for line in run.out.splitlines()]


def urls(store: Path, *words: str) -> list[dict[str, Any]]:
    return rows(freki("urls", "--store", store, "--format", "jsonl", *words))


def pages(store: Path, *words: str) -> list[dict[str, Any]]:
    return rows(freki("pages", "--redirects", "--store", store, "--format", "jsonl", *words))


# Field names that scripts rely on


def test_the_fields_of_a_url_are_these(crawled: Path) -> None:
    assert all(list(row) == URL_FIELDS for row in urls(crawled))


def test_the_fields_of_a_page_are_these(crawled: Path) -> None:
    assert all(list(row) == PAGE_FIELDS for row in pages(crawled))


def test_the_fields_of_a_status_are_these(crawled: Path) -> None:
    status = freki("status", "--store", crawled, "--json").json
    assert list(status) == STATUS_FIELDS
    assert list(status["hosts"][0]) == ["host", "waiting", "delay", "failures", "next_at"]


def test_a_csv_has_the_same_fields_but_the_nested_ones_of_pages(crawled: Path) -> None:
    of_urls = csv.reader(io.StringIO(freki("urls", "--store", crawled, "--format", "csv").out))
    of_pages = csv.reader(io.StringIO(freki("pages", "--store", crawled, "--format", "csv").out))
    assert next(of_urls) == URL_FIELDS
    assert next(of_pages) == [name for name in PAGE_FIELDS if name not in ("headers", "links")]


# Values


def test_all_formats_tell_the_same_of_every_url(crawled: Path) -> None:
    told = urls(crawled)
    as_csv = list(
        csv.DictReader(io.StringIO(freki("urls", "--store", crawled, "--format", "csv").out))
    )
    table = freki("urls", "--store", crawled, "--limit", "1000").out.splitlines()
    assert [row["url"] for row in as_csv] == [row["url"] for row in told]
    assert [line.split()[0] for line in table] == ["url", *(row["url"] for row in told)]
    assert [row["status"] for row in as_csv] == [str(row["status"] or "") for row in told]


def test_status_names_the_other_crawls_of_a_store(store: Path) -> None:
    with background(scripted({})) as site:
        for name in ("one", "two", "three"):
            freki("crawl", "--store", store, "--quiet", "--name", name, f"{site.url}/")
    assert "other crawls in this store: two, one\n" in freki("status", "--store", store).out
    assert "other crawls" not in freki("status", "--store", store, "--json").out


def test_status_counts_what_urls_lists(crawled: Path) -> None:
    status = freki("status", "--store", crawled, "--json").json
    listed = urls(crawled)
    assert status["discovered"] == len(listed)
    assert {"done": dict(Counter(row["reason"] for row in listed))} == status["reasons"]


def test_the_parent_of_a_url_is_a_page_that_links_or_redirects_to_it(
    crawled: Path, site: Site
) -> None:
    known = {row["url"]: row for row in pages(crawled, "--links")}
    for row in urls(crawled):
        if row["via"] in ("link", "redirect"):
            links = known[row["parent"]]["links"]
            assert row["url"] in [link["url"] for link in links]
        elif row["via"] == "seed":
            assert (row["url"], row["parent"], row["depth"]) == (site.url, None, 0)


def test_a_redirect_names_its_end_and_its_end_the_way_there(store: Path) -> None:
    script = {
        "/": answer(301, location="/middle"),
        "/middle": answer(302, location="/end"),
        "/end": page(),
    }
    with background(scripted(script)) as site:
        freki("crawl", "--store", store, "--delay", "0", f"{site.url}/")
    first, middle, end = (f"{site.url}{path}" for path in script)
    told = {row["url"]: (row["final_url"], row["redirects"]) for row in pages(store)}
    assert told == {first: (end, []), middle: (end, [first]), end: (end, [first, middle])}


def test_links_are_listed_where_there_is_room_for_them(crawled: Path) -> None:
    assert pages(crawled)[0]["links"] is None
    assert pages(crawled, "--links")[0]["links"]
    refused = freki("pages", "--store", crawled, "--links")
    assert refused.code == 2
    assert "--links needs --format jsonl" in refused.err


# Filters


@pytest.mark.parametrize(
    ("words", "key", "values"),
    [
        (("--status", "404"), "status", {404}),
        (("--status", "4xx"), "status", {404, 410}),
        (("--status", "3XX"), "status", {301, 302, 307, 308}),
        (("--reason", "redirect"), "reason", {"redirect"}),
        (("--outcome", "done"), "outcome", {"done"}),
        (("--depth", "1"), "depth", {1}),
    ],
)
def test_filters_leave_what_matches(
    words: tuple[str, ...], key: str, values: set[Any], crawled: Path
) -> None:
    everything = [row for row in urls(crawled) if row[key] in values]
    assert urls(crawled, *words) == everything
    assert {row[key] for row in everything} == values


def test_pages_are_filtered_by_status_and_type(crawled: Path) -> None:
    assert {row["status"] for row in pages(crawled, "--status", "4xx")} == {404, 410}
    html = pages(crawled, "--type", "text/html")
    assert html == [row for row in pages(crawled) if row["content_type"].startswith("text/html")]
    assert 0 < len(html) < len(pages(crawled))


def test_a_host_is_named_by_any_of_its_urls(crawled: Path, site: Site) -> None:
    everything = urls(crawled)
    assert urls(crawled, "--host", site.url.rstrip("/")) == everything
    assert urls(crawled, "--host", f"{site.url}hall/1/") == everything
    assert urls(crawled, "--host", "http://127.0.0.9") == []
    bare = freki("urls", "--store", crawled, "--host", "127.0.0.1")
    assert (bare.code, bare.out) == (2, "")
    assert "did you mean https://127.0.0.1?" in bare.err


def test_a_table_is_cut_with_a_word_about_it_and_other_formats_are_not(crawled: Path) -> None:
    run = freki("urls", "--store", crawled)
    assert len(run.out.splitlines()) == 101
    assert run.err == "the first 100; --limit N or --format jsonl shows more\n"
    assert len(urls(crawled)) > 100
    assert len(urls(crawled, "--limit", "7")) == 7
    assert urls(crawled, "--limit", "0") == []


def test_nothing_that_matches_is_said(crawled: Path) -> None:
    run = freki("urls", "--store", crawled, "--reason", "timeout")
    assert run == (0, "", "nothing matches\n")
    assert urls(crawled, "--reason", "timeout") == []


def test_urls_are_counted_by_groups(crawled: Path) -> None:
    counted = {
        (row["reason"], row["depth"]): row["count"]
        for row in urls(crawled, "--group", "reason,depth")
    }
    assert counted == Counter((row["reason"], row["depth"]) for row in urls(crawled))


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--reason", "timeot"), "there is no reason 'timeot' (did you mean timeout?)"),
        (("--reason", "xyzzy"), "they are: ok, redirect, "),
        (("--status", "4x"), "'4x' is not a status like 404 or 4xx"),
        (("--status", "4044"), "'4044' is not a status"),
        (("--limit", "-1"), "'-1' is not a whole number"),
        (("--limit", "many"), "'many' is not a whole number"),
        (("--limit", "9" * 30), "is not a whole number"),
        (("--outcome", "good"), "invalid choice: 'good'"),
        (("--format", "xml"), "invalid choice: 'xml'"),
        (("--group", "reson"), "there is no column 'reson' (did you mean reason?)"),
        (("--state", "leased", "--outcome", "done"), "give one of them"),
        (("--host", "\udcff"), "not a valid URL"),
    ],
)
def test_a_filter_that_makes_no_sense_is_told(
    words: tuple[str, ...], told: str, crawled: Path
) -> None:
    run = freki("urls", "--store", crawled, *words)
    assert (run.code, run.out) == (2, "")
    assert told in run.err


# Which crawl


@pytest.mark.parametrize("command", ["status", "urls", "pages"])
def test_without_a_store_or_a_crawl_it_says_what_to_do(command: str, tmp_path: Path) -> None:
    missing = freki(command, "--store", tmp_path / "missing.db")
    assert (missing.code, missing.out) == (3, "")
    assert "there is no store here; crawl first" in missing.err
    empty = tmp_path / "empty.db"
    freki("crawl", "--store", empty, "--name", "none")  # makes a store, and no crawl
    run = freki(command, "--store", empty)
    assert (run.code, run.out) == (2, "")
    assert "there is no crawl in this store yet" in run.err


def test_a_crawl_is_named_or_the_one_begun_last(crawled: Path, store: Path) -> None:
    with background(scripted({"/": page()})) as site:
        for name in ("first", "second"):
            freki("crawl", "--store", store, "--delay", "0", f"{site.url}/", "--name", name)
    assert freki("status", "--store", store).out.startswith("second, run 1: finished\n")
    assert freki("status", "--store", store, "first").out.startswith("first, run 1: finished\n")
    wrong = freki("status", "--store", store, "frist")
    assert wrong.code == 2
    assert "no crawl 'frist' (did you mean first?); the store has: second, first" in wrong.err
    assert freki("status", "--store", store, "\udcff").code == 2


def test_a_crawl_whose_process_was_killed_is_not_called_running(
    crawled: Path, tmp_path: Path
) -> None:
    store = tmp_path / "killed.db"
    with closing(sqlite3.connect(crawled)) as whole, closing(sqlite3.connect(store)) as copy:
        whole.backup(copy)
        copy.execute("UPDATE crawl SET status = 'running', ended_at = NULL")
        copy.commit()
    assert freki("status", "--store", store, "--json").json["status"] == "interrupted"
    assert ", run 1: interrupted\n" in freki("status", "--store", store).out


# What comes from the web stays text


def test_a_title_cannot_steer_the_terminal(hostile: Path) -> None:
    table = freki("pages", "--store", hostile).out
    assert "red" in table
    assert all(char == "\n" or char.isprintable() for char in table)


@pytest.mark.parametrize("format_", ["jsonl", "csv"])
def test_on_a_terminal_no_format_steers_it(format_: str, hostile: Path) -> None:
    shown = on_terminal("pages", "--store", hostile, "--format", format_).out
    assert "red" in shown
    assert all(char in "\r\n" or char.isprintable() for char in shown)


def test_in_a_file_a_title_is_what_it_was(hostile: Path) -> None:
    assert HOSTILE in [row["title"] for row in pages(hostile)]
    told = freki("pages", "--store", hostile, "--format", "csv").out
    assert HOSTILE in [row["title"] for row in csv.DictReader(io.StringIO(told))]


def test_a_spreadsheet_does_not_run_a_title(hostile: Path) -> None:
    told = freki("pages", "--store", hostile, "--format", "csv").out
    titles = [row["title"] for row in csv.DictReader(io.StringIO(told))]
    assert "'=cmd|' /C calc'!A0" in titles


def test_nested_values_in_a_csv_are_json(crawled: Path) -> None:
    told = freki("pages", "--store", crawled, "--format", "csv").out
    for row in csv.DictReader(io.StringIO(told)):
        assert isinstance(msgspec.json.decode(row["redirects"]), list)
        assert msgspec.json.decode(row["timings"])["total"] > 0
        assert row["noindex"] in ("true", "false")


def test_whoever_stops_reading_has_seen_enough(crawled: Path) -> None:
    head = ("sh", "-c", '"$@" | head -n 1', "sh")
    for words in (("urls", "--format", "jsonl"), ("pages", "--format", "csv"), ("status",)):
        run = call(*words, "--store", crawled, before=head)
        assert (run.code, run.err, len(run.out.splitlines())) == (0, "", 1)


def test_pages_are_as_many_as_status_counts_and_redirects_only_on_request(crawled: Path) -> None:
    counted = freki("status", "--store", crawled, "--json").json["pages"]
    listed = rows(freki("pages", "--store", crawled, "--format", "jsonl"))
    assert len(listed) == counted
    assert all(row["url"] == row["final_url"] for row in listed)
    assert len(pages(crawled)) > counted


# Searching and sorting


@pytest.fixture(scope="module")
def said(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store of pages that say something."""
    store = tmp_path_factory.mktemp("said") / "freki.db"
    script = {
        "/": answer(200, b"<a href=/fox>x</a> <a href=/hours>y</a>", content_type="text/html"),
        "/fox": answer(200, b"<title>one</title>A quick brown fox", content_type="text/html"),
        "/hours": answer(404, b"Opening hours: " + b"9 " * 99, content_type="text/html"),
    }
    with background(scripted(script)) as site:
        freki("crawl", "--store", store, "--delay", "0", f"{site.url}/")
    return store


def paths(store: Path, *words: str) -> list[str]:
    run = freki(*words, "--store", store, "--format", "jsonl")
    assert (run.code, run.err) == (0, "")
    urls = [msgspec.json.decode(line)["url"] for line in run.out.splitlines()]
    return ["/" + url.split("/", 3)[3] for url in urls]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("fox quick", ["/fox"]),
        ('"opening hours"', ["/hours"]),
        ("/hou", ["/hours"]),
        ("ONE", ["/fox"]),
        ("nowhere", []),
    ],
)
def test_what_pages_say_is_searched(text: str, found: list[str], said: Path) -> None:
    assert paths(said, "pages", "--text", text) == found
    assert paths(said, "urls", "--text", text, "--outcome", "done") == found


def test_lists_are_sorted_as_a_whole(said: Path) -> None:
    assert paths(said, "pages", "--sort", "size", "--descending")[0] == "/hours"
    assert paths(said, "pages", "--sort", "url") == ["/", "/fox", "/hours"]
    assert paths(said, "pages", "--sort", "url", "--descending", "--limit", "1") == ["/hours"]
    assert paths(said, "urls", "--sort", "status", "--outcome", "done")[:2] == ["/", "/fox"]
    assert freki("urls", "--store", said, "--sort", "size").code == 2


def test_where_no_index_can_be_kept_it_is_told(said: Path, tmp_path: Path) -> None:
    store = tmp_path / "freki.db"
    store.write_bytes(said.read_bytes())
    (tmp_path / "freki.db-text").mkdir()
    run = freki("pages", "--store", store, "--text", "fox")
    assert (run.code, run.out) == (3, "")
    assert "freki.db-text: what pages say cannot be kept there" in run.err
