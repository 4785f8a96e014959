"""A site by Crawlee, with its storage in memory: python crawlee_site.py URL."""

import asyncio
import logging
import sys
from datetime import timedelta

from crawlee import ConcurrencySettings
from crawlee.crawlers import ParselCrawler, ParselCrawlingContext
from crawlee.storage_clients import MemoryStorageClient


async def main() -> None:
    crawler = ParselCrawler(
        storage_client=MemoryStorageClient(),
        concurrency_settings=ConcurrencySettings(desired_concurrency=32, max_concurrency=32),
        request_handler_timeout=timedelta(seconds=30),
        configure_logging=False,
    )

    @crawler.router.default_handler
    async def handle(context: ParselCrawlingContext) -> None:
        title = context.selector.css("title::text").get()
        await context.push_data({"url": context.request.url, "title": title})
        await context.enqueue_links(strategy="same-hostname")

    await crawler.run(sys.argv[1:2])


logging.disable(logging.WARNING)
asyncio.run(main())
