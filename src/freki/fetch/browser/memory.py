"""How much memory there is, for us and for a browser: what the container may, not the host.

Where control groups can be made, each browser gets one of its own, so that a page which takes too
much dies alone. Where not, `watch` in `process.py` looks at the largest process.
"""

import ctypes
import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

_V1 = Path("/sys/fs/cgroup/memory")
_V2 = Path("/sys/fs/cgroup")

_PAGE = os.sysconf("SC_PAGE_SIZE")

# Of glibc's malloc.h, and the bytes from which on an allocation is a mapping of its own.
_M_MMAP_THRESHOLD = -3
_LARGE = 512 * 1024


def limit() -> int:
    """Bytes this process and its children may have, by the machine and every group it is in."""
    limits = [os.sysconf("SC_PHYS_PAGES") * _PAGE]
    for root, key, file in (
        (_V2, "0", "memory.max"),
        (_V1, "memory", "memory.limit_in_bytes"),
    ):
        own = _own(root, key)
        groups = [own, *own.parents] if own else []
        for group in groups[: len(groups) - len(root.parents)]:
            with suppress(OSError, ValueError):
                limits.append(int((group / file).read_text()))
    return min(limits)


def _own(root: Path, wanted: str) -> Path | None:
    """The group of this process below `root`; "0" is that of version 2."""
    with suppress(OSError):
        for line in Path("/proc/self/cgroup").read_text().splitlines():
            number, controllers, path = line.split(":", 2)
            if wanted in (number, *controllers.split(",")):
                mine = root / path.lstrip("/")
                # In a container the path may be that of the host, and its own group the root.
                return mine if mine.is_dir() else root
    return None


def give_back() -> None:
    """Hand memory that is free to the system: an allocator keeps what tall pictures took."""
    with suppress(AttributeError, OSError):  # of glibc
        ctypes.CDLL(None).malloc_trim(0)


def keep_apart() -> None:
    """Have pictures outside the heap, so that their memory goes back as soon as they do.

    Left alone, the allocator puts all that is smaller than the largest it saw, up to 32 MB, between
    objects that stay, and the holes are kept.
    """
    with suppress(AttributeError, OSError):  # of glibc
        ctypes.CDLL(None).mallopt(_M_MMAP_THRESHOLD, _LARGE)


class Group:
    """A control group for one browser, where the system lets us make one."""

    def __init__(self, name: str, most: int) -> None:
        self._folders = list(_made(name, most))
        self._kills = 0

    def __repr__(self) -> str:
        return f"<Group {[str(folder) for folder in self._folders]}>"

    @property
    def files(self) -> list[str]:
        """Where a process writes its number to join."""
        return [str(folder / "cgroup.procs") for folder in self._folders]

    def kills(self) -> int:
        """How many processes the kernel ended for their memory since this was asked last."""
        before, self._kills = self._kills, 0
        for folder in self._folders:
            for file in ("memory.events", "memory.oom_control"):
                with suppress(OSError):
                    words = (folder / file).read_text().split()
                    self._kills += int(words[words.index("oom_kill") + 1])
        return self._kills - before

    def remove(self) -> None:
        """Once its processes are gone."""
        for folder in self._folders:
            with suppress(OSError):
                folder.rmdir()


def _made(name: str, most: int) -> Iterator[Path]:
    for root, key, files in (
        (_V2, "0", (("memory.max", most), ("memory.swap.max", 0))),
        (_V1, "memory", (("memory.limit_in_bytes", most),)),
    ):
        own = _own(root, key)
        if own is None or not (own / files[0][0]).exists():
            continue
        folder = own / f"freki-{name}"
        try:
            folder.mkdir()
            for file, value in files:
                if (folder / file).exists():
                    (folder / file).write_text(str(value))
        except OSError:  # not ours to divide, or version 2 without delegation
            with suppress(OSError):
                folder.rmdir()
        else:
            if (folder / files[0][0]).exists():
                yield folder
                return


def sweep(older: float) -> None:
    """Remove groups that nobody is in any more; one that somebody is in cannot be removed."""
    for root, key in ((_V2, "0"), (_V1, "memory")):
        own = _own(root, key)
        for folder in own.glob("freki-*") if own is not None else ():
            with suppress(OSError):
                if folder.stat().st_mtime < older:
                    folder.rmdir()


def of_process(pid: int) -> int:
    """Bytes a process has for itself; 0 where it is gone."""
    try:
        fields = Path(f"/proc/{pid}/statm").read_text().split()
    except OSError:
        return 0
    return (int(fields[1]) - int(fields[2])) * _PAGE


def session(leader: int) -> list[int]:
    """The processes of a session, its leader included."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with suppress(OSError, IndexError, ValueError):
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
                if int(fields[3]) == leader and fields[0] != "Z":
                    found.append(int(entry.name))
    return found
