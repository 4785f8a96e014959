"""A page for reading: its text, its Markdown, its main content. Computed only when asked for."""

from turbohtml import Document, Markdown, parse

from freki.extract import charset
from freki.messages import Response
from freki.url import join

# A cell of a pipe table holds no block; its HTML is not let through.
_MARKDOWN = Markdown(tables=Markdown.Tables(cell_blocks="text"))

# What a link in Markdown may lead to: who shows it must not run what a page wrote.
_HARMLESS = ("http://", "https://", "mailto:", "tel:")


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
    document = _document(response)
    _make_absolute(document, response.url)
    return document.to_markdown(_MARKDOWN)


def main(response: Response) -> str | None:
    """The main content of a page as Markdown: no menus, no footers, no advertisements."""
    if not _is_html(response):
        return html(response)
    document = _document(response)
    _make_absolute(document, response.url)
    found = document.main_content()
    return "" if found is None else found.to_markdown(_MARKDOWN)


def _is_html(response: Response) -> bool:
    return "html" in response.content_type.lower()


def _is_text(response: Response) -> bool:
    kind = response.content_type.partition(";")[0].strip().lower()
    return kind.startswith("text/") or kind.endswith(("json", "xml", "javascript"))


def _document(response: Response) -> Document:
    return parse(
        response.body,
        encoding=charset.announced(response.body, response.content_type),
        detect_encoding=True,
        positions=False,
    )


def _make_absolute(document: Document, url: str) -> None:
    """Links and pictures lead where they lead from the page; those that could run something go."""
    base = document.find("base")
    if base is not None and (href := base.attr("href")):
        url = join(url, href) or url
    for element in document.iter_elements(("a", "img")):
        name = "href" if element.tag == "a" else "src"
        target = element.attr(name)
        if target is None:
            continue
        made = target if target.lower().startswith(("mailto:", "tel:")) else join(url, target)
        if made and made.startswith(_HARMLESS):
            fragment = target.partition("#")[2]
            element.attrs[name] = f"{made}#{fragment}" if fragment and "#" not in made else made
        else:
            del element.attrs[name]
