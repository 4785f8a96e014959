"""What is compiled on this machine reads real pages, and damaged ones, as their tree tells."""

import random
import subprocess
from collections.abc import Iterator
from pathlib import Path
from zlib import crc32

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scripts import native
from tests.markup import Markup
from tests.system.conftest import DOCUMENTATION

from freki.admit.likeness import fingerprint, phrases
from freki.extract.page import of_telling, parsed, told
from freki.extract.telling import by_reader
from freki.extract.text import text_of
from freki.messages import Response
from freki.native import Native

CHARSETS = ("utf-8", "utf-8", "utf-8", "windows-1251", "gbk", "shift_jis")
HEADERS = ("text/html", *(f"text/html; charset={charset}" for charset in CHARSETS))

# Pages of the documentation that are damaged; the reader takes nearly all that are not.
SAMPLED = 300


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Native:
    target = tmp_path_factory.mktemp("native") / "reader.so"
    native.compile_library(target)
    return Native(target)


def answers() -> Iterator[bytes]:
    paths = sorted(DOCUMENTATION.glob("*.html"))
    assert len(paths) > SAMPLED
    yield from (path.read_bytes() for path in paths)


def is_read_the_same(library: Native, body: bytes) -> bool:
    """Whether the reader took the page; where it did, it must say what the tree says."""
    content_type = HEADERS[crc32(body) % len(HEADERS)]
    response = Response("http://h/a/page", 200, (), body, content_type)
    telling = by_reader(response, library)
    if telling is None:
        return False
    assert of_telling(response, telling) == told(response, parsed(response)), (body, content_type)
    text = text_of(response, library)
    assert text == text_of(response, None), (body, content_type)
    assert phrases(text, library) == phrases(text, None), text
    return True


def test_real_pages_say_what_their_trees_say(library: Native) -> None:
    taken = [is_read_the_same(library, body) for body in answers()]
    assert sum(taken) > 0.95 * len(taken), "nearly all pages are for the reader"


def test_damaged_pages_say_what_their_trees_say(library: Native) -> None:
    pages = random.Random(2).sample(list(answers()), SAMPLED)
    markup = Markup(seed=3)
    taken = [is_read_the_same(library, markup.mutated(pages)) for _ in range(4000)]
    assert sum(taken) > 0.3 * len(taken)


def test_markup_of_any_kind_says_what_its_tree_says(library: Native) -> None:
    markup = Markup(seed=4)
    taken = [is_read_the_same(library, markup.page()) for _ in range(20_000)]
    assert sum(taken) > 0.2 * len(taken)


@given(st.text(), st.integers(1, 60))
@example("ä" * 100, 1)
def test_a_text_has_the_same_phrases_and_print(library: Native, text: str, times: int) -> None:
    longer = " ".join(f"{text} {chr(97 + number % 26) * number}" for number in range(times))
    found = phrases(longer, library)
    assert found == phrases(longer, None)
    assert fingerprint(found, library) == fingerprint(found, None)


def test_of_very_many_phrases_the_same_are_kept(library: Native) -> None:
    letters = "abcdefghijklmnopqrstuvwxyz"
    text = ".".join(a + b + c for a in letters for b in letters for c in letters[:9])
    assert phrases(text, library) == phrases(text, None)


def test_no_page_is_read_beyond_its_end(tmp_path: Path) -> None:
    program = checked_program(tmp_path)
    markup = Markup(seed=5)
    pages = list(answers())[:50]
    files = []
    for number in range(1500):
        files.append(tmp_path / str(number))
        files[-1].write_bytes(markup.page() if number % 2 else markup.mutated(pages))
    run = subprocess.run(
        [program, *files], capture_output=True, text=True, timeout=120, check=False
    )
    assert (run.returncode, run.stderr) == (0, "")


def checked_program(folder: Path) -> Path:
    """A program that ends with an error where it touches memory that is not its own."""
    native.write_references(folder)
    program = folder / "check"
    checks = ("-g", "-O1", "-std=gnu11", "-fsanitize=address,undefined", "-fno-sanitize-recover")
    sources = (
        f"-I{folder}",
        f"-I{native.SOURCES}",
        str(Path(__file__).with_name("native_check.c")),
    )
    subprocess.run(
        [native.found_compiler() or "cc", *checks, *sources, "-o", program], check=True, timeout=60
    )
    return program


def test_time_is_linear_in_what_is_hostile(library: Native) -> None:
    pieces = [b"<a href=x>", b"<p>", b"<b>", b"&", b"<div>", b"<!-", b"<script><!--", b"<a b='",
        b"<table><tr><td>", b"</p>", b"<svg>", b"<li>", b"&notin", b"<title>", b"<x" + b" =" * 9,
    ]  # fmt: skip
    for piece in pieces:
        body = piece * (1_000_000 // len(piece))
        is_read_the_same(library, body)


def test_the_image_of_the_service_is_made_from_all_that_a_package_is_made_of() -> None:
    folder = native.SOURCES.parents[2] / "deploy" / "service"
    copied = (folder / "Dockerfile").read_text("utf-8")
    allowed = (folder / "Dockerfile.dockerignore").read_text("utf-8").split()
    for name in ("pyproject.toml", "hatch_build.py", "scripts/native.py", "src"):
        assert name in copied
        assert f"!{name}" in allowed
