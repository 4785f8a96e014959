"""Processes to disturb: a site that outlives them all, and crawls of it."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path

from freki.testing.auditor import Access
from freki.testing.synthetic import Web
from freki.testing.auditor import read as read_journal

# Every kind of answer, and slow enough that a kill finds requests in flight.
WEB = Web(
    pages=2500,
    links_per_page=6,
    redirects=0.05,
    missing=0.03,
    duplicates=0.05,
    files=0.05,
    messy=0.2,
    delay=0.01,
)

FREKI = [sys.executable, "-P", "-m", "freki"]

# A crawl of any site here takes a few seconds; beyond this it hangs.
HANGS = 120.0

# The server reads what a dead process sent within this, and a new one needs longer to begin.
ECHO = 0.03

Process = subprocess.Popen[str]


class Site:
    """A running server and its journal."""

    def __init__(self, url: str, journal: Path) -> None:
        self.url = url
        self._journal = journal
        self._offset = 0
        self._log: list[Access] = []

    def now(self) -> float:
        """A moment on the clock of the log."""
        return time.monotonic()

    def log(self, since: float = 0.0) -> list[Access]:
        """What was asked for since a moment."""
        ...
