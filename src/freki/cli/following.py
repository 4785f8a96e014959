"""Exports that grow while a crawl runs, in a thread of their own; what fails costs no page."""

import sys
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from types import TracebackType
from typing import Self

import msgspec

from freki.cli.exits import Exit, of_error
from freki.cli.export import spelled, told
from freki.errors import FrekiError
from freki.ledger.crawls import Crawl
from freki.ledger.database import Database
from freki.ledger.place import Place
from freki.ledger.store import read_store, translated
from freki.sinks.export import Export, export
from freki.sinks.wanted import Wanted

# Seconds between two looks at what was stored.
EVERY = 0.5


class Following:
    """Files that get what a crawl stores, and their names when it ends."""

    def __init__(
        self, store: Place, crawl: Crawl, wants: Sequence[Wanted], *, items: bool = False
    ) -> None:
        self._store = store
        self._crawl = crawl
        usual = "items" if items else "pages"
        self._wants = [msgspec.structs.replace(want, what=want.what or usual) for want in wants]
        self._exports: list[tuple[Wanted, Export]] = []
        self._open = ExitStack()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._follow, name="exports")
        self.failed: list[FrekiError] = []

    def __repr__(self) -> str:
        return f"<Following {self._exports} failed={len(self.failed)}>"

    def __enter__(self) -> Self:
        """Raises for a file that cannot be written, before anything is fetched."""
        if not self._wants:
            return self
        with ExitStack() as opened:
            self._db: Database = read_store(self._store)
            opened.callback(self._db.close)
            for want in self._wants:
                made = export(want, self._db, self._crawl, spelled(self._store))
                opened.callback(made.close)
                self._exports.append((want, made))
            self._open = opened.pop_all()
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stop()
        self._open.close()

    def finish(self, *, quiet: bool) -> None:
        """The crawl is over: take the rest, and name the files."""
        self._stop()
        for want, made in [*self._exports]:
            started = time.monotonic()
            if self._guarded(want, made, made.finish) and not quiet:
                print(told(want, made, time.monotonic() - started), file=sys.stderr)

    def code(self, otherwise: Exit) -> Exit:
        """The exit code of what failed, else that of the crawl."""
        return of_error(self.failed[0]) if self.failed else otherwise

    def _follow(self) -> None:
        while not self._over.wait(EVERY):
            for want, made in [*self._exports]:
                self._guarded(want, made, made.advance)

    def _stop(self) -> None:
        self._over.set()
        if self._thread.is_alive():
            self._thread.join()

    def _guarded(self, want: Wanted, made: Export, act: Callable[[Database], None]) -> bool:
        """An export that fails is told, and let go."""
        try:
            with translated(str(self._store)):
                act(self._db)
        except FrekiError as error:
            self.failed.append(error)
            self._exports.remove((want, made))
            print(f"freki crawl: --export {error}", file=sys.stderr)
            return False
        return True
