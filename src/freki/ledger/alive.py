"""Is the process behind a session still there? Answered only where it can be known.

A lease that ran out may be taken over by anybody. One that did not may be taken over at once
if its process is surely dead, which is what lets a crawl continue within a second of `kill -9`.
"""

import os
import socket
from functools import lru_cache
from pathlib import Path

_UNKNOWN = "?"


@lru_cache(maxsize=1)
def this_machine() -> str:
    """Names what shares our process numbers: machine, PID namespace and boot."""
    return f"{socket.gethostname()} {_machine_id()} {_pid_namespace()} {_boot()}"


def this_process() -> str:
    """Our process, so that a later one with the same number is not taken for it."""
    return f"{os.getpid()} {_started(os.getpid())}"


def surely_dead(machine: str, process: str) -> bool:
    """True only if the process ran where we can look, and is gone."""
    if machine != this_machine():
        same_place = machine.rpartition(" ")[0] == this_machine().rpartition(" ")[0]
        # The machine was started anew since. Only its id tells it from others: clones share
        # their host name, and every system calls its first PID namespace the same.
        return same_place and _machine_id() != "" and _boot() != ""
    pid, _, started = process.partition(" ")
    try:
        os.kill(int(pid), 0)
    except (ProcessLookupError, ValueError, OverflowError):  # or a number that no process has
        return True
    except PermissionError:
        pass  # somebody else's, so it exists
    # Who may not look at the processes of others (hidepid) does not know.
    return _started(int(pid)) not in (started, _UNKNOWN)


@lru_cache(maxsize=1)
def _machine_id() -> str:
    try:
        return Path("/etc/machine-id").read_text("ascii", "replace").strip()
    except OSError:
        return ""


def _pid_namespace() -> str:
    try:
        return str(Path("/proc/self/ns/pid").readlink())
    except OSError:
        return "pid"


@lru_cache(maxsize=1)
def _boot() -> str:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text("ascii").strip()
    except OSError:
        return ""


def _started(pid: int) -> str:
    """The start of a process in clock ticks since boot."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text("ascii", "replace")
    except OSError:
        return _UNKNOWN
    fields = stat.rpartition(")")[2].split()
    # A zombie is dead: only its parent has not looked yet.
    return "zombie" if fields[0] == "Z" else fields[19]
