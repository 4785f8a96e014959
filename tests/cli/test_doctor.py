"""`freki doctor`: what the machine has and lacks."""

import resource
from pathlib import Path

from tests.command import call, freki

from freki.cli.doctor import Finding

SUBJECTS = ["Python", "libcurl", "SQLite", "event loop", "pages", "host names",
    "open files", "room", "browser", "fonts",
]  # fmt: skip


def test_it_looks_at_everything_a_crawl_needs(store: Path) -> None:
    run = freki("doctor", "--store", store)
    assert (run.code, run.err) == (0, "")
    told = [line for line in run.out.splitlines() if line[:2] in ("ok", "--")]
    assert [line[4:18].strip() for line in told] == SUBJECTS


def test_what_is_missing_comes_with_advice(tmp_path: Path) -> None:
    run = freki("doctor", "--store", tmp_path / "nowhere" / "freki.db")
    assert f"--  room          {tmp_path / 'nowhere'} does not exist\n" in run.out
    assert "create it, or name another with --store" in run.out


def test_a_small_limit_on_open_files_is_told(store: Path) -> None:
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    few = ("sh", "-c", 'ulimit -S -n 100; exec "$@"', "sh")
    run = call("doctor", "--store", store, before=few)
    assert "--  open files    100 at once\n" in run.out
    assert f"(the hard limit is {hard})" in run.out


def test_a_finding_is_good_as_long_as_there_is_nothing_to_do() -> None:
    assert Finding("room", "plenty").is_good
    assert not Finding("room", "none", "free some").is_good
