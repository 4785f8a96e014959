"""`freki robots`: which line of a robots.txt decides."""

from pathlib import Path

from tests.background import background
from tests.command import freki
from tests.system.scripted import answer, scripted

RULES = """\
User-agent: *
Disallow: /private/
Allow: /private/public.html
Crawl-delay: 3
Sitemap: https://example.com/\x1b[31mmap.xml
"""


def test_the_line_that_decides_is_named(tmp_path: Path) -> None:
    file = tmp_path / "robots.txt"
    file.write_text(RULES)
    run = freki("robots", file, "/private/", "/private/public.html", "https://example.com/")
    assert run.code == 1
    assert "crawl-delay: 3 s\n" in run.out
    assert "refused  /private/  (line 2: " in run.out
    assert "allowed  /private/public.html  (line 3: " in run.out
    assert "allowed  /  (no rule)" in run.out
    assert "\x1b" not in run.out
    assert freki("robots", file, "/").code == 0


def test_the_rules_of_a_site_are_fetched() -> None:
    script = {"/robots.txt": answer(200, b"User-agent: *\nDisallow: /a\n")}
    with background(scripted(script)) as site:
        assert freki("robots", f"{site.url}/", "/a", "/b").code == 1
        assert freki("robots", f"{site.url}/", "/b").code == 0


def test_what_the_status_of_a_robots_txt_means_is_said() -> None:
    with background(scripted({})) as site:
        run = freki("robots", f"{site.url}/", "/a")
        assert (run.code, "status 404, so everything may be fetched" in run.out) == (0, True)
    with background(scripted({"/robots.txt": answer(503)})) as site:
        run = freki("robots", f"{site.url}/", "/a")
        assert (run.code, "status 503, so nothing may be fetched" in run.out) == (1, True)


def test_half_a_robots_txt_allows_nothing() -> None:
    with background(scripted({"/robots.txt": answer(200, b"Disallow:")[:-1]})) as site:
        run = freki("robots", f"{site.url}/", "/a")
        assert (run.code, "no whole answer, so nothing may be fetched" in run.out) == (1, True)


def test_letters_that_a_url_escapes_are_told_as_typed_too_where_that_differs(
    tmp_path: Path,
) -> None:
    file = tmp_path / "robots.txt"
    file.write_text("User-agent: *\nDisallow: /\nAllow: /foo/bar/ツ\n")
    run = freki("robots", file, "https://example.com/foo/bar/ツ")
    assert run.code == 1
    assert "allowed  /foo/bar/%E3%83%84  (line 3: " in run.out
    assert "refused  /foo/bar/ツ  (line 2: " in run.out
    file.write_text("User-agent: *\nDisallow: /\n")
    assert (
        "refused  /%E3%83%84  (line 2: Disallow: /)\n"
        in freki("robots", file, "https://example.com/ツ").out
    )


def test_a_url_longer_than_any_that_is_crawled_can_be_asked_about(tmp_path: Path) -> None:
    file = tmp_path / "robots.txt"
    file.write_text("User-agent: *\nDisallow: /x\n")
    assert freki("robots", file, f"https://example.com/x{'y' * 20_000}").code == 1


def test_what_cannot_be_asked_is_told(tmp_path: Path) -> None:
    with background(scripted({})) as site:
        url = f"{site.url}/"
    for source in (url, "http://[::1", str(tmp_path / "missing"), str(tmp_path)):
        run = freki("robots", source, "/a")
        assert (run.code, run.out) == (2, "")
        assert len(run.err.splitlines()) == 1
