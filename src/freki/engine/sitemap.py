"""A sitemap as a page: what it lists are its links."""

from freki.admit.sitemaps import GZIP, Entry, read
from freki.messages import Link, Page, Response, Via
from freki.url import join, split

# Where sitemaps are by custom, the commonest first: the next is asked for where one gives nothing.
PLACES = ("/sitemap.xml", "/sitemap_index.xml")


def is_sitemap(response: Response) -> bool:
    """Whether a page that was not asked for as a sitemap is one, or a feed.

    As a list in plain text, any text could be read, so only XML counts, and what is packed.
    """
    head = response.body[:64]
    if response.status != 200 or "html" in response.content_type.lower():
        return False
    if not (b"<" in head or head.startswith(GZIP)):
        return False
    sitemap = read(response.body, max_urls=1)
    return bool(sitemap.entries or sitemap.children)


def read_sitemap(response: Response) -> Page:
    """The URLs a sitemap lists, and the sitemaps an index lists; its title says what was wrong."""
    if response.status in (301, 302, 303, 307, 308):
        target = join(response.url, response.location)
        return Page([Link(target, via=Via.sitemap_file)] if target else [])
    if response.status != 200:
        return Page(_next_place(response.url))
    sitemap = read(response.body)
    links = [_link(response.url, entry, Via.sitemap_file) for entry in sitemap.children]
    links += [_link(response.url, entry, Via.sitemap) for entry in sitemap.entries]
    distinct = list({link.url: link for link in links if link.url}.values())
    distinct = distinct or _next_place(response.url)
    return Page(distinct, title=sitemap.problem and f"sitemap: {sitemap.problem}")


def _next_place(url: str) -> list[Link]:
    origin, path = split(url)
    if path not in PLACES[:-1]:
        return []
    return [Link(origin + PLACES[PLACES.index(path) + 1], via=Via.sitemap_file)]


def _link(base: str, entry: Entry, via: Via) -> Link:
    """Date and priority are kept where a page's link has its text and rel."""
    priority = "" if entry.priority is None else f"priority={entry.priority:g}"
    return Link(join(base, entry.url) or "", entry.lastmod or "", priority, via)
