from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from freki import config
from freki.config import (
    Settings,
    from_environment,
    from_file,
    from_flags,
    nearest,
    options,
    settings,
)
from freki.errors import BadConfig


def file(folder: Path, text: str) -> Path:
    path = folder / "freki.toml"
    path.write_text(text)
    return path


def test_without_any_source_everything_has_its_default() -> None:
    assert settings() == Settings()


def test_later_sources_win_field_by_field(tmp_path: Path) -> None:
    chosen = settings(
        from_file(file(tmp_path, "[scope]\ndepth = 1\nmax_pages = 1\nscope = 'site'\n")),
        from_environment({"FREKI_DEPTH": "2", "FREKI_MAX_PAGES": "2"}),
        from_flags({"depth": 3, "scope": None, "include": []}),
    )
    assert (chosen.scope.depth, chosen.scope.max_pages, chosen.scope.scope) == (3, 2, "site")


# One spelling everywhere


@pytest.mark.parametrize("option", list(options()), ids=lambda option: str(option.name))
def test_an_option_is_spelt_the_same_everywhere(option: config.Option, tmp_path: Path) -> None:
    value = _some_value(option)
    text = " ".join(value) if isinstance(value, list) else str(value)
    by_flag = settings(from_flags({option.name: value}))
    assert by_flag != Settings()
    assert settings(from_environment({option.variable: text})) == by_flag
    toml = f"[{option.part}]\n{option.name} = {_toml(value)}\n"
    assert settings(from_file(file(tmp_path, toml))) == by_flag
    assert option.flag == f"--{option.name.replace('_', '-')}"


def _some_value(option: config.Option) -> object:
    """A value that is not the default, of the right type."""
    candidates: list[object] = [
        True,
        False,
        7,
        0.5,
        "page",
        "only",
        "best",
        "none",
        "power",
        "1.1",
        "auto",
    ]
    for value in [["x", "y"], ["10.0.0.0/8", "::1"], *candidates, "some text"]:
        try:
            chosen = settings({option.part: {option.name: value}})
        except BadConfig:
            continue
        if chosen != Settings():
            return value
    raise AssertionError(option)


def _toml(value: object) -> str:
    if isinstance(value, list):
        return str(value)
    return str(value).lower() if isinstance(value, bool) else repr(value)


def test_every_option_is_explained_and_no_two_share_a_name() -> None:
    names = [option.name for option in options()]
    assert len(set(names)) == len(names) < 60
    assert all(option.help for option in options())


def test_every_default_is_a_value_that_could_be_given() -> None:
    for option in options():
        if option.default is not None:
            assert settings({option.part: {option.name: option.default}}) == Settings()


# What is wrong


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[scop]\n", "unknown table or key 'scop' (did you mean scope?)"),
        ("[scope]\ndepht = 1\n", "unknown key 'depht' in [scope] (did you mean depth?)"),
        ("depth = 1\n", "unknown table or key 'depth' (it belongs under [scope])"),
        ("[scope]\ndelay = 1\n", "unknown key 'delay' in [scope]"),
        ("scope = 'host'\n", "[scope] must be a table"),
        ("[[scope]]\ndepth = 1\n", "[scope] must be a table"),
        ("[scope\n", "not valid TOML"),
        ("[scope]\ndepth = 1\ndepth = 2\n", "not valid TOML"),
        ("[wholly]\nunlike = 1\n", "unknown table or key 'wholly'"),
    ],
)
def test_a_wrong_word_in_a_file_is_named_with_the_nearest_right_one(
    text: str, message: str, tmp_path: Path
) -> None:
    with pytest.raises(BadConfig) as refused:
        from_file(file(tmp_path, text))
    assert message in str(refused.value)
    assert str(tmp_path / "freki.toml") in str(refused.value)


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    for path in (tmp_path / "none.toml", tmp_path):
        with pytest.raises(BadConfig, match="cannot read"):
            from_file(path)
    (tmp_path / "latin.toml").write_bytes(b"# \xff\n")
    with pytest.raises(BadConfig, match="not valid TOML"):
        from_file(tmp_path / "latin.toml")


def test_a_wrong_variable_is_named_with_the_nearest_right_one() -> None:
    with pytest.raises(BadConfig, match=r"FREKI_MAXPAGES \(did you mean FREKI_MAX_PAGES\?\)"):
        from_environment({"FREKI_MAXPAGES": "1"})
    with pytest.raises(BadConfig, match=r"unknown variable FREKI_QQQ$"):
        from_environment({"FREKI_QQQ": "1"})


def test_variables_of_others_are_none_of_our_business() -> None:
    assert from_environment({"DEPTH": "1", "NOT_FREKI_DEPTH": "2", "freki_depth": "3"}) == {}


@pytest.mark.parametrize(
    ("part", "name", "value", "message"),
    [
        ("scope", "depth", -1, "--depth: expected a whole number >= 0"),
        ("scope", "depth", "many", "--depth: expected a whole number"),
        ("scope", "depth", 1.5, "--depth: expected a whole number"),
        ("scope", "depth", 2**60, "--depth: expected a whole number <="),
        ("scope", "max_pages", 0, "--max-pages: expected a whole number >= 1"),
        ("scope", "scope", "hosts", "--scope: invalid enum value 'hosts'"),
        ("scope", "include", 7, "--include: expected a list"),
        ("politeness", "delay", "inf", "--delay: expected a number <="),
        ("politeness", "delay", float("nan"), "--delay: expected a number"),
        ("politeness", "user_agent", "", "--user-agent: expected"),
        ("politeness", "user_agent", "a\nX-Header: b", "--user-agent: expected"),
        ("politeness", "user_agent", "a\n", "--user-agent: expected"),
        ("politeness", "user_agent", "Wölfin", "--user-agent: expected"),
        ("fetching", "timeout", 0, "--timeout: expected a number >="),
        ("fetching", "timeout", 0.0001, "--timeout: expected a number >="),
        ("fetching", "insecure", "maybe", "--insecure: expected true or false"),
    ],
)
def test_a_wrong_value_is_told_by_the_name_of_its_option(
    part: str, name: str, value: object, message: str
) -> None:
    with pytest.raises(BadConfig) as refused:
        settings({part: {name: value}})
    assert str(refused.value).startswith(message)


def test_unknown_parts_and_fields_are_errors_for_callers_too() -> None:
    with pytest.raises(BadConfig, match="unknown field"):
        settings({"scop": {}})
    with pytest.raises(BadConfig, match="unknown field"):
        settings({"scope": {"depht": 1}})


def test_options_that_contradict_each_other_are_refused() -> None:
    with pytest.raises(BadConfig, match="--sitemap only"):
        settings({"scope": {"sitemap": "only"}, "politeness": {"ignore_robots": True}})
    with pytest.raises(BadConfig, match="--scope page"):
        settings({"scope": {"sitemap": "only", "scope": "page"}})


@given(st.text(min_size=1, max_size=20))
def test_any_word_has_a_nearest_one_or_none(word: str) -> None:
    assert nearest(word, ["depth"]) in ("", " (did you mean depth?)")


# What follows from settings


@pytest.mark.parametrize(
    ("given_", "shared", "at_once"),
    [
        ({}, False, 1),
        ({"delay": 0}, True, 16),
        ({"delay": 1}, False, 1),
        ({"concurrency": 3}, False, 3),
        ({"delay": 0, "concurrency": 3}, True, 3),
    ],
)
def test_only_a_host_without_delay_is_shared(
    given_: dict[str, object], shared: bool, at_once: int
) -> None:
    politeness = settings({"politeness": given_}).politeness
    assert (politeness.shared, politeness.requests_per_host) == (shared, at_once)


def test_a_contact_goes_into_the_user_agent() -> None:
    polite = settings(
        {"politeness": {"user_agent": "Wolf/1", "contact": "me@a.example"}}
    ).politeness
    assert polite.full_agent == "Wolf/1 (+me@a.example)"
    assert settings({"politeness": {"user_agent": "Wolf/1"}}).politeness.full_agent == "Wolf/1"
