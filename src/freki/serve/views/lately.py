"""What costs something to find, remembered for a while: many tabs look at the same."""

import time
from collections import OrderedDict
from collections.abc import Callable
from threading import Lock
from typing import Generic, TypeVar

T = TypeVar("T")

MOST = 64

# Seconds, and times what it cost, for which an answer is good enough.
LEAST = 2.0
TIMES = 20.0


class Lately(Generic[T]):
    """Answers by what was asked; one that was dear is kept for longer."""

    def __init__(self) -> None:
        self._known: OrderedDict[str, tuple[float, T]] = OrderedDict()
        self._turn = Lock()

    def __repr__(self) -> str:
        return f"<Lately {len(self._known)} answers>"

    def get(self, asked: str, find: Callable[[], T]) -> T:
        """The answer of a while ago, or a new one."""
        begun = time.monotonic()
        with self._turn:
            until, answer = self._known.get(asked, (0.0, None))
        if answer is not None and begun < until:
            return answer
        found = find()
        now = time.monotonic()
        with self._turn:
            self._known[asked] = (now + LEAST + TIMES * (now - begun), found)
            self._known.move_to_end(asked)
            if len(self._known) > MOST:
                self._known.popitem(last=False)
        return found
