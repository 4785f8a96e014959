"""What a command costs: time, and CPU and memory of it and of all processes it started."""

import os
import resource
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

# Often enough to see a peak that lasts, rarely enough to cost nothing.
LOOK_EVERY = 0.1

_PAGE_SIZE = os.sysconf("SC_PAGE_SIZE")


class Cost(NamedTuple):
    """What one run took."""

    seconds: float
    cpu: float  # seconds, user and system
    memory: float  # bytes, the largest sum over the tree that was seen
    output: str


def cost(
    command: Sequence[str],
    folder: Path,
    environment: Mapping[str, str] | None = None,
    timeout: float = 900.0,
) -> Cost:
    """Run a command to its end; only one at a time, or CPU times would mix."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    started = time.perf_counter()
    with (folder / "output.txt").open("w+", encoding="utf-8") as output:
        process = subprocess.Popen(
            command, cwd=folder, env=environment, stdin=subprocess.DEVNULL,
            stdout=output, stderr=subprocess.STDOUT,
        )  # fmt: skip
        watch = _Watch(process.pid)
        watch.start()
        try:
            status = process.wait(timeout)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            status = None
        seconds = time.perf_counter() - started
        memory = watch.stop()
        output.seek(0)
        text = output.read()
    if status != 0:
        raise RuntimeError(f"{' '.join(command)}: status {status}\n{text[-2000:]}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Cost(seconds, cpu, memory, text)


class _Watch(threading.Thread):
    """Follows the memory of a process and its descendants."""

    def __init__(self, root: int) -> None:
        super().__init__(daemon=True)
        self._root = root
        self._over = threading.Event()
        self._most = 0

    def run(self) -> None:
        while not self._over.wait(LOOK_EVERY):
            self._most = max(self._most, resident(self._root))

    def stop(self) -> int:
        self._over.set()
        self.join()
        return self._most


def resident(root: int) -> int:
    """Bytes of memory that a process and its descendants have now."""
    total, line = 0, [root]
    while line:
        process = line.pop()
        try:
            total += int(Path(f"/proc/{process}/statm").read_text().split()[1]) * _PAGE_SIZE
            for thread in Path(f"/proc/{process}/task").iterdir():
                line += map(int, (thread / "children").read_text().split())
        except OSError:  # it ended meanwhile
            continue
    return total
