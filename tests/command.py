"""The command line as people call it: in this process where that will do, else in its own."""

import errno
import io
import os
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from freki.cli.main import main

# Variables of ours, and what the crawls of other tests run under, must not leak into a test.
ENVIRONMENT = {
    **{name: value for name, value in os.environ.items() if not name.startswith("FREKI_")},
    "PYTHONPATH": str(Path(__file__).parents[1] / "src"),
}
COMMAND = (sys.executable, "-P", "-m", "freki")

# No call takes a tenth of this; one that hangs shall not hang the tests.
PATIENCE = 60


class Run(NamedTuple):
    """How a call ended, and what it said."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:  # of whatever shape the command prints
        return msgspec.json.decode(self.out)


def freki(*words: str | Path) -> Run:
    """Runs a command in this process."""
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        code = main([str(word) for word in words])
    return Run(code, out.getvalue(), err.getvalue())


def start(*words: str | Path, **options: Any) -> subprocess.Popen[str]:
    """Starts a command in a process of its own.

    `before` is what runs it, `variables` are added to the environment; other options are Popen's.
    """
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    variables = {**ENVIRONMENT, **options.pop("variables", {})}
    options = {"env": variables, **pipes, "text": True, **options}
    before: tuple[str, ...] = options.pop("before", ())
    return subprocess.Popen([*before, *COMMAND, *map(str, words)], **options)


def ended(process: subprocess.Popen[str], given: str | None = None) -> Run:
    """Waits for its end."""
    with process:
        try:
            out, err = process.communicate(given, PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            raise
        return Run(process.returncode, out, err)


def call(*words: str | Path, given: str | None = None, **options: Any) -> Run:
    """Runs a command in a process of its own, with `given` on its standard input."""
    return ended(start(*words, **options), given)


def on_terminal(*words: str | Path) -> Run:
    """Runs a command on a terminal of its own; all it shows is `out`."""
    ours, its = os.openpty()
    process = start(*words, stdin=its, stdout=its, stderr=its)
    os.close(its)
    with process, io.FileIO(ours) as terminal:
        shown = b"".join(iter(lambda: _shown(terminal), b""))
        return Run(process.wait(PATIENCE), shown.decode(), "")


def _shown(terminal: io.FileIO) -> bytes:
    """What was shown since; nothing at the end."""
    try:
        return terminal.read(65_536)
    except OSError as error:  # how Linux says that nobody has the other side open any more
        if error.errno != errno.EIO:
            raise
        return b""
