"""The links of a crawl as GraphML: URLs are nodes, links are edges.

A node is named by a hash of its URL, so an edge can be written without looking its ends up.
"""

from collections.abc import Iterable, Iterator
from hashlib import blake2b
from typing import Final

from freki.sinks.rows import Row

HEAD: Final = """\
<?xml version="1.0" encoding="UTF-8"?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
<key id="url" for="node" attr.name="url" attr.type="string"/>
<key id="outcome" for="node" attr.name="outcome" attr.type="string"/>
<key id="reason" for="node" attr.name="reason" attr.type="string"/>
<key id="status" for="node" attr.name="status" attr.type="int"/>
<key id="depth" for="node" attr.name="depth" attr.type="int"/>
<key id="text" for="edge" attr.name="text" attr.type="string"/>
<key id="via" for="edge" attr.name="via" attr.type="string"/>
<graph edgedefault="directed">
"""
FOOT: Final = "</graph>\n</graphml>\n"

_DATA: Final = ("url", "outcome", "reason", "status", "depth")

# XML 1.0, 2.2: no other control character may stand in a document, not even escaped.
_FORBIDDEN: Final = dict.fromkeys([*range(9), 11, 12, *range(14, 32), 0xFFFE, 0xFFFF], "\ufffd")


def graphml(urls: Iterable[Row], links: Iterable[Row]) -> Iterator[bytes]:
    """The pieces of the file."""
    yield HEAD.encode()
    for url in urls:
        yield f'<node id="{_name(url["url"])}">{_data(url, _DATA)}</node>\n'.encode()
    for link in links:
        ends = f'source="{_name(link["source"])}" target="{_name(link["target"])}"'
        yield f"<edge {ends}>{_data(link, ('text', 'via'))}</edge>\n".encode()
    yield FOOT.encode()


def _name(url: object) -> str:
    return "n" + blake2b(str(url).encode(), digest_size=8).hexdigest()


def _data(row: Row, keys: tuple[str, ...]) -> str:
    return "".join(
        f'<data key="{key}">{escaped(str(row[key]))}</data>' for key in keys if row[key] is not None
    )


def escaped(text: str) -> str:
    """Text as it may stand between tags and in quotes."""
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return text.replace('"', "&quot;").translate(_FORBIDDEN)
