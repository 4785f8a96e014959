"""Links in the header of an answer (RFC 8288): the way of those that are no HTML."""

import re
from collections.abc import Iterator
from contextlib import suppress
from itertools import islice

from freki.extract.links import relation, relations
from freki.extract.words import collapsed
from freki.messages import Link, Response
from freki.url import join

_MAX_LINKS = 1000  # of an answer; a page in forty languages has forty
_MAX_TITLE = 200

# RFC 8288 appendix B.2, which is more forgiving than its grammar.
_TARGET = re.compile(r"[\s,]*+<([^>]*+)>")
_PARAMETER = re.compile(
    r"\s*+;[\s;]*+([^\s=;,\"]++)(?:\s*+=\s*+(?:\"((?:[^\"\\]|\\.)*+)\"?|([^;,\s]*+)))?", re.DOTALL
)
_REST = re.compile(r"[^,]*+")
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)


def announced(response: Response) -> list[Link]:
    """The links that headers name and that are followed, as `<link>` elements are."""
    values = [_text(value) for name, value in response.headers if name == "link"]
    if not values:  # nearly always
        return []
    listed = (pair for value in values for pair in parsed(value))
    found = (_link(response.url, *pair) for pair in islice(listed, _MAX_LINKS))
    return [link for link in found if link is not None]


def parsed(value: str) -> Iterator[tuple[str, dict[str, str]]]:
    """Targets with their parameters; of a parameter that comes twice the first counts."""
    at = 0
    while (target := _TARGET.match(value, at)) is not None:
        at = target.end()
        parameters: dict[str, str] = {}
        while (parameter := _PARAMETER.match(value, at)) is not None:
            at = parameter.end()
            name, quoted, token = parameter.groups(default="")
            parameters.setdefault(name.lower(), _ESCAPED.sub(r"\1", quoted) or token)
        yield target[1].strip(), parameters
        rest = _REST.match(value, at)
        at = rest.end() if rest else at


def _link(base: str, target: str, parameters: dict[str, str]) -> Link | None:
    """What is said of another resource (`anchor`) is nothing about this one."""
    rel = relations(parameters.get("rel", ""))
    via = relation(rel)
    url = join(base, target)
    if via is None or not url or join(base, parameters.get("anchor", "")) != join(base, ""):
        return None
    return Link(url, collapsed(parameters.get("title", ""), _MAX_TITLE), rel, via)


def _text(value: str) -> str:
    """Browsers read this header as UTF-8; the bytes of headers are kept as Latin-1."""
    with suppress(UnicodeError):
        return value.encode("latin-1").decode("utf-8")
    return value
