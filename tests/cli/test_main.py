"""`freki` itself: help, unknown words, and streams that are not what they should be."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.command import ENVIRONMENT, call, ended, freki, start

from freki import __version__
from freki.cli.main import COMMANDS

HEAVY = ["asyncio", "msgspec", "pycurl", "rich", "sqlite3", "turbohtml", "uvloop", "zstandard"]


@pytest.mark.parametrize("words", [(), ("--help",), ("-h",), ("help",)])
def test_help_names_every_command(words: tuple[str, ...]) -> None:
    run = freki(*words)
    assert run.code == 0
    assert all(f"\n  {command} " in run.out for command in COMMANDS)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_explains_itself(command: str) -> None:
    run = freki(command, "--help")
    assert (run.code, run.err) == (0, "")
    assert run.out.startswith(f"usage: freki {command} ")
    assert "examples:" in run.out


@pytest.mark.parametrize("word", ["--version", "-V"])
def test_the_version_is_one_line(word: str) -> None:
    assert freki(word).out == f"freki {__version__}\n"


def test_help_and_version_load_nothing_heavy() -> None:
    program = (
        "import sys; from freki.cli.main import main; main(['--help']); main(['--version'])\n"
        f"print([name for name in {HEAVY} if name in sys.modules], file=sys.stderr)"
    )
    run = subprocess.run(
        [sys.executable, "-c", program], env=ENVIRONMENT, capture_output=True, text=True, check=True
    )
    assert run.stderr == "[]\n"


@pytest.mark.parametrize(
    ("word", "hint"),
    [
        ("crwl", "did you mean crawl?"),
        ("Status", "did you mean status?"),
        ("example.com", "did you mean freki crawl example.com?"),
        ("https://example.com/", "did you mean freki crawl https://example.com/?"),
        ("xyzzy", "freki --help lists the commands"),
        ("", "freki --help lists the commands"),
    ],
)
def test_an_unknown_command_is_told_with_what_was_probably_meant(word: str, hint: str) -> None:
    run = freki(word)
    assert (run.code, run.out) == (2, "")
    assert run.err == f"freki: there is no command {word!r}; {hint}\n"


@pytest.mark.parametrize("words", [("--help",), ("crawl", "--help")])
def test_output_that_is_not_read_to_its_end_is_no_error(words: tuple[str, ...]) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    run = call(*words, stdout=writing)
    os.close(writing)
    assert (run.code, run.err) == (0, "")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
@pytest.mark.parametrize("words", [("--help",), ("completion", "bash")])
def test_output_that_finds_no_room_is_said(words: tuple[str, ...]) -> None:
    with Path("/dev/full").open("w") as full:
        run = call(*words, stdout=full)
    assert run.code == 4
    assert run.err == "freki: there is no room left where the output goes\n"


def test_a_closed_output_swallows_what_it_is_given() -> None:
    shell = ("sh", "-c", 'exec "$@" >&- 2>&-', "sh")
    assert call("--help", before=shell).code == 0
    assert call("crwl", before=shell).code == 2


def test_a_character_that_the_output_cannot_show_is_escaped() -> None:
    run = call("crawl", "http://ä b/", variables={"PYTHONIOENCODING": "ascii"})
    assert run.code == 2
    assert "Traceback" not in run.err


def test_ctrl_c_while_a_command_waits_for_input_ends_it_without_a_traceback(
    tmp_path: Path,
) -> None:
    seeds = tmp_path / "seeds"
    os.mkfifo(seeds)
    process = start("crawl", "--seeds", seeds, cwd=tmp_path)
    with seeds.open("w"):  # waits until the command opens it as well, and begins to read
        process.send_signal(signal.SIGINT)
        run = ended(process)
    assert run == (130, "", "")
