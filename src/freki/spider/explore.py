"""Runs a spider on an answer: its callback, what it yields, and the pipelines."""

import asyncio
import inspect
import typing
from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable, Iterable
from functools import lru_cache

from msgspec.structs import replace

from freki.errors import BadSpider, FrekiError
from freki.extract.page import extract
from freki.messages import Asked, Claim, Item, Response, Via
from freki.spider.batch import Batch
from freki.spider.page import Page
from freki.spider.pipeline import Pipelines, is_item, trace
from freki.spider.request import Request, after_redirect, asked, unpacked
from freki.spider.spider import Spider
from freki.steps import Exploration

# Seconds that an async callback may take for a page, its pipelines included.
PATIENCE = 300.0

# What one page may yield; more is a loop without an end.
MOST_YIELDED = 1_000_000

DEFAULT_CALLBACK = "parse"


class Explorer:
    """A spider as the engine sees it. Calling it is a `steps.Explore`."""

    def __init__(self, spider: Spider) -> None:
        self._spider = spider
        self._pipelines = Pipelines(spider.pipelines)

    @property
    def batches(self) -> list[Batch]:
        """Who gets the items after they were stored."""
        return self._pipelines.batches

    def __repr__(self) -> str:
        return f"<Explorer of {type(self._spider).__name__}>"

    async def __call__(self, claim: Claim, response: Response) -> Exploration:
        if 300 <= response.status < 400 and response.header("location"):
            return _moved(claim, response)
        page = Page.of_claim(claim, response)
        follows = self._spider.follow_links
        said = page.said
        if follows:
            for choose in self._spider.around_links:
                said = replace(said, links=choose(page, said.links))
        if response.status >= 400 and response.status not in self._spider.statuses:
            return Exploration(said, follows=follows)
        wanted: list[Asked] = []
        items: list[Item] = []
        try:
            async with asyncio.timeout(PATIENCE):
                async for result in _results(self._call(claim, page)):
                    await self._take(result, page, claim, wanted, items)
        except FrekiError as error:
            # What is wrong with the program is wrong on every page: the crawl stops, and goes on
            # from here when it is mended.
            raise type(error)(f"{self._where(claim)} on {response.url}: {error}") from error
        except Exception:  # noqa: BLE001 - user code: it costs this page
            return Exploration(said, error=trace())
        return Exploration(said, wanted, items, follows)

    def _call(self, claim: Claim, page: Page) -> object:
        name = self._callback(claim)
        callback: Callable[..., object] | None = getattr(self._spider, name, None)
        if callback is None:
            raise BadSpider(
                f"the crawl has requests for the callback {name!r}, which "
                f"{type(self._spider).__name__} does not have; give it back its name"
            )
        state = claim.request.state if claim.request is not None else b""
        if not state:
            return callback(page)
        return callback(page, unpacked(state, _state_type(callback)))

    async def _take(
        self, result: object, page: Page, claim: Claim, wanted: list[Asked], items: list[Item]
    ) -> None:
        if len(wanted) + len(items) >= MOST_YIELDED:
            raise BadSpider(f"it yielded {MOST_YIELDED:,} times for one page; is it a loop?")
        if result is None:
            return
        if isinstance(result, Request):
            wanted.append(asked(result, page.url, self._spider))
        elif is_item(result):
            items.append(await self._pipelines.keep(result, page))
        elif isinstance(result, list | tuple):
            for one in result:
                await self._take(one, page, claim, wanted, items)
        else:
            raise BadSpider(nonsense(result))

    def _callback(self, claim: Claim) -> str:
        return (claim.request.callback if claim.request is not None else "") or DEFAULT_CALLBACK

    def _where(self, claim: Claim) -> str:
        return f"{type(self._spider).__name__}.{self._callback(claim)}"


def nonsense(result: object) -> str:
    """What to do about something that is neither an item nor a request."""
    hint = ""
    if isinstance(result, str) and result.startswith(("http", "/")):
        hint = "; for an address write page.request(address)"
    told = repr(result)
    told = told if len(told) < 100 else f"{told[:97]}…"
    return (
        f"it yielded {told} ({type(result).__name__}), which is neither an item (a dict, a "
        f"dataclass, a msgspec or pydantic model) nor a request (page.follow(…)){hint}"
    )


def _moved(claim: Claim, response: Response) -> Exploration:
    """A redirect takes callback and state along."""
    page = extract(response)
    if claim.request is None:
        return Exploration(page)
    targets = [link.url for link in page.links if link.via == Via.redirect]
    further = [after_redirect(claim.request, url, response.status) for url in targets]
    return Exploration(page, further, follows=False)


async def _results(answer: object) -> AsyncIterator[object]:
    """What a callback gives: a generator of either kind, a coroutine, one thing or nothing."""
    if isinstance(answer, Awaitable):
        answer = await answer
    if isinstance(answer, AsyncIterable):
        async for result in answer:
            yield result
    elif inspect.isgenerator(answer) or (
        isinstance(answer, Iterable) and not is_item(answer) and not isinstance(answer, str | bytes)
    ):
        for result in answer:
            yield result
    else:
        yield answer


@lru_cache(maxsize=256)
def _hints(function: object) -> dict[str, object]:
    return typing.get_type_hints(function)


def _state_type(callback: Callable[..., object]) -> object:
    """The type that a callback names for its second parameter."""
    function = getattr(callback, "__func__", callback)
    parameters = list(inspect.signature(callback).parameters)
    if len(parameters) < 2:
        raise BadSpider(
            f"the request carries a state, and {function.__name__} does not take one; write "
            f"def {function.__name__}(self, page, state)"
        )
    return _hints(function).get(parameters[1], typing.Any)
