"""`./freki` on a machine that has nothing but a Python: it prepares its own environment."""

import os
import re
import shutil
import subprocess
import sys
import time
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from freki.native import Native

CHECKOUT = Path(__file__).parents[2]

# All that the launcher calls beside python3 (and flock and uv, where they exist).
PROGRAMS = ["bash", "cksum", "env", "find", "mkdir", "readlink", "tr"]

# Takes the place of the command line where a test is about how the launcher calls it.
ECHO = """
import sys

def main() -> int:
    print(sys.argv, sys.path, sep="\\n")
    return 7
"""

OLD_PYTHON = """#!/bin/sh
echo 3.10
exit 1
"""

# Debian's python3 without python3-venv: what lacks is found only when an environment is made.
PYTHON_WITHOUT_VENV = f"""#!/bin/sh
case "$*" in
    *-m*venv*) echo "ensurepip is not available" >&2; exit 1 ;;
    *) exec "{sys.executable}" "$@" ;;
esac
"""

# ./test sets the path of its own checkout.
ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}

Run = subprocess.CompletedProcess[str]


def call(launcher: Path, *arguments: str, **environment: str) -> Run:
    return subprocess.run(
        [launcher, *arguments],
        env=ENVIRONMENT | environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )


def copy_of_checkout(to: Path) -> Path:
    """What a clone would have: no caches, no environment, nothing that git ignores."""
    ignored = (CHECKOUT / ".gitignore").read_text().split()
    names = [".git", *(pattern.rstrip("/") for pattern in ignored)]
    return shutil.copytree(CHECKOUT, to, ignore=shutil.ignore_patterns(*names))


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Run]]:
    """A fresh checkout after its first two calls, made at once on what a killed one had left."""
    checkout = copy_of_checkout(tmp_path_factory.mktemp("a folder") / "freki")
    left_behind = checkout / ".venv" / "lib" / "half a package"
    left_behind.mkdir(parents=True)
    (checkout / ".venv" / "freki.stamp").touch()
    (checkout / ".venv" / "pyvenv.cfg").touch()
    calls = [
        subprocess.Popen(
            [checkout / "freki", "--help"],
            env=ENVIRONMENT,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for _ in range(2)
    ]
    answers = [process.communicate() for process in calls]
    assert not left_behind.exists()
    return checkout, [
        Run(process.args, process.returncode, *answer)
        for process, answer in zip(calls, answers, strict=True)
    ]


@pytest.fixture
def echoing(prepared: tuple[Path, list[Run]], tmp_path: Path) -> Path:
    """The launcher of a prepared checkout whose command line prints how it was called."""
    checkout = copy_of_checkout(tmp_path / "echo")
    (checkout / ".venv").symlink_to(prepared[0] / ".venv")
    (checkout / "src" / "freki" / "cli" / "main.py").write_text(ECHO)
    return checkout / "freki"


def test_two_first_calls_at_once_prepare_one_environment(
    prepared: tuple[Path, list[Run]],
) -> None:
    _, (one, other) = prepared
    assert (one.returncode, other.returncode) == (0, 0), one.stderr + other.stderr
    assert one.stdout == other.stdout
    assert "crawl" in one.stdout
    assert (one.stderr + other.stderr).count("Preparing Freki's environment, once …\n") == 1


def test_the_first_call_compiles_what_is_in_c_and_no_later_one_does(
    prepared: tuple[Path, list[Run]],
) -> None:
    checkout, _ = prepared
    library = checkout / "src" / "freki" / "native" / "reader.so"
    Native(library)
    made = library.stat().st_mtime_ns
    assert call(checkout / "freki", "--help").returncode == 0
    assert library.stat().st_mtime_ns == made


def test_without_a_compiler_that_works_it_works_all_the_same(
    prepared: tuple[Path, list[Run]], tmp_path: Path
) -> None:
    checkout = copy_of_checkout(tmp_path / "freki")
    (checkout / ".venv").symlink_to(prepared[0] / ".venv")
    for compiler in ("false", "no such program"):
        run = call(checkout / "freki", "doctor", CC=compiler)
        assert (run.returncode, run.stderr) == (0, "")
        assert "--  pages         read as trees\n" in run.stdout
    assert "must go first" in call(checkout / "freki", "doctor").stdout, "it is tried once"


def test_a_later_call_says_nothing_of_its_own(prepared: tuple[Path, list[Run]]) -> None:
    checkout, _ = prepared
    assert call(checkout / "freki", "--help").stderr == ""


def test_a_later_call_costs_little_more_than_python_itself(echoing: Path) -> None:
    python = echoing.parent / ".venv" / "bin" / "python"

    def seconds(run: Callable[[], object]) -> float:
        """The best of ten, so that a busy machine does not count."""
        times = []
        for _ in range(10):
            began = time.perf_counter()
            run()
            times.append(time.perf_counter() - began)
        return min(times)

    extra = seconds(lambda: call(echoing)) - seconds(lambda: call(python, "-c", "pass"))
    assert extra < 0.05


def test_arguments_and_exit_code_pass_unchanged(echoing: Path) -> None:
    run = call(echoing, "crawl", "two words", "", "*", "-c")
    assert run.stdout.splitlines()[0] == "['freki', 'crawl', 'two words', '', '*', '-c']"
    assert run.returncode == 7


def test_a_symlink_runs_the_checkout_it_leads_to(echoing: Path, tmp_path: Path) -> None:
    folder = tmp_path / "some bin"
    folder.mkdir()
    (folder / "first").symlink_to(echoing)
    (folder / "wolf").symlink_to("first")
    assert call(folder / "wolf", "x").stdout.splitlines()[0] == "['freki', 'x']"


def test_nothing_is_imported_from_the_folder_of_the_call(echoing: Path) -> None:
    imported_from = call(echoing).stdout.splitlines()[1]
    assert f"'{echoing.parent / 'src'}'" in imported_from
    assert "''" not in imported_from
    assert f"'{Path.cwd()}'" not in imported_from


@pytest.fixture
def bare(tmp_path: Path) -> Callable[[str | None], Run]:
    """Calls a fresh checkout on a machine with no more than a `python3` of this text."""
    launcher = copy_of_checkout(tmp_path / "bare") / "freki"
    programs = tmp_path / "programs"
    programs.mkdir()
    for name in PROGRAMS:
        found = shutil.which(name)
        assert found
        (programs / name).symlink_to(found)

    def call_with(python: str | None) -> Run:
        if python is not None:
            (programs / "python3").write_text(python)
            (programs / "python3").chmod(0o755)
        return call(launcher, "--help", PATH=str(programs))

    return call_with


@pytest.mark.parametrize(
    ("python", "advice"),
    [
        pytest.param(PYTHON_WITHOUT_VENV, "apt-get install python3-venv", id="no venv"),
        pytest.param(OLD_PYTHON, "python3 is 3.10: install a newer one", id="old"),
        pytest.param(None, "apt-get install python3 python3-venv", id="no python"),
    ],
)
def test_what_is_missing_is_said_in_one_sentence(
    bare: Callable[[str | None], Run], python: str | None, advice: str
) -> None:
    run = bare(python)
    assert run.returncode != 0
    assert run.stdout == ""
    assert len(run.stderr.splitlines()) == 1
    assert advice in run.stderr


def test_an_environment_of_somebody_else_is_left_alone(tmp_path: Path) -> None:
    checkout = copy_of_checkout(tmp_path / "theirs")
    theirs = checkout / ".venv" / "pyvenv.cfg"
    theirs.parent.mkdir()
    theirs.write_text("theirs")
    (tmp_path / "not a folder").touch()
    run = call(checkout / "freki", "--help", XDG_CACHE_HOME=str(tmp_path / "not a folder"))
    assert run.returncode != 0
    assert "a folder it can write its environment to" in run.stderr
    assert [path.name for path in theirs.parent.iterdir()] == ["pyvenv.cfg"]
    assert theirs.read_text() == "theirs"


def locked(name: str) -> dict[str, str]:
    """The version of each package in a lock file."""
    text = (CHECKOUT / name).read_text()
    return dict(re.findall(r"^([a-z0-9-]+)==(\S+)", text, re.MULTILINE))


def test_the_lock_files_hold_what_the_project_asks_for() -> None:
    project = tomllib.loads((CHECKOUT / "pyproject.toml").read_text())
    asked = project["project"]["dependencies"]
    asked_of_developers = asked + project["dependency-groups"]["dev"]
    for name, lines in [
        ("requirements.lock", asked),
        ("requirements-dev.lock", asked_of_developers),
    ]:
        versions = locked(name)
        for requirement in map(Requirement, lines):
            version = versions[canonicalize_name(requirement.name)]
            assert requirement.specifier.contains(version), requirement
    assert locked("requirements.lock").items() <= locked("requirements-dev.lock").items()


@pytest.mark.parametrize("name", ["requirements.lock", "requirements-dev.lock"])
def test_the_lock_files_name_no_place_to_load_from(name: str) -> None:
    assert "://" not in (CHECKOUT / name).read_text()
