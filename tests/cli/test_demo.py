"""`freki demo`: a whole crawl without the internet."""

from pathlib import Path

import pytest
from tests.command import call, freki


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """The folder it ran in, and what it said."""
    folder = tmp_path_factory.mktemp("demo")
    run = call("demo", cwd=folder)
    assert (run.code, run.err) == (0, "")
    return folder, run.out


def test_it_shows_a_crawl_with_something_to_explain(demo: tuple[Path, str]) -> None:
    folder, shown = demo
    assert "demo: finished after " in shown
    assert "The Library of Halls" in shown
    status = freki("status", "--store", folder / "freki-demo.db", "--json").json
    assert status["pages"] > 200
    assert {"ok", "redirect", "http_error"} <= set(status["reasons"]["done"])
    assert status["waiting"] == status["failed"] == 0


def test_the_command_it_proposes_works(demo: tuple[Path, str]) -> None:
    folder, shown = demo
    proposed = shown.rsplit("Try: freki ", 1)[1].split()
    run = call(*proposed, cwd=folder)
    assert run.code == 0
    assert " 404 " in run.out
