"""Chromium itself: what a visit brings, and what it survives."""

import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from freki.fetch.browser.find import find
from freki.fetch.browser.pool import Size, pool
from freki.fetch.browser.process import Terms
from freki.fetch.egress import Egress
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
