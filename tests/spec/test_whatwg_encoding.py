"""How bytes become characters: WHATWG HTML 13.2.3 (sniffing) and WHATWG Encoding.

Each case is a page with one word in it, and what a browser shows for the word.
"""

import pytest

from freki.extract.charset import decode
from freki.extract.page import extract
from freki.messages import Response


def title(body: bytes, content_type: str = "text/html") -> tuple[str | None, str | None]:
    page = extract(Response("http://h/", 200, (), body, content_type))
    return page.title, page.charset


def sniffed(body: bytes, content_type: str = "text/html") -> str | None:
    return title(body, content_type)[1]


# --- WHATWG HTML 13.2.3.2: what is asked, in which order ---


@pytest.mark.parametrize(
    ("codec", "name"),
    [("utf-8", "UTF-8"), ("utf-16-le", "UTF-16LE"), ("utf-16-be", "UTF-16BE")],
)
def test_html_13_2_3_2_a_byte_order_mark_beats_the_header(codec: str, name: str) -> None:
    body = "\ufeff<meta charset=koi8-r><title>é</title>".encode(codec)
    assert title(body, "text/html; charset=windows-1251") == ("é", name)


def test_html_13_2_3_2_the_header_beats_a_meta() -> None:
    body = "<meta charset=koi8-r><title>ж</title>".encode("windows-1251")
    assert title(body, "text/html; charset=windows-1251") == ("ж", "windows-1251")


def test_html_13_2_3_2_a_header_that_names_nothing_known_is_no_header() -> None:
    body = "<meta charset=koi8-r><title>ж</title>".encode("koi8-r")
    assert title(body, "text/html; charset=martian") == ("ж", "KOI8-R")


def test_html_13_2_3_2_a_meta_beats_a_guess() -> None:
    body = "<meta charset=windows-1252><title>é</title>".encode()
    assert title(body) == ("Ã©", "windows-1252")


def test_html_13_2_3_2_without_any_word_utf_8_is_seen_by_its_form() -> None:
    assert title("<title>é</title>".encode()) == ("é", "UTF-8")


def test_html_13_2_3_2_without_any_word_ascii_is_windows_1252() -> None:
    assert sniffed(b"<title>e</title>") == "windows-1252"


# --- WHATWG HTML 13.2.3.2: the prescan of 1024 bytes ---


@pytest.mark.parametrize(
    "meta",
    [
        b'<meta charset="koi8-r">',
        b"<meta charset=koi8-r>",
        b"<META CHARSET='KOI8-R'>",
        b"<meta/charset=koi8-r>",
        b"<meta\ncharset\t=\fkoi8-r\r>",
        b'<meta http-equiv="Content-Type" content="text/html; charset=koi8-r">',
        b'<meta content="text/html; charset=koi8-r" http-equiv=content-type>',
        b"<meta http-equiv=content-type content=\"text/html; charset='koi8-r'\">",
        b'<meta name=x charset="koi8-r" name=y>',
        b"<!-- <meta charset=gbk> --><meta charset=koi8-r>",
        b"<a title='<meta charset=gbk>'><meta charset=koi8-r>",
        b"<?pi <meta charset=gbk>?><!x><meta charset=koi8-r>",
        b"<meta charset=martian><meta charset=koi8-r>",
        b"</meta charset=gbk><meta charset=koi8-r>",
    ],
)
def test_html_13_2_3_2_the_prescan_finds(meta: bytes) -> None:
    assert sniffed(meta) == "KOI8-R"


@pytest.mark.parametrize(
    "meta",
    [
        b"<!-- <meta charset=koi8-r> -->",
        b"<metacharset=koi8-r>",
        b'<meta content="text/html; charset=koi8-r">',
        b'<meta http-equiv=refresh content="text/html; charset=koi8-r">',
        b'<meta http-equiv=content-type content="text/html; charset">',
        b"<meta charset=martian>",
    ],
)
def test_html_13_2_3_2_the_prescan_passes_over(meta: bytes) -> None:
    assert sniffed(meta) == "windows-1252"


def test_html_13_2_3_2_a_meta_that_claims_utf_16_means_utf_8() -> None:
    assert sniffed(b"<meta charset=utf-16>") == "UTF-8"


def test_html_13_2_3_2_a_meta_that_claims_user_defined_means_windows_1252() -> None:
    assert sniffed(b"<meta charset=x-user-defined>") == "windows-1252"


def test_html_13_2_3_5_a_meta_behind_1024_bytes_still_counts_where_the_tree_has_it() -> None:
    body = b"<!--" + b"-" * 1100 + b"--><meta charset=koi8-r><title>\xd6</title>"
    assert title(body) == ("ж", "KOI8-R")


# --- WHATWG HTML 13.2.3.2: "get an XML encoding", and UTF-16 by its declaration ---


def test_html_13_2_3_2_an_xml_declaration_counts() -> None:
    body = b'<?xml version="1.0" encoding="koi8-r"?><title>\xd6</title>'
    assert title(body) == ("ж", "KOI8-R")


def test_html_13_2_3_2_an_xml_declaration_that_claims_utf_16_means_utf_8() -> None:
    body = '<?xml version="1.0" encoding="utf-16"?><title>é</title>'.encode()
    assert title(body) == ("é", "UTF-8")


@pytest.mark.parametrize(("codec", "name"), [("utf-16-le", "UTF-16LE"), ("utf-16-be", "UTF-16BE")])
def test_html_13_2_3_2_the_first_bytes_of_an_xml_declaration_tell_utf_16(
    codec: str, name: str
) -> None:
    assert title('<?xml version="1.0"?><title>é</title>'.encode(codec)) == ("é", name)


# --- WHATWG Encoding 4.2: labels ---


@pytest.mark.parametrize(
    ("label", "name"),
    [
        ("ascii", "windows-1252"),
        ("iso-8859-1", "windows-1252"),
        ("unicode-1-1-utf-8", "UTF-8"),
        ("gb2312", "GBK"),
        ("ks_c_5601-1987", "EUC-KR"),
        ("x-sjis", "Shift_JIS"),
        ("windows-31j", "Shift_JIS"),
        ("iso-8859-9", "windows-1254"),
        ("big5-hkscs", "Big5"),
        ("koi8-ru", "KOI8-U"),
        ("utf-16", "UTF-16LE"),
        (" UTF-8\t", "UTF-8"),
    ],
)
def test_encoding_4_2_a_label_means(label: str, name: str) -> None:
    assert decode(b"", f"text/html; charset={label}")[1] == name


# --- WHATWG Encoding 8 to 14: decoders, where they differ from their namesakes elsewhere ---


@pytest.mark.parametrize(
    ("label", "body", "text"),
    [
        ("utf-8", b"a\xffb\xe2\x82c", "a\ufffdb\ufffdc"),  # one mark for each maximal subpart
        ("utf-8", b"\xed\xa0\x80", "\ufffd\ufffd\ufffd"),  # a surrogate
        ("iso-8859-1", b"\x80\x9f", "€\u0178"),
        ("windows-1252", b"\x81", "\x81"),
        ("gb2312", b"\x80", "€"),
        ("gb18030", b"\x81\x30\x81\x30", "\x80"),
        ("shift_jis", b"\x87\x40", "①"),
        ("big5", b"\x87\x40", "\u43f0"),
        ("euc-kr", b"\x81\x41", "\uac02"),
        ("iso-2022-jp", b'\x1b$B$"\x1b(B', "あ"),
        ("x-user-defined", b"\x80\xff", "\uf780\uf7ff"),
        ("utf-16le", b"\x00\xd8a\x00", "\ufffda"),
        ("hz-gb-2312", b"~{<:Ky~}", "\ufffd"),  # a way to hide script, so not read at all
        ("iso-2022-kr", b"abc", "\ufffd"),
    ],
)
def test_encoding_8_a_decoder_reads(label: str, body: bytes, text: str) -> None:
    assert decode(body, f"text/html; charset={label}")[0] == text
