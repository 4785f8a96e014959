"""The text of a page, for comparing pages: not for reading."""

from turbohtml import HTMLParseError, parse

from freki.extract import charset
from freki.messages import Response

# Bytes of a body that are looked at; what two pages have in common shows long before.
LOOKED_AT = 200_000


def text_of(response: Response) -> str:
    """What a person would see of an HTML page, roughly; the decoded body of anything else."""
    text, _ = charset.decode(response.body[:LOOKED_AT], response.content_type)
    if "html" not in response.content_type:
        return text
    try:
        return parse(text).to_text()
    except HTMLParseError:
        return text
