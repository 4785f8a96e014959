"""A spider as a program for the engine."""

from functools import partial

from freki.engine.build import NO_PROGRAM, Program
from freki.spider.batch import delivering
from freki.spider.explore import Explorer
from freki.spider.spider import Spider, starts


async def beginning(spider: Spider | None) -> Program:
    """The program of whoever begins or continues a crawl: with its start."""
    if spider is None:
        return NO_PROGRAM
    first = await starts(spider) if callable(spider.start) or spider.start else []
    explorer = Explorer(spider)
    beside = partial(delivering, explorer.batches) if explorer.batches else None
    return Program(first, explorer, spider.around_fetch, beside=beside)


def helping(spider: Spider | None) -> Program:
    """The program of a further worker: where to start is known already."""
    if spider is None:
        return NO_PROGRAM
    return Program(explore=Explorer(spider), around=spider.around_fetch)


def words_of(spider: Spider | None) -> str:
    """How a spider that was given as an object is named in the store."""
    return "" if spider is None else f"{type(spider).__module__}:{type(spider).__qualname__}"


def name_of(spider: Spider) -> str:
    """The name of a crawl that got none."""
    return spider.name or type(spider).__name__.lower()


def options_of(spider: Spider | None) -> dict[str, object]:
    """The settings that come with a spider: one that asks for every page needs no sitemaps."""
    if spider is None:
        return {}
    return {**({} if spider.follow_links else {"sitemap": "no"}), **spider.settings}
