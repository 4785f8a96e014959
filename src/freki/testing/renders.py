"""What every renderer must do: a suite to inherit from, with a bench for the implementation.

Its tests are facts about the contract `steps.Render`. A bench says at which URLs the pages are
that the suite asks for.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from io import BytesIO
from typing import Any, Protocol

from freki.messages import Reason
from freki.pictures import Capture, Rendering, Shot, Unrendered, Viewport
from freki.steps import Render
from freki.testing.render import FakeBrowser

# What the pages of a bench are called, and what they are.
PLAIN = "plain"  # titled "Plain"
TALL = "tall"  # 30,000 CSS pixels
BLANK = "blank"  # white
MOVED = "moved"  # redirects to the plain one
MISSING = "missing"  # the plain text of a 404
SLOW = "slow"  # never answers
DOWNLOAD = "download"  # a file to be saved
CARD = "#card"  # on the plain page, 300 by 200

_MAGIC = {"webp": b"RIFF", "png": b"\x89PNG", "jpeg": b"\xff\xd8", "pdf": b"%PDF"}


class Bench(Protocol):
    """An implementation with pages to look at."""

    def url(self, page: str) -> str:
        """Where a page is."""
        ...

    def renderer(self) -> AbstractAsyncContextManager[Render]:
        """The renderer, for one loop."""
        ...


class FakeBench:
    """The bench of the fake."""

    def url(self, page: str) -> str:
        return f"http://site/{page}"

    @asynccontextmanager
    async def renderer(self) -> AsyncIterator[Render]:
        browser = FakeBrowser(latency=lambda url: 1e6 if SLOW in url else 0.001)
        browser.page(self.url(PLAIN), title="Plain", elements={CARD: (300, 200)})
        browser.page(self.url(TALL), title="Tall", height=30_000)
        browser.page(self.url(BLANK), blank=True)
        browser.page(self.url(MOVED), leads_to=self.url(PLAIN))
        browser.page(self.url(MISSING), status=404)
        browser.page(self.url(SLOW))
        browser.fail(self.url(DOWNLOAD), Reason.download)
        yield browser


class RenderContract:
    """What a visit brings."""

    bench: Bench

    def render(self, *shots: Shot) -> list[Rendering | Unrendered]:
        async def visit() -> list[Rendering | Unrendered]:
            async with self.bench.renderer() as render:
                return list(await asyncio.gather(*(_awaited(render(shot)) for shot in shots)))

        return asyncio.run(visit())

    def seen(self, page: str, **wish: Any) -> Rendering:
        (rendering,) = self.render(Shot(url=self.bench.url(page), **wish))
        assert isinstance(rendering, Rendering), rendering
        return rendering

    def failed(self, page: str, **wish: Any) -> Unrendered:
        (failure,) = self.render(Shot(url=self.bench.url(page), **wish))
        assert isinstance(failure, Unrendered), failure
        return failure

    def test_a_visit_says_where_it_ended_and_what_it_saw(self) -> None:
        rendering = self.seen(PLAIN, html=True)
        assert rendering.final_url == rendering.url == self.bench.url(PLAIN)
        assert (rendering.status, rendering.title) == (200, "Plain")
        assert "<title>Plain</title>" in rendering.html
        (capture,) = rendering.captures
        assert capture.viewport == Viewport()
        assert not capture.blank
        assert not capture.truncated
        assert capture.phash is not None

    def test_a_picture_has_the_size_of_its_viewport(self) -> None:
        phone = Viewport(width=390, height=844, scale=2, mobile=True)
        rendering = self.seen(PLAIN, viewports=(Viewport(), phone))
        assert [_size(capture) for capture in rendering.captures] == [(1280, 800), (780, 1688)]

    def test_a_picture_has_the_format_that_was_wished(self) -> None:
        url = self.bench.url(PLAIN)
        for visit in self.render(*(Shot(url=url, format=name) for name in _MAGIC)):  # type: ignore[arg-type]
            assert isinstance(visit, Rendering), visit
            (capture,) = visit.captures
            assert capture.picture.data.startswith(_MAGIC[capture.picture.format])

    def test_the_same_page_is_the_same_picture(self) -> None:
        url = self.bench.url(PLAIN)
        one, other = self.render(Shot(url=url), Shot(url=url))
        assert isinstance(one, Rendering)
        assert isinstance(other, Rendering)
        assert one.captures[0].picture.digest == other.captures[0].picture.digest

    def test_thumbnails_have_the_widths_that_were_wished(self) -> None:
        (capture,) = self.seen(PLAIN, thumbnails=(120, 320)).captures
        assert [(small.width, small.height) for small in capture.thumbnails] == [
            (120, 75),
            (320, 200),
        ]

    def test_a_page_that_is_too_tall_for_one_picture_is_cut_into_tiles(self) -> None:
        captures = self.seen(TALL, full_page=True, thumbnails=()).captures
        assert sum(capture.picture.height for capture in captures) == 30_000
        assert [capture.tile for capture in captures] == list(range(len(captures)))
        assert {capture.tiles for capture in captures} == {len(captures)}
        assert not any(capture.truncated for capture in captures)

    def test_what_is_below_the_highest_height_is_left_out_and_said(self) -> None:
        (capture,) = self.seen(TALL, full_page=True, max_height=2_000).captures
        assert _size(capture) == (1280, 2_000)
        assert capture.truncated

    def test_an_element_is_as_large_as_it_is(self) -> None:
        (capture,) = self.seen(PLAIN, selector=CARD).captures
        assert _size(capture) == (300, 200)

    def test_an_element_that_is_not_there_is_a_failure(self) -> None:
        assert self.failed(PLAIN, selector="#nothing").reason is Reason.no_element

    def test_a_page_of_nothing_is_blank(self) -> None:
        (capture,) = self.seen(BLANK).captures
        assert capture.blank

    def test_a_redirect_is_followed_and_told(self) -> None:
        rendering = self.seen(MOVED)
        assert rendering.url == self.bench.url(MOVED)
        assert rendering.final_url == self.bench.url(PLAIN)

    def test_an_error_page_is_a_page_with_its_status(self) -> None:
        assert self.seen(MISSING).status == 404

    def test_a_page_that_never_comes_ends_in_time(self) -> None:
        assert self.failed(SLOW, navigate_seconds=0.5, seconds=1.0).reason is Reason.timeout

    def test_a_download_is_no_page(self) -> None:
        assert self.failed(DOWNLOAD).reason is Reason.download

    def test_a_visit_may_bring_the_tree_alone(self) -> None:
        rendering = self.seen(PLAIN, pictures=False, html=True)
        assert rendering.captures == ()
        assert "Plain" in rendering.html

    def test_who_stops_waiting_leaves_nothing_behind(self) -> None:
        async def visit() -> Rendering | Unrendered:
            async with self.bench.renderer() as render:
                async with asyncio.TaskGroup() as group:
                    slow = group.create_task(_awaited(render(Shot(url=self.bench.url(SLOW)))))
                    await asyncio.sleep(0.05)
                    slow.cancel()
                return await render(Shot(url=self.bench.url(PLAIN)))

        assert isinstance(asyncio.run(visit()), Rendering)


def _size(capture: Capture) -> tuple[int, int]:
    """As the image itself says."""
    from PIL import Image  # noqa: PLC0415 - an extra

    image = Image.open(BytesIO(capture.picture.data))
    assert image.size == (capture.picture.width, capture.picture.height)
    return image.size


async def _awaited(visit: Any) -> Rendering | Unrendered:
    return await visit  # type: ignore[no-any-return]
