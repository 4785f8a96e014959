"""Nothing that must not be reached is reached by a browser behind the proxy, whatever a page tries.

The judge is the log of the server that must not be reached. Without the guard all of it gets there.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from itertools import cycle
from pathlib import Path

from playwright.async_api import Page, async_playwright
from tests.system.scripted import scripted
from tests.system.secret import ATTACKER, WORD, Secret, secret
from tests.system.vectors import ALL, NAMES, QUIET, SILENT, pages, target

from freki.fetch.egress import Egress
from freki.fetch.names import by_system
from freki.fetch.proxy import proxy

CHROMIUM = "/usr/lib/chromium/chromium"

# All ways take some three seconds together; what did not happen by then does not happen.
PATIENCE = 30.0

# What a browser without proxy asks of a name server: the address that is inside.
MAPPED = ",".join(f"MAP {name} 127.0.0.1" for name in NAMES)


def resolving() -> Callable[[str], list[str]]:
    """A name server that changes its mind about some names, and knows the others."""
    rounds = {name: cycle(answers) for name, answers in NAMES.items()}
    return lambda host: next(rounds[host]) if host in rounds else by_system(host)


@asynccontextmanager
async def browsing(flags: Sequence[str]) -> AsyncIterator[Page]:
    async with async_playwright() as driver:
        browser = await driver.chromium.launch(executable_path=CHROMIUM, args=list(flags))
        try:
            yield await browser.new_page()
        finally:
            await browser.close()


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE):
        while not condition():  # noqa: ASYNC110 - nobody says when a proxy refuses
            await asyncio.sleep(0.05)


def test_no_page_leads_a_browser_inside(tmp_path: Path) -> None:
    file = tmp_path / "secret.html"
    file.write_text(WORD)

    async def attack() -> tuple[Secret, list[str]]:
        guard = Egress(allow_private=False, named=[ATTACKER])
        async with (
            secret(ALL) as judge,
            scripted({}, ATTACKER) as site,
            proxy(guard, resolve=resolving()) as way_out,
            browsing(way_out.flags) as page,
        ):
            site.script = pages(judge.ports, str(file))
            await page.goto(f"{site.url}/")
            tried = set(ALL) - QUIET - SILENT
            await until(lambda: all(way_out.failure(target(way, judge.ports)) for way in tried))
            await page.goto(f"{site.url}/files")
            frames = [frame.url for each in page.context.pages for frame in each.frames]
            return judge, [*frames, await page.content()]

    judge, seen = asyncio.run(attack())
    assert judge.hits == {}
    assert not any(WORD in text or text.startswith(("file:", "chrome:")) for text in seen)


def test_without_the_guard_every_way_leads_inside(tmp_path: Path) -> None:
    async def attack() -> set[str]:
        async with (
            secret(ALL) as judge,
            scripted({}, ATTACKER) as site,
            browsing([f"--host-resolver-rules={MAPPED}"]) as page,
        ):
            site.script = pages(judge.ports, str(tmp_path))
            await page.goto(f"{site.url}/")
            await until(lambda: set(ALL) - QUIET <= set(judge.hits))
            return set(judge.hits)

    assert asyncio.run(attack()) >= set(ALL) - QUIET
