"""Pages through a browser: those that are empty without one, and those whose picture is wanted.

HTTP comes first, and with its answer the browser begins, so the host is asked once. What a browser
made of a page takes the place of the answer's body, so links, text and exports are of the page that
people see. Hosts are remembered: one whose pages are shells has all pages with scripts rendered,
and one where a browser found nothing more is left in peace.
"""

from collections import OrderedDict
from collections.abc import Awaitable, Callable

import msgspec

from freki.admit.scope import compile_patterns
from freki.config import Settings
from freki.extract.shell import content_of, has_scripts, is_shell
from freki.messages import Claim, Failure, Response, Via
from freki.pictures import Document, Rendering, Shot, Unrendered
from freki.steps import Fetch, Middleware, Render
from freki.url import split

# Visits in a row that brought nothing more, after which a host's pages are taken as they come.
IN_VAIN = 3

# A browser brought more if there is this much more to read, or are more links.
MORE = 1.5

MOST_HOSTS = 10_000

_HTML = ("text/html", "application/xhtml+xml")

Keep = Callable[[Claim, Rendering | Unrendered], Awaitable[None]]
"""Stores what was seen of a URL, in place of what was seen of it before."""


class Wanted:
    """What a crawl wants of browsers."""

    def __init__(self, settings: Settings) -> None:
        patterns = settings.keeping.screenshot_of
        self.render = settings.fetching.render
        self.screenshots = settings.keeping.screenshot or bool(patterns)
        self._match = compile_patterns(patterns)

    def __repr__(self) -> str:
        return f"<Wanted render={self.render} screenshots={self.screenshots}>"

    @property
    def anything(self) -> bool:
        return self.screenshots or self.render != "never"

    def pictured(self, url: str) -> bool:
        """Is the picture of this URL wanted?"""
        return self.screenshots and (self._match is None or bool(self._match.search(url)))


class Experience:
    """What browsers brought, by host."""

    def __init__(self) -> None:
        self._score: OrderedDict[str, int] = OrderedDict()

    def __repr__(self) -> str:
        return f"<Experience of {len(self._score)} hosts>"

    def advises(self, answer: Response) -> bool:
        """Is a browser worth its while?"""
        score = self._score.get(split(answer.url).origin, 0)
        if score <= -IN_VAIN:
            return False
        return is_shell(answer) or (score > 0 and has_scripts(answer))

    def learn(self, answer: Response, rendered: Response) -> None:
        """A page was rendered: was there more?"""
        before, after = content_of(answer), content_of(rendered)
        more = after.links > before.links or after.text > MORE * before.text
        origin = split(answer.url).origin
        score = self._score.pop(origin, 0)
        self._score[origin] = min(IN_VAIN, max(0, score) + 1) if more else score - 1
        if len(self._score) > MOST_HOSTS:
            self._score.popitem(last=False)


def with_browser(
    browser: Callable[[], Awaitable[Render]], wanted: Wanted, keep: Keep
) -> Middleware:
    """Has pages seen by a browser after HTTP brought them; it is asked for with the first one."""
    experience = Experience()

    def wrap(fetch: Fetch) -> Fetch:
        async def call(claim: Claim) -> Response | Failure:
            answer = await fetch(claim)
            if isinstance(answer, Failure) or not _is_page(claim, answer):
                return answer
            must = wanted.render == "always" or (
                wanted.render == "auto" and experience.advises(answer)
            )
            pictured = wanted.pictured(answer.url)
            if not must and not pictured:
                return answer
            render = await browser()
            document = Document(status=answer.status, headers=answer.headers, body=answer.body)
            seen = await render(
                Shot(url=answer.url, pictures=pictured, html=must, document=document)
            )
            await keep(claim, seen)
            if not must or isinstance(seen, Unrendered) or not _is_on_the_web(seen.final_url):
                return answer
            rendered = as_seen(answer, seen)
            if not rendered.location:
                experience.learn(answer, rendered)
            return rendered

        return call

    return wrap


def as_seen(answer: Response, seen: Rendering) -> Response:
    """The answer with the tree that a browser made of it; a script that leads on is a redirect."""
    if _without_fragment(seen.final_url) != _without_fragment(answer.url):
        location = ("location", seen.final_url)
        return msgspec.structs.replace(
            answer, status=302, headers=(*answer.headers, location), body=b""
        )
    return msgspec.structs.replace(
        answer, body=seen.html.encode("utf-8", "replace"), content_type="text/html; charset=utf-8"
    )


def _is_on_the_web(url: str) -> bool:
    """A script may also lead to an empty page, or to one of its own making."""
    return url.startswith(("http://", "https://"))


def _is_page(claim: Claim, answer: Response) -> bool:
    """HTML that is wanted for itself: no sitemap, check of a link, probe or program's request."""
    media_type = answer.content_type.partition(";")[0].strip().lower()
    return (
        claim.id > 0
        and claim.via not in (Via.sitemap_file, Via.external)
        and claim.request is None
        and not 300 <= answer.status < 400
        and media_type in _HTML
    )


def _without_fragment(url: str) -> str:
    return url.partition("#")[0]
