"""A page for reading: as text, and as Markdown. Total, as everything that reads the web."""

from turbohtml import HTMLParseError, parse

from freki.extract import charset


def text_of(body: bytes, content_type: str, url: str) -> str:
    """What a person would see of an HTML page; anything else as it is."""
    text, _ = charset.decode(body, content_type)
    if "html" not in content_type:
        return text
    try:
        return parse(text).to_text()
    except HTMLParseError:
        return text


def markdown_of(body: bytes, content_type: str, url: str) -> str:
    """An HTML page as Markdown; anything else as it is."""
    text, _ = charset.decode(body, content_type)
    if "html" not in content_type:
        return text
    try:
        return parse(text).to_markdown()
    except HTMLParseError:
        return text
