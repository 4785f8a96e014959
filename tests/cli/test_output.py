"""Rows as text: for people without what steers a terminal, for programs without loss."""

import io

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from freki.cli.output import counted, harmless, write

# Characters that turn the writing direction around.
TURNING = "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"


class Row(msgspec.Struct):
    """A little of everything that rows hold."""

    text: str
    number: float | None = None
    nested: list[str] = []


@given(st.text())
def test_what_is_shown_to_a_person_can_be_printed_on_one_line(text: str) -> None:
    shown = harmless(text)
    assert len(shown) == len(text)
    assert not any(ord(char) < 32 or 0x7F <= ord(char) < 0xA0 for char in shown)
    assert not any(
        char in shown for char in "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
    )


@given(st.text(st.characters(codec="utf-8")))
def test_json_lines_give_back_what_was_written(text: str) -> None:
    out = io.StringIO()
    assert write([Row(text)], ("text",), "jsonl", out) == 1
    assert out.getvalue().count("\n") == 1
    assert msgspec.json.decode(out.getvalue())["text"] == text


@pytest.mark.parametrize(
    ("row", "line"),
    [
        (Row("plain", 1.5, ["a"]), 'plain,1.5,"[""a""]"'),
        (Row("a,b"), '"a,b",,[]'),
        (Row('a "quote"'), '"a ""quote""",,[]'),
        (Row("=1+1"), "'=1+1,,[]"),
        (Row("@sum"), "'@sum,,[]"),
        (Row("-1", -1.5), "'-1,-1.5,[]"),
    ],
)
def test_a_csv_row_is_what_spreadsheets_read(row: Row, line: str) -> None:
    out = io.StringIO()
    write([row], ("text", "number", "nested"), "csv", out)
    assert out.getvalue() == f"text,number,nested\n{line}\n"


def test_the_columns_of_a_table_are_as_wide_as_they_must_be() -> None:
    out = io.StringIO()
    rows = [Row("a", 1.0), Row("longer\x1b", None)]
    assert write(rows, ("text", "number"), "table", out) == 2
    assert out.getvalue() == "text     number\na        1.00\nlonger\N{REPLACEMENT CHARACTER}\n"


def test_a_table_of_nothing_is_nothing() -> None:
    out = io.StringIO()
    assert write([], ("text",), "table", out) == 0
    assert out.getvalue() == ""


@pytest.mark.parametrize(
    ("count", "text"), [(0, "0 pages"), (1, "1 page"), (2, "2 pages"), (1000, "1,000 pages")]
)
def test_one_is_told_from_many(count: int, text: str) -> None:
    assert counted(count, "page") == text
