"""Options: written down once, and understood or refused with what was probably meant."""

from pathlib import Path

import pytest
from tests.command import Run, call, freki

from freki import config
from freki.cli.crawl import parser

URL = "http://127.0.0.1:1/"


def crawl(*words: str | Path) -> Run:
    """For what is refused before anything is fetched or made."""
    run = freki("crawl", URL, *words)
    assert (run.code, run.out) == (2, "")
    return run


def test_every_setting_is_an_option_of_crawl_with_a_text() -> None:
    help_text = parser("crawl").format_help()
    for option in config.options():
        assert f"  {option.flag}" in help_text
        assert option.help


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--dept", "2"], "there is no option --dept (did you mean --depth?)"),
        (["--max-page=2"], "there is no option --max-page (did you mean --max-pages?)"),
        (["--qiet"], "there is no option --qiet (did you mean --quiet?)"),
        (["--xyzzy"], "there is no option --xyzzy\n"),
        (["--depth"], "argument --depth: expected one argument"),
        (["--scope", "universe"], "invalid choice: 'universe' (choose from 'page',"),
        (["--http", "4"], "invalid choice: '4'"),
    ],
)
def test_a_wrong_word_is_told_with_what_was_probably_meant(words: list[str], told: str) -> None:
    run = crawl(*words)
    assert told in run.err
    assert "freki crawl --help explains the options" in run.err


def test_a_word_too_many_is_told() -> None:
    run = freki("status", "one", "two")
    assert run.code == 2
    assert "what is 'two' for?" in run.err


@pytest.mark.parametrize(
    "words",
    [
        ["--depth", "two"],
        ["--depth", "-1"],
        ["--depth", "1.5"],
        ["--depth", ""],
        ["--depth", "9" * 30],
        ["--max-pages", "0"],
        ["--delay", "-1"],
        ["--delay", "nan"],
        ["--delay", "inf"],
        ["--delay", "soon"],
        ["--timeout", "0"],
        ["--timeout", "1e300"],
        ["--concurrency", "0"],
        ["--attempts", "0"],
        ["--max-body", "10MB"],
        ["--user-agent", ""],
        ["--user-agent", "two\nlines"],
        ["--user-agent", "wölfe"],
    ],
)
def test_a_value_of_the_wrong_type_or_range_is_told_with_its_option(
    words: list[str], tmp_path: Path
) -> None:
    store = tmp_path / "freki.db"
    run = crawl(*words, "--store", store)
    assert words[0] in run.err
    assert len(run.err.splitlines()) == 1
    assert not store.exists()


def test_a_type_is_told_in_words() -> None:
    assert crawl("--depth", "two").err == "freki crawl: --depth: expected a whole number\n"
    assert crawl("--depth", "-1").err == "freki crawl: --depth: expected a whole number >= 0\n"
    assert crawl("--delay", "soon").err == "freki crawl: --delay: expected a number\n"


def test_a_pattern_that_is_none_is_told_before_a_store_is_made(tmp_path: Path) -> None:
    store = tmp_path / "freki.db"
    assert "the pattern 're:(' cannot be used" in crawl("--include", "re:(", "--store", store).err
    assert not store.exists()


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[scop]\ndepth = 1\n", "unknown table or key 'scop' (did you mean scope?)"),
        ("[scope]\ndeph = 1\n", "unknown key 'deph' in [scope] (did you mean depth?)"),
        ("depth = 1\n", "unknown table or key 'depth' (it belongs under [scope])"),
        ("dept = 1\n", "unknown table or key 'dept' (did you mean depth under [scope]?)"),
        ("[politeness]\ndepth = 1\n", "'depth' in [politeness] (it belongs under [scope])"),
        ("[politeness]\ndept = 1\n", "[politeness] (did you mean depth under [scope]?)"),
        ("scope = 1\n", "[scope] must be a table"),
        ("[scope]\ndepth = 'deep'\n", "freki.toml: depth in [scope]: expected a whole number"),
        ("[scope]\ndepth = -1\n", "freki.toml: depth in [scope]: expected a whole number >= 0"),
        ("[scope\n", "is not valid TOML: "),
        ("[scope]\ndepth = 1\ndepth = 2\n", "is not valid TOML: "),
    ],
)
def test_a_configuration_file_is_read_strictly(text: str, told: str, tmp_path: Path) -> None:
    file = tmp_path / "freki.toml"
    file.write_text(text)
    run = crawl("--config", file)
    assert told in run.err
    assert len(run.err.splitlines()) == 1


def test_a_configuration_file_that_is_no_text_or_no_file_is_told(tmp_path: Path) -> None:
    file = tmp_path / "freki.toml"
    file.write_bytes(b"\xff\xfe")
    assert "is not valid TOML" in crawl("--config", file).err
    assert "cannot read" in crawl("--config", tmp_path).err
    assert "No such file" in crawl("--config", tmp_path / "missing").err


@pytest.mark.parametrize(
    ("variable", "value", "told"),
    [
        ("FREKI_DEPHT", "1", "unknown variable FREKI_DEPHT (did you mean FREKI_DEPTH?)"),
        ("FREKI_XYZZY", "1", "unknown variable FREKI_XYZZY\n"),
        ("FREKI_DEPTH", "deep", "FREKI_DEPTH: expected a whole number\n"),
        ("FREKI_INSECURE", "perhaps", "FREKI_INSECURE: expected true or false\n"),
    ],
)
def test_a_variable_of_ours_is_read_strictly(variable: str, value: str, told: str) -> None:
    run = call("crawl", URL, variables={variable: value})
    assert (run.code, run.out) == (2, "")
    assert told in run.err
