"""Servers that lie, stall and flood: each ends typed, in bounded time and memory."""

import asyncio
import resource
import time
import tracemalloc

import pytest

import freki
from freki.config import Fetching
from freki.fetch.http import Http
from freki.messages import Claim, Failure, Reason, Response
from freki.testing.hostile import HOSTILE
from freki.testing.server import serve
from freki.testing.synthetic import Web

SECONDS = 1.5
LIMIT = 2**20

# What becomes of each; a number is the status of an answer that is as good as any.
EXPECTED: dict[str, Reason | int] = {
    **dict.fromkeys(
        ["silence", "slow-headers", "slow-body", "slow-chunks", "endless-chunk-extension"],
        Reason.timeout,
    ),
    **dict.fromkeys(
        [
            "endless-body", "endless-body-without-length", "endless-interim", "endless-headers",
            "endless-header-line", "endless-trailers", "huge-headers", "gzip-bomb",
            "deflate-bomb", "raw-deflate-bomb", "redirect-huge", "length-beyond-numbers",
        ],
        Reason.too_large,
    ),
    **dict.fromkeys(
        [
            "close-at-once", "reset-at-once", "reset", "length-too-long", "length-and-chunked",
            "chunk-size-nonsense", "chunk-size-huge", "truncated-gzip",
        ],
        Reason.incomplete,
    ),
    **dict.fromkeys(["not-gzip", "many-codings"], Reason.decode),
    **dict.fromkeys(
        [
            "length-negative", "two-lengths", "status-line-nonsense", "status-nonsense", "no-head",
            "header-without-colon", "header-bare-cr", "header-nul",
        ],
        Reason.protocol,
    ),
    **dict.fromkeys(
        ["length-too-short", "unknown-coding", "header-folded", "header-bare-lf"], 200
    ),
    **dict.fromkeys([name for name in HOSTILE if name.startswith("redirect-")], 302),
    "redirect-huge": Reason.too_large,
    "status-too-large": 999,
    **{name: int(name[:3]) for name in HOSTILE if name[:3] in ("429", "503")},
}  # fmt: skip


def test_every_misbehaviour_is_expected() -> None:
    assert EXPECTED.keys() == HOSTILE.keys()


@pytest.fixture(scope="module")
def answers() -> dict[str, Response | Failure]:
    """What our client makes of each, all at once."""

    async def fetch_all() -> dict[str, Response | Failure]:
        async with serve(Web(pages=5)) as site:
            http = Http(Fetching(timeout=SECONDS, max_body=LIMIT), "Freki/0", per_host=len(HOSTILE))
            claims = [Claim(1, 1, f"{site.url}hostile/{name}", 0) for name in HOSTILE]
            got = await asyncio.gather(*map(http.fetch, claims))
            good = await http.fetch(Claim(1, 1, site.url, 0))
            assert isinstance(good, Response)
            http.close()
            return dict(zip(HOSTILE, got, strict=True))

    return asyncio.run(fetch_all())


@pytest.mark.parametrize("name", HOSTILE)
def test_a_misbehaviour_ends_typed(name: str, answers: dict[str, Response | Failure]) -> None:
    got, expected = answers[name], EXPECTED[name]
    if isinstance(expected, Reason):
        assert isinstance(got, Failure), got
        assert got.reason is expected
        assert got.detail
    else:
        assert isinstance(got, Response), got
        assert got.status == expected


def test_a_body_never_runs_into_the_next_answer(answers: dict[str, Response | Failure]) -> None:
    short = answers["length-too-short"]
    assert isinstance(short, Response)
    assert len(short.body) == 10


@pytest.mark.parametrize("name", ["gzip-bomb", "deflate-bomb", "endless-body", "redirect-bomb"])
def test_a_flood_costs_little_memory_and_time(name: str) -> None:
    async def fetch() -> float:
        async with serve(Web(pages=5)) as site:
            http = Http(Fetching(timeout=20, max_body=LIMIT), "Freki/0", per_host=4)
            used = resource.getrusage(resource.RUSAGE_SELF).ru_utime
            for _ in range(5):
                await http.fetch(Claim(1, 1, f"{site.url}hostile/{name}", 0))
            http.close()
            return resource.getrusage(resource.RUSAGE_SELF).ru_utime - used

    tracemalloc.start()
    seconds = asyncio.run(fetch())
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 16 * LIMIT
    assert seconds < 5


def test_hosts_that_stall_do_not_hold_up_the_others() -> None:
    async def crawl() -> tuple[int, int, float]:
        stalling = Web(pages=1, hosts=60, hostile=("silence",), cross_links=1.0, links_per_page=60)
        async with serve(stalling) as slow, serve(Web(pages=300), host="127.77.0.1") as good:
            started = time.monotonic()
            last = 0.0
            pages = stalled = 0
            urls = (good.url, *(f"{url}hostile/silence" for url in slow.urls))
            async for visit in freki.crawl(
                *urls, scope="host", delay=0, timeout=6, attempts=1, sitemap="no", connections=80
            ):
                pages += visit.url.startswith(good.url)
                stalled += not visit.url.startswith(good.url)
                last = time.monotonic() - started
            return pages, stalled, last

    pages, stalled, last = asyncio.run(crawl())
    assert pages == 300
    assert stalled == 0
    assert last < 6  # the good site was done before the first of the others was given up
