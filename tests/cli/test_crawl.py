"""`freki crawl`: start URLs and their fate, names, limits, continuing, and what is printed."""

from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from tests.background import background
from tests.command import Run, call, freki
from tests.system.scripted import Scripted, answer, page, scripted

from freki.testing.server import Site, serve
from freki.testing.synthetic import Web

# Nothing of what is asked for here gets better by asking again.
QUICK = ("--delay", "0", "--attempts", "1")


@pytest.fixture(scope="module")
def odd() -> Iterator[Scripted]:
    """A host with a start URL of every kind."""
    script = {
        "/": page("/other"),
        "/other": page(),
        "/broken": answer(500, b"<p>broken", content_type="text/html"),
        "/circle": answer(302, location="/circle/back"),
        "/circle/back": answer(302, location="/circle"),
        "/self": answer(301, location="/self"),
        "/nowhere": answer(302, location="http://[::1"),
        "/paper": answer(200, b"%PDF-1.7\n", content_type="application/pdf"),
        "/silence": answer(200),
    }
    with background(scripted(script)) as site:
        yield site


def crawl(store: Path, *words: str | Path) -> Run:
    return freki("crawl", "--store", store, *QUICK, *words)


def stored(store: Path) -> list[str]:
    """The URLs of the pages in a store, redirects left out."""
    run = freki("pages", "--redirects", "--store", store, "--format", "jsonl")
    pages = [msgspec.json.decode(line) for line in run.out.splitlines()]
    return [page["url"] for page in pages if page["status"] // 100 != 3]


def test_bodies_are_kept_where_blobs_says_and_found_again(
    odd: Scripted, store: Path, tmp_path: Path
) -> None:
    blobs = ("--blobs", str(tmp_path / "blobs"))
    assert crawl(store, odd.url, *blobs).code == 0
    export = tmp_path / "pages.jsonl"
    assert freki("export", export, "--with", "html", "--store", store).code == 0
    pages = [msgspec.json.decode(line) for line in export.read_text().splitlines()]
    assert all(page["html"] for page in pages)
    names = {path.name for path in (tmp_path / "blobs").glob("freki-*/bodies/??/*")}
    assert {page["sha256"] for page in pages} <= names
    assert freki("check", store, "--repair").code == 0
    run = crawl(store, odd.url, "--blobs", str(tmp_path / "other"))
    assert (run.code, "leave --blobs out" in run.err) == (2, True)


# Start URLs


@pytest.mark.parametrize("words", [(), ("--depth", "2")])
def test_without_a_start_url_it_says_how_to_give_one(words: tuple[str, ...], store: Path) -> None:
    run = crawl(store, *words)
    assert (run.code, run.out) == (2, "")
    assert "give a URL, as in: freki crawl https://example.com" in run.err
    assert not store.exists()


@pytest.mark.parametrize(
    ("url", "told"),
    [
        ("", "not a valid URL: ''"),
        ("http://", "not a valid URL: 'http://'"),
        ("http://a b/", "not a valid URL: 'http://a b/'"),
        ("http://[::1", "not a valid URL"),
        ("http://example.com:99999/", "not a valid URL"),
        ("http://\udcff/", "not a valid URL: 'http://\\udcff/'"),
        ("example.com", "(did you mean https://example.com?)"),
        ("localhost:8000", "(did you mean http://localhost:8000?)"),
        ("ftp://example.com/", "has the scheme 'ftp'; Freki crawls http and https"),
        ("file:///etc/passwd", "has the scheme 'file'"),
        ("javascript:alert(1)", "has the scheme 'javascript'"),
        ("http://me:secret@example.com/", "user name or password"),
        ("http://example.com/" + "a" * 9000, "the limit is 8192"),
    ],
)
def test_a_start_url_that_cannot_be_crawled_is_told(url: str, told: str, store: Path) -> None:
    run = crawl(store, url)
    assert (run.code, run.out) == (2, "")
    assert told in run.err
    assert "secret" not in run.err
    assert len(run.err.splitlines()) == 1
    assert not store.exists()


@pytest.mark.parametrize(
    ("path", "told"),
    [
        ("/missing", "gave no page (http_error: status 404)."),
        ("/broken", "gave no page (http_error: status 500)."),
        ("/circle", "redirects in a circle."),
        ("/self", "redirects in a circle."),
    ],
)
def test_a_start_url_that_gives_no_page_is_told(
    path: str, told: str, odd: Scripted, store: Path
) -> None:
    run = crawl(store, odd.url + path)
    assert f"The start URL {odd.url}{path} {told}\n" in run.out
    assert run.code == 7
    again = crawl(store, odd.url + path)
    assert "nothing was fetched now" in again.out
    assert again.code == 7


def test_a_circle_that_ends_with_a_cookie_is_none(store: Path) -> None:
    answers = iter([answer(302, location="/check"), page()])
    check = answer(302, location="/", set_cookie="seen=1")
    with background(scripted({"/": lambda: next(answers), "/check": check})) as site:
        run = crawl(store, f"{site.url}/")
    assert run.code == 0
    assert "redirects in a circle" not in run.out


def test_a_redirect_without_a_usable_target_is_told(odd: Scripted, store: Path) -> None:
    run = crawl(store, f"{odd.url}/nowhere")
    assert run.code == 7
    assert f"The start URL {odd.url}/nowhere " in run.out


def test_a_start_url_that_refuses_connections_is_told(store: Path) -> None:
    with background(scripted({})) as site:
        url = f"{site.url}/"
    run = crawl(store, url)
    assert run.code == 7
    assert f"The start URL {url} gave no page (connect: " in run.out


def test_a_start_url_that_must_not_be_reached_is_told_with_what_allows_it(store: Path) -> None:
    run = crawl(store, "http://127.0.0.1/", "--no-allow-private")
    assert run.code == 7
    told = "gave no page (blocked_address: 127.0.0.1: the address is not public"
    assert f"The start URL http://127.0.0.1/ {told}" in run.out
    assert "--allow-address" in run.out


@pytest.mark.parametrize("path", ["/paper", "/silence"])
def test_a_start_url_that_is_no_html_is_a_page_like_any_other(
    path: str, odd: Scripted, store: Path
) -> None:
    run = crawl(store, odd.url + path)
    assert run.code == 0
    assert stored(store) == [odd.url + path]


def test_a_start_url_that_redirects_to_another_host_is_followed_and_said(
    odd: Scripted, store: Path
) -> None:
    elsewhere = answer(302, location=f"{odd.url}/")
    with background(scripted({"/": elsewhere}, host="127.0.0.2")) as site:
        run = crawl(store, f"{site.url}/")
    told = f"The start URL {site.url}/ redirects to {odd.url}/; the crawl followed it there.\n"
    assert told in run.out
    assert run.code == 0
    assert stored(store) == [f"{odd.url}/", f"{odd.url}/other"]


def test_one_bad_start_url_among_good_ones_is_told_and_the_crawl_is_a_success(
    odd: Scripted, store: Path
) -> None:
    run = crawl(store, f"{odd.url}/", f"{odd.url}/missing")
    assert run.code == 0
    assert f"The start URL {odd.url}/missing gave no page" in run.out


# Files of start URLs


def test_bad_lines_of_a_seeds_file_are_told_by_number_and_the_others_crawled(
    odd: Scripted, store: Path, tmp_path: Path
) -> None:
    seeds = tmp_path / "seeds.txt"
    lines = ["# comment", f"{odd.url}/", "no url", "", f"  {odd.url}/other  ", "ftp://x/"]
    seeds.write_bytes("\r\n".join(lines).encode("utf-8-sig") + b"\r\n\xff\xfe\r\n")
    run = crawl(store, "--seeds", seeds, "--scope", "page", "--name", "few")
    assert [line.partition(":")[0] for line in run.err.splitlines()] == [
        f"{seeds}, line 3",
        f"{seeds}, line 6",
        f"{seeds}, line 7",
    ]
    assert run.code == 0
    assert stored(store) == [f"{odd.url}/", f"{odd.url}/other"]


def test_start_urls_can_come_from_standard_input(odd: Scripted, store: Path) -> None:
    words = ("crawl", "--store", store, *QUICK, "--seeds", "-", "--scope", "page")
    run = call(*words, given=f"{odd.url}/other\nno url\n")
    assert run.code == 0
    assert "-, line 2: not a valid URL" in run.err
    assert stored(store) == [f"{odd.url}/other"]


def test_a_seeds_file_without_a_single_good_line_is_an_error(store: Path, tmp_path: Path) -> None:
    seeds = tmp_path / "seeds.txt"
    seeds.write_text("no url\n")
    run = crawl(store, "--seeds", seeds)
    assert run.code == 2
    assert "none of the start URLs can be crawled" in run.err


def test_a_seeds_file_that_is_empty_missing_or_a_folder_is_an_error(
    store: Path, tmp_path: Path
) -> None:
    empty = tmp_path / "empty"
    empty.touch()
    assert "give a URL" in crawl(store, "--seeds", empty).err
    assert "No such file" in crawl(store, "--seeds", tmp_path / "missing").err
    assert "Is a directory" in crawl(store, "--seeds", tmp_path).err
    assert crawl(store, "--seeds", empty).code == 2
    assert crawl(store, "--seeds", tmp_path / "missing").code == 2


# Names


def test_sites_on_two_ports_of_a_host_are_two_crawls(odd: Scripted, store: Path) -> None:
    with background(scripted({"/": page()})) as other:
        crawl(store, f"{odd.url}/")
        run = crawl(store, f"{other.url}/")
        assert (run.code, run.err) == (0, "")
        assert freki("status", "--store", store, "--json").json["seeds"] == [f"{other.url}/"]


@pytest.mark.parametrize("name", ["", "a/b", "two\nlines", "\udcff", "n" * 101])
def test_a_name_that_cannot_be_is_told(name: str, odd: Scripted, store: Path) -> None:
    run = crawl(store, f"{odd.url}/", "--name", name)
    assert (run.code, run.out) == (2, "")
    assert "a name has 1 to 100 characters" in run.err


def test_a_name_alone_continues_a_crawl_and_begins_none(odd: Scripted, store: Path) -> None:
    run = crawl(store, "--name", "mine")
    assert run.code == 2
    assert "there is no crawl 'mine' to continue" in run.err
    assert crawl(store, f"{odd.url}/", "--name", "mine", "--max-pages", "1").code == 8
    assert crawl(store, "--name", "mine", "--max-pages", "9").code == 0
    assert len(stored(store)) == 2


# Limits, and going on


@pytest.mark.parametrize("concurrency", ["1", "16"])
def test_exactly_as_many_pages_are_stored_as_asked_for(
    concurrency: str, site: Site, store: Path
) -> None:
    for limit in (1, 2, 7, 30, 31, 100):
        run = crawl(
            store, site.url, "--max-pages", str(limit), "--concurrency", concurrency, "--json"
        )
        assert run.code == 8
        assert (run.json["pages"], run.json["status"]) == (limit, "limited")
        assert len(stored(store)) == limit


def test_a_limit_that_was_reached_is_not_crawled_again_and_said(site: Site, store: Path) -> None:
    first = crawl(store, site.url, "--max-pages", "5")
    assert "A limit was reached; the same command with a higher one continues.\n" in first.out
    requests = len(site.log)
    for limit in ("5", "4"):
        again = crawl(store, site.url, "--max-pages", limit)
        assert again.code == 8
        assert "reached its limit" in again.out
        assert "--max-pages N   continue with a higher limit\n" in again.out
    assert len(site.log) == requests


def test_a_limit_that_is_never_reached_is_no_limit(site: Site, store: Path) -> None:
    run = crawl(store, site.url, "--max-pages", "1000", "--json")
    assert (run.code, run.json["status"]) == (0, "finished")


def test_a_finished_crawl_is_said_to_be_over_and_not_crawled_again(site: Site, store: Path) -> None:
    first = crawl(store, site.url, "--json")
    requests = len(site.log)
    again = crawl(store, site.url)
    assert (again.code, again.err) == (0, "")
    assert "finished at" in again.out
    assert f"with {first.json['pages']} pages; nothing was fetched now.\n" in again.out
    assert "--again" in again.out
    assert crawl(store, site.url, "--json").json == first.json
    assert crawl(store, site.url, "--quiet") == (0, "", "")
    assert len(site.log) == requests


def test_again_makes_a_new_run_and_keeps_the_old_one(odd: Scripted, store: Path) -> None:
    crawl(store, f"{odd.url}/")
    run = crawl(store, f"{odd.url}/", "--again", "--json")
    assert (run.code, run.json["run"], run.json["pages"]) == (0, 2, 2)
    by_name = freki(
        "crawl", "--store", store, *QUICK, "--again", "--json", "--name", run.json["crawl"]
    )
    assert by_name.json["run"] == 3


def test_a_further_start_url_continues_a_finished_crawl(odd: Scripted, store: Path) -> None:
    crawl(store, f"{odd.url}/other", "--name", "mine")
    run = crawl(store, f"{odd.url}/paper", "--name", "mine")
    assert "Continuing crawl 'mine'" in run.err
    assert stored(store) == [f"{odd.url}/other", f"{odd.url}/paper"]


def test_a_crawl_goes_on_with_the_options_it_had(site: Site, store: Path) -> None:
    crawl(store, site.url, "--depth", "1", "--max-pages", "3")
    run = crawl(store, site.url, "--max-pages", "1000", "--json")
    assert run.json["reasons"]["refused"]["depth"] > 0


# What is printed


def test_quiet_says_nothing_where_all_goes_well(site: Site, store: Path) -> None:
    assert crawl(store, site.url, "--quiet") == (0, "", "")


def test_quiet_does_not_silence_errors(store: Path) -> None:
    assert "not a valid URL" in crawl(store, "no url", "--quiet").err


def test_json_is_one_object_and_nothing_else(site: Site, store: Path) -> None:
    crawl(store, site.url, "--max-pages", "10")
    run = crawl(store, site.url, "--max-pages", "20", "--json")
    assert "Continuing" in run.err
    assert len(run.out.splitlines()) == 1
    assert list(run.json) == [
        "crawl",
        "run",
        "status",
        "store",
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
        "traps",
    ]


def test_the_summary_names_where_the_crawl_is_and_how_to_look_at_it(
    odd: Scripted, store: Path
) -> None:
    run = crawl(store, f"{odd.url}/", "--name", "two words")
    assert run.out.startswith("two words: finished after ")
    last = run.out.splitlines()[-1]
    assert last.startswith(f"Kept in {store}. More: freki pages 'two words' --store {store}, ")


def test_one_page_is_not_called_pages(odd: Scripted, store: Path) -> None:
    assert ", 1 page (" in crawl(store, f"{odd.url}/other").out


def test_options_come_from_the_file_the_environment_and_the_command_in_this_order(
    site: Site, store: Path, tmp_path: Path
) -> None:
    file = tmp_path / "freki.toml"
    file.write_text("[scope]\nmax_pages = 3\n[politeness]\ndelay = 0\n")
    words = ("crawl", "--store", store, site.url, "--config", file, "--json")
    environment = {"FREKI_MAX_PAGES": "5"}
    assert freki(*words).json["pages"] == 3
    assert call(*words, variables=environment).json["pages"] == 5
    assert call(*words, "--max-pages", "7", variables=environment).json["pages"] == 7


def test_a_page_is_fetched_once_however_often_it_is_linked(store: Path) -> None:
    with background(serve(Web(seed=9, pages=60, messy=0.9))) as site:
        assert crawl(store, site.url).code == 0
        paths = [access.path for access in site.log]
        assert sorted(paths) == sorted(
            {"/robots.txt", "/sitemap.xml", "/sitemap_index.xml", *site.web.expected()}
        )
