"""What changed between two pictures of a page.

A banner that pushes everything down did not change everything: rows of one picture are found again
in the other first, and only what has no partner, or looks different beside it, has changed.
"""

from io import BytesIO
from typing import TYPE_CHECKING

from msgspec import Struct

from freki.fetch.browser.align import stretches
from freki.fetch.browser.look import opened

if TYPE_CHECKING:
    from PIL.Image import Image

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
    for stretch in stretches(one, other):
        rows, new_rows = stretch.end - stretch.top, stretch.new_end - stretch.new_top
        if stretch.stays and stretch.top != stretch.new_top:
            shifted += rows
        common = min(rows, new_rows)
        boxes += _changes(one, other, stretch.top, stretch.new_top, common)
        removed += _whole(one.width, stretch.top + common, stretch.end)
        boxes += _whole(other.width, stretch.new_top + common, stretch.new_end)
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
    from PIL import ImageDraw

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
    from PIL.Image import new

    width = max(one.width, other.width)

    def widened(image: "Image") -> "Image":
        if image.width == width:
            return image
        canvas = new("RGB", (width, image.height), "white")
        canvas.paste(image, (0, 0))
        return canvas

    return widened(one), widened(other)


def _whole(width: int, top: int, end: int) -> list[Box]:
    return [Box(0, top, width, end - top)] if end > top else []


def _changes(one: "Image", other: "Image", top: int, new_top: int, rows: int) -> list[Box]:
    """Where two stretches that belong together look different."""
    from PIL import ImageChops, ImageFilter
    from PIL.Image import Resampling

    if rows <= 0:
        return []
    before = one.crop((0, top, one.width, top + rows))
    after = other.crop((0, new_top, other.width, new_top + rows))
    if top != new_top:  # compressed in other blocks, and so with other noise
        soft = ImageFilter.BoxBlur(1)
        before, after = before.filter(soft), after.filter(soft)
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
