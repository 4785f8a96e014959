"""What selections find, and what they say where there is nothing."""

import pytest

from freki.errors import BadSelector
from freki.extract.selection import Selection, check_css, check_xpath
from freki.messages import Response
from freki.spider.page import Page

HTML = """<!doctype html><title>T</title><base href="/base/">
<ul id="list"><li class="a">  one
 <b>bold</b></li><li class="a" title="second">two <a href="x?y=1#z">link</a></li><li>three</li></ul>
<a href="mailto:x@y">mail</a><img src="pic.png" alt="A picture">
<form action="/send"><input name="q" value="1"><input type="submit" name="go" value="Go"></form>
<script>var x = "<li>";</script>"""


def page(body: str = HTML, kind: str = "text/html") -> Page:
    return Page(Response("http://a/dir/page", 200, (("content-type", kind),), body.encode(), kind))


def test_text_is_on_one_line_and_of_the_first_match() -> None:
    found = page().css("li.a")
    assert (found.text, found.texts) == ("one bold", ["one bold", "two link"])
    assert len(found) == 2
    assert [one.text for one in found] == found.texts
    assert found[1].attr("title") == "second"
    assert found[0:2].texts == found.texts


def test_where_there_is_nothing_text_is_empty_and_the_rest_none() -> None:
    found = page().css("table")
    assert not found
    assert (found.text, found.texts, found.html, found.tag) == ("", [], "", "")
    assert (found.attr("x"), found.attr("x", ""), found.attrs("x")) == (None, "", [])
    assert (found.url, found.urls, found.get(), found.getall()) == (None, [], None, [])
    assert found.css("td").xpath("//a").re("x") is None
    assert found.form_data() == []


def test_inside_of_a_selection_only_what_is_inside_is_found() -> None:
    items = page().css("#list").css("li")
    assert items[1].css("a").text == "link"
    assert items[1].xpath(".//a").text == "link"
    assert not items[0].css("a")


def test_addresses_are_absolute_and_by_the_base_of_the_page() -> None:
    assert page().css("li a").url == "http://a/base/x?y=1"
    assert page().css("img").url == "http://a/base/pic.png"
    assert page().css("a").urls == ["http://a/base/x?y=1"]
    assert page().css("a::attr(href)").url == "http://a/base/x?y=1"


@pytest.mark.parametrize(
    ("selector", "found"),
    [
        ("li::text", ["  one\n ", "two ", "three"]),
        ("li.a b::text", ["bold"]),
        ("a::attr(href)", ["x?y=1#z", "mailto:x@y"]),
        ("li::attr(title)", ["second"]),
    ],
)
def test_the_selectors_of_scrapy_work(selector: str, found: list[str]) -> None:
    assert page().css(selector).getall() == found
    assert page().css("body").css(selector).get() == found[0]


@pytest.mark.parametrize(
    ("expression", "texts"),
    [
        ("//li[2]/@title", ["second"]),
        ("//li[1]/b/text()", ["bold"]),
        ("count(//li)", ["3"]),
        ("string(//li[3])", ["three"]),
        ("count(//li) > 2", ["true"]),
        ("//table", []),
    ],
)
def test_xpath_finds_elements_texts_and_values(expression: str, texts: list[str]) -> None:
    assert page().xpath(expression).texts == texts


def test_a_pattern_finds_its_group_or_all_of_it() -> None:
    assert page().css("li").re(r"o(n)e") == "n"
    assert page().css("li").re(r"b\w+") == "bold"
    assert page().css("li").re("x") is None


def test_only_wants_exactly_one() -> None:
    assert page().css("form").only().tag == "form"
    with pytest.raises(LookupError, match=r"'li\.a' matches 2 times"):
        page().css("li.a").only()


def test_a_form_is_what_a_browser_sends_untouched() -> None:
    assert page().css("form").form_data() == [("q", "1")]


@pytest.mark.parametrize("selector", ["div[", "", "a::before", ":nope", "a >", "li::attr()"])
def test_css_that_is_none_is_told(selector: str) -> None:
    with pytest.raises(BadSelector, match="the CSS selector"):
        page().css(selector)
    with pytest.raises(BadSelector):
        check_css(selector)


@pytest.mark.parametrize("expression", ["//a[", "", "//a/nope::x", "foo("])
def test_xpath_that_is_none_is_told(expression: str) -> None:
    with pytest.raises(BadSelector, match="the XPath"):
        page().xpath(expression)
    with pytest.raises(BadSelector):
        check_xpath(expression)


def test_what_is_no_html_has_nothing_to_select() -> None:
    data = page('{"a": [1]}', "application/json")
    assert not data.css("*").css("p")
    assert data.json() == {"a": [1]}
    assert data.json(dict[str, list[int]]) == {"a": [1]}
    assert data.links == []
    with pytest.raises(ValueError, match="holds no such JSON"):
        data.json(list[int])


def test_a_selection_says_what_it_is() -> None:
    assert repr(page().css("li")) == "<Selection 'li': 3>"
    assert isinstance(page().css("li")[0], Selection)


STRUCTURED = """<html><head><meta property="og:title" content="A book">
<script type="application/ld+json">{"@graph": [{"@type": ["Product", "Book"], "name": "Emma",
"offers": {"@type": "Offer", "price": "9"}}]}</script><script type="application/ld+json">{broken
</script></head><body><div itemscope itemtype="https://schema.org/Person">
<b itemprop="name">Jane</b>
<i itemprop="knows">A</i><i itemprop="knows">B</i></div></body></html>"""


def test_structured_data_is_found_wherever_it_stands() -> None:
    data = page(STRUCTURED).data
    assert data.opengraph == {"og:title": "A book"}
    assert [thing["name"] for thing in data.of_type("Book")] == ["Emma"]
    assert data.of_type("Offer") == [{"@type": "Offer", "price": "9"}]
    (jane,) = data.of_type("Person")
    assert (jane["name"], jane["knows"]) == ("Jane", ["A", "B"])
    assert data.of_type("Nothing") == []


def test_a_page_without_structured_data_has_none() -> None:
    assert page("<p>").data.of_type("Book") == []
    assert page("{}", "application/json").data.json_ld == []
