"""The URL standard of WHATWG, clause by clause, as far as http and https go.

A fragment and credentials are parsed as the standard says and then dropped.
"""

import pytest

from freki.errors import BadUrl
from freki.url import join, parse

PAGE = "http://example.org/dir/page?old"


def joined(href: str) -> str | None:
    return join(PAGE, href)


# --- 3.3 to 3.5: hosts ---


@pytest.mark.parametrize(
    ("host", "normal"),
    [
        ("EXAMPLE.org", "example.org"),
        ("ex%41mple.org", "example.org"),
        ("bücher.example", "xn--bcher-kva.example"),
        ("BÜCHER.example", "xn--bcher-kva.example"),
        ("faß.example", "xn--fa-hia.example"),
        ("example。org", "example.org"),
        ("\uff45xample.org", "example.org"),
        ("exa\u00admple.org", "example.org"),
        ("example.org.", "example.org."),
        ("a_b.example", "a_b.example"),
        ("XN--A.example", "xn--a.example"),  # no Punycode, and since 2025 no failure either
    ],
)
def test_3_5_a_domain_becomes_ascii(host: str, normal: str) -> None:
    assert parse(f"http://{host}/") == f"http://{normal}/"


@pytest.mark.parametrize(
    "host",
    ["", "a b", "a%20b", "a<b", "a^b", "a|b", "a%00b", "%zz", "\u00ad", "a%"],
)
def test_3_5_a_domain_with_a_forbidden_code_point_fails(host: str) -> None:
    with pytest.raises(BadUrl):
        parse(f"http://{host}/")


@pytest.mark.parametrize(
    ("host", "address"),
    [
        ("127.1", "127.0.0.1"),
        ("0x7f000001", "127.0.0.1"),
        ("2130706433", "127.0.0.1"),
        ("0177.0.0.1", "127.0.0.1"),
        ("0x7F.0.0.0x1.", "127.0.0.1"),
        ("①②⑦.1", "127.0.0.1"),
        ("1.2.3", "1.2.0.3"),
        ("0", "0.0.0.0"),
    ],
)
def test_3_5_a_host_that_ends_in_a_number_is_an_ipv4_address(host: str, address: str) -> None:
    assert parse(f"http://{host}/") == f"http://{address}/"


@pytest.mark.parametrize(
    "host", ["256.0.0.1", "1.2.3.4.5", "1.2.3.4294967296", "0x100000000", "08", "1.2.3.08", "a.1"]
)
def test_3_5_what_ends_in_a_number_and_is_no_address_fails(host: str) -> None:
    with pytest.raises(BadUrl):
        parse(f"http://{host}/")


@pytest.mark.parametrize(
    ("host", "address"),
    [
        ("[::1]", "[::1]"),
        ("[0:0:0:0:0:0:0:1]", "[::1]"),
        ("[2001:DB8:0:0:1:0:0:1]", "[2001:db8::1:0:0:1]"),
        ("[::ffff:127.0.0.1]", "[::ffff:7f00:1]"),
        ("[1:2:0:4:5:6:7:8]", "[1:2:0:4:5:6:7:8]"),
    ],
)
def test_3_5_an_ipv6_address_is_compressed(host: str, address: str) -> None:
    assert parse(f"http://{host}/") == f"http://{address}/"


@pytest.mark.parametrize("host", ["[::1", "[1::2::3]", "[::g]", "[::1%25eth0]", "[::127.0.0.256]"])
def test_3_5_what_is_in_brackets_and_no_ipv6_address_fails(host: str) -> None:
    with pytest.raises(BadUrl):
        parse(f"http://{host}/")


# --- 4.4, before the states: what is removed ---


@pytest.mark.parametrize(
    ("href", "url"),
    [
        (" \0\x1f/x \t", "http://example.org/x"),
        ("h\nt\ttp://other\r.example/a\nb", "http://other.example/ab"),
        ("/a\u00a0", "http://example.org/a%C2%A0"),
    ],
)
def test_4_4_blanks_around_and_newlines_within_are_removed(href: str, url: str) -> None:
    assert joined(href) == url


# --- 4.4, scheme states ---


@pytest.mark.parametrize(
    ("href", "url"),
    [
        ("HTTPS://other.example", "https://other.example/"),
        ("https:other.example", "https://other.example/"),
        ("https:////other.example", "https://other.example/"),
        ("https:\\\\other.example", "https://other.example/"),
        ("http:x", "http://example.org/dir/x"),
        ("http:/x", "http://example.org/x"),
        ("x:y", None),
        ("file:///etc/passwd", None),
        ("1http://x", "http://example.org/dir/1http://x"),
    ],
)
def test_4_4_a_scheme_starts_a_url_of_its_own_unless_it_is_the_page_s(
    href: str, url: str | None
) -> None:
    assert joined(href) == url


# --- 4.4, relative states ---


@pytest.mark.parametrize(
    ("href", "url"),
    [
        ("", "http://example.org/dir/page?old"),
        ("#x", "http://example.org/dir/page?old"),
        ("?new", "http://example.org/dir/page?new"),
        ("?", "http://example.org/dir/page?"),
        ("x", "http://example.org/dir/x"),
        ("/x", "http://example.org/x"),
        ("\\x", "http://example.org/x"),
        ("//x", "http://x/"),
        ("/\\x", "http://x/"),
        ("///x", "http://x/"),
    ],
)
def test_4_4_a_relative_url_takes_from_its_page_what_it_lacks(href: str, url: str) -> None:
    assert joined(href) == url


# --- 4.4, authority, host and port states ---


@pytest.mark.parametrize(
    ("href", "url"),
    [
        ("//u:p@other.example/x", "http://other.example/x"),
        ("//u@v@other.example", "http://other.example/"),
        ("//trusted.example@other.example", "http://other.example/"),
        ("//trusted.example\\@other.example", "http://trusted.example/@other.example"),
        ("//trusted.example#@other.example", "http://trusted.example/"),
        ("//:@other.example", "http://other.example/"),
        ("//u@", None),
        ("//u@/x", None),
    ],
)
def test_4_4_credentials_end_at_the_last_at_sign_of_the_authority(
    href: str, url: str | None
) -> None:
    assert joined(href) == url


@pytest.mark.parametrize(
    ("port", "kept"),
    [(":80", ""), (":", ""), (":0080", ""), (":8080", ":8080"), (":0", ":0"), (":65535", ":65535")],
)
def test_4_4_the_default_port_is_dropped(port: str, kept: str) -> None:
    assert parse(f"http://h{port}/x") == f"http://h{kept}/x"


@pytest.mark.parametrize("port", [":65536", ":-1", ":8a", ": 80", "::80"])
def test_4_4_what_is_no_port_fails(port: str) -> None:
    with pytest.raises(BadUrl):
        parse(f"http://h{port}/")


# --- 4.4, path, query and fragment states ---


@pytest.mark.parametrize(
    ("path", "normal"),
    [
        ("/a/./b/../c", "/a/c"),
        ("/a/%2e/b/%2E%2e/c", "/a/c"),
        ("/../../a", "/a"),
        ("/a/..", "/"),
        ("/a/.", "/a/"),
        ("/a//b", "/a//b"),
        ("//a", "//a"),
        ("/a\\b", "/a/b"),
        ("/a/...", "/a/..."),
        ("/C|/x", "/C|/x"),
        ("/a;b=c,d", "/a;b=c,d"),
    ],
)
def test_4_4_the_path_is_made_of_segments(path: str, normal: str) -> None:
    assert parse(f"http://h{path}") == f"http://h{normal}"


@pytest.mark.parametrize(
    ("text", "encoded"),
    [
        ('/ "<>`{}^', "/%20%22%3C%3E%60%7B%7D%5E"),
        ("/é€😀", "/%C3%A9%E2%82%AC%F0%9F%98%80"),
        ("/%41%c3%zz%", "/%41%c3%zz%"),
        ("/|'()*!$&+[]", "/|'()*!$&+[]"),
        ("/?a=b \"<>'é", "/?a=b%20%22%3C%3E%27%C3%A9"),
        ("/?`{}^|\\/?", "/?`{}^|\\/?"),
        ("/?a+b%20c&&=", "/?a+b%20c&&="),
        ("/\x7f\u0080", "/%7F%C2%80"),
    ],
)
def test_1_3_only_what_must_be_percent_encoded_is(text: str, encoded: str) -> None:
    assert parse(f"http://h{text}") == f"http://h{encoded}"


@pytest.mark.parametrize("fragment", ["#", "#x", "#?x", "#/../x", "##", "# "])
def test_4_4_a_fragment_leads_to_the_same_page(fragment: str) -> None:
    assert parse(f"http://h/a?b{fragment}") == "http://h/a?b"


# --- 4.5: serialising ---


@pytest.mark.parametrize(
    ("text", "serialised"),
    [
        ("http://h", "http://h/"),
        ("http://h?", "http://h/?"),
        ("http://h?q", "http://h/?q"),
        ("HTTP://H/A?B", "http://h/A?B"),
    ],
)
def test_4_5_a_url_has_one_serialisation(text: str, serialised: str) -> None:
    assert parse(text) == serialised
