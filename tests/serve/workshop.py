"""Workers in a thread, whose browser is a dictionary."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing

from freki.pictures import Rendering, Shot, Unrendered
from freki.serve.terms import Terms
from freki.serve.worker import Workshop
from freki.steps import Render
from freki.testing.render import FakeBrowser


class FakeTeam:
    """Browsers for a workshop; hosts always let them in."""

    def __init__(self, browser: FakeBrowser) -> None:
        self.browser = browser

    async def look(self, shot: Shot, *, ask: bool) -> Rendering | Unrendered:
        return await self.browser(shot)

    async def renderer(self) -> Render:
        return self.browser

    def statistics(self) -> dict[str, float]:
        return {}


@asynccontextmanager
async def working(terms: Terms, browser: FakeBrowser) -> AsyncIterator[Workshop]:
    """A worker, until the block ends."""
    terms.place.prepare()
    with closing(terms.place.desk()) as desk:
        workshop = Workshop(terms, desk, FakeTeam(browser))
        async with asyncio.TaskGroup() as group:
            group.create_task(workshop.run())
            yield workshop
            workshop.end()
