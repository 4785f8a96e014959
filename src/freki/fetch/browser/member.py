"""A browser of the pool: the pages it has open, and when it has to go."""

import asyncio
from contextlib import suppress

import msgspec
from msgspec import Raw

from freki.fetch.browser import events
from freki.fetch.browser.cdp import Gone, Refused
from freki.fetch.browser.process import Chromium
from freki.fetch.browser.tab import Tab
from freki.messages import Reason
from freki.pictures import Viewport

# Of the memory a browser may have: when it is worn, and when one page of it is ended alone.
WORN_SHARE = 0.6
PAGE_SHARE = 0.6

# Seconds between two looks at a browser, looks between two questions, and answers it may miss.
LOOK_EVERY = 1.0
BEAT_EVERY = 5
MOST_MISSED = 2


class Member:
    """A browser of the pool, and the pages it has open."""

    def __init__(self, browser: Chromium) -> None:
        self.browser = browser
        self.tabs: dict[str, Tab] = {}  # by target
        self.contexts: dict[str, Tab] = {}
        self.active = 0
        self.pages = 0
        self.bytes = 0
        self.largest = 0  # bytes of its largest process, when it was looked at last
        self._born = asyncio.get_running_loop().time()
        self.worn = ""  # why
        self.idle = asyncio.Event()
        self.idle.set()
        browser.cdp.listen("", self._hear)

    def __repr__(self) -> str:
        return f"<Member {self.browser!r} active={self.active} pages={self.pages} {self.worn}>"

    @property
    def dead(self) -> bool:
        return self.browser.cdp.gone.is_set()

    @property
    def age(self) -> float:
        """Seconds since it was started."""
        return asyncio.get_running_loop().time() - self._born

    async def open(self, window: Viewport) -> Tab:
        """A blank page as large as this."""
        tab = await Tab.open(self.browser.cdp, self._know, window)
        if not self.browser.is_shell or not window.is_plain:
            tab.emulate(window)
        self.tabs[tab.target] = tab
        return tab

    def _know(self, tab: Tab) -> None:
        self.contexts[tab.context] = tab

    async def close(self, tab: Tab) -> None:
        """Close a page; a browser that cannot is worn."""
        self.tabs.pop(tab.target, None)
        try:
            await tab.close()
        except (Gone, Refused, TimeoutError):
            self.worn = self.worn or "stuck"
        self.contexts.pop(tab.context, None)

    def _hear(self, method: str, params: Raw) -> None:
        match method:
            case "Target.targetCreated":
                info = msgspec.json.decode(params, type=events.TargetCreated).target_info
                tab = self.contexts.get(info.browser_context_id)
                if tab and tab.target and info.type == "page" and info.target_id != tab.target:
                    tab.popped_up(info.target_id)
            case "Target.targetCrashed":
                event = msgspec.json.decode(params, type=events.TargetEnded)
                if (tab := self.tabs.get(event.target_id)) is not None:
                    tab.stop(*self._cause(event.status))
            case "Target.targetDestroyed":
                event = msgspec.json.decode(params, type=events.TargetEnded)
                if (tab := self.tabs.get(event.target_id)) is not None:
                    tab.stop(Reason.crash, "the page closed itself")
            case "Browser.downloadWillBegin":
                download = msgspec.json.decode(params, type=events.Download)
                if (tab := self.tabs.get(download.frame_id)) is not None:
                    tab.downloads(download.suggested_filename)

    def _cause(self, status: str) -> tuple[Reason, str]:
        """A page that crashed: of too much memory?"""
        large = self.largest > PAGE_SHARE / 2 * self.browser.most
        if status == "oom" or self.browser.ended_for_memory() or (status != "killed" and large):
            return Reason.oom, "the page took more memory than it may have"
        return Reason.crash, f"the page's process ended: {status}"

    async def watch(self, pages: int, seconds: float) -> str:
        """Until the browser must go; answers with why."""
        missed = looks = 0
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(LOOK_EVERY):
                    await self.browser.cdp.gone.wait()
                    return "died"
            looks += 1
            if looks % BEAT_EVERY == 0:
                missed = 0 if await self.browser.beats() else missed + 1
            if missed >= MOST_MISSED:
                self.browser.kill()
                return "silent"
            await self._look_at_memory()
            if why := self._wear(pages, seconds):
                return why

    async def _look_at_memory(self) -> None:
        loop = asyncio.get_running_loop()
        processes = await loop.run_in_executor(None, self.browser.processes)
        self.bytes = sum(size for _, size in processes)
        largest = [(pid, size) for pid, size in processes if pid != self.browser.pid]
        self.largest = largest[0][1] if largest else 0
        if self.largest > PAGE_SHARE * self.browser.most:
            self.browser.kill_process(largest[0][0])

    def _wear(self, pages: int, seconds: float) -> str:
        if self.worn:
            return self.worn
        if self.pages >= pages or self.age > seconds:
            return "worn"
        idle_share = WORN_SHARE * self.browser.most
        return "large" if self.bytes > idle_share and self.largest < idle_share / 2 else ""
