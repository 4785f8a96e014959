"""`freki completion`: every command and option, in every shell that is here."""

import shutil
import subprocess
from importlib import import_module

import pytest
from tests.command import freki

from freki.cli.completion import SHELLS, script
from freki.cli.main import COMMANDS


@pytest.mark.parametrize("shell", SHELLS)
def test_every_command_and_option_is_known_to_the_shell(shell: str) -> None:
    text = script(shell)
    for command, (module, _) in COMMANDS.items():
        assert command in text
        for flag in import_module(module).parser(command).flags():
            if flag.startswith("--"):
                assert flag.removeprefix("--") in text


@pytest.mark.system
@pytest.mark.parametrize("shell", SHELLS)
def test_the_shell_understands_it(shell: str) -> None:
    program = shutil.which(shell)
    assert program is not None, f"{shell} is not installed; ./test installs it"
    run = subprocess.run(
        [program, "-n"], input=script(shell), text=True, capture_output=True, check=False
    )
    assert (run.returncode, run.stderr) == (0, "")


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (["freki", "ex"], ["export", "explain"]),
        (["freki", "crawl", "--max-p"], ["--max-pages", "--max-pages-per-host"]),
        (["freki", "explain", "--j"], ["--json"]),
        (["freki", "doctor", "--st"], ["--store"]),
    ],
)
def test_bash_offers_what_fits(words: list[str], offered: list[str]) -> None:
    line = f"COMP_WORDS=({' '.join(words)}); COMP_CWORD={len(words) - 1}; _freki"
    program = f'{script("bash")}\n{line}\nprintf "%s\\n" "${{COMPREPLY[@]}}"'
    run = subprocess.run(["bash", "-c", program], text=True, capture_output=True, check=True)
    assert run.stdout.splitlines() == offered


def test_a_shell_that_is_none_is_told() -> None:
    run = freki("completion", "tcsh")
    assert (run.code, run.out) == (2, "")
    assert "invalid choice: 'tcsh'" in run.err
