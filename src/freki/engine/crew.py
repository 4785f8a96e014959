"""Further workers on the same crawl, each a process of its own.

A worker needs no other: they meet in the ledger only. So the crew is the first worker, in this
process, and children that do the same; each says twice a second what it has done, and ends when
there is nothing left, when it is told to, or when this process is gone.
"""

import asyncio
import os
import sys
import time
from collections.abc import Sequence

import msgspec

from freki.engine.crawl import Ending, Worker, first_error
from freki.engine.pulse import Beat, Pulse
from freki.steps import Work

# A child that dies is started again after a second, then after two, and so on.
MOST_RESTARTS = 5

# When a crawl may use all cores: one worker is kept busy, and there is work for more. To start a
# process costs a third of a second, so a small site is done before it pays.
BUSY = 0.6
WORTH_SHARING = 2000
LOOK_EVERY = 0.5

# Seconds that children get to end when the first worker has.
LAST_SECONDS = 10.0


class Crew:
    """The first worker and those beside it."""

    def __init__(
        self, first: Worker, pulse: Pulse, command: Sequence[str], size: int | None
    ) -> None:
        self._first = first
        self._pulse = pulse
        self._command = [sys.executable, *command]
        self._size = size  # None: as many as there is work for
        self._beats: dict[int, Beat] = {}
        self._children: dict[int, asyncio.subprocess.Process] = {}
        self._over = False

    def __repr__(self) -> str:
        return f"<Crew of {1 + len(self._children)} first={self._first!r}>"

    @property
    def work(self) -> Work:
        return self._first.work

    def statistics(self) -> Beat:
        """What all of them have done so far."""
        return sum(self._beats.values(), start=self._pulse.statistics())

    def stop(self) -> None:
        """Let all of them drain."""
        self._over = True
        self._first.stop()
        for child in self._children.values():
            if child.returncode is None:
                child.terminate()

    async def run(self) -> Ending:
        try:
            return await self._run()
        except BaseExceptionGroup as errors:
            raise first_error(errors) from None

    async def _run(self) -> Ending:
        async with asyncio.TaskGroup() as group:
            gather = group.create_task(self._gather(group))
            try:
                ending = await self._first.run()
            finally:
                self._over = True
                gather.cancel()
                late = group.create_task(self._end_late_ones())
            await late
        return ending

    async def _gather(self, group: asyncio.TaskGroup) -> None:
        """Start the others: at once, or when the first one cannot keep up."""
        if self._size is None:
            await self._until_worth_it()
        others = (self._size or os.cpu_count() or 1) - 1
        for number in range(others):
            group.create_task(self._member(number))

    async def _until_worth_it(self) -> None:
        used, at = time.process_time(), time.monotonic()
        while True:
            await asyncio.sleep(LOOK_EVERY)
            now_used, now = time.process_time(), time.monotonic()
            if (now_used - used) / (now - at) > BUSY and self.work.open > WORTH_SHARING:
                return
            used, at = now_used, now

    async def _member(self, number: int) -> None:
        """One place of the crew, filled again when its process dies."""
        done = Beat()
        for restart in range(MOST_RESTARTS + 1):
            if self._over:
                return
            child = await asyncio.create_subprocess_exec(
                *self._command,
                stdin=asyncio.subprocess.PIPE,  # which closes when we are gone, however we go
                stdout=asyncio.subprocess.PIPE,
                start_new_session=True,  # Ctrl-C is for us to hand on
            )
            self._children[number] = child
            beat = await self._listen(number, child, done)
            if await child.wait() == 0 or self._over:
                return
            done = beat
            await asyncio.sleep(2.0**restart)

    async def _listen(self, number: int, child: asyncio.subprocess.Process, before: Beat) -> Beat:
        """Follow what a child reports, on top of what its predecessors did."""
        beat = before
        assert child.stdout is not None
        async for line in child.stdout:
            beat = before + msgspec.json.decode(line, type=Beat)
            self._beats[number] = beat
        return beat

    async def _end_late_ones(self) -> None:
        """The ledger has nothing left, so they end by themselves; a stuck one is ended."""
        for child in list(self._children.values()):
            try:
                async with asyncio.timeout(LAST_SECONDS):
                    await child.wait()
            except TimeoutError:
                child.kill()
                await child.wait()
