"""Text, Markdown and main content of a page."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from freki.extract import main, reading
from freki.extract.document import parsed
from freki.messages import Response

WORDS = "The river had been rising since Tuesday, and by noon the ferry no longer ran. "
ARTICLE = f"""<html><head><title>The ferry - Daily News</title></head><body>
<nav><ul><li><a href="/">Home</a><li><a href="/sport">Sport</a></ul></nav>
<div class="sidebar"><a href="/buy">Buy now</a><img src="/ad.png" alt="advertisement"></div>
<article><h1>The ferry</h1><p>{WORDS * 3}</p>
<figure><img data-src="boat.jpg" src="data:image/gif;base64,R0" alt="A boat"></figure>
<p>{WORDS} See <a href="levels#today">the levels</a>. {WORDS}</p>
<h2>How to measure</h2><p>{WORDS * 2}</p>
<div class="highlight-python"><pre>def level():
    return 3</pre></div>
<table><tr><th>Day</th><th>Metres</th></tr>
<tr><td>Tuesday of that week</td><td>3.10</td></tr></table>
<ul><li>Stay away from the water. {WORDS}</li><li>Keep a lamp. {WORDS}</li></ul></article>
<footer><p>Imprint, privacy, terms of use</p><img src="/logo.png" alt="logo"></footer>
</body></html>"""


def html(body: str, url: str = "http://a/news/ferry") -> Response:
    return Response(url, 200, (), body.encode(), "text/html; charset=utf-8")


def test_markdown_keeps_what_a_page_is_made_of() -> None:
    text = reading.markdown(html(ARTICLE)) or ""
    assert "# The ferry\n" in text
    assert "\n## How to measure\n" in text
    assert "\n```python\ndef level():\n    return 3\n```\n" in text
    assert "| Day | Metres |\n| --- | --- |\n" in text
    assert "\n- Keep a lamp." in text
    assert "[the levels](http://a/news/levels#today)" in text
    assert "![A boat](http://a/news/boat.jpg)" in text
    assert "Imprint" in text


@pytest.mark.parametrize(
    ("markup", "language"),
    [
        ('<pre><code class="language-rust">x</code></pre>', "rust"),
        ('<pre class="lang-js prettyprint">x</pre>', "js"),
        ('<pre class="brush: sql; gutter: false">x</pre>', "sql"),
        ('<pre class="sourceCode haskell"><code>x</code></pre>', "haskell"),
        ('<div class="highlight-c notranslate"><div><pre>x</pre></div></div>', "c"),
        ('<div class="highlight highlight-source-shell"><pre>x</pre></div>', "shell"),
        ('<pre data-lang="C++"><code>x</code></pre>', "c++"),
        ('<div class="highlight-default"><pre>x</pre></div>', ""),
        ('<pre data-lang="a`\nb">x</pre>', ""),
    ],
)  # fmt: skip
def test_code_keeps_its_language(markup: str, language: str) -> None:
    assert reading.markdown(html(markup)) == f"```{language}\nx\n```"


@pytest.mark.parametrize(
    ("markup", "text"),
    [
        ('<a href="javascript:alert(1)">run</a>', "run"),
        ('<a href=" JaVaScRiPt:alert(1)">run</a>', "run"),
        ('<a href="data:text/html,x">run</a>', "run"),
        ('<img src="javascript:alert(1)" alt="x">run', "run"),
        ('<a href="mailto:a@b.org">write</a>', "[write](mailto:a@b.org)"),
        ("&lt;script&gt;", r"\<script>"),
        ('<base href="/up/"><a href="x y">a</a>', "[a](http://a/up/x%20y)"),
        ("<script>evil()</script>run", "run"),
    ],
)
def test_nothing_in_markdown_can_run(markup: str, text: str) -> None:
    assert reading.markdown(html(markup)) == text


def test_main_content_is_without_what_stands_around_it() -> None:
    text = reading.main(html(ARTICLE)) or ""
    assert text.count("The river had been rising") == 9
    for other in ("Sport", "Buy now", "Imprint", "](", "# "):
        assert other not in text


def test_main_content_as_markdown_is_the_page_without_the_rest() -> None:
    text = reading.main_markdown(html(ARTICLE)) or ""
    assert text.startswith("# The ferry\n")
    assert "\n## How to measure\n" in text
    assert "```python\ndef level():\n    return 3\n```" in text
    assert "| Tuesday of that week | 3.10 |" in text
    assert "[the levels](http://a/news/levels#today)" in text
    assert "![A boat](http://a/news/boat.jpg)" in text
    for other in ("Sport", "Buy now", "Imprint", "advertisement", "logo"):
        assert other not in text


def test_without_the_library_the_own_finder_does(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(main, "_trafilatura", lambda: None)
    text = reading.main(html(ARTICLE)) or ""
    assert "The river had been rising" in text
    assert "Imprint" not in text


def test_what_is_no_html_is_read_as_it_is() -> None:
    plain = Response("http://a/", 200, (), "grüße".encode(), "text/plain; charset=utf-8")
    picture = Response("http://a/", 200, (), b"\x89PNG", "image/png")
    for read in (reading.html, reading.text, reading.markdown, reading.main, reading.main_markdown):
        assert read(plain) == "grüße"
        assert read(picture) is None


def test_a_page_of_nothing_has_no_content() -> None:
    assert reading.main(html("")) == ""
    assert reading.main_markdown(html("<nav><a href=/>a</a></nav>")) is not None


def test_the_tree_that_others_read_stays_as_it_is() -> None:
    response = html(ARTICLE)
    before = parsed(response).document.html
    reading.main_markdown(response)
    reading.markdown(response)
    assert parsed(response).document.html == before


@given(st.text(alphabet="<>/apdivtbleh12 \"'=&;\n\0ü", max_size=300))
def test_no_page_makes_it_raise(body: str) -> None:
    response = html(body)
    for read in (reading.text, reading.markdown, reading.main, reading.main_markdown):
        assert isinstance(read(response), str)


def test_a_deep_page_makes_it_neither_raise_nor_wait() -> None:
    deep = html("<div>" * 5000 + WORDS * 20 + "<p>" * 5000)
    assert isinstance(reading.main_markdown(deep), str)
