"""Takes the pictures: a window, an element, a whole page, in tiles where it is very tall."""

import asyncio
import math
from collections.abc import Iterator

from msgspec import Struct

from freki.fetch.browser import scripts
from freki.fetch.browser.cdp import Refused
from freki.fetch.browser.look import look
from freki.fetch.browser.tab import Tab
from freki.pictures import Capture, Picture, Shot, Viewport

# Device pixels of a tile: software draws no more at once, and WebP ends at 16,383.
TILE = 8_000

# Seconds for one picture; a window takes 0.1.
PICTURE_SECONDS = 15.0


TRIES = 5


class NoElement(Exception):
    """Nothing on the page matches the selector."""


class Box(Struct, frozen=True):
    """A part of a page, in CSS pixels from its top left."""

    x: float
    y: float
    width: float
    height: float


class Negative(Struct, frozen=True, kw_only=True):
    """A picture as the browser gave it, not looked at yet."""

    data: bytes
    viewport: Viewport
    tile: int = 0
    tiles: int = 1
    top: int = 0
    truncated: bool = False


class _Image(Struct, frozen=True):
    data: bytes  # base64 in JSON is bytes for msgspec


async def photograph(tab: Tab, shot: Shot, viewport: Viewport) -> list[Negative]:
    """All pictures of a page as it stands."""
    if shot.format == "pdf":
        printed = await tab.ask(
            "Page.printToPDF",
            _Image,
            within=PICTURE_SECONDS,
            printBackground=True,
            preferCSSPageSize=True,
        )
        return [Negative(data=printed.data, viewport=viewport)]
    if not shot.full_page and not shot.selector:
        return [Negative(data=await _taken(tab, shot, None), viewport=viewport)]
    found = await tab.run(scripts.MEASURE, list[Box], shot.selector)
    if not found:
        raise NoElement(shot.selector)
    (box,) = found
    tops = list(tiles(box, shot.max_height, viewport.scale))
    return [
        Negative(
            data=await _taken(tab, shot, tile),
            viewport=viewport,
            tile=at,
            tiles=len(tops),
            top=int(tile.y - tops[0].y),
            truncated=box.height > shot.max_height,
        )
        for at, tile in enumerate(tops)
    ]


def tiles(box: Box, max_height: int, scale: float) -> Iterator[Box]:
    """The box in whole pixels, cut into pieces that a browser can draw; what is too much is not."""
    left, top = round(box.x), round(box.y)
    width = min(math.ceil(box.width - 0.01), math.floor(2 * TILE / scale))
    height = min(math.ceil(box.height - 0.01), max_height)
    step = max(1, math.floor(TILE / scale))
    for at in range(0, max(1, height), step):
        yield Box(left, top + at, width, min(step, height - at))


async def _taken(tab: Tab, shot: Shot, box: Box | None) -> bytes:
    wish: dict[str, object] = {"format": "png"}
    match shot.format:
        case "jpeg":
            wish = {"format": "jpeg", "quality": shot.quality}
        case "webp":
            # It is encoded by us: Chromium takes 54 ms of its one thread for that, and 10 ms for
            # this. We take 17 ms on a thread of our own, for 23 % fewer bytes.
            wish["optimizeForSpeed"] = True
    if box is not None:
        place = {"x": box.x, "y": box.y, "width": box.width, "height": box.height, "scale": 1}
        wish |= {"clip": place, "captureBeyondViewport": True}
    for again in range(TRIES):
        try:
            image = await tab.ask("Page.captureScreenshot", _Image, within=PICTURE_SECONDS, **wish)
        except Refused:
            if again == TRIES - 1:
                raise
            await asyncio.sleep(0.1)  # nothing was drawn yet
        else:
            return image.data
    raise AssertionError("the last try ends it")


def developed(negative: Negative, shot: Shot) -> Capture:
    """A picture that was looked at; takes some 30 ms of a core, and needs no browser."""
    if shot.format == "pdf":
        picture = Picture(data=negative.data, format="pdf")
        return Capture(picture=picture, viewport=negative.viewport)
    sight = look(negative.data, shot.thumbnails, shot.quality if shot.format == "webp" else None)
    return Capture(
        picture=Picture(
            data=sight.webp or negative.data,
            format=shot.format,
            width=sight.width,
            height=sight.height,
        ),
        viewport=negative.viewport,
        tile=negative.tile,
        tiles=negative.tiles,
        top=negative.top,
        truncated=negative.truncated,
        blank=sight.blank,
        phash=sight.phash,
        thumbnails=sight.thumbnails,
    )
