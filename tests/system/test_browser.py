"""Chromium itself: what a visit brings, and what it survives."""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from freki.fetch.browser.find import find
from freki.fetch.browser.pool import Size, pool
from freki.fetch.browser.process import Terms
from freki.fetch.egress import Egress
from freki.pictures import Document, Rendering, Shot, Unrendered
from freki.steps import Render
from freki.testing.renders import RenderContract
from freki.testing.scenes import stage

ANYWHERE = Egress(allow_private=True)


class ChromiumBench:
    """The contract's pages, served, and a pool of one browser."""

    def __init__(self) -> None:
        with socket.create_server(("127.0.0.1", 0)) as listening:
            self._port: int = listening.getsockname()[1]

    def url(self, page: str) -> str:
        return f"http://127.0.0.1:{self._port}/{page}"

    @asynccontextmanager
    async def renderer(self) -> AsyncIterator[Render]:
        async with (
            stage(port=self._port),
            pool(Terms(found=find(), agent="Freki"), Size(browsers=1), ANYWHERE) as render,
        ):
            yield render


class TestChromium(RenderContract):
    @pytest.fixture(autouse=True)
    def _bench(self) -> None:
        self.bench = ChromiumBench()


class TestAnAnswerThatIsThere:
    """A visit begins with it; whatever else the page wants comes from its server."""

    def see(self, name: str, document: Document, **wish: Any) -> tuple[Rendering, list[str]]:
        async def visit() -> tuple[Rendering | Unrendered, list[str]]:
            terms = Terms(found=find(), agent="Freki")
            async with stage() as site, pool(terms, Size(browsers=1), ANYWHERE) as render:
                shot = Shot(url=site.url(name), document=document, html=True, **wish)
                return await render(shot), [path for path, _ in site.asked]

        seen, asked = asyncio.run(visit())
        assert isinstance(seen, Rendering), seen
        return seen, asked

    def test_its_server_is_not_asked_for_it_again(self) -> None:
        body = b"<title>Brought</title><div id=root></div><script src=app.js></script>\xe9"
        headers = (
            ("content-type", "text/html; charset=iso-8859-1"), ("content-encoding", "gzip"),
            ("content-length", "1"), ("set-cookie", "a=1"),
        )  # fmt: skip
        seen, asked = self.see("plain", Document(status=404, headers=headers, body=body))
        assert asked == ["/app.js"]
        assert (seen.status, seen.title) == (404, "App")
        assert "é" in seen.html

    def test_only_the_first_document_is_it(self) -> None:
        headers = (("content-type", "text/html"),)
        body = b"<script>location.replace('plain?again')</script>"
        seen, asked = self.see("plain", Document(headers=headers, body=body))
        assert asked == ["/plain?again"]
        assert seen.title == "Plain"

    def test_one_that_a_browser_does_not_take_is_asked_for(self) -> None:
        headers = (("content-type", "text/html"),)
        no_status = Document(status=999, headers=headers, body=b"<title>Brought")
        seen, asked = self.see("plain", no_status)
        assert asked[:1] == ["/plain"]
        assert seen.title == "Plain"

    def test_headers_are_still_brought_to_the_site_and_to_nobody_else(self) -> None:
        async def visit() -> tuple[list[str | None], list[str | None]]:
            terms = Terms(found=find(), agent="Freki")
            async with (
                stage() as site, stage() as other,
                pool(terms, Size(browsers=1), ANYWHERE) as render,
            ):  # fmt: skip
                body = f"<img src=colour?1><img src={other.url('colour')}><iframe src=plain>"
                await render(
                    Shot(url=site.url("x"), headers=(("X-Key", "secret"),),
                         document=Document(headers=(("content-type", "text/html"),),
                                           body=body.encode()))
                )  # fmt: skip
                return [keys.get("x-key") for _, keys in site.asked], [
                    keys.get("x-key") for _, keys in other.asked
                ]

        own, others = asyncio.run(visit())
        assert own == ["secret", "secret"]
        assert others == [None]
