"""Becomes the browser: a program of its own, so that what it does happens in no thread of ours.

    python -I -S launcher.py '{"program": …}' FLAGS...

It joins the control group, gives up root, asks to die with its parent, puts the two ends of the
pipe where Chromium looks for them (3 and 4), and turns into the browser. It imports nothing of
Freki: it starts in 20 ms.
"""

import ctypes
import json
import os
import resource
import signal
import sys
from contextlib import suppress

_PR_SET_PDEATHSIG = 1


def main() -> None:
    """Turn into the program that the first argument names."""
    told = json.loads(sys.argv[1])
    for file in told["groups"]:
        with suppress(OSError), open(file, "w") as group:  # noqa: PTH123 - pathlib costs 5 ms
            group.write(str(os.getpid()))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if told["user"] is not None:
        os.setgroups([])
        os.setresgid(told["group"], told["group"], told["group"])
        os.setresuid(told["user"], told["user"], told["user"])
    if sys.platform == "linux":
        # After the change of user, which clears it.
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != told["parent"]:
            sys.exit("the parent died meanwhile")
    commands, answers = told["pipe"]
    _move(commands, answers)
    os.umask(0o077)
    program = told["program"]
    os.execve(program, [program, *sys.argv[2:]], told["environment"])  # noqa: S606 - no shell


def _move(commands: int, answers: int) -> None:
    """To 3 and 4, by way of numbers that are neither."""
    high = [os.dup(commands), os.dup(answers)]
    while min(high) <= 4:
        high = [os.dup(end) for end in high]
    os.dup2(high[0], 3)
    os.dup2(high[1], 4)
    os.closerange(5, 256)


if __name__ == "__main__":
    main()
