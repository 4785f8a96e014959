"""A browser that is a dictionary: what tests, and a service without Chromium, render with.

    browser = FakeBrowser()
    browser.page("http://a/", title="A", height=3000)
    browser.fail("http://b/", Reason.dns)

It is a `steps.Render`, and time passes as the event loop counts it. A picture is stripes whose
colours its URL decides, so two pages never look alike, and one page always does.
"""

import asyncio
from collections.abc import Callable
from hashlib import sha256
from html import escape

from msgspec import Struct

from freki.fetch.browser.look import encoded, look
from freki.messages import Reason
from freki.pictures import Capture, Phases, Picture, Rendering, Shot, Unrendered, Viewport

# As the real one cuts: pixels of a tile.
TILE = 8_000

_STRIPES = 24

_PDF = b"%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n%%EOF\n"


class FakePage(Struct, frozen=True, kw_only=True):
    """A page as it will be seen."""

    title: str = ""
    html: str = ""
    height: int = 800  # CSS pixels
    status: int = 200
    leads_to: str = ""  # another URL, by a redirect
    elements: dict[str, tuple[int, int]] = {}  # selector: width and height
    blank: bool = False


class FakeBrowser:
    """Pages and failures by URL, and a memory of what was asked. An unknown host has no address."""

    def __init__(self, latency: float | Callable[[str], float] = 0.05) -> None:
        self.latency = latency  # seconds, for all or by URL
        self.asked: list[Shot] = []
        self.most_at_once = 0
        self._under_way = 0
        self._pages: dict[str, FakePage] = {}
        self._failures: dict[str, Reason] = {}

    def __repr__(self) -> str:
        return f"<FakeBrowser {len(self._pages)} pages, asked {len(self.asked)} times>"

    def page(self, url: str, page: FakePage | None = None, **fields: object) -> None:
        """A page that can be seen from now on; the fields are those of `FakePage`."""
        self._failures.pop(url, None)
        self._pages[url] = page or FakePage(**fields)  # type: ignore[arg-type]

    def fail(self, url: str, reason: Reason) -> None:
        """A URL whose visits end so."""
        self._failures[url] = reason

    async def __call__(self, shot: Shot) -> Rendering | Unrendered:
        self.asked.append(shot)
        self._under_way += 1
        self.most_at_once = max(self.most_at_once, self._under_way)
        seconds = self.latency if isinstance(self.latency, float) else self.latency(shot.url)
        try:
            async with asyncio.timeout(shot.seconds):
                await asyncio.sleep(seconds)
        except TimeoutError:
            return Unrendered(
                url=shot.url, reason=Reason.timeout, detail="the fake browser is slow"
            )
        finally:
            self._under_way -= 1
        return self._answer(shot, Phases(navigate=seconds))

    def _answer(self, shot: Shot, phases: Phases) -> Rendering | Unrendered:
        if (reason := self._failures.get(shot.url)) is not None:
            detail = "the fake browser says so"
            return Unrendered(url=shot.url, reason=reason, detail=detail, phases=phases)
        page, final_url = self._pages.get(shot.url), shot.url
        if page is not None and page.leads_to:
            final_url = page.leads_to
            page = self._pages.get(final_url)
        if page is None:
            return Unrendered(url=shot.url, reason=Reason.dns, detail="no page here")
        if shot.selector and shot.selector not in page.elements:
            return Unrendered(url=shot.url, reason=Reason.no_element, detail=shot.selector)
        html = page.html or f"<!doctype html><title>{escape(page.title)}</title>"
        return Rendering(
            url=shot.url,
            final_url=final_url,
            status=page.status,
            title=page.title,
            captures=tuple(_captures(shot, page, final_url)) if shot.pictures else (),
            html=html if shot.html else "",
            phases=phases,
            requests=1,
        )


def _captures(shot: Shot, page: FakePage, url: str) -> list[Capture]:
    made = []
    for viewport in shot.viewports:
        if shot.format == "pdf":
            made.append(Capture(picture=Picture(data=_PDF, format="pdf"), viewport=viewport))
            continue
        width, height = viewport.width, viewport.height
        if shot.selector:
            width, height = page.elements[shot.selector]
        elif shot.full_page:
            height = max(height, min(page.height, shot.max_height))
        tops = range(0, height, TILE)
        for tile, top in enumerate(tops):
            part = min(TILE, height - top)
            seed = f"{url} {top} {shot.dark}"
            picture, phash, thumbnails = _drawn(shot, viewport, (width, part), seed, page.blank)
            made.append(
                Capture(
                    picture=picture,
                    viewport=viewport,
                    tile=tile,
                    tiles=len(tops),
                    top=top,
                    truncated=shot.full_page and page.height > shot.max_height,
                    blank=page.blank,
                    phash=phash,
                    thumbnails=thumbnails,
                )
            )
    return made


def _drawn(
    shot: Shot, viewport: Viewport, size: tuple[int, int], seed: str, blank: bool
) -> tuple[Picture, int, tuple[Picture, ...]]:
    from PIL import Image, ImageDraw  # noqa: PLC0415 - an extra, and costly to import

    width, height = (round(side * viewport.scale) for side in size)
    image = Image.new("RGB", (width, height), "white")
    if not blank:
        draw = ImageDraw.Draw(image)
        levels = (sha256(seed.encode()).digest() * 8)[: _STRIPES * _STRIPES // 4]
        cell_x, cell_y = max(1, width // 16), max(1, height // 9)
        for at, level in enumerate(levels):
            x, y = at % 16 * cell_x, at // 16 * cell_y
            draw.rectangle((x, y, x + cell_x, y + cell_y), (level, level, 255 - level))
    data = encoded(image, shot.format, shot.quality)
    sight = look(data, shot.thumbnails)
    picture = Picture(data=data, format=shot.format, width=width, height=height)
    return picture, sight.phash, sight.thumbnails
