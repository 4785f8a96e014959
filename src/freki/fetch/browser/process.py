"""One Chromium with its profile, its control group and its end.

It leads a session of its own, so all it starts can be ended at once. If we die first, three things
end it: its pipe closes, the kernel kills it with its parent, and the next pool that starts reaps
what is left. A profile is its owner's as long as somebody holds the lock on its file.
"""

import asyncio
import fcntl
import json
import os
import pwd
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from io import FileIO
from pathlib import Path
from typing import Self

from msgspec import Struct

from freki.errors import BrowserMissing
from freki.fetch.browser import memory
from freki.fetch.browser.cdp import Cdp, Gone, Refused
from freki.fetch.browser.find import INSTALL, Found
from freki.fetch.browser.flags import flags

LAUNCHER = Path(__file__).with_name("launcher.py")

# Who a browser runs as where we are root: it has no right to anything.
NOBODY = "nobody"
_NOBODY = 65_534

_MARK = "freki-browser-"
_UNNAMED = "freki-new-browser-"

_START_SECONDS = 30.0
_END_SECONDS = 2.0
_DEAD_SECONDS = 5.0
_YOUNG = 60.0

_NO_SANDBOX = (
    "its sandbox does not work here: allow user namespaces (sysctl"
    " kernel.unprivileged_userns_clone=1, or in a container a seccomp profile that does), install"
    " chromium-sandbox, or, where all pages are your own, --no-sandbox"
)


class Terms(Struct, frozen=True, kw_only=True):
    """How browsers are started."""

    found: Found
    agent: str = ""  # how they name themselves
    sandbox: bool = True
    insecure: bool = False  # any TLS certificate will do
    network: tuple[str, ...] = ()  # flags that lead them through the proxy
    memory: int = 2 * 2**30  # bytes for one browser


class Version(Struct, frozen=True, rename="camel"):
    """What a browser says of itself."""

    product: str = ""
    user_agent: str = ""


class Chromium:
    """A browser that runs."""

    def __init__(self, folder: Path, lock: FileIO, group: memory.Group) -> None:
        self.cdp: Cdp
        self.version = Version()
        self.is_shell = False
        self.most = 0  # bytes it may have
        self._killed = 0  # processes of it that took too much memory
        self._folder = folder
        self._lock = lock
        self._group = group
        self._process: asyncio.subprocess.Process

    def __repr__(self) -> str:
        return f"<Chromium {self.pid} {self.version.product} {self.cdp!r}>"

    @property
    def pid(self) -> int:
        return self._process.pid

    @classmethod
    async def start(cls, terms: Terms) -> Self:
        """A new browser; `BrowserMissing` where it does not start."""
        try:
            folder, lock = _folder()
        except OSError as error:
            raise BrowserMissing(_no_room(error)) from None
        browser = cls(folder, lock, memory.Group(folder.name.removeprefix(_MARK), terms.memory))
        browser.most = terms.memory
        browser.is_shell = terms.found.is_shell
        try:
            await browser._start(terms)
        except OSError as error:
            await browser.end()
            raise BrowserMissing(_no_room(error)) from None
        except BaseException:
            await browser.end()
            raise
        return browser

    async def _start(self, terms: Terms) -> None:
        errors = self._folder / "errors"
        with ExitStack() as ours, ExitStack() as its:
            read_commands, write_commands = _pipe(its, ours)
            read_answers, write_answers = _pipe(ours, its)
            with errors.open("wb") as heard:
                self._process = await asyncio.create_subprocess_exec(
                    *(sys.executable, "-I", "-S", str(LAUNCHER)),
                    self._told(terms, read_commands.fileno(), write_answers.fileno()),
                    *flags(
                        str(self._folder / "profile"),
                        terms.agent,
                        sandbox=terms.sandbox,
                        insecure=terms.insecure,
                        network=terms.network,
                    ),
                    stdin=asyncio.subprocess.DEVNULL,
                    stdout=asyncio.subprocess.DEVNULL,
                    stderr=heard,
                    pass_fds=(read_commands.fileno(), write_answers.fileno()),
                    start_new_session=True,
                )
            self.cdp = Cdp(write_commands)
            await self.cdp.open(read_answers)
            ours.pop_all()  # they are the protocol's now
        try:
            self.version = await self.cdp.ask("Browser.getVersion", Version, within=_START_SECONDS)
            await self.cdp.tell("Target.setDiscoverTargets", within=_START_SECONDS, discover=True)
        except (Gone, Refused, TimeoutError):
            raise BrowserMissing(f"{terms.found.path}: {_why(errors)}") from None

    def _told(self, terms: Terms, commands: int, answers: int) -> str:
        profile = self._folder / "profile"
        user = group = None
        if os.geteuid() == 0:
            user, group = _nobody()
            os.chown(profile, user, group)
        environment = {"HOME": str(profile), "TMPDIR": str(profile), "LANG": "C.UTF-8"}
        told = {
            "program": str(terms.found.path),
            "parent": os.getpid(),
            "groups": self._group.files,
            "user": user,
            "group": group,
            "pipe": [commands, answers],
            "environment": environment,
        }
        return json.dumps(told)

    async def beats(self, within: float = 2.0) -> bool:
        """Does it still answer?"""
        try:
            await self.cdp.tell("Browser.getVersion", within=within)
        except (Gone, Refused, TimeoutError):
            return False
        return True

    def processes(self) -> list[tuple[int, int]]:
        """Number and bytes of each of its processes, the largest first."""
        sizes = [(pid, memory.of_process(pid)) for pid in memory.session(self.pid)]
        return sorted(sizes, key=lambda sized: -sized[1])

    def ended_for_memory(self) -> bool:
        """Was one of its processes ended for its size since this was asked last, by us or by the
        kernel?"""
        ended, self._killed = self._killed + self._group.kills(), 0
        return ended > 0

    def kill_process(self, pid: int) -> None:
        """End one process of it; the page it belonged to crashes, the others live on."""
        self._killed += 1
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)

    def kill(self) -> None:
        """End all of it now."""
        if not hasattr(self, "_process"):
            return
        members = memory.session(self.pid)
        with suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)
        for pid in members:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    async def end(self) -> None:
        """Close it, or kill it where that takes long, and leave nothing of it."""
        if hasattr(self, "_process"):
            members = memory.session(self.pid)
            if hasattr(self, "cdp"):
                with suppress(Gone, Refused, TimeoutError):
                    await self.cdp.tell("Browser.close", within=_END_SECONDS)
            if not await self._is_over(_END_SECONDS):
                self.kill()
                await self._is_over(_DEAD_SECONDS)
            self._finish(members)
        if hasattr(self, "cdp"):
            self.cdp.close()
        await asyncio.get_running_loop().run_in_executor(None, self._forget)

    async def _is_over(self, within: float) -> bool:
        try:
            async with asyncio.timeout(within):
                await self._process.wait()
        except TimeoutError:
            return False
        return True

    def _finish(self, members: list[int]) -> None:
        """Its children may outlive it, and where we are the first process of a container, it is
        to us that they fall."""
        for pid in {*members, *memory.session(self.pid)}:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
            with suppress(ChildProcessError):
                os.waitpid(pid, os.WNOHANG)

    def _forget(self) -> None:
        shutil.rmtree(self._folder, ignore_errors=True)
        self._group.remove()
        self._lock.close()


def _pipe(reader: ExitStack, writer: ExitStack) -> tuple[FileIO, FileIO]:
    """Both ends of a pipe; each is closed with its stack."""
    read, write = os.pipe()
    return reader.enter_context(FileIO(read, "r")), writer.enter_context(FileIO(write, "w"))


def _folder() -> tuple[Path, FileIO]:
    """A new folder with a profile in it, ours as long as the file is open."""
    made = Path(tempfile.mkdtemp(prefix=_UNNAMED))
    try:
        lock = FileIO(str(made / "owner"), "w")
        fcntl.flock(lock, fcntl.LOCK_EX)
        made.chmod(0o711)  # whoever the browser runs as must get to its profile
        (made / "profile").mkdir(mode=0o700)
        # Only now is it what others look for: nobody takes it for one without an owner.
        folder = made.rename(made.with_name(_MARK + made.name.removeprefix(_UNNAMED)))
    except OSError:
        shutil.rmtree(made, ignore_errors=True)
        raise
    return folder, lock


def reap() -> int:
    """End the browsers of the dead and remove their profiles; answers with how many there were."""
    memory.sweep(time.time() - _YOUNG)  # a younger one may be waiting for its browser
    folders = Path(tempfile.gettempdir()).glob(f"{_MARK}*")
    return sum(_reap(folder) for folder in folders)


def _reap(folder: Path) -> bool:
    try:
        if folder.stat().st_uid != os.geteuid() or not _is_orphan(folder):
            return False
    except OSError:  # its owner ends just now
        return False
    for pid in _processes_of(folder):
        with suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signal.SIGKILL)
    shutil.rmtree(folder, ignore_errors=True)
    return True


def _is_orphan(folder: Path) -> bool:
    with FileIO(str(folder / "owner"), "r+") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
    return True


def _processes_of(folder: Path) -> Iterator[int]:
    mine = f"--user-data-dir={folder / 'profile'}".encode()
    for entry in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if mine in (entry / "cmdline").read_bytes().split(b"\0"):
                yield int(entry.name)


def _nobody() -> tuple[int, int]:
    try:
        entry = pwd.getpwnam(NOBODY)
    except KeyError:
        return _NOBODY, _NOBODY
    return entry.pw_uid, entry.pw_gid


def _no_room(error: OSError) -> str:
    """The system has not what a browser needs: disk, processes, open files."""
    return (
        f"no browser can be started: {error.strerror}; it needs a folder for temporary files, which"
        " TMPDIR names, and a dozen processes"
    )


def _why(errors: Path) -> str:
    """What a browser that did not start said, in one line."""
    with suppress(OSError):
        text = errors.read_text("utf-8", "replace")
        if "andbox" in text:
            return _NO_SANDBOX
        for line in text.splitlines():
            if "error while loading" in line or "FATAL" in line or "not found" in line:
                return f"it does not start: {line.strip()[-300:]}"
    return f"it does not start; {INSTALL}"
