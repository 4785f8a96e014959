"""Nothing that must not be reached is reached by a browser behind the proxy, whatever a page tries.

The judge is the log of the server that must not be reached. Without the guard all of it gets there.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from itertools import cycle
from pathlib import Path

import pytest
from tests.system.scripted import scripted
from tests.system.secret import ATTACKER, secret
from tests.system.vectors import ALL, NAMES, QUIET, SILENT, pages, path, target

from freki.fetch.browser.find import find
from freki.fetch.browser.pool import Pool, Size
from freki.fetch.browser.process import Terms
from freki.fetch.egress import Egress
from freki.fetch.names import Resolve, by_system
from freki.fetch.proxy import proxy
from freki.messages import Failure, Reason
from freki.pictures import Document, Rendering, Shot, Unrendered
from freki.steps import Render

# All ways take some three seconds together; what did not happen by then does not happen.
PATIENCE = 30.0

# What leads the page itself away, and not a part of it.
WHOLE_PAGES = ["301", "302", "303", "307", "308", "page at IPv6", "page at decimal",
               "page at mapped", "page at name"]  # fmt: skip

# Everybody may read it, so the browser may as well.
FILE = "/etc/passwd"

# What a browser without proxy asks of a name server: the address that is inside.
MAPPED = "--host-resolver-rules=" + ",".join(f"MAP {name} 127.0.0.1" for name in NAMES)


def resolving() -> Resolve:
    """A name server that changes its mind about some names, and knows the others."""
    rounds = {name: cycle(answers) for name, answers in NAMES.items()}
    return lambda host: next(rounds[host]) if host in rounds else by_system(host)


@asynccontextmanager
async def browsing(
    flags: Sequence[str], explain: Callable[[str], Failure | None] = lambda _: None
) -> AsyncIterator[Pool]:
    """A pool of one browser with these flags for the network."""
    terms = Terms(found=find(), agent="Freki", network=tuple(flags))
    async with asyncio.TaskGroup() as tasks:
        pool = Pool(terms, Size(browsers=1), tasks, explain)
        await pool.open()
        try:
            yield pool
        finally:
            await pool.close()


async def stay(
    render: Render, url: str, done: Callable[[], object], document: Document | None = None
) -> None:
    """Stay on a page until all of its attempts were made."""
    shot = Shot(url=url, pictures=False, delay=PATIENCE, seconds=2 * PATIENCE, document=document)
    visit = asyncio.ensure_future(render(shot))
    try:
        async with asyncio.timeout(PATIENCE):
            while not done():  # noqa: ASYNC110 - nobody says when a proxy refuses
                await asyncio.sleep(0.05)
    finally:
        visit.cancel()


@pytest.mark.parametrize("is_brought", [False, True])
def test_no_page_leads_a_browser_inside(is_brought: bool) -> None:
    guard = Egress(allow_private=False, named=[ATTACKER])

    async def attack() -> tuple[dict[str, list[str]], list[Rendering | Unrendered]]:
        async with (
            secret(ALL) as judge,
            scripted({}, ATTACKER) as site,
            proxy(guard, resolve=resolving()) as way_out,
            browsing(way_out.flags, way_out.failure) as render,
        ):
            site.script = pages(judge.ports, FILE)
            asked = {target(way, judge.ports) for way in set(ALL) - QUIET - SILENT}
            document = brought(site.script["/"]) if is_brought else None
            done = lambda: judge.hits or all(map(way_out.failure, asked))  # noqa: E731
            await stay(render, f"{site.url}/", done, document)
            files = Shot(url=f"{site.url}/files", pictures=False, html=True)
            shots = [Shot(url=f"{site.url}{path(way)}", pictures=False) for way in WHOLE_PAGES]
            return judge.hits, await asyncio.gather(*map(render, [files, *shots]))

    hits, (files, *whole) = asyncio.run(attack())
    assert hits == {}
    assert isinstance(files, Rendering)
    assert Path(FILE).read_text().splitlines()[0] not in files.html
    reasons = [each.reason for each in whole if isinstance(each, Unrendered)]
    assert reasons == [Reason.blocked_address] * len(WHOLE_PAGES)


def brought(answer: object) -> Document:
    """An answer of the attacker's as the crawl's own client took it."""
    assert isinstance(answer, bytes)
    head, _, body = answer.partition(b"\r\n\r\n")
    lines = [line.split(": ", 1) for line in head.decode().split("\r\n")[1:]]
    return Document(headers=tuple((name, value) for name, value in lines), body=body)


def test_without_the_guard_every_way_leads_inside() -> None:
    async def attack() -> None:
        async with (
            secret(ALL) as judge,
            scripted({}, ATTACKER) as site,
            browsing([MAPPED]) as render,
        ):
            site.script = pages(judge.ports, FILE)
            await stay(render, f"{site.url}/", lambda: set(ALL) - QUIET <= set(judge.hits))

    asyncio.run(attack())
