"""Pages are read in turns, so that a loop in which hundreds arrive at once serves others too."""

import asyncio
import time

# Seconds of a round of the loop after which pages wait for the next round.
LONGEST_ROUND = 0.008


class Turns:
    """Await it before a page is read: it waits as long as this round has lasted too long.

    Hundreds of hosts may answer at once. Were all their pages read in one round, nobody else would
    get a turn for a tenth of a second: no timer, no socket, no other crawl of the process.
    """

    def __init__(self) -> None:
        self._began = 0.0
        self._is_marked = False  # the next round will note when it begins

    async def __call__(self) -> None:
        while time.monotonic() - self._began > LONGEST_ROUND:
            if not self._is_marked:
                self._is_marked = True
                asyncio.get_running_loop().call_soon(self._begin)
            await asyncio.sleep(0)

    def _begin(self) -> None:
        self._began = time.monotonic()
        self._is_marked = False
