"""What callers may wish of a picture, and where it is kept what they wished."""

from hashlib import sha256
from typing import Annotated, Any, Literal

import msgspec
from pydantic import Field

from freki.ledger.jobs.keys import Key
from freki.ledger.jobs.orders import Order
from freki.pictures import OF_THE_CONNECTION
from freki.serve.gate import refuse_private
from freki.serve.problems import Problem
from freki.serve.requests import Name, ReasonName, Url, Webhook, hook_of, seeds_of, shown
from freki.serve.shapes import AS_WHOLE, Strict
from freki.serve.terms import Terms
from freki.url import hostname

MOST_LINKS = 1_000

# RFC 9110 5.6.2 and RFC 6265 4.1.1: nothing that could end a line, or a cookie.
HEADER_NAME = r"^[!#$%&'*+.^_`|~0-9A-Za-z-]+$"
COOKIE_VALUE = r"^[\x21\x23-\x2b\x2d-\x3a\x3c-\x5b\x5d-\x7e]*$"

HeaderName = Annotated[str, Field(min_length=1, max_length=100, pattern=HEADER_NAME)]
HeaderValue = Annotated[str, Field(max_length=4_000, pattern=r"^[\x20-\x7e]*$")]
CookieName = Annotated[str, Field(min_length=1, max_length=200, pattern=HEADER_NAME)]
CookieValue = Annotated[str, Field(max_length=4_000, pattern=COOKIE_VALUE)]
Selector = Annotated[str, Field(min_length=1, max_length=500)]
Word = Annotated[str, Field(min_length=2, max_length=60, pattern=r"^[A-Za-z0-9_+/-]+$")]


class Cookie(Strict):
    """A cookie that a visit brings along."""

    name: CookieName
    value: CookieValue
    domain: Annotated[str, Field(max_length=253, pattern=r"^[A-Za-z0-9.-]*$")] = ""
    path: Annotated[str, Field(max_length=500, pattern=r"^/[\x21-\x3a\x3c-\x7e]*$")] = "/"


Headers = Annotated[dict[HeaderName, HeaderValue], Field(max_length=50)] | None
Cookies = Annotated[list[Cookie], Field(max_length=50)] | None


class Viewport(Strict):
    """The window a page is seen through, in CSS pixels."""

    width: Annotated[int, Field(ge=100, le=4_000), AS_WHOLE] = 1280
    height: Annotated[int, Field(ge=100, le=4_000), AS_WHOLE] = 800
    scale: Annotated[float, Field(ge=0.25, le=4)] = 1.0
    mobile: bool = False
    name: Annotated[str, Field(max_length=60, pattern=r"^[\x20-\x7e]*$")] = ""


class Looks(Strict):
    """How a page is looked at: what `freki shot` can do."""

    viewports: Annotated[list[Viewport], Field(min_length=1, max_length=5)] | None = None
    format: Literal["webp", "png", "jpeg", "pdf"] = "webp"
    quality: Annotated[int, Field(ge=1, le=100), AS_WHOLE] = 78
    full_page: bool = False
    max_height: Annotated[int, Field(ge=100, le=40_000), AS_WHOLE] = 40_000
    selector: Annotated[Selector | None, Field(description="only this element")] = None
    wait: Literal["settled", "load", "domcontentloaded"] = "settled"
    wait_selector: Annotated[Selector | None, Field(description="until this is there")] = None
    delay: Annotated[float, Field(ge=0, le=30, description="seconds on top")] = 0.0
    dark: bool = False
    hide_banners: bool = False
    block_ads: bool = False
    locale: Word | None = None
    timezone: Word | None = None
    headers: Headers = None
    cookies: Cookies = None


class ScreenshotRequest(Looks):
    """A page, and as many of the pages it links to."""

    start_url: Url
    number_of_links: Annotated[
        int,
        Field(ge=0, le=MOST_LINKS, description="linked pages of the same site, as they come",
              examples=[10]),
        AS_WHOLE,
    ]  # fmt: skip
    same: Annotated[Literal["site", "host"], Field(description="how far links may lead")] = "site"
    max_age: Annotated[
        float | None,
        Field(ge=0, le=31_536_000, description="seconds; 0 takes nothing that was there before"),
    ] = None
    ignore_robots: bool = False
    name: Name | None = None
    webhook: Webhook | None = None


class LookAgain(Strict):
    """Which pages of a task, and what it was begun with that nobody has any more."""

    reason: Annotated[
        ReasonName | None,
        Field(description="why there is no picture; any without it", examples=["timeout"]),
    ] = None
    headers: Headers = None
    cookies: Cookies = None
    webhook: Webhook | None = None


class FetchRequest(Strict):
    """One page, now."""

    url: Url
    formats: Annotated[list[Literal["html", "markdown", "main", "text"]], Field(max_length=4)] = (
        Field(default=["markdown"])
    )
    screenshot: Annotated[
        bool | None, Field(description="a picture of it too, which is kept as others are")
    ] = None
    deadline: Annotated[float, Field(gt=0, le=120, description="seconds to wait for it")] = 30.0
    ignore_robots: bool = False


NOT_OF_THE_SHOT = {
    "start_url", "number_of_links", "same", "max_age", "ignore_robots", "name", "webhook",
    "headers", "cookies",
}  # fmt: skip


def screenshot_order(asked: ScreenshotRequest, caller: Key, terms: Terms, now: float) -> Order:
    """A request for screenshots as it stands in the books."""
    (start,) = seeds_of([asked.start_url], "start_url")
    hook = hook_of(asked.webhook)
    refuse_private([start, *([hook.url] if hook else [])], terms)
    refuse_rude(asked.ignore_robots, caller)
    shot = asked.model_dump(exclude_none=True, exclude=NOT_OF_THE_SHOT)
    plan = {
        "links": asked.number_of_links,
        "shot": shot,
        "ask": not asked.ignore_robots,
        "here": asked.same,
    }
    secrets = secrets_of(asked)
    fresh = (
        terms.cache_seconds if asked.max_age is None else min(asked.max_age, terms.cache_seconds)
    )
    request = shown(asked)
    for name in secrets or ():
        request.pop(name)
    return Order(
        kind="screenshots",
        name=asked.name or hostname(start),
        request=request,
        seeds=[start],
        settings={"plan": plan},
        secrets=secrets,
        hook=hook,
        # With cookies or headers it may be for this caller's eyes only.
        likeness=None if secrets else likeness(start, plan),
        share=asked.max_age != 0,
        fresh_after=now - fresh,
        pages=1 + asked.number_of_links,
    )


def likeness(start: str, plan: dict[str, Any]) -> bytes:
    """Everything that changes what is seen, as one number."""
    return sha256(msgspec.json.encode([start, plan], order="sorted")).digest()


def secrets_of(asked: Looks | LookAgain) -> dict[str, Any] | None:
    """What is dropped when the job has ended, and never shown again."""
    secrets: dict[str, Any] = {}
    if asked.headers:
        for name in asked.headers:
            if name.lower() in OF_THE_CONNECTION:
                raise Problem("invalid", f"headers: {name} is not yours to set")
        secrets["headers"] = list(asked.headers.items())
    if asked.cookies:
        secrets["cookies"] = [cookie.model_dump() for cookie in asked.cookies]
    return secrets or None


def refuse_rude(ignore_robots: bool, caller: Key) -> None:
    if ignore_robots and not caller.may("admin"):
        raise Problem("scope", "ignore_robots needs a key with the scope admin")
