"""What callers may ask for, checked field by field before anything is done."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, Literal, cast

import msgspec
from pydantic import BaseModel, Field, create_model

from freki import config
from freki.admit.scope import Scope
from freki.errors import BadConfig, BadUrl
from freki.ledger import details
from freki.ledger.jobs.keys import Key
from freki.ledger.jobs.orders import Hook
from freki.ledger.read import Filter
from freki.messages import Reason, State
from freki.serve.problems import FieldError, Problem
from freki.serve.shapes import Query, Strict, translated
from freki.serve.terms import MAX_PAGE_SIZE, MAX_SEEDS, MAX_URL
from freki.url import parse

Url = Annotated[
    str,
    Field(
        min_length=1,
        max_length=MAX_URL,
        json_schema_extra={"format": "uri"},
        examples=["https://example.com/"],
    ),
]
Name = Annotated[str, Field(min_length=1, max_length=100, pattern=r"^[^\x00-\x1f\x7f]+$")]

# The options of a crawl that are a caller's to choose. What is missing is the operator's: how much
# of the machine is used, which addresses may be reached, where files are.
CALLERS_OPTIONS = (
    "depth", "max_pages", "scope", "include", "exclude", "max_pages_per_host", "types", "sitemap",
    "order", "obey_nofollow", "check_external", "trap_budgets",
    "delay", "min_delay", "max_delay", "concurrency", "ignore_robots", "contact", "user_agent",
    "timeout", "connect_timeout", "min_speed", "max_body", "max_redirects", "attempts", "http",
    "insecure", "keep", "render", "screenshot", "screenshot_of",
)  # fmt: skip

# Of these, what asks more of others, or trusts them more, than everybody shall be able to.
ADMINS_OPTIONS = frozenset({"ignore_robots", "concurrency", "user_agent", "insecure"})

# Of what is searched for, so many characters count.
MAX_TEXT = 200

# Seconds between two requests to a host below which only an administrator may go.
LEAST_DELAY = 0.25

HookEvent = Literal["started", "page", "finished", "failed"]


class Webhook(Strict):
    """Where to tell of a job, as it goes on."""

    url: Url
    events: Annotated[list[HookEvent], Field(min_length=1, max_length=4)] = Field(
        default=["started", "finished", "failed"]
    )
    secret: Annotated[
        str,
        Field(
            min_length=16,
            max_length=200,
            pattern=r"^[\x21-\x7e]+$",
            description="signs each message: HMAC-SHA256 of its time and body",
            examples=["9f2c51d0a7b84e6c"],
        ),
    ]


class _Crawl(Strict):
    """A crawl: where to start, and any of the options of `freki crawl`."""

    urls: Annotated[list[Url], Field(min_length=1, max_length=MAX_SEEDS)]
    name: Annotated[Name | None, Field(description="for people; the first host by default")] = None
    webhook: Webhook | None = None


def _options() -> dict[str, Any]:
    """A field for each option; one that is not given is not set."""
    fields = {
        field.name: field.type
        for part in msgspec.structs.fields(config.Settings)
        for field in msgspec.structs.fields(part.type)
    }
    return {
        option.name: (
            translated(fields[option.name]) | None,
            Field(None, description=option.help),
        )
        for option in config.options()
        if option.name in CALLERS_OPTIONS
    }


CrawlRequest = create_model("CrawlRequest", __base__=_Crawl, **_options())
CrawlRequest.__doc__ = _Crawl.__doc__

CHANGEABLE = ("depth", "max_pages", "max_pages_per_host", "include", "exclude", "delay")
CrawlChange = create_model(
    "CrawlChange",
    __base__=Strict,
    **{name: field for name, field in _options().items() if name in CHANGEABLE},
)
CrawlChange.__doc__ = "Other limits for a crawl, also while it runs."


# Every reason there is; a value of another type is told which are near.
if TYPE_CHECKING:
    ReasonName = str
else:
    ReasonName = Literal[tuple(Reason.__members__)]
Status = Annotated[
    str | None,
    Field(pattern=r"^([1-5]xx|[1-5]\d\d)$", description="as 404 or 4xx", examples=["5xx"]),
]
Host = Annotated[str | None, Field(max_length=300, description="as https://example.com")]
Message = Annotated[
    str | None,
    Field(
        max_length=details.LENGTH,
        description="how the detail begins; of failures, numbers aside",
    ),
]


class RetryRequest(Strict):
    """Which URLs: all of these are true of them, and at least one must be given."""

    outcome: Literal["done", "failed", "refused"] | None = None
    reason: ReasonName | None = None
    status: Status = None
    host: Host = None
    message: Message = None
    url: Annotated[str | None, Field(max_length=MAX_URL, description="exactly this one")] = None
    webhook: Annotated[
        Webhook | None, Field(description="the one before was forgotten when the crawl ended")
    ] = None


Cursor = Annotated[
    str | None, Field(pattern=r"^[0-9]{1,15}$", description="`cursor` of the answer before")
]
Limit = Annotated[int, Field(ge=1, le=MAX_PAGE_SIZE)]


CURSOR = r"^[0-9]{1,15}(~-?[0-9]{1,20}(\.[0-9]{1,20})?(e[+-]?[0-9]{1,3})?)?$"
SortedCursor = Annotated[
    str | None,
    Field(
        pattern=CURSOR,
        description="`cursor` of the answer before, in the same order",
    ),
]
Text = Annotated[
    str | None,
    Field(
        min_length=1, max_length=MAX_TEXT,
        description="in the address or title, or these words in what the page says",
    ),
]  # fmt: skip
Descending = Annotated[bool, Field(description="the largest first")]


class Listing(Query):
    """Which part of a list."""

    cursor: Cursor = None
    limit: Limit = 100


class JobListing(Listing):
    state: Literal["queued", "running", "paused", "done", "failed", "cancelled"] | None = None


class UrlListing(Listing):
    """Which URLs of a crawl."""

    state: Literal["waiting", "leased", "done", "failed", "refused"] | None = None
    reason: ReasonName | None = None
    status: Status = None
    host: Host = None
    depth: Annotated[int | None, Field(ge=0, le=2**53)] = None
    message: Message = None
    text: Text = None
    sort: Literal["status", "depth", "url"] | None = None
    descending: Descending = False
    cursor: SortedCursor = None


class PageListing(Listing):
    """Which pages of a crawl."""

    status: Status = None
    host: Host = None
    content_type: Annotated[str | None, Field(max_length=100, description="how it begins")] = None
    url: Annotated[str | None, Field(max_length=MAX_URL, description="exactly this one")] = None
    redirects: Annotated[bool, Field(description="answers that lead elsewhere as well")] = False
    text: Text = None
    sort: Literal["status", "size", "time", "depth", "url"] | None = None
    descending: Descending = False
    cursor: SortedCursor = None


def seeds_of(urls: list[str], field: str = "urls") -> list[str]:
    """URLs as they are crawled, each once."""
    errors, seeds = [], []
    for number, url in enumerate(urls):
        try:
            seeds.append(parse(url))
        except BadUrl as error:
            errors.append(
                FieldError(f"{field}[{number}]" if field == "urls" else field, str(error))
            )
    if errors:
        raise Problem("bad_url", errors[0].message, errors)
    return list(dict.fromkeys(seeds))


def settings_of(asked: BaseModel, caller: Key) -> dict[str, dict[str, object]]:
    """The options of a request by part, as they are stored with the job."""
    given = {
        name: value
        for name, value in asked.model_dump(exclude_none=True).items()
        if name in CALLERS_OPTIONS
    }
    _refuse_to_others_than_admins(given, caller)
    layer = config.from_flags(given)
    try:
        Scope(config.settings(layer).scope, ())  # raises for a pattern that is none
    except BadConfig as error:
        raise Problem("invalid", str(error).replace("--", "")) from None
    return cast("dict[str, dict[str, object]]", layer)


def hook_of(webhook: Webhook | None) -> Hook | None:
    """Where to tell of the job."""
    if webhook is None:
        return None
    (url,) = seeds_of([webhook.url], "webhook.url")
    return Hook(url, tuple(webhook.events), webhook.secret)


def class_of(asked: RetryRequest) -> Filter:
    """The URLs that a request to try again is about."""
    if asked.model_dump(exclude_none=True, exclude={"webhook"}) == {}:
        raise Problem("invalid", "which URLs? give outcome, reason, status, host, message or url")
    return Filter(
        state=State[asked.outcome] if asked.outcome else None,
        reason=Reason[asked.reason] if asked.reason else None,
        status=statuses(asked.status),
        origin=asked.host,
        message=asked.message,
        url=asked.url,
    )


def statuses(text: str | None) -> tuple[int, int] | None:
    """`404` or `4xx` as a range."""
    if text is None:
        return None
    if text.endswith("xx"):
        first = int(text[0]) * 100
        return first, first + 99
    return int(text), int(text)


def shown(asked: BaseModel) -> dict[str, object]:
    """A request as it is answered again: what was given, without secrets."""
    given = asked.model_dump(exclude_none=True, exclude_unset=True)
    if isinstance(hook := given.get("webhook"), dict):
        hook.pop("secret", None)
    return given


def _refuse_to_others_than_admins(given: Mapping[str, object], caller: Key) -> None:
    if caller.may("admin"):
        return
    for name in given:
        if name in ADMINS_OPTIONS and given[name]:
            raise Problem("scope", f"{name} needs a key with the scope admin")
    for name in ("delay", "min_delay"):
        delay = given.get(name)
        if isinstance(delay, int | float) and delay < LEAST_DELAY:
            raise Problem("scope", f"a {name} below {LEAST_DELAY} needs a key with the scope admin")
