"""The text of a page, for comparing pages: not for reading.

It is what a person would see, roughly: each text that stands between two tags on a line.
"""

from turbohtml import Document, parse

from freki import native
from freki.extract import charset
from freki.extract.document import XHTML, media_type, parsed
from freki.messages import Response
from freki.native import Native

# Bytes of a body that are looked at; what two pages have in common shows long before.
LOOKED_AT = 200_000

# What stands in these is not seen, or not in the page.
_UNSEEN = ("iframe", "noembed", "noframes", "script", "style", "title")
_SEEN = f"//text()[not({' or '.join(f'parent::{name}' for name in _UNSEEN)})]"


def text_of(response: Response, library: Native | None = native.HERE) -> str:
    """What a person would see of an HTML page, roughly; the decoded body of anything else."""
    kind, body = response.content_type, response.body[:LOOKED_AT]
    if "html" not in kind:
        return charset.decode(body, kind)[0]
    encoding = charset.told(body, kind) if library and media_type(response) != XHTML else None
    if library is not None and encoding is not None:
        if encoding != "UTF-8":
            body = body.decode(f"whatwg-{encoding}").encode()
        if (words := library.read_words(body)) is not None:
            return words
    if len(response.body) <= LOOKED_AT:
        return _words(parsed(response).document)
    return _words(parse(charset.decode(body, kind)[0]))


def _words(document: Document) -> str:
    texts = document.xpath(_SEEN)
    lines = (" ".join(str(text).split()) for text in texts) if isinstance(texts, list) else ()
    return "\n".join(filter(None, lines))
