import os
import subprocess
import sys
from collections.abc import Iterator

import pytest

from freki.ledger.alive import surely_dead, this_machine, this_process

HERE = this_machine()


@pytest.fixture
def child() -> Iterator["subprocess.Popen[bytes]"]:
    """A process that tells who it is, and waits."""
    told = "from freki.ledger.alive import this_process as p; print(p(), flush=True); input()"
    with subprocess.Popen(
        [sys.executable, "-c", told], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        yield process
        process.kill()


def test_we_are_alive() -> None:
    assert not surely_dead(HERE, this_process())


def test_a_process_is_dead_when_it_was_killed_even_if_nobody_has_looked_yet(
    child: "subprocess.Popen[bytes]",
) -> None:
    assert child.stdout is not None
    name = child.stdout.readline().decode().strip()
    assert not surely_dead(HERE, name)
    child.kill()
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)  # it has ended, and is a zombie now
    assert surely_dead(HERE, name)
    child.wait()
    assert surely_dead(HERE, name)


def test_a_later_process_with_the_same_number_is_another() -> None:
    assert surely_dead(HERE, f"{os.getpid()} 1")


def test_a_number_that_nobody_has_is_of_the_dead() -> None:
    assert surely_dead(HERE, "4194305 17")


def test_nothing_is_known_of_processes_elsewhere() -> None:
    host, machine_id, namespace, boot = HERE.split(" ")
    for elsewhere in (
        f"other {machine_id} {namespace} {boot}",
        f"{host} other {namespace} {boot}",
        f"{host} {machine_id} pid:[1] {boot}",
        f"other {machine_id} {namespace} other",
        f"{host} other {namespace} other",  # a clone with the same name, booted another time
        "",
    ):
        assert not surely_dead(elsewhere, "4194305 17")


@pytest.mark.skipif(len(HERE.split()) < 4, reason="this machine does not say who it is")
def test_what_ran_before_this_machine_was_started_is_dead() -> None:
    before = " ".join([*HERE.split(" ")[:3], "00000000-0000-0000-0000-000000000000"])
    assert surely_dead(before, this_process())
