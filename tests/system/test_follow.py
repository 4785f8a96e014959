"""Exports that grow with a crawl, and whatever kills it: every row once, and no half file."""

import os
import random
import signal
import time
from pathlib import Path
from subprocess import DEVNULL, Popen

import msgspec
from tests.background import background
from tests.command import Run, call, ended, freki, start

from freki.testing.server import serve
from freki.testing.synthetic import Web

SPIDER = """
import freki

class Halls(freki.Spider):
    name = "halls"

    def parse(self, page):
        yield {"url": page.url, "title": page.title}
        yield from page.follow_all(page.css("a"))
"""

FILES = ("items.jsonl", "pages.jsonl", "links.csv", "site.warc.gz", "pages.parquet")


def exports(folder: Path) -> list[str | Path]:
    return [word for name in FILES for word in ("--export", folder / name)]


def urls(path: Path) -> list[str]:
    lines = path.read_bytes().splitlines()
    return sorted(msgspec.json.decode(line)["url"] for line in lines)


def whole(folder: Path, store: Path, name: str) -> None:
    """Every page of the store is there once, in each file, and nothing is left beside them."""
    told = freki("pages", name, "--store", store, "--format", "jsonl").out.splitlines()
    pages = sorted(msgspec.json.decode(line)["url"] for line in told)
    assert urls(folder / "pages.jsonl") == pages
    assert urls(folder / "items.jsonl") == pages
    assert sorted(path.name for path in folder.iterdir()) == sorted(FILES)
    fresh = folder / "again"
    fresh.mkdir()
    for file in FILES:
        made = freki("export", fresh / file, "--name", name, "--store", store, "--quiet")
        assert made.code == 0
    for file in ("items.jsonl", "pages.jsonl", "links.csv"):
        assert (folder / file).read_bytes() == (fresh / file).read_bytes()


def test_files_are_there_when_the_crawl_ends(tmp_path: Path) -> None:
    (tmp_path / "halls.py").write_text(SPIDER)
    out = tmp_path / "out"
    out.mkdir()
    store = tmp_path / "freki.db"
    with background(serve(Web(pages=150))) as site:
        run = freki(
            "crawl", site.url, "--spider", tmp_path / "halls.py", "--delay", "0",
            "--store", store, *exports(out),
        )  # fmt: skip
    assert run.code == 0, run.err
    assert f"{out}/items.jsonl: 150 rows" in run.err
    whole(out, store, "halls")


def test_a_crawl_that_is_killed_again_and_again_ends_with_every_row_once(tmp_path: Path) -> None:
    (tmp_path / "halls.py").write_text(SPIDER)
    out, store, dice = tmp_path / "out", tmp_path / "freki.db", random.Random(7)
    out.mkdir()
    # So slow that no machine is done before the last kill.
    with background(serve(Web(pages=900, delay=0.02))) as site:
        words: list[str | Path] = [
            "crawl", site.url, "--spider", tmp_path / "halls.py", "--delay", "0",
            "--concurrency", "4",
            "--store", store, "--quiet", *exports(out),
        ]  # fmt: skip
        for _ in range(3):
            process = start(*words, stdin=DEVNULL, stdout=DEVNULL, stderr=DEVNULL)
            _kill_under_way(process, out, dice.uniform(0.0, 0.7))
            assert not [name for name in FILES if (out / name).exists()]
        run = call(*words)
    assert run.code == 0, run.err
    whole(out, store, "halls")


def _kill_under_way(process: Popen[str], out: Path, later: float) -> None:
    """When rows are being written, and a while later; not after the end."""
    with process:
        before = sum(path.stat().st_size for path in out.iterdir())
        while process.poll() is None and _size(out) <= before:
            time.sleep(0.01)
        until = time.monotonic() + later
        while process.poll() is None and time.monotonic() < until:
            time.sleep(0.01)
        os.kill(process.pid, signal.SIGKILL)


def _size(folder: Path) -> int:
    sizes = 0
    for path in folder.iterdir():
        try:
            sizes += path.stat().st_size
        except FileNotFoundError:  # a note that was just replaced
            continue
    return sizes


def test_ctrl_c_leaves_parts_and_the_same_command_goes_on(tmp_path: Path) -> None:
    out, store = tmp_path / "out", tmp_path / "freki.db"
    out.mkdir()
    with background(serve(Web(pages=400))) as site:
        words: list[str | Path] = [
            "crawl", site.url, "--delay", "0.01", "--store", store,
            "--export", out / "pages.jsonl",
        ]  # fmt: skip
        process = start(*words)
        while _size(out) == 0:
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        assert ended(process).code == 130
        assert [path.name for path in out.iterdir() if path.suffix == ".jsonl"] == []
        assert (out / "pages.jsonl.part").exists()
        run: Run = call(*words[:3], "0", *words[4:])
    assert run.code == 0
    assert len(set(urls(out / "pages.jsonl"))) == len(urls(out / "pages.jsonl")) == 400


def test_a_crawl_that_is_over_still_gives_its_files(tmp_path: Path) -> None:
    store = tmp_path / "freki.db"
    with background(serve(Web(pages=20))) as site:
        words: list[str | Path] = ["crawl", site.url, "--delay", "0", "--store", store, "--export"]
        assert freki(*words, tmp_path / "pages.jsonl").code == 0
        before = (tmp_path / "pages.jsonl").read_bytes()
        run = freki(*words, tmp_path / "pages.jsonl", "--export", tmp_path / "links.csv")
    assert (run.code, (tmp_path / "pages.jsonl").read_bytes()) == (0, before)
    assert (tmp_path / "links.csv").read_bytes().startswith(b"source,target,")


def test_a_file_that_cannot_be_written_is_told_before_the_crawl(tmp_path: Path) -> None:
    (tmp_path / "pages.jsonl").write_text("mine")
    with background(serve(Web(pages=5))) as site:
        for file in (tmp_path / "pages.jsonl", tmp_path / "no" / "a.csv", tmp_path / "a.xls"):
            run = freki(
                "crawl", site.url, "--store", tmp_path / "freki.db", "--export", file, "--quiet"
            )
            assert run.code == 2
        assert list(site.log) == []
    assert (tmp_path / "pages.jsonl").read_text() == "mine"


def test_a_file_that_fails_under_way_costs_no_page(tmp_path: Path) -> None:
    (tmp_path / "links.csv.part").symlink_to("/dev/full")
    with background(serve(Web(pages=60))) as site:
        run = freki(
            "crawl", site.url, "--delay", "0", "--store", tmp_path / "freki.db",
            "--export", tmp_path / "links.csv", "--export", tmp_path / "pages.jsonl",
        )  # fmt: skip
    assert run.code == 4
    assert "links.csv: there is no room left; free some, then run the same command" in run.err
    assert "60 pages" in run.out
    assert len(urls(tmp_path / "pages.jsonl")) == 60
    assert not (tmp_path / "links.csv").exists()
