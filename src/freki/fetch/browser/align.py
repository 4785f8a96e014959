"""Which rows of one picture are which of another, where parts came in between or went away.

First the shifts that may occur: rows that look like no others vote for how far they moved. Then a
way through the first picture, band by band, each with one of these shifts, on which least has
changed; to take another shift costs what comes in or goes away there.
"""

from array import array
from collections import defaultdict
from collections.abc import Iterator, Sequence
from heapq import nlargest
from itertools import pairwise
from operator import itemgetter
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from PIL.Image import Image

# Rows that go one way together.
BAND = 8

# Grey columns in which rows are known again, and what two of them differ at an edge.
_COLUMNS = 64
_EDGE = 8

# Rows that look so much like others say nothing, and shifts with fewer votes are chance.
_MOST_LIKE_IT = 40
_LEAST_VOTES = 3.0
_MOST_SHIFTS = 12

# Columns in which bands are compared, and what of 255 is a difference; compression makes less.
_FINE_COLUMNS = 320
_DIFFERENT = 24

# What it costs to take another shift, and each band that came in or went away with it, in bands
# that are wholly different. Text that is another differs in a tenth of its pixels.
_TURN = 0.5
_COMING = 0.05

_NEVER = float("inf")


class Stretch(NamedTuple):
    """Rows of the first picture, and those of the second that take their place."""

    top: int
    end: int
    new_top: int
    new_end: int

    @property
    def stays(self) -> bool:
        """The same rows, perhaps elsewhere and with changes; else some came or went."""
        return self.end - self.top == self.new_end - self.new_top


def stretches(one: "Image", other: "Image") -> Iterator[Stretch]:
    """All rows of both, in order. The pictures are equally wide."""
    shifts = _shifts(one, other)
    way = _way(_costs(one, other, shifts), shifts, other.height)
    at = new_at = 0
    for top, below, shift in _runs(way, shifts, one.height):
        end = min(below, other.height - shift)
        if end <= top:
            continue
        if (top, top + shift) != (at, new_at):
            yield Stretch(at, top, new_at, top + shift)
        yield Stretch(top, end, top + shift, end + shift)
        at, new_at = end, end + shift
    if (at, new_at) != (one.height, other.height):
        yield Stretch(at, one.height, new_at, other.height)


def _shifts(one: "Image", other: "Image") -> list[int]:
    """Shifts that may occur, in rows, from those upwards to those downwards."""
    where: dict[bytes, list[int]] = defaultdict(list)
    for at, look in enumerate(_looks(other)):
        where[look].append(at)
    votes: defaultdict[int, float] = defaultdict(float)
    for at, look in enumerate(_looks(one)):
        found = where.get(look, ())
        if len(found) <= _MOST_LIKE_IT and look.strip(b"\x01"):
            for new_at in found:
                votes[new_at - at] += 1 / len(found)
    best = nlargest(_MOST_SHIFTS, votes.items(), key=itemgetter(1))
    likely = [shift for shift, count in best if count >= _LEAST_VOTES]
    return sorted({0, other.height - one.height, *likely})


def _looks(image: "Image") -> list[bytes]:
    """Rows by where they become lighter and darker, which compression leaves as it is."""
    from PIL import ImageChops
    from PIL.Image import Resampling

    grey = image.convert("L").resize((_COLUMNS, image.height), Resampling.BOX)
    edges = ImageChops.subtract(grey, ImageChops.offset(grey, 1, 0), 1, 128)
    kinds = [0 if level < 128 - _EDGE else 2 if level > 128 + _EDGE else 1 for level in range(256)]
    raw = edges.point(kinds).tobytes()
    return [raw[at : at + _COLUMNS] for at in range(0, len(raw), _COLUMNS)]


def _costs(one: "Image", other: "Image", shifts: Sequence[int]) -> list[list[float]]:
    """For each shift, what share of each band is different with it."""
    from PIL.Image import Resampling

    width = min(_FINE_COLUMNS, one.width)
    before = one.convert("L").resize((width, one.height), Resampling.BOX)
    after = other.convert("L").resize((width, other.height), Resampling.BOX)
    return [_costs_of(before, after, shift) for shift in shifts]


def _costs_of(before: "Image", after: "Image", shift: int) -> list[float]:
    from PIL import ImageChops
    from PIL.Image import Resampling

    bands = -(-before.height // BAND)
    moved = after.crop((0, shift, before.width, shift + bands * BAND))
    whole = before.crop((0, 0, before.width, bands * BAND))
    differs = ImageChops.difference(whole, moved)
    lit = differs.point([255 * (level > _DIFFERENT) for level in range(256)])
    shares = array("f", lit.convert("F").resize((1, bands), Resampling.BOX).tobytes())
    return [
        _NEVER if at * BAND + shift < 0
        else _COMING if at * BAND + shift >= after.height
        else share / 255
        for at, share in enumerate(shares)
    ]  # fmt: skip


def _way(costs: Sequence[Sequence[float]], shifts: Sequence[int], new_height: int) -> list[int]:
    """The shift of each band on the best way, as its place in the list; -1 is a band that went."""
    bands = len(costs[0])
    best = [[_NEVER] * bands for _ in shifts]
    came: list[list[tuple[int, int]]] = [[(-1, -1)] * bands for _ in shifts]
    for at in range(bands):
        for new, shift in enumerate(shifts):
            if costs[new][at] == _NEVER:
                continue
            cost, origin = min(_ways_here(best, shifts, new, at))
            best[new][at], came[new][at] = cost + costs[new][at], origin
            if at == 0 or at * BAND == -shift:  # nothing of the second picture was used yet
                begin = _price(shift, 0) if shift > 0 else _price(0, shift)
                if begin + costs[new][at] < best[new][at]:
                    best[new][at], came[new][at] = begin + costs[new][at], (-1, -1)
    rests = [max(0, new_height - bands * BAND - shift) / BAND * _COMING for shift in shifts]
    last = min(range(len(shifts)), key=lambda new: best[new][-1] + rests[new])
    return _back(came, last, bands)


def _ways_here(
    best: Sequence[Sequence[float]], shifts: Sequence[int], new: int, at: int
) -> Iterator[tuple[float, tuple[int, int]]]:
    """What it costs to be at a band with a shift, by where one was before."""
    yield _NEVER, (-1, -1)
    for old, shift in enumerate(shifts):
        gone = max(0, -(-(shift - shifts[new]) // BAND))
        before = at - 1 - gone
        if before >= 0:
            yield best[old][before] + _price(shifts[new], shift), (old, before)


def _price(shift: int, before: int) -> float:
    return 0.0 if shift == before else _TURN + abs(shift - before) / BAND * _COMING


def _back(came: Sequence[Sequence[tuple[int, int]]], last: int, bands: int) -> list[int]:
    way = [-1] * bands
    state, at = last, bands - 1
    while at >= 0 and state >= 0:
        way[at] = state
        state, at = came[state][at]
    return way


def _runs(way: Sequence[int], shifts: Sequence[int], height: int) -> Iterator[tuple[int, int, int]]:
    """Bands in a row with one shift, as rows: top, end, shift."""
    turns = [at for at in range(len(way)) if at == 0 or way[at] != way[at - 1]]
    for begin, end in pairwise([*turns, len(way)]):
        if way[begin] >= 0:
            yield begin * BAND, min(end * BAND, height), shifts[way[begin]]
