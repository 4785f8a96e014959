"""What belongs to a crawl, by real crawls."""

import asyncio
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from tests.system.scripted import Script, answer, page, scripted

import freki
from freki.errors import BadConfig
from freki.ledger import read
from freki.ledger.store import read_store

# What the start page at /docs/start.html of www.site.localhost links to.
LINKS = {
    "beside": "/docs/beside.html",
    "below": "/docs/more/below.html",
    "elsewhere": "/blog/post.html",
    "sister": "http://docs.site.localhost:{port}/",
    "stranger": "http://stranger.localhost:{port}/",
}


def _pages(**options: Any) -> set[str]:
    """The names in LINKS of what was fetched."""

    async def crawl() -> set[str]:
        async with scripted({}) as site:
            port = site.url.rpartition(":")[2]
            links = {name: link.format(port=port) for name, link in LINKS.items()}
            script: Script = {
                "/docs/start.html": page(*links.values()),
                "/": page(),
                **{link: page() for link in LINKS.values() if link.startswith("/")},
            }
            site.script = script
            start = f"http://www.site.localhost:{port}"
            fetched = {
                visit.url
                async for visit in freki.crawl(
                    f"{start}/docs/start.html", **{"delay": 0, "sitemap": "no", **options}
                )
            }
            full = {name: link if "://" in link else start + link for name, link in links.items()}
            return {name for name, link in full.items() if link in fetched}

    return asyncio.run(crawl())


@pytest.mark.parametrize(
    ("scope", "inside"),
    [
        ("page", set()),
        ("folder", {"beside", "below"}),
        ("host", {"beside", "below", "elsewhere"}),
        ("site", {"beside", "below", "elsewhere", "sister"}),
        ("any", set(LINKS)),
    ],
)
def test_how_far_each_scope_reaches(scope: str, inside: set[str]) -> None:
    assert _pages(scope=scope) == inside


@pytest.mark.parametrize(
    ("options", "inside"),
    [
        ({"include": ["*/docs/*"]}, {"beside", "below"}),
        ({"exclude": ["*/more/*"]}, {"beside", "elsewhere"}),
        ({"include": ["*/docs/*"], "exclude": ["*below*"]}, {"beside"}),
        ({"include": [r"re:/(beside|post)\.html$"]}, {"beside", "elsewhere"}),
        ({"exclude": ["*.html"], "scope": "any"}, {"sister", "stranger"}),
        ({"exclude": [r"re:(a+)+$", "*/blog/*"]}, {"beside", "below"}),
    ],
)
def test_patterns_narrow_the_scope(options: dict[str, Any], inside: set[str]) -> None:
    assert _pages(**options) == inside


def test_a_pattern_that_would_be_costly_elsewhere_is_not() -> None:
    script: Script = {"/": page("/" + "a" * 5000 + "!")}

    async def crawl() -> int:
        async with scripted(script) as site:
            visits = freki.crawl(f"{site.url}/", delay=0, exclude=[r"re:/(a|aa|a*)*$"])
            return len([visit async for visit in visits])

    assert asyncio.run(crawl()) == 2


@pytest.mark.parametrize("pattern", ["re:(", "re:(?=look)", "re:a{9999}"])
def test_a_pattern_that_cannot_be_used_is_told(pattern: str) -> None:
    with pytest.raises(BadConfig, match="cannot be used"):
        _pages(include=[pattern])


def test_a_start_that_redirects_to_another_host_takes_the_crawl_there() -> None:
    async def crawl() -> set[str]:
        there: Script = {"/": page("/more"), "/more": page()}
        async with scripted(there, "127.0.0.2") as other:
            here: Script = {"/": answer(301, location=f"{other.url}/")}
            async with scripted(here) as site:
                visits = freki.crawl(f"{site.url}/", delay=0, sitemap="no")
                return {visit.url.removeprefix(other.url) async for visit in visits}

    assert asyncio.run(crawl()) == {"/", "/more"}


def test_links_that_lead_outside_are_tried_once_and_told(tmp_path: Path) -> None:
    store = tmp_path / "freki.db"

    async def crawl() -> list[str]:
        outside: Script = {"/good": page("/deeper"), "/robots.txt": answer(404)}
        async with scripted(outside, "127.0.0.2") as other:
            links = [f"{other.url}/good", f"{other.url}/broken"]
            inside: Script = {"/": page(*links, "/two"), "/two": page(*links)}
            async with scripted(inside) as site:
                options = {"delay": 0, "sitemap": "no", "check_external": True}
                visits = freki.crawl(f"{site.url}/", store=store, name="x", **options)
                assert len([visit async for visit in visits]) == 2
                return other.asked

    assert sorted(asyncio.run(crawl())) == ["/broken", "/good", "/robots.txt"]
    with closing(read_store(store)) as db:
        lines = {line.url[-5:]: line for line in read.urls(db, 1, read.Filter())}
    assert (lines["/good"].reason, lines["/good"].status) == ("checked", 200)
    assert (lines["roken"].reason, lines["roken"].status) == ("checked", 404)


def test_only_the_wanted_types_are_kept() -> None:
    async def crawl() -> set[str]:
        script: Script = {
            "/": page("/picture", "/page", "/gone"),
            "/picture": answer(200, b"GIF89a", content_type="image/gif"),
            "/page": page(),
            "/gone": answer(404, b"no", content_type="text/plain"),
        }
        async with scripted(script) as site:
            visits = freki.crawl(f"{site.url}/", delay=0, sitemap="no", types=["text/html"])
            return {visit.url.removeprefix(site.url) async for visit in visits}

    assert asyncio.run(crawl()) == {"/", "/page", "/gone"}


def test_a_host_gives_as_many_pages_as_its_budget_allows(tmp_path: Path) -> None:
    store = tmp_path / "freki.db"

    async def crawl() -> int:
        script: Script = {
            "/": page(*(f"/{n}" for n in range(50))),
            **{f"/{n}": page() for n in range(50)},
        }
        async with scripted(script) as site:
            visits = freki.crawl(f"{site.url}/", store=store, delay=0, max_pages_per_host=7)
            return len([visit async for visit in visits])

    assert asyncio.run(crawl()) == 7
    with closing(read_store(store)) as db:
        sums = read.status(db, 1)
    assert sums.reasons["refused"] == {"budget": 44}
    assert sums.open == 0
