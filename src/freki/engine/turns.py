"""Pages are read in turns, so that a loop in which hundreds arrive at once serves others too."""

import asyncio
import time
from collections import deque
from collections.abc import Callable

# Seconds of a round of the loop after which pages wait for the next round.
LONGEST_ROUND = 0.008

# Pages that are let go on in a round: most take less than a millisecond. Were all woken that wait,
# hundreds would look in every round only to see that it is not their turn.
WOKEN = 16


class Turns:
    """Await it before a page is read: it waits as long as this round has lasted too long.

    Hundreds of hosts may answer at once. Were all their pages read in one round, nobody else would
    get a turn for a tenth of a second: no timer, no socket, no other crawl of the process.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._began = 0.0
        self._line: deque[asyncio.Future[None]] = deque()  # as many as there are journeys
        self._is_marked = False  # the next round will note when it begins

    def __repr__(self) -> str:
        return f"<Turns {len(self._line)} waiting>"

    async def __call__(self) -> None:
        turn = asyncio.get_running_loop().create_future
        if self._line or self._is_late():
            self._line.append(waiting := turn())
            await self._until(waiting)
        while self._is_late():
            self._line.appendleft(waiting := turn())
            await self._until(waiting)

    def _is_late(self) -> bool:
        return self._clock() - self._began > LONGEST_ROUND

    async def _until(self, waiting: "asyncio.Future[None]") -> None:
        if not self._is_marked:
            self._is_marked = True
            asyncio.get_running_loop().call_soon(self._begin)
        await waiting

    def _begin(self) -> None:
        self._began = self._clock()
        for _ in range(min(WOKEN, len(self._line))):
            waiting = self._line.popleft()
            if not waiting.done():  # it may have been cancelled
                waiting.set_result(None)
        self._is_marked = bool(self._line)
        if self._is_marked:
            asyncio.get_running_loop().call_soon(self._begin)
