"""One visit: go there, wait until it stands still, look, and say how it ended.

Everything that is awaited has a deadline of its own below that of the visit: a page whose script
spins answers nothing any more, and a command to it would wait for ever.
"""

import asyncio
from collections.abc import Callable

from msgspec import Struct

from freki.fetch.browser import scripts
from freki.fetch.browser.cdp import Gone, Refused
from freki.fetch.browser.events import reason_of
from freki.fetch.browser.photograph import Negative, NoElement, photograph
from freki.fetch.browser.tab import SOON, Tab
from freki.messages import Failure, Reason
from freki.pictures import Phases, Rendering, Shot, Unrendered

# Milliseconds without a change after which a page stands still, and requests that do not count:
# many pages keep one or two open, or send one every second.
QUIET = 200
FEW = 2
FEW_SECONDS = 0.4

# Seconds for sweeping through a page, and for its tree.
SWEEP_SECONDS = 6.0
TREE_SECONDS = 5.0
MOST_HTML = 20 * 2**20

# What a phase that took too long is called.
_LATE = {
    "navigate": Reason.timeout,
    "settle": Reason.settle,
    "capture": Reason.capture,
    "": Reason.timeout,
}


class Seen(Struct, frozen=True, kw_only=True):
    """A visit that ended well, with pictures nobody looked at yet."""

    rendering: Rendering
    negatives: list[Negative]


class Stopped(Exception):
    """The visit ends with a reason."""

    def __init__(self, reason: Reason, detail: str = "") -> None:
        super().__init__(detail)
        self.reason = reason
        self.detail = detail


class NotReached(Exception):
    """The browser got no document; the text is its word for that."""


class _Navigated(Struct, rename="camel", frozen=True):
    error_text: str = ""
    is_download: bool = False


class _Clock:
    """The seconds of each phase."""

    def __init__(self, queue: float) -> None:
        self._now = asyncio.get_running_loop().time
        self._begun = self._now()
        self.phase = ""
        self._seconds = {"queue": queue}

    def enter(self, phase: str) -> None:
        now = self._now()
        if self.phase:
            self._seconds[self.phase] = self._seconds.get(self.phase, 0.0) + now - self._begun
        self.phase, self._begun = phase, now

    def phases(self) -> Phases:
        self.enter("")
        return Phases(**{name: round(spent, 4) for name, spent in self._seconds.items()})


Explain = Callable[[str], Failure | None]
"""Why the host of a URL was not reached, as the way out knows it."""


async def visit(tab: Tab, shot: Shot, explain: Explain, queue: float = 0.0) -> Seen | Unrendered:
    """Visit a URL in a tab that is blank; the caller closes it, however this ends."""
    clock = _Clock(queue)
    try:
        async with asyncio.timeout(shot.seconds) as tab.deadline:
            return await _visit(tab, shot, clock)
    except NotReached as error:
        reason, detail = reason_of(str(error)), str(error)
        if (failure := explain(tab.asked_for or shot.url)) is not None:
            reason, detail = failure.reason, failure.detail
    except Stopped as stopped:
        reason, detail = stopped.reason, stopped.detail
    except NoElement as missing:
        reason, detail = Reason.no_element, f"nothing that can be seen matches {missing}"
    except TimeoutError:
        reason, detail = _LATE[clock.phase], "it took too long"
    except (Gone, Refused) as error:
        reason, detail = Reason.crash, str(error)
    finally:
        tab.deadline = None
    reason, detail = tab.trouble or (reason, detail)
    return Unrendered(url=shot.url, reason=reason, detail=detail, phases=clock.phases())


async def _visit(tab: Tab, shot: Shot, clock: _Clock) -> Seen:
    clock.enter("navigate")
    if not shot.url.lower().startswith(("http://", "https://")):
        raise Stopped(Reason.blocked_address, "only http and https lead to pages")
    await _prepare(tab, shot)
    in_time = await _navigate(tab, shot)
    clock.enter("settle")
    settled = in_time and await settle(tab, shot.settle_seconds, shot.wait)
    await _wait_for_wishes(tab, shot)
    clock.enter("capture")
    negatives: list[Negative] = []
    for at, viewport in enumerate(shot.viewports if shot.pictures else ()):
        if at:
            tab.emulate(viewport)
            await settle(tab, min(1.0, shot.settle_seconds))
        if shot.full_page and not shot.selector and shot.format != "pdf":
            await _sweep(tab, shot)
        negatives += await photograph(tab, shot, viewport)
    html = ""
    if shot.html:
        html = await tab.run(scripts.TREE, str, MOST_HTML, within=TREE_SECONDS)
    title = await tab.run("() => document.title.slice(0, 1000)", str)
    if tab.trouble is not None:
        raise Stopped(*tab.trouble)
    return Seen(
        rendering=Rendering(
            url=shot.url,
            final_url=tab.url or shot.url,
            status=tab.status,
            title=" ".join(title.split()),
            html=html,
            settled=settled,
            phases=clock.phases(),
            console=tuple(tab.console),
            failed_requests=tuple(tab.failed),
            requests=tab.requests,
            blocked=tab.blocked,
        ),
        negatives=negatives,
    )


async def _prepare(tab: Tab, shot: Shot) -> None:
    """Everything that must be set before the first request; one round trip for all of it."""
    for selector in filter(None, (shot.selector, shot.wait_selector)):
        if not await tab.run(scripts.SELECTS, bool, selector):
            raise Stopped(Reason.no_element, f"{selector} is no selector of CSS")
    tab.send("Runtime.enable")
    if shot.cookies:
        tab.bring_cookies(shot)
    tab.stand_between(shot)
    if shot.timezone:
        tab.send("Emulation.setTimezoneOverride", timezoneId=shot.timezone)
    if shot.locale:
        tab.send("Emulation.setLocaleOverride", locale=shot.locale)
    scheme = {"name": "prefers-color-scheme", "value": "dark" if shot.dark else "light"}
    still = {"name": "prefers-reduced-motion", "value": "reduce"}
    # The page may come in another process, which gets what this one has answered by then.
    await tab.tell("Emulation.setEmulatedMedia", features=[scheme, still])


async def _navigate(tab: Tab, shot: Shot) -> bool:
    """Go there; false if the page is there but did not load whole in its time."""
    try:
        async with asyncio.timeout(shot.navigate_seconds):
            answer = await tab.ask(
                "Page.navigate", _Navigated, within=shot.navigate_seconds + SOON, url=shot.url
            )
            if answer.is_download or answer.error_text:
                await _refuse(tab, answer)
            await tab.committed.wait()
            await tab.parsed.wait()
    except TimeoutError:
        return await _late(tab, shot)
    if shot.wait == "domcontentloaded":
        return True
    try:
        async with asyncio.timeout(shot.settle_seconds):
            await tab.loaded.wait()
    except TimeoutError:
        return False  # it loads for ever, but there is something to see
    return True


async def _refuse(tab: Tab, answer: _Navigated) -> None:
    if answer.error_text == "net::ERR_ABORTED":
        await asyncio.sleep(0.05)  # word of a download comes by another way
    if answer.is_download or (tab.trouble and tab.trouble[0] is Reason.download):
        raise Stopped(Reason.download, tab.trouble[1] if tab.trouble else "")
    detail = answer.error_text.removeprefix("net::")
    if detail == "ERR_ABORTED":
        detail = "the server answered without a document"
        raise Stopped(Reason.protocol, detail)
    raise NotReached(detail)


async def _late(tab: Tab, shot: Shot) -> bool:
    seconds = f"within {shot.navigate_seconds:g} seconds"
    if tab.trouble is not None:
        raise Stopped(*tab.trouble)
    if not tab.committed.is_set():
        raise Stopped(Reason.timeout, f"no document {seconds}")
    try:
        await tab.run("() => true", bool, within=1.0)
    except (TimeoutError, Gone, Refused):
        raise Stopped(Reason.timeout, f"its scripts did not end {seconds}") from None
    return False


async def settle(tab: Tab, seconds: float, wait: str = "settled") -> bool:
    """Wait until it stands still; false if it did not in this time."""
    if wait != "settled":
        return True
    now = asyncio.get_running_loop().time
    until = now() + seconds
    while (left := until - now()) > 0:
        try:
            still = await tab.run(scripts.QUIET, bool, QUIET, left * 1000, within=left + 1.0)
        except Gone:  # another document came in its place, unless all of it is over
            if tab.is_over:
                raise
            await asyncio.sleep(0.05)
            await _reloaded(tab, until - now())
            continue
        busy = tab.under_way > FEW or (tab.under_way and now() - tab.changed_at < FEW_SECONDS)
        if still and not busy:
            return True
        await asyncio.sleep(0.05)
    return False


async def _reloaded(tab: Tab, seconds: float) -> None:
    try:
        async with asyncio.timeout(max(0.0, seconds)):
            await tab.loaded.wait()
    except TimeoutError:
        return


async def _wait_for_wishes(tab: Tab, shot: Shot) -> None:
    if shot.wait_selector:
        most = min(max(shot.settle_seconds, shot.seconds / 2), tab.seconds_left)
        there = await _patient(
            tab, scripts.APPEARS, shot.wait_selector, most * 1000, within=most + SOON
        )
        if not there:
            raise Stopped(Reason.settle, f"nothing matches {shot.wait_selector} yet")
    if shot.delay:
        await asyncio.sleep(shot.delay)
    if shot.hide_banners:
        await _patient(tab, scripts.BANNERS)


async def _sweep(tab: Tab, shot: Shot) -> None:
    most = min(SWEEP_SECONDS, shot.seconds / 4)
    await _patient(tab, scripts.SWEEP, shot.max_height, most * 1000, within=most + SOON)
    await settle(tab, min(1.0, shot.settle_seconds))


async def _patient(tab: Tab, script: str, *arguments: object, within: float = SOON) -> object:
    """Run a script; once more if another document came in the place of the first."""
    try:
        return await tab.run(script, object, *arguments, within=within)
    except Gone:
        await _reloaded(tab, SOON)
        return await tab.run(script, object, *arguments, within=within)
