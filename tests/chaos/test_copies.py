"""What lies on the disk at any moment is a store: after a snapshot, and after a power cut.

For the power cut every write of a crawl is recorded. An image of the disk is then built as the
writes until some moment would have left it, where the disk may have dropped, kept or torn each
of those that were not yet synced. What had been synced must be in every image.
"""

import random
import re
import shutil
import signal
from bisect import bisect, bisect_left
from collections.abc import Iterable, Mapping
from contextlib import closing, suppress
from pathlib import Path
from subprocess import TimeoutExpired

import pytest
from msgspec import Struct, structs
from tests.chaos.conftest import Measured, Scale
from tests.chaos.rig import Site, crawl, end, kill, now, pause, start

from freki.errors import StoreUnreachable
from freki.ledger import read as ledger
from freki.ledger.check import findings, structure
from freki.ledger.crawls import newest
from freki.ledger.store import read_store
from freki.testing.history import Bounds, History, judge, read

PARTS = ("", "-wal", "-shm", "-journal")

# Of the copies and images so many are crawled to the end.
CONTINUED = 4

# What a disk writes as a whole.
SECTOR = 512

# Every change of a file, with its name and what is written in hexadecimal.
CALLS = "pwrite64,ftruncate,fdatasync,unlink"
CALL = re.compile(
    r"\d+ +(?P<name>\w+)\((?:\d+<(?P<path>[^>]+)>|\"(?P<gone>[^\"]+)\")"
    r"(?:, \"(?P<data>[^\"]*)\", \d+)?(?:, (?P<place>\d+))?\) += \d+"
)


def test_a_snapshot_of_the_files_is_a_store_that_lost_nothing(
    library: Site,
    undisturbed: History,
    scale: Scale,
    dice: random.Random,
    measured: Measured,
    tmp_path: Path,
) -> None:
    store = tmp_path / "freki.db"
    began = now()
    process = start(library.url, store)
    pause(process, until=lambda: len(library.log(began)) > 10)
    lag = 0
    for number in range(scale.copies):
        with suppress(TimeoutExpired):
            process.wait(dice.uniform(0, 2 / scale.copies))
        process.send_signal(signal.SIGSTOP)
        answered = len(library.log(began))
        pages = stored(copy(store, tmp_path / f"{number}.db"))
        process.send_signal(signal.SIGCONT)
        assert pages is not None
        lag = max(lag, answered - len(pages))
    kill(process)
    assert lag <= Bounds().repeats
    for number in range(0, scale.copies, max(1, scale.copies // CONTINUED)):
        crawl(library.url, tmp_path / f"{number}.db")
        judgement = judge(read(tmp_path / f"{number}.db"), undisturbed, Bounds())
        assert not judgement, judgement
    measured("3 snapshots", f"{scale.copies}; at most {lag} answers were not in one yet")


def copy(store: Path, to: Path) -> Path:
    for part in PARTS:
        with suppress(FileNotFoundError):
            shutil.copy(f"{store}{part}", f"{to}{part}")
    return to


def stored(store: Path) -> set[str] | None:
    """The pages of a store, which must be sound; None where there is no store yet."""
    try:
        with closing(read_store(store)) as db:
            assert structure(db) == []
            assert list(findings(db)) == []
            latest = newest(db)
            wanted = ledger.Filter()
            return {page.url for page in ledger.pages(db, latest.id, wanted)} if latest else set()
    except StoreUnreachable:
        return None


class Call(Struct, frozen=True):
    """A change of a file, or the promise of a disk that all changes of it will last."""

    name: str
    path: Path  # a folder, where the names in it are promised
    data: bytes = b""
    place: int = 0


def recorded(log: Path) -> list[Call]:
    """What strace saw, without the shared memory, which does not outlast the machine anyway."""
    found = [CALL.fullmatch(line) for line in log.read_text("ascii").splitlines()]
    calls = [
        Call(
            call["name"],
            Path(_unescaped(call["path"] or call["gone"]).decode()),
            _unescaped(call["data"] or ""),
            int(call["place"] or 0),
        )
        for call in found
        if call is not None
    ]
    assert len(calls) == len(found)
    return [call for call in calls if not call.path.name.endswith("-shm")]


def _unescaped(text: str) -> bytes:
    return bytes.fromhex(text.replace("\\x", ""))


class Disk:
    """Files as a disk has them: what it promised to keep, and what it was told since."""

    def __init__(self) -> None:
        self._kept: dict[Path, bytes] = {}
        self._told: list[Call] = []

    def tell(self, call: Call) -> None:
        """A file that is synced keeps all its bytes, a folder that is synced all its names."""
        self._told.append(call)
        if call.name != "fdatasync":
            return
        is_file = call.path in self.files()
        whole = [
            told
            for told in self._told
            if (told.path == call.path if is_file else told.name == "unlink")
        ]
        self._kept = _after(self._kept, whole)
        self._told = [told for told in self._told if told not in whole]

    def files(self) -> dict[Path, bytes]:
        """As programs see them."""
        return _after(self._kept, self._told)

    def after_a_power_cut(self, dice: random.Random) -> dict[Path, bytes]:
        """Of what was not promised some is lost, and some is half done."""
        lasting = [call for call in self._told if dice.random() < 0.5]
        return _after(self._kept, [_torn(call, dice) for call in lasting])


def _after(files: Mapping[Path, bytes], calls: Iterable[Call]) -> dict[Path, bytes]:
    contents = {path: bytearray(content) for path, content in files.items()}
    for call in calls:
        match call.name:
            case "pwrite64":
                content = contents.setdefault(call.path, bytearray())
                content.extend(bytes(max(0, call.place - len(content))))
                content[call.place : call.place + len(call.data)] = call.data
            case "ftruncate":
                content = contents.setdefault(call.path, bytearray())
                content.extend(bytes(max(0, call.place - len(content))))
                del content[call.place :]
            case "unlink":
                contents.pop(call.path, None)
    return {path: bytes(content) for path, content in contents.items()}


def _torn(call: Call, dice: random.Random) -> Call:
    """One in four writes stops after some sectors."""
    sectors = dice.randrange(4 * len(call.data) // SECTOR + 1)
    return structs.replace(call, data=call.data[: sectors * SECTOR])


@pytest.mark.parametrize("durability", ["power", "process"])
def test_a_power_cut_leaves_a_store_with_all_that_was_synced(
    hut: Site,
    quiet: History,
    durability: str,
    scale: Scale,
    dice: random.Random,
    measured: Measured,
    tmp_path: Path,
) -> None:
    store, log = tmp_path / "freki.db", tmp_path / "log"
    strace = ["strace", "-f", "-qq", "-y", "-xx", "-s65536", "--seccomp-bpf"]
    options = (f"-etrace={CALLS}", f"-o{log}")
    process = start(hut.url, store, f"--durability={durability}", through=[*strace, *options])
    assert end(process)[0] == 0
    calls = recorded(log)
    moments = sorted(dice.choices(range(len(calls) + 1), k=scale.images))
    disk, promised, lost = Disk(), set[str](), 0
    for number, call in enumerate([*calls, None]):
        for moment in range(bisect_left(moments, number), bisect(moments, number)):
            image = tmp_path / str(moment)
            pages = placed(disk.after_a_power_cut(dice), image)
            assert promised <= (pages or set())
            lost = max(lost, len(seen(disk, tmp_path / "seen") - (pages or set())))
            if moment % (scale.images // CONTINUED) == 0:
                crawl(hut.url, image / store.name)
                judgement = judge(read(image / store.name), quiet, Bounds())
                assert not judgement, judgement
        if call is not None:
            disk.tell(call)
            if call.name == "fdatasync":
                promised = seen(disk, tmp_path / "seen")
    measured(f"3 power cuts, {durability}", f"{scale.images}; at most {lost} committed pages lost")


def placed(files: Mapping[Path, bytes], folder: Path) -> set[str] | None:
    """Put files into a folder, and tell the pages of the store there."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    for path, content in files.items():
        (folder / path.name).write_bytes(content)
    return stored(folder / "freki.db")


def seen(disk: Disk, folder: Path) -> set[str]:
    """The pages that a program would see."""
    return placed(disk.files(), folder) or set()
