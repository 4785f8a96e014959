"""A site by Scrapy: every link that stays on the host, a row of JSON for each page.

python scrapy_site.py URL OUTPUT [fields [PAGES]]
"""

import sys
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import scrapy
from scrapy.crawler import CrawlerProcess
from scrapy.linkextractors import LinkExtractor

START, OUTPUT, *FIELDS = sys.argv[1:]


class Site(scrapy.Spider):
    name = "site"
    start_urls = (START,)
    allowed_domains = (urlsplit(START).hostname or "",)
    links = LinkExtractor(allow_domains=(urlsplit(START).netloc,))  # with the port

    def parse(self, response: Any) -> Iterator[Any]:
        if not isinstance(response, scrapy.http.TextResponse):
            return
        row = {"url": response.url, "title": response.css("title::text").get()}
        if FIELDS:
            row |= {
                "heading": response.css("h1::text").get(),
                "description": response.css("meta[name=description]::attr(content)").get(),
                "canonical": response.css("link[rel=canonical]::attr(href)").get(),
                "code": response.css("pre code::text").get(),
            }
        yield row
        for link in self.links.extract_links(response):
            yield response.follow(link)


process = CrawlerProcess(
    {
        "CONCURRENT_REQUESTS": 32,
        "CONCURRENT_REQUESTS_PER_DOMAIN": 32,
        "DOWNLOAD_DELAY": 0,
        "LOG_LEVEL": "ERROR",
        "CLOSESPIDER_PAGECOUNT": int(FIELDS[1]) if FIELDS[1:] else 0,
        "ROBOTSTXT_OBEY": True,
        "TELNETCONSOLE_ENABLED": False,
        "FEEDS": {OUTPUT: {"format": "jsonlines"}},
    }
)
process.crawl(Site)
process.start()
