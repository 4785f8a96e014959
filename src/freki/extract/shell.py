"""Is an answer an empty shell, which scripts fill in a browser?"""

import re
from typing import NamedTuple

from freki.extract.document import parsed
from freki.extract.text import LOOKED_AT, text_of
from freki.messages import Response

# A page that says less than this, in characters without blanks, and has scripts may be a shell.
LITTLE = 200

# A shell with a menu is one as well; a page with more links than that can be crawled as it is.
FEW_LINKS = 3

# Where frameworks put what they make: React, Vue, Next, Nuxt, Angular, Ember, Svelte and others.
_ROOT = re.compile(
    rb"<(?:div|main|section|body)[^>]*\sid=[\"']?(?:root|app|__next|__nuxt|___gatsby|svelte|main"
    rb"|application|react-root|app-root|mount|ember\d*)[\"'\s>]|<app-root|ng-app[=\s>]",
    re.IGNORECASE,
)
_SCRIPT = re.compile(rb"<script[\s>]", re.IGNORECASE)


class Content(NamedTuple):
    """How much a page says."""

    text: int  # characters without blanks
    links: int


def content_of(response: Response) -> Content:
    """How much an HTML page says, without a browser."""
    document = parsed(response).document
    links = sum(1 for element in document.iter_elements(("a",)) if element.attr("href"))
    return Content(len("".join(text_of(response).split())), links)


def has_scripts(response: Response) -> bool:
    """Could a browser show something else?"""
    return _SCRIPT.search(response.body[:LOOKED_AT]) is not None


def is_shell(response: Response) -> bool:
    """Little text, few links, scripts; or next to nothing, and a root that scripts fill."""
    if not has_scripts(response):
        return False
    text, links = content_of(response)
    if links > FEW_LINKS:
        return False
    return text < LITTLE or (text < 3 * LITTLE and _ROOT.search(response.body) is not None)
