"""What changed between two pictures of a page.

A banner that pushes everything down did not change everything: rows of one picture are found again
in the other first, as lines of two texts are, and only what has no partner, or looks different
beside its partner, has changed.
"""

from collections.abc import Iterator
from difflib import SequenceMatcher
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct

from freki.fetch.browser.look import opened

if TYPE_CHECKING:
    from PIL.Image import Image

# Rows are compared as bands of so many, in the grey of so many columns. What lossy compression
# changes from one copy to the next is no change: it stays below this, and within such a step.
BAND = 8
COLUMNS = 64
NOISE = 10
_STEP = 16

# Of 255, what a pixel must differ to count, after half of the detail was taken away.
THRESHOLD = 24

# A box is made of squares of this side; a square counts with this many pixels of it changed.
SQUARE = 16
LEAST = 2

# Boxes that are told; what is more is in the share.
MOST_BOXES = 200


class Box(Struct, frozen=True):
    """A part of the second picture that changed, in pixels."""

    x: int
    y: int
    width: int
    height: int


class Step(NamedTuple):
    """Bands of one picture and what became of them in the other: as difflib names it."""

    kind: str
    top: int
    end: int
    new_top: int
    new_end: int


class Difference(Struct, frozen=True, kw_only=True):
    """What became of the first picture in the second."""

    same: bool
    changed: float  # share of what can be seen in either
    boxes: list[Box]  # where in the second
    removed: list[Box]  # where in the first
    shifted: int  # rows that are elsewhere now, and otherwise the same
    grown: int  # by how many rows the second is taller


def compare(first: bytes, second: bytes) -> Difference:
    """Compare two images, the second one being the later."""
    if first == second:
        return Difference(same=True, changed=0.0, boxes=[], removed=[], shifted=0, grown=0)
    one, other = _as_wide(opened(first), opened(second))
    shifted = 0
    boxes: list[Box] = []
    removed: list[Box] = []
    seen = max(one.width * one.height, other.width * other.height)
    for kind, top, end, new_top, new_end in _steps(_bands(one), _bands(other)):
        rows, new_rows = _rows(one, top, end), _rows(other, new_top, new_end)
        if kind == "equal" and top != new_top:
            shifted += rows[1] - rows[0]
        if kind in ("equal", "replace"):
            common = min(rows[1] - rows[0], new_rows[1] - new_rows[0])
            boxes += _changes(one, other, rows[0], new_rows[0], common)
            rows, new_rows = (rows[0] + common, rows[1]), (new_rows[0] + common, new_rows[1])
        if kind != "equal":
            removed += _whole(one.width, rows)
            boxes += _whole(other.width, new_rows)
    area = sum(box.width * box.height for box in (*boxes, *removed))
    return Difference(
        same=False,
        changed=round(min(1.0, area / seen), 6),
        boxes=boxes[:MOST_BOXES],
        removed=removed[:MOST_BOXES],
        shifted=shifted,
        grown=other.height - one.height,
    )


def marked(second: bytes, difference: Difference) -> bytes:
    """The second picture with what changed in a frame, as PNG."""
    from io import BytesIO  # noqa: PLC0415

    from PIL import ImageDraw  # noqa: PLC0415 - an extra

    image = opened(second)
    draw = ImageDraw.Draw(image)
    for box in difference.boxes:
        corner = (box.x + box.width - 1, box.y + box.height - 1)
        draw.rectangle(((box.x, box.y), corner), outline=(230, 0, 60), width=3)
    out = BytesIO()
    image.save(out, "PNG")
    return out.getvalue()


def _as_wide(one: "Image", other: "Image") -> tuple["Image", "Image"]:
    """Pictures of two widths are compared in the wider one's, on white."""
    from PIL.Image import new  # noqa: PLC0415

    width = max(one.width, other.width)

    def widened(image: "Image") -> "Image":
        if image.width == width:
            return image
        canvas = new("RGB", (width, image.height), "white")
        canvas.paste(image, (0, 0))
        return canvas

    return widened(one), widened(other)


def _bands(image: "Image") -> list[bytes]:
    """A picture as rows of text: each band in the grey of so many columns."""
    from PIL.Image import Resampling  # noqa: PLC0415

    height = -(-image.height // BAND)
    raw = image.convert("L").resize((COLUMNS, height), Resampling.BOX).tobytes()
    return [raw[at * COLUMNS : at * COLUMNS + COLUMNS] for at in range(height)]


def _steps(one: list[bytes], other: list[bytes]) -> Iterator[Step]:
    """Which bands belong together: from the top, from the bottom, and between by their likeness."""
    least = min(len(one), len(other))
    top = next((at for at in range(least) if not _alike(one[at], other[at])), least)
    left = least - top
    bottom = next((at for at in range(left) if not _alike(one[-1 - at], other[-1 - at])), left)
    end, new_end = len(one) - bottom, len(other) - bottom
    yield Step("equal", 0, top, 0, top)
    old, new = map(_coarse, one[top:end]), map(_coarse, other[top:new_end])
    for kind, a, b, c, d in SequenceMatcher(None, list(old), list(new), False).get_opcodes():
        yield Step(kind, top + a, top + b, top + c, top + d)
    yield Step("equal", end, len(one), new_end, len(other))


def _alike(one: bytes, other: bytes) -> bool:
    return one == other or all(abs(a - b) <= NOISE for a, b in zip(one, other, strict=True))


def _coarse(band: bytes) -> bytes:
    return bytes((level + _STEP // 2) // _STEP for level in band)


def _rows(image: "Image", top: int, end: int) -> tuple[int, int]:
    return min(top * BAND, image.height), min(end * BAND, image.height)


def _whole(width: int, rows: tuple[int, int]) -> list[Box]:
    top, end = rows
    return [Box(0, top, width, end - top)] if end > top else []


def _changes(one: "Image", other: "Image", top: int, new_top: int, rows: int) -> list[Box]:
    """Where two stretches that belong together look different."""
    from PIL import ImageChops  # noqa: PLC0415
    from PIL.Image import Resampling  # noqa: PLC0415

    if rows <= 0:
        return []
    before = one.crop((0, top, one.width, top + rows))
    after = other.crop((0, new_top, other.width, new_top + rows))
    differs = ImageChops.difference(before, after).convert("L")
    mask = differs.point([255 * (level > THRESHOLD) for level in range(256)])
    size = (-(-mask.width // SQUARE), -(-mask.height // SQUARE))
    squares = mask.resize(size, Resampling.BOX)
    least = LEAST * 255 // (SQUARE * SQUARE)
    lit = [at for at, level in enumerate(squares.tobytes()) if level > least]
    return _joined(lit, size[0], new_top, other)


def _joined(lit: list[int], columns: int, top: int, image: "Image") -> list[Box]:
    """Squares that touch, side by side and then row by row, as one box."""
    runs: list[Box] = []
    for at in lit:
        x, y = at % columns * SQUARE, top + at // columns * SQUARE
        width, height = min(SQUARE, image.width - x), min(SQUARE, image.height - y)
        last = runs[-1] if runs else None
        if last is not None and last.y == y and last.x + last.width == x:
            runs[-1] = Box(last.x, y, last.width + width, height)
        else:
            runs.append(Box(x, y, width, height))
    return _stacked(runs)


def _stacked(runs: list[Box]) -> list[Box]:
    """Runs that stand below each other and overlap become one box around them."""
    boxes: list[Box] = []
    for run in runs:
        for at in range(len(boxes) - 1, max(-1, len(boxes) - 40), -1):
            box = boxes[at]
            touches = box.y + box.height >= run.y and run.x <= box.x + box.width + SQUARE
            if touches and box.x <= run.x + run.width + SQUARE:
                left, right = min(box.x, run.x), max(box.x + box.width, run.x + run.width)
                bottom = max(box.y + box.height, run.y + run.height)
                boxes[at] = Box(left, box.y, right - left, bottom - box.y)
                break
        else:
            boxes.append(run)
    return boxes
