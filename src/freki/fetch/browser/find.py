"""Which browser of this machine: found where systems put it, or named by the user."""

import os
import pwd
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

from freki.errors import BrowserMissing

# The programs themselves and not the scripts in /usr/bin, whose process would be a shell's, and
# which add flags of their own. The shell first: it opens a page in a tenth of the time.
_PLACES = (
    "/usr/lib/chromium/chromium-headless-shell",
    "/usr/lib/chromium/chromium",
    "/usr/lib64/chromium-browser/headless_shell",
    "/usr/lib64/chromium-browser/chromium-browser",
    "/usr/lib/chromium-browser/chromium-browser",
    "/opt/google/chrome/chrome",
    "/opt/google/chrome-beta/chrome",
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
)

# What `playwright install` makes, in our user's home; the newest first.
_OF_PLAYWRIGHT = (
    ".cache/ms-playwright/chromium_headless_shell-*/chrome-*/*headless*shell",
    ".cache/ms-playwright/chromium-*/chrome-linux*/chrome",
    "Library/Caches/ms-playwright/chromium-*/chrome-mac*/*.app/Contents/MacOS/*",
)

INSTALL = (
    "install one: apt-get install chromium-headless-shell on Debian, or any Chrome or Chromium; "
    "--browser FILE names another one"
)


class Found(Struct, frozen=True):
    """A browser."""

    path: Path

    @property
    def is_shell(self) -> bool:
        """The small one: without windows, extensions and policies."""
        return "headless" in self.path.name


def find(named: str | None = None) -> Found:
    """The browser to use: the one that is named, or the best there is."""
    if named:
        path = Path(named)
        if not _is_program(path):
            raise BrowserMissing(f"{named}: this is no program; {INSTALL}")
        return Found(path)
    for found in all_of():
        return found
    raise BrowserMissing(f"there is no browser on this machine; {INSTALL}")


def all_of() -> list[Found]:
    """Every browser that is where browsers are, the best first."""
    paths = [Path(place) for place in _PLACES]
    with suppress(KeyError, OSError):  # in a container we may be nobody that is known
        home = Path(pwd.getpwuid(os.getuid()).pw_dir)
        for pattern in _OF_PLAYWRIGHT:
            paths += sorted(home.glob(pattern), reverse=True)
    return [Found(path) for path in paths if _is_program(path)]


def _is_program(path: Path) -> bool:
    return path.is_file() and os.access(path, os.X_OK)
