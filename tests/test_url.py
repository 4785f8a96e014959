import re
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from freki.errors import BadUrl
from freki.url import (
    MAX_LENGTH,
    Joiner,
    directory,
    hostname,
    join,
    key,
    parse,
    registrable_domain,
    split,
)

# Texts made of what URL parsers stumble over; plain text would nearly always be a file name.
PIECES = [
    *"/\\?#@:;=[%.。é😀 \t\n\0\x1f\x7f\u00a0",
    *("http://", "https:", "HTTP:", "mailto:", "javascript:", "//", "..", "%2e", "%zz", "%41"),
    *("a", "b.example", "[::1]", "0x7f.1", "xn--", "user:pw@", ":80"),
]
hrefs = st.lists(st.sampled_from(PIECES) | st.text(max_size=4), max_size=8).map("".join)
pages = st.sampled_from(
    [
        "http://h/",
        "http://h/?q=/a/b",
        "https://h:8443/a/b/c.html?x=1&y=/2",
        "http://[::1]/a//b/",
        "https://h/a/%2F/é".replace("é", "%C3%A9"),
    ]
)


# --- parse: what a person typed ---


@pytest.mark.parametrize(
    ("typed", "url"),
    [
        ("https://example.com", "https://example.com/"),
        ("  HTTPS://EXAMPLE.com:443/A?B#c \n", "https://example.com/A?B"),
        ("http://example.com:80/a/../b/./c", "http://example.com/b/c"),
        ("http://münchen.example/straße", "http://xn--mnchen-3ya.example/stra%C3%9Fe"),
        ("http://[0:0::1]/", "http://[::1]/"),
        ("http://127.1/", "http://127.0.0.1/"),
    ],
)
def test_a_typed_url_becomes_its_normal_form(typed: str, url: str) -> None:
    assert parse(typed) == url
    assert parse(url) == url


@pytest.mark.parametrize(
    ("typed", "complaint"),
    [
        ("", "not a valid URL"),
        ("/about", "not a valid URL"),
        ("example.com/about", "did you mean https://example.com/about"),
        ("localhost:8000", "did you mean http://localhost:8000?"),
        ("example.com:8443/a", "did you mean http://example.com:8443/a?"),
        ("example.com:443", "did you mean https://example.com:443?"),
        ("//example.com/a", "did you mean https://example.com/a?"),
        ("mailto:me@example.com", "crawls http and https$"),
        ("not a url.", "not a valid URL: 'not a url.'$"),
        ("ftp://example.com/", "scheme 'ftp'"),
        ("javascript:alert(1)", "scheme 'javascript'"),
        ("http://exa mple.com/", "not a valid URL"),
        ("http://example.com:99999/", "not a valid URL"),
        ("http://[::1/", "not a valid URL"),
        ("http://\ud800/", "not a valid URL"),
        ("https://me:secret@example.com/", "user name or password"),
        ("https://me@example.com/", "user name or password"),
    ],
)
def test_what_cannot_be_crawled_is_refused_with_a_reason(typed: str, complaint: str) -> None:
    with pytest.raises(BadUrl, match=re.escape(complaint).replace(r"\$", "$")):
        parse(typed)


def test_a_refusal_does_not_repeat_the_password() -> None:
    with pytest.raises(BadUrl) as refusal:
        parse("https://me:secret@example.com/")
    assert "secret" not in str(refusal.value)


@pytest.mark.parametrize("tail", ["a" * MAX_LENGTH, "é" * (MAX_LENGTH // 2)])
def test_a_typed_url_may_not_be_longer_than_the_limit_in_any_form(tail: str) -> None:
    with pytest.raises(BadUrl, match=f"limit is {MAX_LENGTH}"):
        parse(f"http://h/{tail}")


# --- join: what a page links to ---


@pytest.mark.parametrize(
    ("href", "url"),
    [
        ("c", "https://h/a/c"),
        ("../c", "https://h/c"),
        ("../../../c", "https://h/c"),
        ("/c", "https://h/c"),
        ("//other.example", "https://other.example/"),
        ("?page=2", "https://h/a/b?page=2"),
        ("", "https://h/a/b?q"),
        ("#top", "https://h/a/b?q"),
        ("c?x#y", "https://h/a/c?x"),
        (" c\n", "https://h/a/c"),
        ("c d", "https://h/a/c%20d"),
        ("c\\d", "https://h/a/c/d"),
        ("http://me:secret@other.example/x#y", "http://other.example/x"),
        ("/@me", "https://h/@me"),
        ("mailto:me@example.com", None),
        ("javascript:void(0)", None),
        ("data:text/html,hi", None),
        ("tel:+49", None),
        ("ftp://h/", None),
        ("http://", None),
        ("http://a b/", None),
        ("\ud800", None),
    ],
)
def test_a_link_is_meant_from_its_page(href: str, url: str | None) -> None:
    assert join("https://h/a/b?q", href) == url


@pytest.mark.parametrize(
    "href",
    [
        "a" * (MAX_LENGTH + 1),
        "a" * MAX_LENGTH,  # with the origin it is longer
        "é" * (MAX_LENGTH // 6),
        "http://me@h/" + "<" * (MAX_LENGTH // 3),
    ],
)
def test_a_link_longer_than_the_limit_is_none(href: str) -> None:
    assert join("http://h/", href) is None


def test_a_link_as_long_as_the_limit_is_one() -> None:
    origin = "http://h/"
    assert len(join(origin, "a" * (MAX_LENGTH - len(origin))) or "") == MAX_LENGTH


@given(pages, hrefs)
def test_joining_gives_a_normal_form_without_fragment_and_credentials(page: str, href: str) -> None:
    url = join(page, href)
    if url is not None:
        assert url.startswith(("http://", "https://"))
        assert "#" not in url
        assert "@" not in split(url).origin
        assert url.isascii()
        assert len(url) <= MAX_LENGTH
        assert parse(url) == url
        assert join(page, url) == url


@given(hrefs)
def test_parsing_gives_a_normal_form_or_a_refusal(text: str) -> None:
    try:
        url = parse(text)
    except BadUrl:
        return
    assert parse(url) == url == join("https://elsewhere.example/", url)


# --- Joiner: the same, remembered ---


@given(pages, st.lists(hrefs, max_size=5))
def test_a_joiner_of_the_directory_knows_every_link_or_says_that_it_does_not(
    page: str, links: list[str]
) -> None:
    joiner = Joiner(directory(page))
    for href in links * 2:  # asked again, it answers from memory
        known = joiner[href]
        assert (join(page, href) if known == "" else known) == join(page, href)


@pytest.mark.parametrize("base", ["http://h/", "http://h:81/a/b//c/", "https://[::1]/C:/.../"])
def test_a_plain_path_is_joined_as_the_parser_would(base: str) -> None:
    joiner, page = Joiner(base), f"{base}page"
    pieces = ("../", "..", ".", "/", "a", "b.c", "-~_", ":", "%2e", "#", "?", " ", "\\")
    for count in (1, 2, 3, 4):
        for chosen in product(pieces, repeat=count):
            href = "".join(chosen)
            known = joiner[href]
            assert (join(page, href) if known == "" else known) == join(page, href), href


def test_a_joiner_leaves_to_the_page_what_depends_on_its_name() -> None:
    joiner = Joiner("http://h/a/")
    assert [joiner[href] for href in ("?page=2", "", "\t?x", "http:?x")] == [""] * 4
    assert [joiner[href] for href in (".", "/a/", "./?x")] == [
        "http://h/a/",
        "http://h/a/",
        "http://h/a/?x",
    ]


def test_a_joiner_remembers_a_page_once_for_all_its_fragments() -> None:
    joiner = Joiner("http://h/a/")
    assert joiner["b#one"] == joiner["b#two"] == "http://h/a/b"
    assert "b" in joiner


def test_a_blank_before_a_fragment_belongs_to_the_path() -> None:
    joiner = Joiner("http://h/a/")
    assert joiner["b #one"] == "http://h/a/b%20"
    assert joiner["b "] == "http://h/a/b"


def test_a_joiner_does_not_keep_long_links() -> None:
    joiner = Joiner("http://h/a/")
    assert joiner["b" * 600] == f"http://h/a/{'b' * 600}"
    assert not joiner


# --- parts ---


@pytest.mark.parametrize(
    ("url", "where"),
    [
        ("http://h/", "http://h/"),
        ("http://h/a", "http://h/"),
        ("http://h/a/", "http://h/a/"),
        ("http://h/a/b?c=/d/e", "http://h/a/"),
    ],
)
def test_the_directory_ends_at_the_last_slash_of_the_path(url: str, where: str) -> None:
    assert directory(url) == where


@pytest.mark.parametrize(
    ("url", "origin", "path", "host"),
    [
        ("http://h/", "http://h", "/", "h"),
        ("https://example.com:8443/a?b=/c", "https://example.com:8443", "/a?b=/c", "example.com"),
        ("http://[::1]/", "http://[::1]", "/", "[::1]"),
        ("http://[::1]:8080/", "http://[::1]:8080", "/", "[::1]"),
    ],
)
def test_a_url_is_its_origin_and_its_path(url: str, origin: str, path: str, host: str) -> None:
    assert split(url) == (origin, path)
    assert hostname(url) == host


@given(pages, hrefs)
def test_origin_and_path_together_are_the_url(page: str, href: str) -> None:
    url = join(page, href)
    if url is not None:
        assert "".join(split(url)) == url


@pytest.mark.parametrize(
    ("url", "dropped", "compared"),
    [
        ("http://h/a?utm_source=x&b=1", set(), "http://h/a?utm_source=x&b=1"),
        ("http://h/a?utm_source=x&b=1", {"utm_source"}, "http://h/a?b=1"),
        ("http://h/a?utm_source=x", {"utm_source"}, "http://h/a"),
        ("http://h/a?b=&c", {"utm_source"}, "http://h/a?b=&c"),
        ("http://h/A?B", {"utm_source"}, "http://h/A?B"),
    ],
)
def test_the_key_leaves_out_only_named_parameters(
    url: str, dropped: set[str], compared: str
) -> None:
    assert key(url, frozenset(dropped)) == compared


@pytest.mark.parametrize(
    ("host", "domain"),
    [
        ("www.example.co.uk", "example.co.uk"),
        ("example.com", "example.com"),
        ("a.b.example.com.", "example.com"),
        ("co.uk", "co.uk"),
        ("localhost", "localhost"),
        ("127.0.0.1", "127.0.0.1"),
        ("[::1]", "[::1]"),
        ("xn--mnchen-3ya.example.de", "example.de"),
    ],
)
def test_the_registrable_domain_is_one_label_more_than_the_public_suffix(
    host: str, domain: str
) -> None:
    assert registrable_domain(host) == domain
