"""What `import freki` gives."""

import subprocess
import sys

import pytest
from tests.command import ENVIRONMENT

import freki
from freki import api


def test_the_public_names_are_these_and_sorted() -> None:
    assert {"Spider", "crawl", "fetch", "run"} < set(freki.__all__)
    assert sorted(freki.__all__) == freki.__all__


@pytest.mark.parametrize("name", freki.__all__)
def test_a_public_name_is_the_one_of_the_api(name: str) -> None:
    assert getattr(freki, name) is getattr(api, name)


def test_an_unknown_name_is_told_as_python_tells_it() -> None:
    with pytest.raises(AttributeError, match="module 'freki' has no attribute 'crwl'"):
        _ = freki.crwl


def test_a_star_import_brings_the_public_names() -> None:
    names: dict[str, object] = {}
    exec("from freki import *", names)
    assert set(freki.__all__) <= set(names)


def test_importing_freki_loads_nothing_else_of_it_but_the_version() -> None:
    program = "import sys, freki; print([name for name in sys.modules if 'freki.' in name])"
    run = subprocess.run(
        [sys.executable, "-c", program], env=ENVIRONMENT, capture_output=True, text=True, check=True
    )
    assert run.stdout == "['freki.version']\n"
