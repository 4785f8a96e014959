"""A crawler of few lines that knows nothing of how the synthetic web is made."""

from collections.abc import Callable
from html.parser import HTMLParser

import pytest

from freki import url
from freki.testing.synthetic import Answer

Get = Callable[[str], Answer]
Crawl = Callable[[Get, str, int | None], set[str]]


@pytest.fixture
def crawl() -> Crawl:
    """Takes a way to get a URL, a start and a depth; gives the paths it got from that host."""
    return _crawl


def _crawl(get: Get, start: str, depth: int | None = None) -> set[str]:
    found, ring, level = {start}, [start], 0
    while ring:
        links: list[str] = []
        for page in ring:  # which grows meanwhile: a redirect leads no deeper
            redirect, hrefs = _leads_to(get(page))
            ring += _fresh(page, redirect, found)
            links += _joined(page, hrefs)
        if level == depth:
            break
        ring, level = _fresh(start, links, found), level + 1
    return {url.split(page).path for page in found}


def _leads_to(answer: Answer) -> tuple[list[str], list[str]]:
    fields = dict(answer.headers)
    if "location" in fields:
        return [fields["location"]], []
    if answer.status != 200 or not fields["content-type"].startswith("text/html"):
        return [], []
    anchors = _Anchors()
    anchors.feed(answer.body.decode())
    return [], anchors.hrefs


class _Anchors(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.hrefs: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "a":
            self.hrefs += [value for name, value in attrs if name == "href" and value]


def _joined(page: str, hrefs: list[str]) -> list[str]:
    origin = url.split(page).origin
    joined = (url.join(page, href) for href in hrefs)
    return [to for to in joined if to and url.split(to).origin == origin]


def _fresh(page: str, hrefs: list[str], found: set[str]) -> list[str]:
    fresh = [to for to in dict.fromkeys(_joined(page, hrefs)) if to not in found]
    found.update(fresh)
    return fresh
