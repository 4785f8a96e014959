"""A spider run on the shop, without a server: `explored = explore(Books)`."""

import asyncio
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec
from msgspec import Struct
from tests.spider.books import Shop

import freki
from freki.ledger import crawls, read
from freki.ledger.store import read_store
from freki.messages import Fate
from freki.steps import Fetch, Middleware


class Explored(Struct, frozen=True):
    """What a crawl left in its store."""

    items: list[Any]
    dropped: list[tuple[Any, str]]
    failed: list[tuple[Any, str]]
    urls: dict[str, tuple[str, str | None, str | None]]  # outcome, reason, detail
    shop: Shop


def instead(fetch: Fetch) -> Middleware:
    """Answers in place of the network."""
    return lambda _: fetch


def explore(
    spider: freki.Spider | type[freki.Spider],
    *urls: str,
    store: Path | None = None,
    **options: object,
) -> Explored:
    """Run a spider on the shop to its end."""
    shop = Shop()
    made = spider() if isinstance(spider, type) else spider
    made.around_fetch = [*made.around_fetch, instead(shop)]
    with TemporaryDirectory() as folder:
        place = store or Path(folder) / "freki.db"
        plain: dict[str, object] = {"delay": 0, "ignore_robots": True, **options}
        asyncio.run(_crawl((*urls, made), place, plain))
        return look(place, shop)


async def _crawl(targets: Sequence[Any], store: Path, options: dict[str, Any]) -> None:
    async for _ in freki.crawl(*targets, store=store, **options):
        pass


def look(store: Path, shop: Shop) -> Explored:
    with closing(read_store(store)) as db:
        crawl = crawls.newest(db)
        assert crawl is not None
        lines = list(read.items(db, crawl.id, None))
        urls = {
            line.url: (line.outcome or line.state, line.reason, line.detail)
            for line in read.urls(db, crawl.id, read.Filter())
        }
    told = {fate.name: [line for line in lines if line.fate == fate.name] for fate in Fate}
    data = {fate: [msgspec.json.decode(line.data) for line in of] for fate, of in told.items()}
    details = {fate: [line.detail or "" for line in of] for fate, of in told.items()}
    return Explored(
        data["kept"],
        list(zip(data["dropped"], details["dropped"], strict=True)),
        list(zip(data["failed"], details["failed"], strict=True)),
        urls,
        shop,
    )
