import pytest
from hypothesis import given
from hypothesis import strategies as st

from freki.extract.charset import announced, declared, decode
from freki.extract.page import extract
from freki.messages import Response

HTML = "text/html"


@pytest.mark.parametrize(
    ("content_type", "charset"),
    [
        ("text/html; charset=utf-8", "UTF-8"),
        ("text/html;charset=UTF8", "UTF-8"),
        ('text/html; charset="Shift_JIS"', "Shift_JIS"),
        ("text/html; Charset = 'gb2312' ; x=y", "GBK"),
        ("text/html; boundary=x; charset=koi8-r", "KOI8-R"),
        ("text/html; charset=latin1", "windows-1252"),
        ("text/html", None),
        ("", None),
        ("text/html; charset=", None),
        ("text/html; charset=utf-7", None),
        ("text/html; charset=klingon", None),
        ("text/html; charset=utf-8\ud800", None),
        ("text/html; charset=" + "x" * 100_000, None),
        ("charset=utf-8", None),
    ],
)
def test_a_header_declares_a_charset_that_browsers_know(
    content_type: str, charset: str | None
) -> None:
    assert declared(content_type) == charset


def test_an_xml_declaration_announces_a_charset() -> None:
    body = b'<?xml version="1.0" encoding="ISO-8859-2"?>\n<html></html>'
    assert announced(body, HTML) == "ISO-8859-2"
    assert announced(body, "text/html; charset=utf-8") == "UTF-8"
    assert announced(b"<html></html>", HTML) is None


def test_an_xml_declaration_gives_way_to_a_meta() -> None:
    body = b"<?xml version='1.0' encoding='ISO-8859-2'?><meta charset=koi8-r>\xc1"
    assert announced(body, HTML) is None
    assert decode(body, HTML)[1] == "KOI8-R"


def test_a_text_has_no_byte_order_mark() -> None:
    assert decode("\ufeffé".encode(), HTML) == ("é", "UTF-8")
    assert decode("\ufeffé".encode("utf-16-le"), HTML) == ("é", "UTF-16LE")
    assert decode("\ufeffé".encode("utf-16-be"), HTML) == ("é", "UTF-16BE")


def test_what_nobody_declares_is_guessed() -> None:
    russian = "Съешь же ещё этих мягких французских булок, да выпей чаю"
    assert decode(russian.encode(), "text/plain") == (russian, "UTF-8")
    assert decode(russian.encode("windows-1251"), "text/plain") == (russian, "windows-1251")


def test_a_text_is_read_with_the_charset_of_its_page() -> None:
    body = b"<!--" + b"-" * 2000 + b"--><meta charset=koi8-r>\xd6"
    assert decode(body, HTML)[1] == "KOI8-R"
    assert extract(Response("http://h/", 200, (), body, HTML)).charset == "KOI8-R"
    assert decode(body, "text/plain")[1] != "KOI8-R"  # there it is no declaration


def test_an_empty_body_is_empty_text() -> None:
    assert decode(b"", "text/plain") == ("", "UTF-8")
    assert decode(b"", HTML) == ("", "windows-1252")


@given(
    st.binary(max_size=60),
    st.sampled_from(["", "utf-8", "utf-16", "shift_jis", "iso-2022-jp", "gb18030", "replacement"]),
)
def test_any_bytes_become_text_that_can_be_stored(body: bytes, charset: str) -> None:
    text, name = decode(body, f"text/html; charset={charset}")
    assert name
    text.encode()
