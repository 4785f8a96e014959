"""`kill -9`, at any moment and as often as you like: every page is there, once."""

import random
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from statistics import median
from subprocess import TimeoutExpired

from msgspec import Struct
from tests.chaos.conftest import Measured, Scale
from tests.chaos.rig import ECHO, HANGS, Site, end, kill, now, start

from freki.testing.auditor import Access
from freki.testing.history import Bounds, History, judge, read, repeats
from freki.testing.synthetic import Web

# Seconds that a crawl lives at most: some are killed before their first request, some finish.
LIVES = 1.2

# Seconds after which a recovery is killed: while it opens the store, reaps, or begins to fetch.
RECOVERS = 0.5

LARGE_WEB = Web(pages=16_000_000, links_per_page=0, largest=200)


class Ordeal(Struct, frozen=True):
    """A crawl that was killed until nothing was left of it to do."""

    starts: tuple[float, ...]  # of its processes
    killed: int
    log: tuple[Access, ...]

    @property
    def kills(self) -> tuple[float, ...]:
        """By the clock of the log. What a process sent last is read after its death, and always
        before the next process begins."""
        return self.starts[1 : self.killed + 1]

    def waits(self) -> Iterator[float]:
        """Seconds from the start of a process that came after a kill to its first request."""
        for began, over in zip(self.starts[1:], (*self.starts[2:], now()), strict=True):
            asked = [visit.start for visit in self.log if began + ECHO < visit.start < over]
            if asked:
                yield min(asked) - began


def suffer(where: Site, store: Path, lives: Iterator[float]) -> Ordeal:
    """Crawl, and kill the crawl at the end of each of its lives."""
    starts: list[float] = []
    while True:
        starts.append(now())
        process = start(where.url, store)
        with suppress(TimeoutExpired):
            process.wait(next(lives, HANGS))
        if process.returncode is not None:
            break
        kill(process)
    code, words = end(process)
    assert code == 0, words
    return Ordeal(tuple(starts), len(starts) - 1, tuple(where.log(starts[0])))


def test_whatever_is_killed_at_random_loses_and_doubles_nothing(
    library: Site,
    undisturbed: History,
    scale: Scale,
    dice: random.Random,
    measured: Measured,
    tmp_path: Path,
) -> None:
    ordeals: list[Ordeal] = []
    while (killed := sum(ordeal.killed for ordeal in ordeals)) < scale.kills:
        store = tmp_path / f"{len(ordeals)}.db"
        lives = [dice.uniform(0, LIVES) for _ in range(scale.kills - killed)]
        ordeal = suffer(library, store, iter(lives))
        ordeals.append(ordeal)
        judgement = judge(read(store, ordeal.log, ordeal.kills), undisturbed, Bounds())
        assert not judgement, judgement
    again = [times for ordeal in ordeals for times in repeats(ordeal.log, ordeal.kills).values()]
    waits = [wait for ordeal in ordeals for wait in ordeal.waits()]
    assert max(waits, default=0) < 3
    measured(
        "1 kill -9", f"{killed} kills of {len(ordeals)} crawls of {len(undisturbed.rows)} URLs"
    )
    measured(
        "  requests made again", f"{sum(again)}, after one kill at most {max(again, default=0)}"
    )
    measured("  restart to first request", f"{median(waits):.2f} s, at most {max(waits):.2f} s")
