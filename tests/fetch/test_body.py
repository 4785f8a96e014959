import gzip
from itertools import takewhile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from freki.fetch.body import MAX_HEADERS, MAX_INTERIM, MAX_LINES, Intake
from freki.messages import Failure, Reason, Response, Timings

OK = [b"HTTP/1.1 200 OK\r\n"]


def intake(
    *lines: bytes, body: bytes = b"", limit: int = 1000, wanted: tuple[str, ...] = ()
) -> Intake:
    """An answer that arrived line by line and in pieces of three bytes."""
    made = Intake(limit, wanted)
    for line in lines:
        made.header(line)
    for at in range(0, len(body), 3):
        if made.write(body[at : at + 3]) < 0:
            break
    return made


def answer(*lines: bytes, body: bytes = b"", limit: int = 1000) -> Response | Failure:
    return intake(*lines, body=body, limit=limit).response("http://a/", 200, Timings(), 9, "2", "")


def headers(*lines: bytes) -> list[tuple[str, str]]:
    return list(intake(*OK, *lines).headers())


# Headers


def test_headers_keep_their_order_and_lose_their_case() -> None:
    assert headers(b"B: 1\r\n", b"a: 2\r\n", b"B:3\r\n") == [("b", "1"), ("a", "2"), ("b", "3")]


def test_only_the_last_of_several_answers_counts() -> None:
    hints = [b"HTTP/1.1 103 Early Hints\r\n", b"Link: </x>\r\n", b"\r\n"]
    assert intake(*hints, *OK, b"A: 1\r\n").headers() == (("a", "1"),)


@pytest.mark.parametrize("line", [b"\r\n", b"no colon\r\n", b": nothing\r\n", b" \t : x\r\n", b""])
def test_what_is_no_header_is_left_out(line: bytes) -> None:
    assert headers(line, b"a: 1\r\n") == [("a", "1")]


def test_a_folded_line_continues_the_one_before() -> None:
    """RFC 9112 5.2."""
    assert headers(
        b" lost\r\n", b"a: 1\r\n", b"  2: 3\r\n", b"\t4 \r\n", b" \r\n", b"b: 5\r\n"
    ) == [
        ("a", "1 2: 3 4"),
        ("b", "5"),
    ]


def test_bytes_beyond_ascii_are_kept_one_by_one() -> None:
    (pair,) = headers("Location: /voilà\r\n".encode())
    assert pair[1].encode("latin-1").decode() == "/voilà"
    (pair,) = headers(b"a: \xa0\x85x\x1c\r\n")
    assert pair[1] == "\xa0\x85x\x1c"


def test_more_headers_than_anybody_needs_are_left_out() -> None:
    assert len(headers(*(b"a: 1\r\n" for _ in range(MAX_HEADERS + 100)))) == MAX_HEADERS


@pytest.mark.parametrize(
    ("lines", "taken", "why"),
    [
        ([b"HTTP/1.1 102 Wait\r\n", b"\r\n"], 2 * MAX_INTERIM + 2, "interim answers"),
        ([b"x-more: and more\r\n"], MAX_LINES, "header lines"),
    ],
)
def test_a_flood_before_the_body_is_ended_soon(lines: list[bytes], taken: int, why: str) -> None:
    made = Intake(1000)
    flood = (line for _ in range(MAX_LINES + 1) for line in lines)
    assert sum(1 for _ in takewhile(lambda line: made.header(line) is None, flood)) == taken
    failure = made.failure(Reason.protocol, "", Timings(), 200)
    assert failure.reason is Reason.too_large
    assert why in failure.detail


def test_endless_trailers_are_ended_soon() -> None:
    made = intake(*OK, body=b"<p>")
    assert [made.header(b"x: 1\r\n") for _ in range(MAX_LINES)][-1] == -1


def test_trailers_are_not_mixed_with_headers() -> None:
    """RFC 9110 6.5.1."""
    made = intake(*OK, b"Content-Type: text/html\r\n", body=b"<p>")
    made.header(b"Content-Type: text/plain\r\n")
    made.header(b"HTTP/1.1 500 Oh\r\n")
    assert made.headers() == (("content-type", "text/html"),)


@given(st.lists(st.binary(max_size=30), max_size=20))
def test_no_header_makes_trouble(lines: list[bytes]) -> None:
    for name, value in headers(*lines):
        assert name
        assert name == name.strip(" \t\r\n").lower()
        assert value == value.strip(" \t\r\n")


# Bodies


def test_a_body_comes_out_as_its_pieces_went_in() -> None:
    got = answer(*OK, b"Content-Type: text/html\r\n", body=b"0123456789")
    assert isinstance(got, Response)
    assert (got.body, got.content_type, got.wire_bytes, got.http) == (
        b"0123456789",
        "text/html",
        9,
        "2",
    )


def test_of_several_content_types_the_last_one_counts() -> None:
    """Fetch standard, "extract a MIME type"."""
    got = answer(*OK, b"Content-Type: text/plain\r\n", b"Content-Type: text/html\r\n")
    assert isinstance(got, Response)
    assert got.content_type == "text/html"


def test_an_answer_without_a_content_type_has_none() -> None:
    got = answer(*OK)
    assert isinstance(got, Response)
    assert got.content_type == ""


@pytest.mark.parametrize(("size", "taken"), [(1000, True), (1001, False)])
def test_a_body_larger_than_the_limit_ends_the_transfer(size: int, taken: bool) -> None:
    made = Intake(1000)
    made.header(OK[0])
    assert made.write(b"x" * size) == (size if taken else -1)
    assert made.too_large is not taken
    if not taken:
        failure = made.failure(Reason.protocol, "write error", Timings(), 200)
        assert failure.reason is Reason.too_large
        assert "1000 bytes" in failure.detail


def test_what_is_not_our_doing_keeps_its_reason() -> None:
    failure = intake(*OK, body=b"part").failure(Reason.incomplete, "it ended", Timings(), 200)
    assert (failure.reason, failure.detail, failure.status) == (Reason.incomplete, "it ended", 200)


def test_a_limit_of_nothing_is_for_headers_alone() -> None:
    made = intake(*OK, body=b"x", limit=0)
    assert made.enough
    assert not made.too_large


def test_codings_are_undone_within_the_limit() -> None:
    coding = b"Content-Encoding: gzip\r\n"
    got = answer(*OK, coding, body=gzip.compress(b"x" * 1000))
    assert isinstance(got, Response)
    assert got.body == b"x" * 1000
    bomb = answer(*OK, coding, body=gzip.compress(b"x" * 1001))
    assert isinstance(bomb, Failure)
    assert bomb.reason is Reason.too_large


def test_of_a_redirect_no_more_is_read_than_a_connection_is_worth() -> None:
    made = Intake(10**9)
    made.header(b"HTTP/1.1 302 Found\r\n")
    assert made.write(b"x" * 2**16) == 2**16
    assert made.write(b"x") == -1
    assert made.enough
    assert not made.too_large


# Wanted types


@pytest.mark.parametrize("version", [b"HTTP/1.1", b"HTTP/2", b"HTTP/3"])
@pytest.mark.parametrize(
    ("status", "kind", "taken"),
    [
        (b"200", b"text/html; charset=x", True),
        (b"200", b"TEXT/HTML", True),
        (b"200", b"image/png", False),
        (b"206", b"", False),
        (b"404", b"image/png", True),
        (b"301", b"image/png", True),
    ],
)
def test_only_pages_of_other_types_are_not_wanted(
    version: bytes, status: bytes, kind: bytes, taken: bool
) -> None:
    lines = [version + b" " + status + b" \r\n", b"Content-Type: " + kind + b"\r\n"]
    made = intake(*lines, body=b"body", wanted=("text/html", "application/"))
    assert (made.unwanted == "") is taken
    if not taken:
        failure = made.failure(Reason.protocol, "write error", Timings(), 200)
        assert failure.reason is Reason.not_wanted
        assert kind.decode() in failure.detail
