"""A crawl of a site that scripts make finds all of it, and a plain one starts no browser."""

from collections import Counter
from contextlib import closing
from pathlib import Path

from tests.background import background
from tests.command import freki

from freki.fetch.browser.look import opened
from freki.ledger import captures
from freki.ledger.store import open_store
from freki.testing.scenes import PLAIN, Scene, stage

APP = """
const at = Number(new URLSearchParams(location.search).get('at') ?? 0);
document.title = 'Page ' + at;
const links = [2 * at + 1, 2 * at + 2].filter((next) => next < 15)
  .map((next) => `<a href="?at=${next}">${next}</a>`).join(' ');
setTimeout(() => {
  document.getElementById('root').innerHTML = `<h1>Page ${at}</h1>${'words '.repeat(50)}${links}`;
}, 30);
"""
MADE_BY_SCRIPTS = {
    "": Scene(body=b"<!doctype html><div id=root></div><script src=made.js></script>"),
    "made.js": Scene(body=APP.encode(), kind="text/javascript"),
}


def test_all_of_a_script_built_site_is_found_by_auto(tmp_path: Path) -> None:
    store = tmp_path / "freki.db"
    with background(stage(MADE_BY_SCRIPTS)) as site:
        run = freki(
            "crawl", site.url(""), "--render", "auto", "--screenshot-of", "*at=1*",
            "--delay", "0", "--ignore-robots", "--store", store, "--json",
        )  # fmt: skip
        asked = Counter(path for path, _ in site.asked if path != "/made.js")
    assert run.json["pages"] == 15, run
    assert set(asked.values()) == {1}, asked
    assert run.json["reasons"] == {"done": {"ok": 15}}
    titles = {line.split(",")[-1] for line in freki("pages", "--store", store).out.splitlines()}
    assert any("Page 14" in title for title in titles)
    with closing(open_store(store)) as db:
        seen = [line for line in captures.renderings(db, captures.Wanted()) if line.captures]
        assert len(seen) == 6  # 1, and 10 to 14
        picture = captures.picture(db, bytes.fromhex(seen[0].captures[0].sha256))
    assert picture is not None
    assert opened(picture.data).size == (1280, 800)


def test_a_plain_site_is_not_rendered_at_all(tmp_path: Path) -> None:
    store = tmp_path / "freki.db"
    pages = {"": Scene(body=b"<a href=plain>1</a><a href=fonts>2</a>"), **PLAIN}
    with background(stage(pages)) as site:
        run = freki(
            "crawl", site.url(""), "--render", "auto", "--delay", "0", "--ignore-robots",
            "--store", store, "--json",
        )  # fmt: skip
        agents = {headers.get("user-agent", "") for _, headers in site.asked}
    assert run.json["pages"] == 3, run
    assert not any("Mozilla" in agent for agent in agents)
    with closing(open_store(store)) as db:
        assert list(captures.renderings(db, captures.Wanted())) == []


def test_a_crawl_uses_the_browser_that_is_named(tmp_path: Path) -> None:
    run = freki(
        "crawl", "http://127.0.0.1:9/", "--render", "auto", "--browser", tmp_path / "none",
        "--store", tmp_path / "freki.db",
    )  # fmt: skip
    assert run.code == 5
    assert f"{tmp_path / 'none'}: this is no program" in run.err
