"""A page for reading: its text, its Markdown, its main content. Computed only when asked for."""

import re
from collections.abc import Iterator

from turbohtml import Document, Element, Markdown, parse

from freki.extract import charset
from freki.extract.document import base
from freki.extract.main import keep_only, main_text
from freki.messages import Response
from freki.url import join

# A cell of a pipe table holds no block; its HTML is not let through.
_MARKDOWN = Markdown(tables=Markdown.Tables(cell_blocks="text"))

# What a link in Markdown may lead to: who shows it must not run what a page wrote.
_HARMLESS = ("http://", "https://", "mailto:", "tel:")

# How highlighters name the language: `language-c`, `lang-c`, `highlight-c`, `highlight-source-c`,
# `brush: c`, `sourceCode c`.
_LANGUAGE = re.compile(
    r"(?:^|[\s;])(?:language-|lang-|highlight-source-|highlight-(?!source)|brush:\s*|sourceCode\s+)"
    r"([\w+#.-]+)"
)
_NO_LANGUAGE = frozenset({"default", "none", "text", "plain", "notranslate"})


def html(response: Response) -> str | None:
    """The source of a page as text; None for what is no text."""
    if not _is_text(response):
        return None
    return charset.decode(response.body, response.content_type)[0]


def text(response: Response) -> str | None:
    """What a person would see of a page, in lines."""
    if not _is_html(response):
        return html(response)
    return _document(response).to_text()


def markdown(response: Response) -> str | None:
    """A whole page as Markdown, with absolute links."""
    if not _is_html(response):
        return html(response)
    return _markdown(_document(response), response)


def main(response: Response) -> str | None:
    """The text of the main content: no menus, no footers, no advertisements."""
    if not _is_html(response):
        return html(response)
    return main_text(html(response) or "", _document(response))


def main_markdown(response: Response) -> str | None:
    """The main content as Markdown."""
    found = main(response)
    if not found or not _is_html(response):
        return found
    document = _document(response)
    return _markdown(document, response) if keep_only(document, found) else found


def _markdown(document: Document, response: Response) -> str:
    _make_absolute(document, base(document, response))
    _name_languages(document)
    return document.to_markdown(_MARKDOWN)


def _is_html(response: Response) -> bool:
    return "html" in response.content_type.lower()


def _is_text(response: Response) -> bool:
    kind = response.content_type.partition(";")[0].strip().lower()
    return kind.startswith("text/") or kind.endswith(("html", "json", "xml", "javascript"))


def _document(response: Response) -> Document:
    """A tree of its own: it is changed, and the one that others read must not be."""
    return parse(
        response.body,
        encoding=charset.announced(response.body, response.content_type),
        detect_encoding=True,
        positions=False,
    )


def _make_absolute(document: Document, url: str) -> None:
    """Links and pictures lead where they lead from the page; those that could run something go."""
    for element in list(document.iter_elements(("a", "img"))):
        name = "href" if element.tag == "a" else "src"
        target = _source(element) if element.tag == "img" else element.attr(name)
        made = None if target is None else _absolute(url, target)
        if made is not None:
            element.attrs[name] = made
        elif element.tag == "img":
            element.decompose()
        elif target is not None:
            del element.attrs[name]


def _source(image: Element) -> str | None:
    """Where a picture is; one that waits until it is scrolled to has it elsewhere."""
    source = image.attr("src")
    if source and not source.startswith("data:"):
        return source
    return image.attr("data-src") or image.attr("data-lazy-src") or image.attr("data-original")


def _absolute(url: str, target: str) -> str | None:
    if target.strip().lower().startswith(("mailto:", "tel:")):
        return target.strip()
    made = join(url, target)
    if not made or not made.startswith(_HARMLESS):
        return None
    fragment = target.strip().partition("#")[2]
    return f"{made}#{fragment}" if fragment else made


def _name_languages(document: Document) -> None:
    """The language of a block of code stands where the renderer looks for it."""
    for block in document.iter_elements(("pre",)):
        language = next(filter(None, map(_language, _around(block))), None)
        if language is not None:
            code = block.find("code")
            (block if code is None else code).attrs["class"] = f"language-{language}"


def _around(block: Element) -> Iterator[Element]:
    """Where a highlighter names the language: on the code, its block, or a box around."""
    code = block.find("code")
    if code is not None:
        yield code
    yield block
    box = block.parent
    for _ in range(2):
        if isinstance(box, Element):
            yield box
            box = box.parent


def _language(element: Element) -> str | None:
    told = element.attr("data-lang") or element.attr("data-language")
    if not told:
        named = _LANGUAGE.search(element.attr("class") or "")
        told = named[1] if named else None
    if not told or told.lower() in _NO_LANGUAGE or not re.fullmatch(r"[\w+#.-]{1,30}", told):
        return None
    return told.lower()
