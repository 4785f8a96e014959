"""The text of a page, for comparing pages: not for reading."""

from turbohtml import parse

from freki.extract import charset
from freki.extract.document import parsed
from freki.messages import Response

# Bytes of a body that are looked at; what two pages have in common shows long before.
LOOKED_AT = 200_000


def text_of(response: Response) -> str:
    """What a person would see of an HTML page, roughly; the decoded body of anything else."""
    if "html" in response.content_type and len(response.body) <= LOOKED_AT:
        return parsed(response).document.to_text()
    text, _ = charset.decode(response.body[:LOOKED_AT], response.content_type)
    return parse(text).to_text() if "html" in response.content_type else text
