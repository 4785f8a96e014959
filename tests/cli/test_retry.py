"""`freki retry`: what ended badly is tried again by the next crawl."""

from pathlib import Path

import pytest
from tests.background import background
from tests.command import freki
from tests.system.scripted import answer, page, scripted


def test_what_ended_is_put_back_and_the_hint_continues_the_crawl(store: Path) -> None:
    script = {"/": page("/ill"), "/ill": answer(500, b"ill")}
    with background(scripted(script)) as site:
        words = ("--delay", "0", "--attempts", "1")
        freki("crawl", "--store", store, *words, "--name", "two words", f"{site.url}/")
        run = freki("retry", "--store", store, "--status", "5xx")
        assert (run.code, run.out) == (0, "1 URL of crawl 'two words' will be tried again.\n")
        assert run.err.endswith(f"freki crawl --name 'two words' --store {store}\n")
        assert freki("status", "--store", store, "--json").json["waiting"] == 1
        assert freki("check", store).code == 0

        site.script = {**script, "/ill": page()}
        again = freki("crawl", "--store", store, "--name", "two words", "--json")
        assert (again.code, again.json["pages"]) == (0, 2)
        assert again.json["reasons"] == {"done": {"ok": 2, "sitemap": 2}}


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ((), "which URLs? give --outcome, --reason, --status or --host"),
        (("--reason", "timeot"), "did you mean timeout?"),
        (("other", "--outcome", "failed"), "there is no crawl 'other'"),
    ],
)
def test_what_makes_no_sense_is_told(words: tuple[str, ...], told: str, store: Path) -> None:
    with background(scripted({"/": page()})) as site:
        freki("crawl", "--store", store, "--delay", "0", f"{site.url}/")
    run = freki("retry", "--store", store, *words)
    assert (run.code, run.out) == (2, "")
    assert told in run.err


def test_without_a_store_none_is_made(store: Path) -> None:
    assert freki("retry", "--store", store, "--outcome", "failed").code == 3
    assert not store.exists()
