"""Sitemaps, found and read by a real crawl."""

import asyncio
import gzip
from collections.abc import Callable
from typing import Any

import pytest
from tests.system.scripted import Script, answer, page, scripted

import freki


def _urlset(*urls: str) -> bytes:
    return f"<urlset>{''.join(f'<url><loc>{url}</loc></url>' for url in urls)}</urlset>".encode()


def _index(*urls: str) -> bytes:
    entries = "".join(f"<sitemap><loc>{url}</loc></sitemap>" for url in urls)
    return f"<sitemapindex>{entries}</sitemapindex>".encode()


def _crawled(
    script: Callable[[str], Script], *, start: str = "/", **options: Any
) -> tuple[set[str], list[str]]:
    """The paths of the pages, and what was asked for, in order. The script gets the site's URL."""

    async def crawl() -> tuple[set[str], list[str]]:
        async with scripted({}) as site:
            site.script = script(site.url)
            visits = freki.crawl(f"{site.url}{start}", **{"delay": 0, "concurrency": 1, **options})
            return {visit.url.removeprefix(site.url) async for visit in visits}, site.asked

    return asyncio.run(crawl())


def test_pages_that_only_a_sitemap_names_are_found() -> None:
    def script(site: str) -> Script:
        return {
            "/": page(),
            "/robots.txt": answer(200, f"Sitemap: {site}/named.xml".encode()),
            "/named.xml": answer(200, _urlset(f"{site}/lonely")),
            "/sitemap.xml": answer(200, _urlset(f"{site}/by-custom")),
            "/lonely": page(),
            "/by-custom": page(),
        }

    pages, _ = _crawled(script)
    assert pages == {"/", "/lonely", "/by-custom"}


def test_an_index_leads_to_its_sitemaps_packed_or_not_text_or_feed() -> None:
    def script(site: str) -> Script:
        feed = f"<rss><channel><item><link>{site}/feed</link></item></channel></rss>"
        return {
            "/": page(),
            "/sitemap.xml": answer(
                200, _index(f"{site}/one.xml.gz", f"{site}/two.txt", f"{site}/three.rss")
            ),
            "/one.xml.gz": answer(200, gzip.compress(_urlset(f"{site}/packed"))),
            "/two.txt": answer(200, f"{site}/text\n".encode(), content_type="text/plain"),
            "/three.rss": answer(200, feed.encode(), content_type="application/rss+xml"),
            **{path: page() for path in ("/packed", "/text", "/feed")},
        }

    pages, _ = _crawled(script)
    assert pages == {"/", "/packed", "/text", "/feed"}


def test_the_urls_of_a_sitemap_pass_the_gate_like_any_link() -> None:
    def script(site: str) -> Script:
        named = [f"{site}/in", "http://127.0.0.9:9/out", f"{site}/private/x"]
        return {
            "/": page(),
            "/robots.txt": answer(200, b"User-agent: *\nDisallow: /private"),
            "/sitemap.xml": answer(200, _urlset(*named)),
            "/in": page(),
            "/private/x": page(),
        }

    pages, asked = _crawled(script)
    assert pages == {"/", "/in"}
    assert "/private/x" not in asked


def test_what_pages_link_to_comes_before_what_only_a_sitemap_names() -> None:
    def script(site: str) -> Script:
        return {
            "/": page("/linked"),
            "/sitemap.xml": answer(200, _urlset(*(f"{site}/{n}" for n in range(20)))),
            "/linked": page("/linked/deeper"),
            "/linked/deeper": page(),
        }

    _, asked = _crawled(script)
    assert asked.index("/linked/deeper") < asked.index("/0")


def test_links_are_not_followed_where_only_sitemaps_are_wanted() -> None:
    def script(site: str) -> Script:
        return {
            "/": page("/linked"),
            "/sitemap.xml": answer(200, _urlset(f"{site}/named")),
            "/named": page("/linked"),
            "/linked": page(),
        }

    pages, _ = _crawled(script, sitemap="only")
    assert pages == {"/", "/named"}


def test_no_sitemap_is_asked_for_where_none_is_wanted() -> None:
    _, asked = _crawled(lambda _: {"/": page()}, sitemap="no")
    assert asked == ["/robots.txt", "/"]


def test_a_document_type_is_refused_and_the_crawl_goes_on() -> None:
    hostile = b'<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]><urlset><url><loc>&a;</loc></url></urlset>'
    pages, _ = _crawled(lambda _: {"/": page(), "/sitemap.xml": answer(200, hostile)})
    assert pages == {"/"}


@pytest.mark.parametrize(
    ("start", "pages"),
    [
        ("/list.xml", {"/listed"}),
        ("/list.gz", {"/listed"}),
        ("/index.xml", {"/listed"}),
        ("/feed", {"/listed"}),
        ("/moved", {"/listed"}),
        ("/drawing.svg", {"/drawing.svg"}),
        ("/list.txt", {"/list.txt"}),
        ("/", {"/", "/linked"}),
    ],
)
def test_a_start_url_that_is_a_sitemap_or_feed_leads_to_what_it_lists(
    start: str, pages: set[str]
) -> None:
    def script(site: str) -> Script:
        listed = _urlset(f"{site}/listed")
        feed = f"<rss><channel><item><link>{site}/listed</link></item></channel></rss>"
        return {
            "/": page("/linked"),
            "/list.xml": answer(200, listed, content_type="application/xml"),
            "/list.gz": answer(200, gzip.compress(listed), content_type="application/gzip"),
            "/index.xml": answer(200, _index(f"{site}/list.xml"), content_type="text/xml"),
            "/feed": answer(200, feed.encode(), content_type="application/rss+xml"),
            "/moved": answer(301, location="/list.xml"),
            "/drawing.svg": answer(200, b"<svg><a href='/x'/></svg>", content_type="image/svg+xml"),
            "/list.txt": answer(200, f"{site}/listed".encode(), content_type="text/plain"),
            "/listed": page(),
            "/linked": page(),
        }

    found, _ = _crawled(script, start=start, sitemap="no")
    assert found == pages


def test_sitemaps_that_name_each_other_end() -> None:
    def script(site: str) -> Script:
        return {
            "/": page(),
            "/sitemap.xml": answer(200, _index(f"{site}/other.xml")),
            "/other.xml": answer(200, _index(f"{site}/sitemap.xml", f"{site}/other.xml")),
        }

    _, asked = _crawled(script)
    assert sorted(asked) == ["/", "/other.xml", "/robots.txt", "/sitemap.xml"]


def test_where_the_first_custom_gives_nothing_the_second_is_tried() -> None:
    def script(site: str) -> Script:
        return {
            "/": page(),
            "/sitemap_index.xml": answer(200, _index(f"{site}/posts.xml")),
            "/posts.xml": answer(200, _urlset(f"{site}/lonely")),
            "/lonely": page(),
        }

    pages, _ = _crawled(script, depth=1)
    assert pages == {"/", "/lonely"}


def test_a_sitemap_widens_no_scope() -> None:
    def script(site: str) -> Script:
        return {
            "/docs/": page(),
            "/robots.txt": answer(200, f"Sitemap: {site}/all.xml".encode()),
            "/all.xml": answer(200, _urlset(f"{site}/docs/in", f"{site}/out")),
            "/docs/in": page("/out"),
            "/out": page(),
        }

    pages, _ = _crawled(script, start="/docs/", scope="folder")
    assert pages == {"/docs/", "/docs/in"}


def test_a_host_that_only_keeps_a_sitemap_is_not_crawled() -> None:
    async def crawl() -> tuple[set[str], list[str]]:
        async with scripted({}, "127.0.0.2") as keeper, scripted({}) as site:
            site.script = {
                "/": page(),
                "/robots.txt": answer(200, f"Sitemap: {keeper.url}/ours.xml".encode()),
                "/lonely": page(),
            }
            keeper.script = {
                "/ours.xml": answer(200, _urlset(f"{site.url}/lonely", f"{keeper.url}/")),
                "/": page(),
            }
            visits = freki.crawl(f"{site.url}/", delay=0)
            return {visit.url.removeprefix(site.url) async for visit in visits}, keeper.asked

    pages, asked = asyncio.run(crawl())
    assert pages == {"/", "/lonely"}
    assert asked == ["/robots.txt", "/ours.xml"]
