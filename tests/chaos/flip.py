"""Flips a byte in copies of a store and tries every command on each: `python flip.py < plan.json`.

One process tries many copies, because a new one for each command would take most of the time:
each command runs in a fork of this one, which has everything imported and nothing begun. Prints
a line of JSON for each flip.
"""

import os
import shutil
import signal
import sys
import traceback
from pathlib import Path

import msgspec
from msgspec import Struct

# Imported before the forks, so that none of them has to.
import freki.cli.check
import freki.cli.crawl
import freki.cli.explain
import freki.cli.look  # noqa: F401
from freki.cli.main import main

# Seconds; no command here takes a tenth of this.
HANGS = 30


class Flip(Struct, frozen=True):
    """A change of one byte in one file of a store."""

    part: str  # what the name of the file ends with
    place: int
    mask: int


class Plan(Struct, frozen=True):
    """What to flip in which store of a crawl of which site."""

    store: str
    url: str
    flips: list[Flip]


class Answer(Struct, frozen=True):
    """How a command went."""

    code: int  # negative: the signal that ended it
    said: str


class Ordeal(Struct, frozen=True):
    """How all commands went on a copy with a flip, and on a repaired one."""

    flip: Flip
    store: str
    mended: str
    looks: dict[str, Answer]  # that only look
    crawled: Answer
    repaired: Answer
    again: Answer  # crawled after repair


def suffer(plan: Plan, flip: Flip) -> Ordeal:
    """Everything a user may do with a store that changed behind our back."""
    folder = Path(plan.store).parent / f"{flip.part}-{flip.place}-{flip.mask}"
    folder.mkdir()
    store, mended = folder / "freki.db", folder / "mended.db"
    for copy in (store, mended):
        for part in ("", "-wal"):
            if (original := Path(f"{plan.store}{part}")).exists():
                shutil.copy(original, f"{copy}{part}")
        change(Path(f"{copy}{flip.part}"), flip)
    looks = {
        "status": ["status", f"--store={store}"],
        "urls": ["urls", f"--store={store}", "--format=jsonl"],
        "pages": ["pages", f"--store={store}", "--format=jsonl", "--links"],
        "explain": ["explain", plan.url, f"--store={store}"],
        "check": ["check", str(store)],
    }
    answers = {name: run(words, folder) for name, words in looks.items()}
    crawl = ["crawl", plan.url, "--quiet", "--delay=0", "--max-pages=100000"]
    crawled = run([*crawl, f"--store={store}"], folder)
    repaired = run(["check", str(mended), "--repair"], folder)
    if (rescued := mended.with_name("mended.db.rescued")).exists():
        mended = rescued
    again = run([*crawl, f"--store={mended}"], folder)
    return Ordeal(flip, str(store), str(mended), answers, crawled, repaired, again)


def change(file: Path, flip: Flip) -> None:
    content = bytearray(file.read_bytes())
    content[flip.place] ^= flip.mask
    file.write_bytes(content)


def run(words: list[str], folder: Path) -> Answer:
    """A command in a process of its own."""
    log = folder / "log"
    child = os.fork()
    if child == 0:
        be(words, log)
    _, status = os.waitpid(child, 0)
    return Answer(os.waitstatus_to_exitcode(status), log.read_text("utf-8", "replace")[-3000:])


def be(words: list[str], log: Path) -> None:
    """Become the command; nothing that this process holds is put away by it."""
    code = 1
    try:
        file = os.open(log, os.O_CREAT | os.O_WRONLY | os.O_TRUNC)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        os.dup2(file, 2)
        signal.alarm(HANGS)
        code = main(words)
    except BaseException:  # noqa: BLE001 - what the interpreter would say at the end
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(code)


if __name__ == "__main__":
    plan = msgspec.json.decode(sys.stdin.buffer.read(), type=Plan)
    for flip in plan.flips:
        sys.stdout.buffer.write(msgspec.json.encode(suffer(plan, flip)) + b"\n")
        sys.stdout.buffer.flush()
