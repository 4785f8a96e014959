"""The tutorial, followed to the letter."""

import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from tests.background import background
from tests.command import ENVIRONMENT

from freki.testing.shop import serve

TUTORIAL = Path(__file__).parents[2] / "docs" / "tutorial.md"
ADDRESS = "http://127.0.0.1:8000/"


def blocks() -> Iterator[tuple[str, str]]:
    yield from re.findall(r"```(\w+)\n(.*?)```", TUTORIAL.read_text("utf-8"), re.DOTALL)


def call(folder: Path, *words: str) -> str:
    """Runs a program where the reader would, and answers with what it printed."""
    run = subprocess.run(
        [sys.executable, "-m", *words], cwd=folder, env=ENVIRONMENT,
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert run.returncode == 0, (words, run.stdout, run.stderr)
    return run.stdout


@pytest.fixture(scope="module")
def followed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, str]]:
    """Every file written and every command run, in order, with what it printed."""
    folder, said = tmp_path_factory.mktemp("tutorial"), dict[str, str]()
    with background(serve()) as shop:
        for language, text in blocks():
            here = text.replace(ADDRESS, shop.url)
            if language == "python":
                name = text.splitlines()[0].removeprefix("# ")
                (folder / name).write_text(here, "utf-8")
            if language == "sh":
                for line, words in zip(text.splitlines(), here.splitlines(), strict=True):
                    said[line] = call(folder, *shlex.split(words))
        said["pytest"] = call(folder, "pytest", "-q")
        strict = ("mypy", "--strict", "--cache-dir", str(folder / "cache"), "shop.py")
        said["mypy"] = call(folder, *strict)
    return folder, said


def test_what_it_says_comes_true(followed: tuple[Path, dict[str, str]]) -> None:
    _, said = followed
    first, second, price = list(said.values())[:3]
    assert len(first.splitlines()) == 5
    assert second.startswith("/book/1\n")
    assert price == "€ 12.50\n"
    assert re.search(r" 4 pages", said["freki crawl --spider books.py"])
    assert re.search(r"items +18 ", said["freki crawl --spider books.py"])
    assert re.search(r" 22 pages", said["freki crawl --spider shop.py"])
    assert re.search(r"items +14 +dropped 4", said["freki crawl --spider shop.py"])
    assert said["freki items --fate dropped"].count("out of stock") == 4
    assert re.search(r"items +6 ", said["freki crawl --spider members.py"])


def test_its_items_are_right(followed: tuple[Path, dict[str, str]]) -> None:
    folder, said = followed
    lines = said["freki items --format jsonl"].splitlines()
    books = {item["title"]: item for item in (msgspec.json.decode(line)["data"] for line in lines)}
    assert books["Emma"] == {
        "title": "Emma", "author": "Jane Austen", "price": 12.5, "stock": 1,
        "found": books["Emma"]["found"],
    }  # fmt: skip
    assert books["Emma"]["found"].endswith("/ row 0")
    assert len(books) == 14
    assert (folder / "shop.csv").read_text("utf-8").count("\n") == 15
    assert (folder / "shop.parquet").stat().st_size > 500


def test_its_test_passes_and_its_types_are_right(followed: tuple[Path, dict[str, str]]) -> None:
    _, said = followed
    assert "1 passed" in said["pytest"]
    assert "no issues found" in said["mypy"]
