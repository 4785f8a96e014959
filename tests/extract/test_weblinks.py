import time

import pytest

from freki.extract.page import extract
from freki.extract.weblinks import parsed
from freki.messages import Link, Page, Response, Via

PAGE = "http://h/a/page"


def read(*values: str, body: str = "", kind: str = "application/pdf") -> Page:
    headers = tuple(("link", value) for value in values)
    return extract(Response(PAGE, 200, headers, body.encode(), kind))


@pytest.mark.parametrize(
    ("value", "url", "via"),
    [
        ("<x>; rel=next", "http://h/a/x", Via.link),
        ("</x>;rel=prev", "http://h/x", Via.link),
        ('<//other/x> ; REL = "Foo NEXT"', "http://other/x", Via.link),
        ('<x>; rel="alternate"; hreflang=de', "http://h/a/x", Via.link),
        ('<x>; hreflang="de"; rel="canonical"', "http://h/a/x", Via.canonical),
        ('< x >; title="a, b; \\"c\\""; rel=next', "http://h/a/x", Via.link),
        ("<x,y;z>; rel=next", "http://h/a/x,y;z", Via.link),
        (", ,<x>;;rel=next", "http://h/a/x", Via.link),
        ("<y>; rel=preload; as=script, <x>; rel=next", "http://h/a/x", Via.link),
        ("<y>; junk here, <x>; rel=next", "http://h/a/x", Via.link),
        ('<x>; rel=next; anchor="#part"', "http://h/a/x", Via.link),
        ('<x>; rel="next', "http://h/a/x", Via.link),
        ("<\xc3\xa9>; rel=next", "http://h/a/%C3%A9", Via.link),
    ],
)
def test_a_header_leads_where(value: str, url: str, via: Via) -> None:
    assert [(link.url, link.via) for link in read(value).links] == [(url, via)]


@pytest.mark.parametrize(
    "value",
    [
        "",
        "x; rel=next",
        "<x>",
        "<x>; rel",
        "<x>; rel=preload; rel=next",
        "<x>; rel=stylesheet",
        '<x>; rel="alternate stylesheet"',
        '<x>; rel=next; anchor="/another"',
        "<mailto:me@h>; rel=next",
        "<x; rel=next",
    ],
)
def test_a_header_leads_nowhere(value: str) -> None:
    assert read(value).links == []


def test_a_document_tells_its_canonical_form_in_a_header() -> None:
    assert read('<http://h/doc>; rel="canonical"').canonical == "http://h/doc"


def test_each_url_comes_once_and_what_only_headers_name_first() -> None:
    page = read(
        "<1>; rel=next, <2>; rel=alternate",
        "<3>; rel=next",
        body="<link rel=canonical href=2><a href=1>1</a><a href=4>4</a>",
        kind="text/html",
    )
    assert [link.url for link in page.links] == [f"http://h/a/{n}" for n in (3, 2, 1, 4)]
    assert page.canonical == "http://h/a/2"


def test_a_link_of_a_header_has_a_title() -> None:
    assert read('<x>; rel=next; title="the  next"').links == [
        Link("http://h/a/x", "the next", "next")
    ]


def test_the_first_of_two_parameters_counts() -> None:
    assert list(parsed("<x>; rel=next; rel=prev")) == [("x", {"rel": "next"})]


@pytest.mark.parametrize(
    "hostile",
    ["<" * 300_000, "<x>" + ";" * 300_000, '<x>; a="' + "\\" * 300_000, "<x>;" + "a;" * 150_000,
     "<x>; rel=next," * 20_000, "<x>" + " " * 300_000 + "y"],
)  # fmt: skip
def test_a_hostile_header_costs_little(hostile: str) -> None:
    began = time.process_time()
    assert len(read(hostile).links) <= 1000
    assert time.process_time() - began < 1
