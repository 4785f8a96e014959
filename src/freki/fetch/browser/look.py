"""What can be seen of a picture at once: thumbnails, a perceptual hash, whether it is blank.

Pillow is imported where it is used: it belongs to the extra `browser`. Pictures are those our own
browser made; nothing that came from a site is decoded here.
"""

from io import BytesIO
from typing import TYPE_CHECKING, NamedTuple

from freki.errors import BrowserMissing
from freki.pictures import Format, Picture

if TYPE_CHECKING:
    from PIL.Image import Image

# A browser's tile has 8,000 rows; anything near this was not made by us.
_MAX_PIXELS = 200_000_000

# Of thumbnails: small enough that more quality is not seen.
_QUALITY = 72

# How hard WebP tries: twice as long saves 3 %.
_METHOD = 2

# A thumbnail shows the top of a page that is taller than this many times its width.
_TALLEST = 2

# Grey levels that a picture of nothing has at most: of its darkest to its brightest pixel, once
# small. A line of text on white leaves a dozen and more.
_BLANK_RANGE = 8


class Sight(NamedTuple):
    """What was seen."""

    width: int
    height: int
    phash: int
    blank: bool
    thumbnails: tuple[Picture, ...]
    webp: bytes


def look(data: bytes, widths: tuple[int, ...], webp: int | None = None) -> Sight:
    """Look at an image, one decoding for everything; `webp` is the quality of a copy in WebP."""
    image = opened(data)
    # Everything is seen in a copy, half as wide where that is wide enough: 2 ms, and each of the
    # others then costs a quarter.
    small = image.reduce(2) if image.width >= 2 * max((320, *widths)) else image
    return Sight(
        image.width,
        image.height,
        difference_hash(small),
        is_blank(small),
        tuple(_thumbnail(small, width) for width in widths),
        b"" if webp is None else encoded(image, "webp", webp),
    )


def opened(data: bytes) -> "Image":
    """A decoded image, in RGB."""
    try:
        from PIL import Image
    except ImportError:
        raise BrowserMissing(
            "pictures need Pillow: install it with pip install 'freki[browser]'"
        ) from None
    Image.MAX_IMAGE_PIXELS = _MAX_PIXELS
    image = Image.open(BytesIO(data), formats=("WEBP", "PNG", "JPEG"))
    return image.convert("RGB")


def difference_hash(image: "Image") -> int:
    """64 bits: is each of 8 by 8 patches darker than its right neighbour?"""
    from PIL.Image import Resampling

    levels = image.convert("L").resize((9, 8), Resampling.BOX).tobytes()
    bits = 0
    for row in range(8):
        for column in range(8):
            here = row * 9 + column
            bits = bits << 1 | (levels[here] < levels[here + 1])
    return bits


def is_blank(image: "Image") -> bool:
    """One colour, or nearly so."""
    grey = image.convert("L")
    darkest, brightest = grey.reduce(max(1, image.width // 320)).getextrema()
    return float(brightest) - float(darkest) <= _BLANK_RANGE  # type: ignore[arg-type]


def _thumbnail(image: "Image", width: int) -> Picture:
    from PIL.Image import Resampling

    shown = image.crop((0, 0, image.width, min(image.height, image.width * _TALLEST)))
    height = max(1, round(shown.height * width / shown.width))
    made = shown.resize((width, height), Resampling.BILINEAR, reducing_gap=2.0)
    return Picture(data=encoded(made, "webp", _QUALITY), format="webp", width=width, height=height)


def encoded(image: "Image", format_: Format, quality: int) -> bytes:
    """An image as bytes."""
    out = BytesIO()
    match format_:
        case "webp":
            image.save(out, "WEBP", quality=quality, method=_METHOD, lossless=quality == 100)
        case "jpeg":
            image.save(out, "JPEG", quality=quality)
        case _:
            image.save(out, "PNG")
    return out.getvalue()
