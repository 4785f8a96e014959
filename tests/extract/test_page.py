import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from freki.extract.page import extract
from freki.messages import Link, Page, Response, Via

PAGE = "http://h/a/page"


def answer(
    body: str | bytes,
    content_type: str = "text/html; charset=utf-8",
    status: int = 200,
    **headers: str,
) -> Response:
    return Response(
        url=PAGE,
        status=status,
        headers=tuple((name.replace("_", "-"), value) for name, value in headers.items()),
        body=body.encode() if isinstance(body, str) else body,
        content_type=content_type,
    )


def read(body: str | bytes, content_type: str = "text/html; charset=utf-8", **headers: str) -> Page:
    return extract(answer(body, content_type, 200, **headers))


# --- what is read ---


@pytest.mark.parametrize(
    "content_type",
    [
        "text/html",
        "TEXT/HTML ;charset=utf-8",
        "application/xhtml+xml",
        "",
        "*/*",
        "unknown/unknown",
    ],
)
def test_html_is_read_whatever_way_it_is_announced(content_type: str) -> None:
    page = read(
        "<html><head><title>t</title></head><body><a href='x'>x</a></body></html>", content_type
    )
    assert page.title == "t"
    assert [link.url for link in page.links] == ["http://h/a/x"]


@pytest.mark.parametrize(
    "content_type", ["text/plain", "application/pdf", "application/json", "text/htmlx", "text"]
)
def test_what_is_not_html_has_no_links(content_type: str) -> None:
    assert read("<title>t</title><a href=x>x</a>", content_type) == Page(links=[])


@pytest.mark.parametrize(
    ("body", "is_html"),
    [
        ("<!doctype html><a href=x>", True),
        ("\n\t <!-- --><a href=x>", True),
        ("<a href=x>", True),
        ("\ufeff<html><a href=x>", True),
        ("<abbr><a href=x>", False),
        ("hello <a href=x>", False),
        ("%PDF-1.7 <a href=x>", False),
        ("", False),
    ],
)
def test_without_a_type_the_first_bytes_tell(body: str, is_html: bool) -> None:
    assert bool(read(body, "").links) == is_html


def test_what_is_not_html_still_has_its_headers() -> None:
    page = read("", "text/plain; charset=latin1", content_language="de", x_robots_tag="noindex")
    assert page == Page(links=[], language="de", charset="windows-1252", noindex=True)


def test_an_error_page_is_read_like_any_other() -> None:
    page = extract(answer("<a href=/home>home</a>", status=404))
    assert page.links == [Link("http://h/home", "home")]


def test_a_refresh_in_the_header_counts_like_one_in_the_page() -> None:
    page = read("<base href=/b/><a href=/a/x>x</a>", refresh="3; url=moved")
    assert page.links[0] == Link("http://h/a/moved", via=Via.refresh)
    assert len(page.links) == 2
    assert [link.via for link in read("<a href=x>", refresh="0; url=x").links] == [Via.link]
    assert read("", refresh="0; url=javascript:1").links == []


def test_xhtml_is_read_as_xml() -> None:
    body = (
        '<?xml version="1.0"?><html xmlns="http://www.w3.org/1999/xhtml" xml:lang="de">'
        '<head><script src="x"/><title>t</title></head><body><a href="x"/></body></html>'
    )
    page = read(body, "application/xhtml+xml; charset=utf-8")
    assert (page.title, page.language, page.charset) == ("t", "de", "UTF-8")
    assert [link.url for link in page.links] == ["http://h/a/x"]


def test_xhtml_that_is_no_xml_is_read_as_html() -> None:
    page = read("<title>t</title><p>&nbsp;<a href=x>x", "application/xhtml+xml")
    assert (page.title, len(page.links)) == ("t", 1)


# --- redirects ---


@pytest.mark.parametrize("status", [300, 301, 302, 303, 307, 308])
def test_a_redirect_leads_to_its_target_alone(status: int) -> None:
    page = extract(answer("<a href=x>x</a>", status=status, location="/new#top"))
    assert page == Page(links=[Link("http://h/new", via=Via.redirect)])


@pytest.mark.parametrize("location", ["mailto:me@h", "http://[", "http://"])
def test_a_redirect_to_no_page_leads_nowhere(location: str) -> None:
    assert extract(answer("<a href=x>x</a>", status=302, location=location)) == Page(links=[])


def test_a_location_is_read_as_utf_8() -> None:
    for location in ("/é", "/é".encode().decode("latin-1")):
        page = extract(answer("", status=301, location=location))
        assert page.links[0].url == "http://h/%C3%A9"


def test_a_redirect_without_a_location_is_a_page() -> None:
    assert len(extract(answer("<a href=x>x</a>", status=300)).links) == 1


def test_a_location_on_a_page_that_is_no_redirect_is_nothing() -> None:
    assert read("", location="/new").links == []


# --- what a page tells about itself ---


@pytest.mark.parametrize(
    ("body", "title"),
    [
        ("<title> A\n  title &amp;\tmore </title>", "A title & more"),
        ("<title>one</title><title>two</title>", "one"),
        ("<svg><title>drawing</title></svg><title>page</title>", "page"),
        ("<svg><title>drawing</title></svg>", None),
        ("<title> </title>", None),
        ("<title>a\0b</title>", "a\ufffdb"),
        (f"<title>{'x' * 5000}</title>", "x" * 1000),
        ("<p>no title", None),
    ],
)
def test_the_title_is_the_first_of_the_page_on_one_line(body: str, title: str | None) -> None:
    assert read(body).title == title


@pytest.mark.parametrize(
    ("body", "description"),
    [
        ("<meta name=description content=' of\n this '>", "of this"),
        ("<meta content=x NAME=Description>", "x"),
        ("<meta name=description content=''><meta name=description content=two>", "two"),
        ("<meta name=description>", None),
        ("<meta property=og:description content=x>", None),
    ],
)
def test_the_description_is_the_first_that_says_something(
    body: str, description: str | None
) -> None:
    assert read(body).description == description


@pytest.mark.parametrize(
    ("body", "canonical"),
    [
        ("<link rel=canonical href=/real#x>", "http://h/real"),
        ("<link rel='NoFollow Canonical' href=/real>", "http://h/real"),
        ("<base href=//other/><link rel=canonical href=real>", "http://other/real"),
        ("<link rel=canonical href=/one><link rel=canonical href=/two>", "http://h/one"),
        ("<link rel=alternate href=/me><link rel=canonical href=/me>", "http://h/me"),
        ("<link rel=canonical href=mailto:x>", None),
        ("<link rel=canonical>", None),
        ("<link rel=next href=/two>", None),
    ],
)
def test_the_canonical_url_is_what_the_page_says(body: str, canonical: str | None) -> None:
    assert read(body).canonical == canonical


@pytest.mark.parametrize(
    ("body", "header", "language"),
    [
        ("<html lang=de>", "fr", "de"),
        ("<html lang=' de-AT '>", "", "de-AT"),
        ("<html>", "fr", "fr"),
        ("<html lang=''>", "fr", "fr"),
        ("<html>", "fr, de", None),
        ("<body lang=de>", "", None),
        (f"<html lang={'x' * 5000}>", "", "x" * 35),
    ],
)
def test_the_language_is_that_of_the_root_or_of_the_header(
    body: str, header: str, language: str | None
) -> None:
    assert read(body, content_language=header).language == language


def test_the_charset_is_the_one_it_was_read_with() -> None:
    page = read("<meta charset=utf-8><title>ж</title>".encode("koi8-r"), "text/html;charset=koi8-r")
    assert (page.title, page.charset) == ("ж", "KOI8-R")


# --- robots directives ---


@pytest.mark.parametrize(
    ("directives", "noindex", "nofollow"),
    [
        ("noindex", True, False),
        ("NOINDEX , NoFollow", True, True),
        ("none", True, True),
        ("all", False, False),
        ("index, follow", False, False),
        ("noindexes", False, False),
        ("max-snippet:20, nofollow", False, True),
        ("unavailable_after: Friday, 25 Jun 2010 15:00:00 PST, noindex", True, False),
        ("", False, False),
    ],
)
def test_robots_directives_are_heard_in_the_page_and_in_its_header(
    directives: str, noindex: bool, nofollow: bool
) -> None:
    for page in (
        read(f"<meta name=ROBOTS content='{directives}'>"),
        read(f"<meta name=freki content='{directives}'>"),
        read("<p>", x_robots_tag=directives),
        read(f"<meta name=robots content='{directives}'>", x_robots_tag="all"),
    ):
        assert (page.noindex, page.nofollow) == (noindex, nofollow)


@pytest.mark.parametrize(
    ("header", "noindex", "nofollow"),
    [
        ("freki: noindex", True, False),
        ("*: noindex", True, False),
        ("googlebot: noindex, nofollow", False, False),
        ("noindex, googlebot: nofollow", True, False),
        ("googlebot: nofollow, freki: noindex", True, False),
    ],
)
def test_a_header_may_say_whom_it_means(header: str, noindex: bool, nofollow: bool) -> None:
    page = read("<p>", x_robots_tag=header)
    assert (page.noindex, page.nofollow) == (noindex, nofollow)


def test_a_meta_for_another_robot_is_not_for_us() -> None:
    assert not read("<meta name=googlebot content=noindex>").noindex


def test_the_strictest_of_several_directives_holds() -> None:
    page = read("<meta name=robots content=index><meta name=robots content=noindex>")
    assert page.noindex


# --- hostile pages ---


@given(st.binary(max_size=80), st.sampled_from(["text/html", "application/xhtml+xml", "", "?"]))
def test_no_bytes_make_it_raise(body: bytes, content_type: str) -> None:
    for begun in (body, b"<a href='" + body, b"<meta name=robots content='" + body):
        page = read(begun, content_type)
        (page.title or "").encode()


@pytest.mark.parametrize(
    "body",
    [
        b"<div>" * 100_000,
        b"<table><tr><td>" * 30_000,
        b"<a href=x><b><i>" * 30_000,
        b"\0" * 500_000,
        b"<" * 500_000,
        b"<a " + b" ".join(b"a%d=1" % n for n in range(30_000)) + b">",
        b"<meta name=robots content='" + b"a:," * 200_000 + b"'>",
        b"<meta http-equiv=refresh content='0" + b" " * 500_000 + b"'>",
        b"<title>" + b" " * 500_000 + b"</title>",
        b"<svg>" + b"".join(b"<a href=%d>" % n for n in range(15_000)),
    ],
)
def test_time_stays_linear_in_the_size(body: bytes) -> None:
    # A quadratic step would take minutes here; the slowest takes 30 ms.
    begin = time.perf_counter()
    read(body)
    assert time.perf_counter() - begin < 2


@pytest.mark.parametrize("tag", ["a", "area"])
def test_time_stays_linear_in_xml_however_deep(tag: str) -> None:
    body = b"".join(b'<%b href="%d">' % (tag.encode(), n) for n in range(10_000))
    begin = time.perf_counter()
    page = read(body + b"x" + b"</%b>" % tag.encode() * 10_000, "application/xhtml+xml")
    assert time.perf_counter() - begin < 2
    assert len(page.links) == 10_000
