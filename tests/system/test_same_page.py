"""Which URLs count as one page: what a server tells apart is never merged, so no page is lost."""

import asyncio

import pytest
from tests.system.scripted import page, scripted

import freki

# Two links of a page, and whether they are one page. `{origin}` is scheme, host and port.
PAIRS = [
    ("/a", "/a#part", True),
    ("/a", "/a#", True),
    ("/a", "{origin}/a", True),
    ("/a", "HTTP://{host}/a", True),
    ("/a", "/x/../a", True),
    ("/a", "/./a", True),
    ("/a", "/%2e/a", True),
    ("/a b", "/a%20b", True),
    ("/ü", "/%C3%BC", True),
    ("/?q=ü", "/?q=%C3%BC", True),
    ("/a", "\n/a ", True),
    ("/a", "/A", False),
    ("/a", "/a/", False),
    ("/a//b", "/a/b", False),
    ("/a", "/a?", False),
    ("/a?", "/a?b", False),
    ("/a?b", "/a?b=", False),
    ("/a?b=", "/a?b=&c=", False),
    ("/a?b=1&c=2", "/a?c=2&b=1", False),
    ("/a?b=1", "/a?B=1", False),
    ("/a?b=1", "/a?b=1&b=1", False),
    ("/a?b=x y", "/a?b=x+y", False),
    ("/a%2Fb", "/a/b", False),
    ("/a%2fb", "/a%2Fb", False),
    ("/%7Ea", "/~a", False),
    ("/a%41", "/aA", False),
    ("/a;b=1", "/a", False),
    ("/a.html", "/a", False),
    ("/index.html", "/?", False),
]


@pytest.mark.parametrize(("one", "other", "same"), PAIRS)
def test_a_pair_of_links(one: str, other: str, same: bool) -> None:
    async def crawl() -> list[str]:
        async with scripted({}) as site:
            host = site.url.partition("://")[2]
            links = (link.replace("{host}", host) for link in (one, other))
            site.script = {"/": page(*(link.replace("{origin}", site.url) for link in links))}
            async for _ in freki.crawl(f"{site.url}/", delay=0, sitemap="no", ignore_robots=True):
                pass
            return site.asked

    asked = asyncio.run(crawl())
    assert asked[0] == "/"
    assert len(asked) == len(set(asked)) == (2 if same else 3)
