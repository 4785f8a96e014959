"""A page in a context of its own: what one job has of a browser, and what is heard of it."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Self, TypeVar

import msgspec
from msgspec import Raw, Struct

from freki.fetch.browser import events, scripts
from freki.fetch.browser.between import Between
from freki.fetch.browser.cdp import Cdp, Gone, Refused
from freki.messages import Reason
from freki.pictures import FailedRequest, Shot, Viewport

# Seconds for a command that only sets something; beyond, the browser is in trouble.
SOON = 5.0

# What one page may do, and no page that people look at does.
MOST_REQUESTS = 5_000
MOST_BYTES = 256 * 2**20
MOST_DIALOGS = 10
MOST_POPUPS = 10

# Kept of what went wrong on a page.
_MOST_NOTES = 50
_MOST_NOTED = 300
_MOST_CONSOLE_EVENTS = 500

_WORLD = "freki"

# What is heard of a request that we refused.
_LEFT_OUT = "net::ERR_BLOCKED_BY_CLIENT"

# What a page may be. Chromium shows files and its own pages as well.
_SCHEMES = ("http://", "https://", "about:", "chrome-error:", "data:", "blob:")

T = TypeVar("T")


class _Context(Struct, rename="camel", frozen=True):
    browser_context_id: str = ""


class _Target(Struct, rename="camel", frozen=True):
    target_id: str = ""


class _Session(Struct, rename="camel", frozen=True):
    session_id: str = ""


class _World(Struct, rename="camel", frozen=True):
    execution_context_id: int = 0


class _Evaluated(Struct, rename="camel", frozen=True):
    result: Raw = Raw(b"{}")
    exception_details: events.Thrown | None = None


class Tab:
    """One page. `trouble` is what ended it, once something did."""

    def __init__(self, cdp: Cdp, context: str) -> None:
        self.target = ""
        self.context = context
        self.loader = ""  # of the document that is shown
        self.url = ""
        self.asked_for = ""  # the document that was asked for last
        self.status = 0
        self.committed = asyncio.Event()
        self.parsed = asyncio.Event()
        self.loaded = asyncio.Event()
        self.trouble: tuple[Reason, str] | None = None
        self.deadline: asyncio.Timeout | None = None
        self.console: list[str] = []
        self.failed: list[FailedRequest] = []
        self.requests = 0
        self.changed_at = 0.0  # when the requests under way became more or fewer
        self._cdp = cdp
        self._session = ""
        self._under_way: dict[str, str] = {}  # number and URL
        self._bytes = 0
        self._dialogs = 0
        self._popups = 0
        self._console_events = 0
        self._world = 0
        self._between: Between | None = None
        self._statuses: dict[str, tuple[int, str]] = {}  # by loader
        self._loop = asyncio.get_running_loop()

    def __repr__(self) -> str:
        return f"<Tab {self.url} requests={self.requests} under_way={len(self._under_way)}>"

    @property
    def under_way(self) -> int:
        """Requests that were not answered yet."""
        return len(self._under_way)

    @property
    def seconds_left(self) -> float:
        """Until the visit ends, without what it takes to say so."""
        until = self.deadline.when() if self.deadline is not None else None
        return max(0.0, (until or self._loop.time()) - self._loop.time() - 0.1)

    @property
    def blocked(self) -> int:
        """Requests that were left out."""
        return self._between.blocked if self._between is not None else 0

    @property
    def is_over(self) -> bool:
        """Its browser is gone."""
        return self._cdp.gone.is_set()

    @classmethod
    async def open(cls, cdp: Cdp, known: Callable[[Self], None], window: Viewport) -> Self:
        """A blank page in a new context, which shares nothing with any other.

        `known` is told as soon as the context is there: the browser speaks of it before we have
        the page.
        """
        made = await cdp.ask(
            "Target.createBrowserContext", _Context, within=SOON, disposeOnDetach=True
        )
        tab = cls(cdp, made.browser_context_id)
        known(tab)
        try:
            await tab._open(window)
        except BaseException:
            cdp.send("Target.disposeBrowserContext", browserContextId=tab.context)
            raise
        return tab

    async def _open(self, window: Viewport) -> None:
        self._cdp.send(
            "Browser.setDownloadBehavior",
            behavior="deny",
            browserContextId=self.context,
            eventsEnabled=True,
        )
        target = await self._cdp.ask(
            "Target.createTarget",
            _Target,
            within=SOON,
            url="about:blank",
            browserContextId=self.context,
            width=window.width,
            height=window.height,
        )
        self.target = target.target_id
        attached = await self._cdp.ask(
            "Target.attachToTarget", _Session, within=SOON, targetId=self.target, flatten=True
        )
        self._session = attached.session_id
        self._cdp.listen(self._session, self._hear)
        self.send("Page.enable")
        self.send("Page.setLifecycleEventsEnabled", enabled=True)
        self.send("Network.enable", maxTotalBufferSize=1, maxResourceBufferSize=1)
        self.send("Network.setBypassServiceWorker", bypass=True)
        await self.tell("Page.addScriptToEvaluateOnNewDocument", source=scripts.START)

    async def close(self) -> None:
        """Leave nothing of it in the browser."""
        self._cdp.drop(self._session)
        await self._cdp.tell(
            "Target.disposeBrowserContext", within=SOON, browserContextId=self.context
        )

    def send(self, method: str, **params: Any) -> asyncio.Future[Raw]:
        """A command whose answer nobody waits for."""
        return self._cdp.send(method, self._session, **params)

    async def tell(self, method: str, within: float = SOON, **params: Any) -> None:
        """A command, and that it was done."""
        await self._cdp.tell(method, self._session, within=within, **params)

    async def ask(self, method: str, kind: type[T], within: float = SOON, **params: Any) -> T:
        """A command, and its answer."""
        return await self._cdp.ask(method, kind, self._session, within=within, **params)

    def stop(self, reason: Reason, detail: str = "") -> None:
        """End the visit now, for a reason; the first one counts."""
        if self.trouble is None:
            self.trouble = (reason, detail)
            if self.deadline is not None and not self.deadline.expired():
                with suppress(RuntimeError):  # it is over already
                    self.deadline.reschedule(self._loop.time())

    async def run(self, script: str, kind: type[T], *arguments: object, within: float = SOON) -> T:
        """Call a function beside the page's scripts; `Gone` where the document goes meanwhile."""
        if not self._world:
            made = await self.ask(
                "Page.createIsolatedWorld",
                _World,
                within=min(within, SOON),
                frameId=self.target,
                worldName=_WORLD,
            )
            self._world = made.execution_context_id
        try:
            answer = await self.ask(
                "Runtime.callFunctionOn",
                _Evaluated,
                within=within,
                functionDeclaration=script,
                executionContextId=self._world,
                arguments=[{"value": argument} for argument in arguments],
                awaitPromise=True,
                returnByValue=True,
            )
        except Refused as error:
            self._world = 0
            raise Gone(str(error)) from None
        if answer.exception_details is not None:
            raise Refused(answer.exception_details.text)
        value: T = msgspec.json.decode(answer.result, type=_value_of(kind)).value
        return value

    # What is heard

    def _hear(self, method: str, params: Raw) -> None:
        hear = _HEARD.get(method)
        if hear is not None:
            hear(self, params)

    def _navigated(self, params: Raw) -> None:
        frame = msgspec.json.decode(params, type=events.FrameNavigated).frame
        if frame.parent_id or (frame.url == "about:blank" and not self.loader):
            return
        if not frame.url.startswith(_SCHEMES):
            self.stop(Reason.blocked_address, "the page led to something that is none")
        self.loader, self.url, self._world = frame.loader_id, frame.url, 0
        self.status, _ = self._statuses.get(frame.loader_id, (200, ""))
        self._under_way.clear()
        self.parsed.clear()
        self.loaded.clear()
        self.committed.set()

    def _lived(self, params: Raw) -> None:
        event = msgspec.json.decode(params, type=events.Lifecycle)
        if event.frame_id == self.target and event.loader_id == self.loader:
            if event.name == "DOMContentLoaded":
                self.parsed.set()
            elif event.name == "load":
                self.loaded.set()

    def _asked(self, params: Raw) -> None:
        event = msgspec.json.decode(params, type=events.WillBeSent)
        if event.request_id not in self._under_way:
            self.requests += 1
        if event.type == "Document" and event.frame_id == self.target:
            self.asked_for = event.request.url
        if event.type not in ("EventSource", "Ping", "Media"):
            self._under_way[event.request_id] = event.request.url
            self.changed_at = self._loop.time()
        if self.requests > MOST_REQUESTS:
            self.stop(Reason.too_large, f"more than {MOST_REQUESTS} requests")

    def _answered(self, params: Raw) -> None:
        event = msgspec.json.decode(params, type=events.ResponseReceived)
        answer = event.response
        if event.type == "Document" and event.frame_id == self.target:
            self._statuses[event.loader_id] = (answer.status, answer.url)
            if event.loader_id == self.loader:
                self.status = answer.status
        elif answer.status >= 400 and not answer.url.endswith("/favicon.ico"):
            self._note_failed(answer.url, str(answer.status))

    def _arrived(self, params: Raw) -> None:
        event = msgspec.json.decode(params, type=events.DataReceived)
        self._bytes += max(event.data_length, event.encoded_data_length)
        if self._bytes > MOST_BYTES:
            self.stop(Reason.too_large, f"more than {MOST_BYTES >> 20} MiB")

    def _finished(self, params: Raw) -> None:
        event = msgspec.json.decode(params, type=events.Finished)
        url = self._under_way.pop(event.request_id, "")
        self.changed_at = self._loop.time()
        ours = event.blocked_reason == "inspector" or event.error_text == _LEFT_OUT
        if event.error_text and not event.canceled and not ours and url:
            self._note_failed(url, event.error_text.removeprefix("net::"))

    def _note_failed(self, url: str, why: str) -> None:
        if len(self.failed) < _MOST_NOTES:
            self.failed.append(FailedRequest(url[:2_000], why))

    def _spoke(self, params: Raw) -> None:
        self._hear_console(params, thrown=False)

    def _threw(self, params: Raw) -> None:
        self._hear_console(params, thrown=True)

    def _hear_console(self, params: Raw, *, thrown: bool) -> None:
        self._console_events += 1
        if self._console_events == _MOST_CONSOLE_EVENTS:
            self.send("Runtime.disable")  # a flood
        if len(self.console) < _MOST_NOTES and (said := events.message_of(params, thrown)):
            self.console.append(said[:_MOST_NOTED])

    def _dialog(self, params: Raw) -> None:
        self._dialogs += 1
        self.send("Page.handleJavaScriptDialog", accept=False)
        if self._dialogs > MOST_DIALOGS:
            self.stop(Reason.dialogs, f"more than {MOST_DIALOGS} dialogs")

    # What the browser tells of it

    def popped_up(self, target: str) -> None:
        """It opened a window, which nobody wants."""
        self._popups += 1
        self._cdp.send("Target.closeTarget", targetId=target)
        if self._popups > MOST_POPUPS:
            self.stop(Reason.dialogs, f"more than {MOST_POPUPS} windows")

    def downloads(self, name: str) -> None:
        """It is a file to be saved, unless a document is there already."""
        if not self.committed.is_set():
            self.stop(Reason.download, name[:_MOST_NOTED])

    # What it is given

    def emulate(self, viewport: Viewport) -> None:
        """The window it is seen through."""
        self.send(
            "Emulation.setDeviceMetricsOverride",
            width=viewport.width,
            height=viewport.height,
            deviceScaleFactor=viewport.scale,
            mobile=viewport.mobile,
        )
        if viewport.mobile:
            self.send("Emulation.setTouchEmulationEnabled", enabled=True, maxTouchPoints=5)
        if viewport.agent:
            self.send("Emulation.setUserAgentOverride", userAgent=viewport.agent)

    def bring_cookies(self, shot: Shot) -> None:
        """Cookies are there before the first request."""
        place = {"url": shot.url}
        cookies = [
            {"name": cookie.name, "value": cookie.value}
            | ({"domain": cookie.domain, "path": cookie.path} if cookie.domain else place)
            for cookie in shot.cookies
        ]
        self._cdp.send("Storage.setCookies", cookies=cookies, browserContextId=self.context)

    def stand_between(self, shot: Shot) -> None:
        """Let requests pass as this visit wants them."""
        self._between = Between(shot, self.target, self.send)
        self._between.begin()

    def _paused(self, params: Raw) -> None:
        if self._between is not None:
            self._between.paused(params)


_HEARD: dict[str, Callable[[Tab, Raw], None]] = {
    "Page.frameNavigated": Tab._navigated,
    "Page.lifecycleEvent": Tab._lived,
    "Page.javascriptDialogOpening": Tab._dialog,
    "Network.requestWillBeSent": Tab._asked,
    "Network.responseReceived": Tab._answered,
    "Network.dataReceived": Tab._arrived,
    "Network.loadingFinished": Tab._finished,
    "Network.loadingFailed": Tab._finished,
    "Fetch.requestPaused": Tab._paused,
    "Runtime.consoleAPICalled": Tab._spoke,
    "Runtime.exceptionThrown": Tab._threw,
}


def _value_of(kind: type) -> Any:
    """The decoder of a result that holds a `kind`."""
    made = _KINDS.get(kind)
    if made is None:
        made = _KINDS[kind] = msgspec.defstruct("Value", [("value", kind)])
    return made


_KINDS: dict[type, Any] = {}
