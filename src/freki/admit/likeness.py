"""How alike are two pages, and does a pattern of URLs still bring anything new?

Pure and deterministic. Asked only for pages of patterns that grew suspiciously large, and there
for a sample, so a fifth of a millisecond for 20 KB of text is cheap enough.

A page is the set of its phrases: what stands between two marks, numbers or ends of line. Cutting
at numbers makes them all alike, and names of months and weekdays are left out, so an empty May
and an empty June are the same page. Each phrase is a shingle that begins and ends where the
text does, so an inserted word changes one shingle, as it would not with shingles of fixed length.
"""

import sys
from array import array
from binascii import crc32
from collections.abc import Iterable

from freki import native
from freki.native import Native

# Bits in which two fingerprints of 64 may differ: about one phrase in a hundred does.
NEAR = 3

# Characters that are read: hostile ones of such a length take 5 ms.
MAX_TEXT = 100_000

# Phrases of a page that are compared; of more, those with the smallest hashes. 4 KB per pattern.
MAX_PHRASES = 1024

# A longer phrase is cut after every so many words: not every script has marks.
LONG_PHRASE = 120  # bytes
_WORDS = 8

# Parameters of a URL whose values a page may quote.
_QUOTED = 4

# Looks that the verdict on a pattern is made of, and how many of them must have shown nothing
# new. Where six pages in ten are duplicates, one window in 1,500 looks so by chance.
WINDOW = 24
DULL = 22
_ALL = (1 << WINDOW) - 1

# New pages that pay for one that is not. The intrinsics of a processor are two hundred pages in a
# row that differ in numbers only, in the middle of documentation of ten thousand.
PATIENCE = 4

# Phrases that a page adds are many only where pages have little in common; these tell as much.
_SAMPLED = 256

# Pages that may go by without a look, once a pattern has proven itself.
MAX_PERIOD = 32

# Months and days of the week in English, German, French and Spanish.
_NAMES = """
january february march april may june july august september october november december
jan feb mar apr jun jul aug sep sept oct nov dec
monday tuesday wednesday thursday friday saturday sunday mon tue wed thu fri sat sun
mo tu we th fr sa su m t w f s
januar februar märz mai juni juli oktober dezember
montag dienstag mittwoch donnerstag freitag samstag sonntag di mi do so
janvier février mars avril juin juillet août septembre octobre novembre décembre
lundi mardi mercredi jeudi vendredi samedi dimanche
enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre
lunes martes miércoles jueves viernes sábado domingo
"""
_DATES = array("I", map(crc32, _NAMES.encode().split()))

# What ends a phrase: all of ASCII but letters, blank and apostrophe, and marks from elsewhere.
_ENDS = bytes(
    byte if byte > 127 or chr(byte).isalpha() or chr(byte) in " '" else ord("\n")
    for byte in range(256)
)
_WIDE_ENDS = "\u3001\u3002\uff01\uff0c\uff1f\u2014\u201c\u201d\u2026"

# Spreads a hash of 32 bits over 64. Near 2**32, so that the highest bit is as often set as not.
_SPREAD = 0xF1357AEB
_LANE = (1).to_bytes(8, "little")


def phrases(text: str, library: Native | None = native.HERE) -> frozenset[int]:
    """The page as a set of hashed phrases, numbers and dates left out."""
    text = text[:MAX_TEXT]
    if library is not None and (found := library.phrases(text, _DATES, MAX_PHRASES)) is not None:
        return found
    for mark in _WIDE_ENDS:
        text = text.replace(mark, "\n")
    pieces = text.encode("utf-8", "replace").lower().translate(_ENDS).split(b"\n")
    distinct = set(map(bytes.strip, pieces))
    distinct.discard(b"")
    for phrase in [phrase for phrase in distinct if len(phrase) > LONG_PHRASE]:
        distinct.discard(phrase)
        words = phrase.split()
        distinct.update(
            b" ".join(words[start : start + _WORDS]) for start in range(0, len(words), _WORDS)
        )
    hashes = set(map(crc32, distinct)).difference(_DATES)
    return frozenset(hashes if len(hashes) <= MAX_PHRASES else sorted(hashes)[:MAX_PHRASES])


def said(text: str, path: str) -> frozenset[int]:
    """The phrases of a page that do not only quote its own URL, as a page of errors does."""
    address, _, query = path.partition("?")
    for quoted in (address, *(pair.partition("=")[2] for pair in query.split("&")[:_QUOTED])):
        if len(quoted) > 2:
            text = text.replace(quoted, " ")
    return phrases(text) - phrases(path)


def simhash(text: str) -> int:
    """64 bits, of which few differ between pages that are nearly the same."""
    return fingerprint(phrases(text))


def fingerprint(hashes: Iterable[int], library: Native | None = native.HERE) -> int:
    """`simhash` of phrases: in each bit, what most of them have there."""
    if library is not None:
        return library.fingerprint(array("I", hashes), _SPREAD)
    # All hashes side by side in one number, so that a bit of all is counted by one operation.
    lanes = array("Q", hashes)
    wide = int.from_bytes(lanes.tobytes(), sys.byteorder) * _SPREAD
    mask = int.from_bytes(_LANE * len(lanes), "little")
    votes = ((wide >> bit & mask).bit_count() for bit in range(64))
    return sum(1 << bit for bit, count in enumerate(votes) if count * 2 > len(lanes))


def distance(one: int, other: int) -> int:
    """The number of bits in which two fingerprints differ: 32 on average where nothing is alike."""
    return (one ^ other).bit_count()


class Novelty:
    """What the pages of one pattern said, and whether they still say anything new. 1 to 5 KB.

    What a page says is what it adds to the common frame of the pattern: navigation of a thousand
    phrases around a product of ten would otherwise make all products near duplicates.
    """

    __slots__ = (
        "_frame",
        "_history",
        "_looks",
        "_missing",
        "_passed",
        "_period",
        "_prints",
        "_wasted",
        "earned",
        "is_due",
    )

    def __init__(self) -> None:
        self._frame = array("I")  # phrases that all pages share
        self._prints = array("Q")  # of what the last pages added to it
        self._history = 0  # a bit per look, 1 where it showed nothing new
        self._missing = 0  # a bit per look, 1 where it showed the page for what is missing
        self._looks = 0
        self._passed = 0  # pages since the last look, which counts for all of them
        self._wasted = 0  # pages that showed nothing new, less what was new among them
        self._period = 1
        self.is_due = False  # `wants` said so, and nothing was taken in since
        self.earned = 0  # pages that were new

    def __repr__(self) -> str:
        return f"<Novelty looks={self._looks} {self._history:0{WINDOW}b} earned={self.earned}>"

    @property
    def is_dull(self) -> bool:
        """Nearly all of the last pages showed nothing new, and for longer than earned."""
        return self._history.bit_count() >= DULL and not self.is_proven

    @property
    def is_proven(self) -> bool:
        """What was new outweighs what was not: a long section has long stretches of the same."""
        return self.earned > self._wasted * PATIENCE

    @property
    def is_missing(self) -> bool:
        """Most of the last pages were what the host shows for a path that does not exist."""
        return self._missing.bit_count() * 2 > WINDOW

    def wants(self, name: int) -> bool:
        """Shall this page be looked at?

        `name` is a number that copies of a page under other URLs share, so that they are looked
        at together: a sample that knows no page twice would never see that all are copies.
        """
        self._passed += 1
        period = self._period
        drawn = name % period == 0 and self._passed * 8 >= period
        self.is_due = drawn or self._passed >= period * 4
        return self.is_due

    def learn(self, page: frozenset[int], tolerance: int) -> None:
        """Take in a page. It says something new if it adds more than `tolerance` phrases to the
        frame, and not those of one of the last pages."""
        added = self._added(page)
        print_ = fingerprint(sorted(added)[:_SAMPLED])
        if len(added) <= tolerance or self._is_near(print_):
            self._note(dull=True)
            return
        self.earned += self._passed
        self._wasted = max(0, self._wasted - self._passed * DULL // (WINDOW - DULL))
        if len(self._prints) == WINDOW:
            del self._prints[0]
        self._prints.append(print_)
        self._note(dull=False)

    def repeat(self) -> None:
        """Take in a page that is known from elsewhere."""
        self._note(dull=True)

    def miss(self) -> None:
        """Take in the page that the host shows for what does not exist."""
        self._note(dull=True, missing=True)

    def _added(self, page: frozenset[int]) -> frozenset[int]:
        frame = self._frame
        shared = page.intersection(frame)
        # An empty frame, or a page from another one: this page is the first guess of a new one.
        self._frame = array("I", page if len(shared) * 2 < len(frame) or not frame else shared)
        return page - shared

    def _is_near(self, print_: int) -> bool:
        return any(distance(print_, other) <= NEAR for other in self._prints)

    def _note(self, *, dull: bool, missing: bool = False) -> None:
        self._history = (self._history << 1 | dull) & _ALL
        self._missing = (self._missing << 1 | missing) & _ALL
        self._looks += 1
        self._wasted += self._passed * dull
        self._passed = 0
        self.is_due = False
        if self._looks >= WINDOW:
            self._period = 1 if dull else min(self._period * 2, MAX_PERIOD)
