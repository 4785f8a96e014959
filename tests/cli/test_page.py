"""One page at a time, and a first project: the first minutes of who writes a spider."""

import subprocess
import sys
from pathlib import Path

import pytest
from tests.background import background
from tests.command import ENVIRONMENT, freki
from tests.system.scripted import answer, scripted

from freki.testing.spiders import saved

PAGE = b"""<title>A shop</title><h1>Books</h1>
<ul><li class="book">Emma <li class="book">Kidnapped</ul><a href="/more">more</a>
<script type="application/ld+json">{"@type": "Book", "name": "Emma"}</script>"""
SCRIPT = {
    "/": answer(200, PAGE, content_type="text/html", x_who="me", set_cookie="a=1"),
    "/old": answer(302, location="/"),
    "/gone": answer(410, b"gone", content_type="text/plain"),
}


@pytest.mark.parametrize(
    ("words", "out"),
    [
        (("--css", "li.book"), "Emma\nKidnapped\n"),
        (("--css", "a::attr(href)"), "/more\n"),
        (("--xpath", "count(//li)"), "2\n"),
        (("--links",), "{url}/more\n"),
        (("--markdown",), "# Books\n"),
        (("--headers",), "200 {url}/\n"),
        (("--data",), '"name": "Emma"'),
        ((), "<title>A shop</title>"),
    ],
)
def test_fetch_prints_what_was_asked_for(words: tuple[str, ...], out: str) -> None:
    with background(scripted(SCRIPT)) as site:
        run = freki("fetch", f"{site.url}/old", *words)
        assert (run.code, run.err) == (0, "")
        assert out.format(url=site.url) in run.out


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        (("/", "--css", "table"), 1, "nothing matches on"),
        (("/", "--css", "div["), 2, "the CSS selector 'div[' cannot be used"),
        (("/gone",), 7, "answered with status 410"),
        (("/", "--header", "oops"), 2, "write it as NAME: VALUE"),
        (("/", "--timeout", "soon"), 2, "--timeout"),
        (("/", "--css", "a", "--links"), 2, "not allowed with"),
    ],
)
def test_fetch_tells_what_went_wrong(words: tuple[str, ...], code: int, told: str) -> None:
    with background(scripted(SCRIPT)) as site:
        run = freki("fetch", f"{site.url}{words[0]}", *words[1:])
    assert run.code == code
    assert told in run.err


def test_where_nothing_answers_it_is_told() -> None:
    run = freki("fetch", "http://127.0.0.1:1024/")
    assert run.code == 7
    assert "gave no answer (connect" in run.err


def test_a_saved_page_is_read_again_without_its_cookies(tmp_path: Path) -> None:
    path = tmp_path / "start.page"
    with background(scripted(SCRIPT)) as site:
        assert freki("save", f"{site.url}/", str(path)).code == 0
        page = saved(path)
        assert (page.url, page.status, page.body) == (f"{site.url}/", 200, PAGE)
        assert freki("save", f"{site.url}/", str(path)).code == 2
    assert page.header("x-who") == "me"
    assert page.header("set-cookie") is None
    assert page.css("li.book").texts == ["Emma", "Kidnapped"]


def python(*words: str, cwd: Path, typed: str = "") -> subprocess.CompletedProcess[str]:
    """A program of its own, in a folder."""
    return subprocess.run(
        [sys.executable, "-m", *words], input=typed, cwd=cwd, env=ENVIRONMENT,
        capture_output=True, text=True, check=False,
    )  # fmt: skip


def test_the_shell_has_the_page_at_hand(tmp_path: Path) -> None:
    with background(scripted(SCRIPT)) as site:
        typed = f"print(page.css('h1').text)\nprint(fetch('{site.url}/gone').status)\n"
        run = python("freki", "shell", f"{site.url}/", cwd=tmp_path, typed=typed)
    assert "Books" in run.stdout
    assert "410" in run.stdout


def test_a_new_project_passes_its_test_and_crawls(tmp_path: Path) -> None:
    project = tmp_path / "my-books"
    with background(scripted(SCRIPT)) as site:
        made = python("freki", "new", "my-books", f"{site.url}/", cwd=tmp_path)
        assert "freki crawl --spider my_books.py" in made.stdout
        tested = python("pytest", "-q", cwd=project)
        assert "1 passed" in tested.stdout, tested.stdout
        crawl = ("crawl", "--spider", "my_books.py", "--delay", "0", "--quiet")
        assert python("freki", *crawl, cwd=project).returncode == 0
        items = freki("items", "--store", str(project / "freki.db"), "--format", "jsonl")
    assert '"title":"Books"' in items.out
    strict = ("mypy", "--strict", "--cache-dir", str(tmp_path), "my_books.py")
    checked = python(*strict, cwd=project)
    assert checked.returncode == 0, checked.stdout


@pytest.mark.parametrize(("name", "told"), [("1st", "is no name"), ("class", "a word of Python")])
def test_names_that_cannot_be_are_told(name: str, told: str) -> None:
    run = freki("new", name)
    assert run.code == 2
    assert told in run.err
