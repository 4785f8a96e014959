"""The reader in C and the tree tell the same; where there is no reader, all of it is the tree."""

from pathlib import Path

import pytest
from tests.markup import PIECES, Markup

from freki.extract.page import extract, parsed, told
from freki.extract.telling import by_reader
from freki.messages import Response
from freki.native import Native


def answer(body: bytes, content_type: str = "text/html; charset=utf-8") -> Response:
    return Response("http://h/a/page", 200, (), body, content_type)


@pytest.mark.parametrize("piece", PIECES)
def test_a_piece_of_markup_says_what_its_tree_says(piece: str) -> None:
    for page in (piece, f"<!doctype html><title>t</title><p><a href=q>q</a>{piece}z<a href=w>w"):
        response = answer(page.encode())
        assert extract(response) == told(response, parsed(response))


def test_a_page_of_any_markup_says_what_its_tree_says() -> None:
    markup = Markup(1)
    for _ in range(3000):
        response = answer(markup.page())
        assert extract(response) == told(response, parsed(response)), response.body


@pytest.mark.parametrize(
    "head",
    [
        b"<meta charset=utf-8>",
        b"<meta charset=windows-1251>",
        b"<meta charset=utf-16>",
        b"<meta charset=gbk>",
        b"<meta charset=iso-2022-jp>",
        b"<meta charset=x-user-defined>",
        b"<meta charset=replacement>",
        b"<meta charset=none-at-all>",
        b'<meta http-equiv="Content-Type" content="text/html; charset=iso-8859-5">',
        b"<!-- <meta charset=utf-8> --><meta charset=koi8-r>",
        b"<title><meta charset=utf-8></title><meta charset=koi8-r>",
        b"<script>'<meta charset=utf-8>'</script>",
        b"<p title='<meta charset=utf-8>'>",
        b"<meta name=charset content=utf-8><meta charset=koi8-r>",
        b"<meta content='text/html; charset=utf-8' http-equiv=content-type>",
        b"<link rel=x href='?charset=utf-8'><meta charset=koi8-r>",
        b'<meta http-equiv="content-type content="a/b;charset=utf-8\'x>',
        b" " * 1020 + b"<meta charset=koi8-r>",
        b"<?xml version='1.0' encoding='koi8-r'?><meta charset=utf-8>",
        b"<?xml version='1.0' encoding='koi8-r'?>",
        b"\xef\xbb\xbf<meta charset=koi8-r>",
        b"\x1b$B",
        b"",
    ],
)
@pytest.mark.parametrize("rest", [b"<a href='?\xd0\xb0'>\xd0\xb0</a>", b"<a href=a>a</a>"])
@pytest.mark.parametrize(
    "header",
    [
        "",
        "; charset=utf-8",
        "; charset=koi8-r",
        "; charset=sjis",
        "; charset=utf-16",
        "; charset=odd",
    ],
)
def test_a_page_of_any_charset_says_what_its_tree_says(
    head: bytes, rest: bytes, header: str
) -> None:
    response = answer(head + rest, f"text/html{header}")
    assert extract(response) == told(response, parsed(response))


def test_without_a_library_nothing_is_read() -> None:
    assert by_reader(answer(b"<a href=x>x</a>"), None) is None


def test_what_is_no_library_is_none() -> None:
    with pytest.raises(OSError, match=r"markup\.py"):
        Native(Path(__file__).parents[1] / "markup.py")
