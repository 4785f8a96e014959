"""What the halls of the synthetic web are furnished with: prose, pages, pictures and a style."""

import struct
import zlib
from collections.abc import Sequence
from functools import lru_cache
from hashlib import shake_128

SENTENCE = 80  # characters, about


def stream(key: str, count: int) -> tuple[int, ...]:
    """Numbers of 64 bits, the same for the same key everywhere."""
    return struct.unpack(f"<{count}Q", shake_128(key.encode()).digest(count * 8))


def words(bits: int) -> tuple[str, str]:
    """An adjective and a noun."""
    return _ADJECTIVES[bits >> 32 & 31], _NOUNS[bits >> 37 & 31]


def escape(text: str) -> str:
    """For what has no quotes and no brackets, as our URLs have none."""
    return text.replace("&", "&amp;")


def paragraphs(sentences: Sequence[str]) -> str:
    """Prose with a heading now and then."""
    parts = []
    for start in range(0, len(sentences), 5):
        if start % 20 == 15:
            parts.append(f"<h2>{_HEADINGS[start // 20 % len(_HEADINGS)]}</h2>")
        parts.append(f"<p>{' '.join(sentences[start : start + 5])}</p>")
    return "\n".join(parts)


def bullets(heading: str, anchors: Sequence[str]) -> str:
    """A list under its heading; nothing where there is nothing to list."""
    if not anchors:
        return ""
    items = "\n".join(f"<li>{anchor}</li>" for anchor in anchors)
    return f"<h2>{heading}</h2>\n<ul>\n{items}\n</ul>\n"


def loans(bits: int) -> str:
    """The rows of the table of loans."""
    years = (1700 + (bits >> shift) % 320 for shift in (3, 11, 19))
    return "".join(
        f"<tr><td>{year}</td><td>the {_NOUNS[year % 32]}</td><td>{year % 90 + 1} days</td></tr>\n"
        for year in years
    )


def image(bits: int) -> bytes:
    """A PNG of one colour, 8 by 8 pixels."""
    chunks = (
        b"IHDR" + struct.pack(">IIBBBBB", 8, 8, 8, 2, 0, 0, 0),
        b"IDAT" + zlib.compress((b"\0" + bits.to_bytes(8, "little")[:3] * 8) * 8),
        b"IEND",
    )
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(chunk) - 4) + chunk + struct.pack(">I", zlib.crc32(chunk))
        for chunk in chunks
    )


@lru_cache(maxsize=8)
def sentences(seed: int) -> tuple[str, ...]:
    """One for every value of a byte, so that a page's prose is a string of bytes."""
    return tuple(_sentence(stream(f"sentence/{seed}/{number}", 7)) for number in range(256))


def _sentence(dice: Sequence[int]) -> str:
    return _TEMPLATES[dice[0] % len(_TEMPLATES)].format(
        adjective=_ADJECTIVES[dice[1] % 32],
        noun=_NOUNS[dice[2] % 32],
        other=_NOUNS[dice[3] % 32],
        place=_PLACES[dice[4] % len(_PLACES)],
        year=1700 + dice[5] % 320,
        count=2 + dice[6] % 97,
    )


_VOCABULARY = """
blue borrowed brass bright careful copper crooked distant faded folded forgotten frozen
gentle golden hidden hollow late little long lost marble northern patient plain quiet red
restless silver sleeping striped tall winter

ballad bell bridge candle clock compass door feather fountain garden harbour key kite ladder
lamp lantern letter lighthouse map mirror mountain painter pearl river sailor shadow ship
stair storm tower traveller window
"""
_ADJECTIVES, _NOUNS = map(str.split, _VOCABULARY.split("\n\n"))

_PLACES = (
    "by the north stair",
    "under the long gallery",
    "beside the stove",
    "in the keeper's drawer",
    "on the highest shelf",
    "behind the globe",
)

_HEADINGS = (
    "How it came here",
    "What readers say",
    "The binding",
    "Notes in the margin",
    "Copies elsewhere",
    "For the keeper",
)

_TEMPLATES = (
    "The {adjective} {noun} was lent {count} times before anybody missed its last page.",
    "Whoever comes for the {noun} usually stays for the {other}.",
    "In {year} the keepers moved the {adjective} {noun} {place}, where it is dry.",
    "Nobody has asked for the {noun} since {year}; it waits {place}.",
    "Whoever returns the {noun} late owes this hall a {adjective} {other}.",
    "Its margins hold notes in {count} hands — the oldest is signed with a {adjective} {noun}.",
    "The catalogue counts {count} copies, and a {adjective} {noun} that is none of them.",
    "Compare it with the {other} {place}: both were bound in {year}.",
    "“Read it {place},” says the old guide, “and then read the {noun} again.”",
    "What looks like a {noun} from the gallery turns out to be a {adjective} {other}.",
    "In the café they tell the story of the {adjective} {noun} by heart.",
    "There is a shorter way: past the {noun}, left at the {other}, then down {count} steps.",
)

NOTICE = """<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title>{status} {reason}</title></head>
<body><h1>{reason}</h1><p>The keeper looked twice.</p></body>
</html>
"""

PAGE = """<!doctype html>
<html lang="{language}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>{title}</title>
<meta name="description" content="{description}">
<link rel="canonical" href="{canonical}">
<link rel="stylesheet" href="/library.css">
</head>
<body>
<header>{way_back}</header>
<main>
<h1>{title}</h1>
{prose}
{lists}<h2>Loans</h2>
<table>
<tr><th>Year</th><th>Reader</th><th>Kept for</th></tr>
{loans}</table>
</main>
<footer>{permanent} · <a href="mailto:keeper@library.invalid">Write to the keeper</a></footer>
</body>
</html>
"""

STYLE = """
:root { color-scheme: light dark; --ink: #2b2620; --paper: #fbf8f1; --red: #9a3b26 }
@media (prefers-color-scheme: dark) { :root { --ink: #e8e2d6; --paper: #211d18; --red: #e0896f } }
body { max-width: 44rem; margin: 0 auto; padding: 1.5rem; font: 1.1rem/1.6 Georgia, serif }
body { color: var(--ink); background: var(--paper) }
h1 { font-size: 2.2rem; line-height: 1.2 }
h2 { margin-top: 2rem; font-size: 1.2rem }
a { color: var(--red) }
ul { columns: 2; padding-left: 1.2rem }
table { border-collapse: collapse }
th, td { padding: 0.2rem 1.5rem 0.2rem 0; text-align: left; border-bottom: 1px solid #8884 }
header, footer { font-size: 0.9rem; opacity: 0.8 }
"""
