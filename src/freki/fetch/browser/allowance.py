"""The time of a job: one deadline for all that is done for it, however often it visits."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

from freki.pictures import Phases

# Seconds before its deadline at which a job is cut off, so that its outcome is told in time, and
# the share that this is of a short one.
TELLING = 0.5
_SHARE = 0.05


class Allowance:
    """What is left for a job. Waiting for a browser is not counted against it."""

    def __init__(self, seconds: float) -> None:
        self._now = asyncio.get_running_loop().time
        self._until = self._now() + seconds - min(TELLING, _SHARE * seconds)
        self.queue = 0.0  # seconds that it waited so far

    def __repr__(self) -> str:
        return f"<Allowance left={self.left:.1f} queue={self.queue:.1f}>"

    @property
    def left(self) -> float:
        """Seconds; 0 once it is used up."""
        return max(0.0, self._until - self._now())

    @property
    def phases(self) -> Phases:
        """Of a job that was not visited."""
        return Phases(queue=round(self.queue, 4))

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """Its clock stands still meanwhile."""
        begun = self._now()
        try:
            yield
        finally:
            waited = self._now() - begun
            self.queue += waited
            self._until += waited
