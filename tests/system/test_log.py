"""What a crawl without a terminal writes to its log."""

import re
import shutil
from pathlib import Path

import pytest
from tests.background import background
from tests.command import call

from freki.testing.server import serve
from freki.testing.synthetic import Web

LINE = re.compile(r"[\d,]+ pages, [\d,.]+/s, [\d,]+ to do, [\d,]+ failed, [\d.]+ [KMG]?B")


def test_a_line_every_few_seconds_goes_to_standard_error(tmp_path: Path) -> None:
    program = shutil.which("faketime")
    if program is None:
        pytest.fail("faketime is missing: sudo apt-get install --yes faketime", pytrace=False)
    faster = (program, "-f", "+0 x20")  # a second of the test is twenty of the crawl
    with background(serve(Web(pages=20, delay=0.05))) as site:
        words = ("--delay", "0", "--concurrency", "1", "--json", site.url)
        run = call("crawl", "--store", tmp_path / "freki.db", *words, before=faster)
    assert (run.code, run.json["pages"]) == (0, 20)
    lines = run.err.splitlines()
    assert len(lines) > 1
    assert all(LINE.fullmatch(line) for line in lines)
