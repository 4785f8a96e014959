"""`freki doctor`: what this machine has and lacks."""

import platform
import resource
import shutil
import socket
import sqlite3
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from freki import native
from freki.cli.options import Parser, add_store
from freki.fetch.browser.find import INSTALL, all_of

# Below this many open files a crawl of many hosts runs into the limit.
FILES_WANTED = 1024
ROOM_WANTED = 1_000_000_000


class Finding(NamedTuple):
    """One line of the report."""

    subject: str
    found: str
    advice: str = ""  # what to do, where something is missing

    @property
    def is_good(self) -> bool:
        return not self.advice


def run(command: str, words: list[str]) -> int:
    arguments = parser(command).parse_args(words)
    findings = [
        _python(),
        _libcurl(),
        Finding("SQLite", sqlite3.sqlite_version),
        _event_loop(),
        _pages(),
        _names(),
        _files(),
        _room(arguments.store),
        _browser(),
        _fonts(),
    ]
    for finding in findings:
        mark = "ok" if finding.is_good else "--"
        print(f"{mark}  {finding.subject:<14}{finding.found}")
        if finding.advice:
            print(f"    {'':<14}{finding.advice}")
    return 0


def parser(command: str) -> Parser:
    """The options of `freki doctor`."""
    made = Parser(command, "Looks at what Freki needs on this machine.", "  freki doctor")
    add_store(made)
    return made


def _python() -> Finding:
    return Finding(
        "Python", f"{platform.python_version()} on {platform.system()} {platform.machine()}"
    )


def _libcurl() -> Finding:
    import pycurl  # noqa: PLC0415 - so that a broken one is a finding and not a traceback

    features = pycurl.version_info()[4]
    names = {"HTTP/2": "HTTP2", "HTTP/3": "HTTP3", "br": "BROTLI", "zstd": "ZSTD", "PSL": "PSL"}
    has = [name for name, flag in names.items() if features & getattr(pycurl, f"VERSION_{flag}", 0)]
    version = pycurl.version_info()[1]
    advice = "" if "PSL" in has else "without PSL, cookies for whole suffixes are not refused"
    return Finding("libcurl", f"{version} with {', '.join(has)}", advice)


def _event_loop() -> Finding:
    try:
        import uvloop  # noqa: F401, PLC0415 - not on every platform
    except ImportError:
        return Finding("event loop", "asyncio", "pip install uvloop makes crawling faster")
    return Finding("event loop", "uvloop")


def _pages() -> Finding:
    if native.HERE is not None:
        return Finding("pages", "read in C")
    advice = "a C compiler makes reading faster: apt-get install gcc libc6-dev, and install again"
    if (library := native.LIBRARY).exists():
        advice = f"it does not work here and must go first: {library}; {advice}"
    return Finding("pages", "read as trees", advice)


def _names() -> Finding:
    try:
        socket.getaddrinfo("localhost", 80)
    except OSError as error:
        return Finding(
            "host names", f"not resolved: {error}", "check /etc/resolv.conf and /etc/hosts"
        )
    return Finding("host names", "resolved")


def _files() -> Finding:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    advice = ""
    if soft < FILES_WANTED:
        advice = f"ulimit -n {FILES_WANTED} allows more connections (the hard limit is {hard})"
    return Finding("open files", f"{soft} at once", advice)


def _room(store: Path) -> Finding:
    folder = store.absolute().parent
    if not folder.is_dir():
        return Finding(
            "room", f"{folder} does not exist", "create it, or name another with --store"
        )
    free = shutil.disk_usage(folder).free
    advice = "" if free > ROOM_WANTED else "a crawl needs more; free some, or use --keep none"
    return Finding("room", f"{free / 1e9:.1f} GB free in {folder}", advice)


def _browser() -> Finding:
    found = all_of()
    missing = [name for name in ("PIL",) if find_spec(name) is None]
    if missing:
        return Finding("browser", "Pillow is missing", "pip install 'freki[browser]'")
    if not found:
        return Finding("browser", "none", f"pictures and --render need one: {INSTALL}")
    if not found[0].is_shell:
        advice = "apt-get install chromium-headless-shell gives one that opens pages faster"
        return Finding("browser", str(found[0].path), advice)
    return Finding("browser", str(found[0].path))


def _fonts() -> Finding:
    """Scripts that most pages need; without them, pictures show empty boxes."""
    folders = [Path("/usr/share/fonts"), Path("/usr/local/share/fonts")]
    names = {path.name.lower() for folder in folders for path in folder.rglob("*.?t?")}
    lacks = [
        what
        for what, words in _FONTS.items()
        if not any(word in name for word in words for name in names)
    ]
    if sys.platform != "linux" or not lacks:
        return Finding("fonts", "for most scripts")
    return Finding(
        "fonts",
        f"none for {', '.join(lacks)}",
        "apt-get install fonts-noto-cjk fonts-noto-color-emoji fonts-liberation",
    )


_FONTS = {
    "Chinese, Japanese and Korean": ("cjk", "wqy", "takao", "nanum"),
    "emoji": ("emoji",),
}
