"""`freki shot` as far as it needs no browser."""

import asyncio
import os
from pathlib import Path

import pytest
from tests.command import freki

from freki.cli.files import write_file
from freki.cli.shot import AT_ONCE, Names, Target, _line, visit_in_order
from freki.errors import BadInput
from freki.messages import Reason
from freki.pictures import Capture, Picture, Shot, Unrendered, Viewport
from freki.testing.render import FakeBrowser

CAPTURE = Capture(picture=Picture(data=b"", format="webp"), viewport=Viewport())


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["http://a/", "http://b/", "-o", "one.png"], "name a folder"),
        (["http://a/", "-o", "no/such/one.png"], "create it first"),
        (["http://a/", "-o", "one.png", "--format", "jpeg"], "does not fit"),
        (["http://a/", "-o", "x", "--viewport", "wide"], "as 1280x800"),
        (["http://a/", "-o", "x", "--viewport", "99999x1"], "as 1280x800"),
        (["http://a/", "-o", "x", "--header", "no colon"], "Name: value"),
        (["http://a/", "-o", "x", "--header", "Host: b"], "not yours to set"),
        (["http://a/", "-o", "x", "--quality", "101"], "from 1 to 100"),
        (["http://a/", "-o", "x", "--timeout", "0"], "0.1 seconds at least"),
        (["http://a/", "-o", "x", "--delay", "-1"], "from 0 on"),
        (["http://a/", "-o", "x", "--max-height", "0"], "from 1 on"),
        (["http://a/", "-o", "x", "--browsers", "none"], "from 1 on"),
        (["http://a/", "-o", "/proc/nowhere"], "cannot be written"),
    ],
)
def test_wrong_options_are_told_before_a_browser_starts(words: list[str], says: str) -> None:
    run = freki("shot", *words)
    assert run.code == 2
    assert says in run.err


def test_a_missing_browser_names_the_command_that_installs_one(tmp_path: Path) -> None:
    run = freki("shot", "http://a/", "-o", tmp_path / "a.png", "--browser", "/no/such/program")
    assert run.code == 5
    assert "apt-get install chromium-headless-shell" in run.err


def test_a_name_is_of_its_url_and_never_taken_twice() -> None:
    names = Names(Target(Path("out"), is_file=False), Shot(url=""))
    urls = [
        "http://a/x?y=1",
        "http://a/x-y=1",
        "http://a/../../etc/passwd",
        f"http://a/{'x' * 300}",
    ]
    made = [names.of(url, CAPTURE) for url in urls]
    assert len(set(made)) == len(made)
    assert made[0] == Path("out/a-x-y-1.webp")
    assert all(path.parent == Path("out") and len(path.name) < 120 for path in made)


def test_tiles_and_windows_are_in_the_name() -> None:
    phone = Viewport(name="iphone")
    wish = Shot(url="", viewports=(Viewport(), phone))
    names = Names(Target(Path("a.png"), is_file=True), wish)
    tile = Capture(picture=CAPTURE.picture, viewport=phone, tile=1, tiles=3)
    assert names.of("http://a/", tile) == Path("a-iphone-2.png")
    assert names.of("http://a/", CAPTURE) == Path("a-1280x800.png")


def test_a_failure_has_a_line_without_files() -> None:
    line = _line(Unrendered(url="http://a/", reason=Reason.oom, detail="much"), [], [])
    assert (line.reason, line.detail, line.status, line.files) == ("oom", "much", None, [])


def test_a_picture_is_whole_or_not_there(tmp_path: Path) -> None:
    path = tmp_path / "a.png"
    write_file(path, b"whole")
    path.with_name("a.png.part").mkdir()  # so that nothing can be written beside it
    with pytest.raises(BadInput, match="cannot be written"):
        write_file(path, b"another")
    assert path.read_bytes() == b"whole"


def test_many_urls_are_seen_in_their_order_and_few_at_once() -> None:
    browser = FakeBrowser(latency=lambda url: 0.001 * (len(url) % 3))
    urls = [f"http://a/{number}" for number in range(200)]

    seen: list[str] = []
    wishes = (Shot(url=url) for url in urls)
    asyncio.run(visit_in_order(browser, wishes, lambda each, at: seen.append(each.url)))
    assert seen == urls
    assert browser.most_at_once <= AT_ONCE


def test_a_pipe_is_written_to_and_not_replaced(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reading = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    write_file(pipe, b"picture")
    assert os.read(reading, 100) == b"picture"
    assert pipe.is_fifo()
    os.close(reading)
