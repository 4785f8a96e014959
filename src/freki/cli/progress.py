"""The live view of a crawl: lines that change on a terminal, one now and then elsewhere."""

import asyncio
import sys
import time
from collections import deque
from contextlib import suppress
from typing import Protocol

from freki.cli.output import harmless
from freki.engine.crew import Crew
from freki.engine.pulse import Beat
from freki.ledger.crawls import Crawl
from freki.steps import Work

# Often enough to look alive, seldom enough to cost nothing.
TERMINAL_SECONDS = 0.25
LINE_SECONDS = 5.0

# Speed is shown over this window: the average since the start hides that a crawl stalls.
WINDOW_SECONDS = 10.0

_UNITS = ("B", "KB", "MB", "GB", "TB")


class Progress(Protocol):
    """What shows a crawl while it runs."""

    pages: int

    async def watch(self, crew: Crew) -> None:
        """Show the crawl until cancelled."""
        ...

    def say(self, text: str) -> None:
        """A sentence between the figures."""
        ...


def progress(crawl: Crawl, quiet: bool) -> Progress:
    """The view that fits where standard error goes."""
    if quiet:
        return Silent()
    return Live(crawl) if sys.stderr.isatty() else Lines(crawl)


class Silent:
    """Counts, and shows nothing."""

    def __init__(self) -> None:
        self.pages = 0

    async def watch(self, crew: Crew) -> None:
        try:
            while True:
                await self._show(crew)
        finally:
            self.pages = crew.statistics().pages

    def say(self, text: str) -> None:
        """Silence."""

    async def _show(self, _crew: Crew) -> None:
        await asyncio.sleep(LINE_SECONDS)


class Lines(Silent):
    """One line every few seconds, for logs."""

    def __init__(self, crawl: Crawl) -> None:
        super().__init__()
        self._speed = Speed()
        self._limit = crawl.settings.scope.max_pages

    def say(self, text: str) -> None:
        with suppress(OSError):  # a log that nobody takes any more does not end a crawl
            print(text, file=sys.stderr, flush=True)

    async def _show(self, crew: Crew) -> None:
        self._speed.note(crew.statistics().pages)
        await asyncio.sleep(LINE_SECONDS)
        beat = crew.statistics()
        self._speed.note(beat.pages)
        self.say(
            f"{beat.pages:,} pages, {self._speed.rate():,.1f}/s, {crew.work.open:,} to do, "
            f"{beat.failed:,} failed, {size(beat.wire_bytes)}{self._standstill(beat, crew)}"
        )

    def _standstill(self, beat: Beat, crew: Crew) -> str:
        held = held_up(beat, self._speed, crew.work)
        return f"; {held}" if held else ""


class Live(Silent):
    """Lines that change in place."""

    def __init__(self, crawl: Crawl) -> None:
        super().__init__()
        self._name = harmless(crawl.name)
        self._limit = crawl.settings.scope.max_pages
        self._speed = Speed()
        self._started = time.monotonic()
        self._note = ""

    def say(self, text: str) -> None:
        self._note = text

    async def watch(self, crew: Crew) -> None:
        from rich.console import Console  # noqa: PLC0415 - 60 ms that only a terminal needs
        from rich.live import Live as Screen  # noqa: PLC0415

        console = Console(stderr=True, highlight=False)
        with Screen(console=console, auto_refresh=False, transient=True) as screen:
            try:
                while True:
                    screen.update(self._text(crew, crew.statistics()), refresh=True)
                    await asyncio.sleep(TERMINAL_SECONDS)
            finally:
                self.pages = crew.statistics().pages

    def _text(self, crew: Crew, beat: Beat) -> str:
        self._speed.note(beat.pages)
        statuses = "  ".join(f"{kind} {count:,}" for kind, count in beat.statuses.items())
        slowest = "  ".join(
            f"{harmless(host)} {seconds * 1000:,.0f} ms" for host, seconds in beat.slowest
        )
        lines = [
            f"[bold]{_literal(self._name)}[/bold]  {span(time.monotonic() - self._started)}",
            (
                f"  [bold]{beat.pages:,}[/bold] pages   {self._speed.rate():,.1f}/s   "
                f"{crew.work.open:,} to do   {beat.failed:,} failed   {size(beat.wire_bytes)}"
                f"{self._eta(crew, beat)}"
            ),
        ]
        if statuses:
            lines.append(f"  [dim]{statuses}[/dim]")
        if slowest:
            lines.append(f"  [dim]slowest: {_literal(slowest)}[/dim]")
        if held := held_up(beat, self._speed, crew.work):
            lines.append(f"  [dim]{_literal(held)}[/dim]")
        if self._note:
            lines.append(f"  [yellow]{_literal(self._note)}[/yellow]")
        return "\n".join(lines)

    def _eta(self, crew: Crew, beat: Beat) -> str:
        """What is known to be left; new links may add to it, a limit cuts it."""
        left, rate = crew.work.open, self._speed.rate()
        if self._limit is not None:
            left = min(left, self._limit - beat.pages)
        if rate <= 0 or left <= 0:
            return ""
        least = "" if self._limit is not None else "at least "
        return f"   {least}{span(left / rate)} left"


class Speed:
    """Pages per second over the last seconds."""

    def __init__(self) -> None:
        self._marks: deque[tuple[float, int]] = deque()

    def note(self, pages: int) -> None:
        now = time.monotonic()
        self._marks.append((now, pages))
        while len(self._marks) > 2 and now - self._marks[0][0] > WINDOW_SECONDS:
            self._marks.popleft()

    def rate(self) -> float:
        if len(self._marks) < 2:
            return 0.0
        (began, before), (now, pages) = self._marks[0], self._marks[-1]
        return (pages - before) / (now - began) if now > began else 0.0


def held_up(beat: Beat, speed: Speed, work: Work) -> str:
    """What a crawl that stands still waits for."""
    if speed.rate() > 0:
        return ""
    now = time.time()
    if (seconds := beat.trouble_until - now) > 0:
        return f"waiting for {harmless(beat.trouble)}, which is tried again in {span(seconds)}"
    # It met the trouble before it was continued, and knows the date only.
    if (
        work.leased == 0
        and work.next_due is not None
        and (seconds := work.next_due - now) > WINDOW_SECONDS
    ):
        return f"every host rests; the first may be asked again in {span(seconds)}"
    return ""


def size(count: float) -> str:
    """`16.4 MB` for 16,400,000."""
    unit = 0
    while count >= 1000 and unit < len(_UNITS) - 1:
        count /= 1000
        unit += 1
    return f"{count:.1f} {_UNITS[unit]}" if unit else f"{count:.0f} B"


def span(seconds: float) -> str:
    """`4.2 s`, `3:07` or `1:02:09`."""
    if seconds < 59.95:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(int(seconds + 0.05), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def _literal(text: str) -> str:
    """Brackets are markup to rich; a host name is not."""
    from rich.markup import escape  # noqa: PLC0415 - as above

    return escape(text)
