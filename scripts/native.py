"""Compiles what of Freki is written in C, for this machine and with its own compiler.

python scripts/native.py [TARGET]

./freki and ./test do so in a checkout, and `hatch_build.py` where a package is made.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from html.entities import html5
from pathlib import Path
from tempfile import TemporaryDirectory

SOURCES = Path(__file__).resolve().parent.parent / "src" / "freki" / "native"
LIBRARY = SOURCES / "reader.so"

FLAGS = ("-std=gnu11", "-O2", "-fPIC", "-shared")

# Room that the reader has for one character reference.
_MAX_MEANING = 8


class NotCompiledError(Exception):
    """There is no compiler, or it does not work here."""


def compile_library(target: Path = LIBRARY, flags: Sequence[str] = FLAGS) -> None:
    """Raises `NotCompiledError`. The target is whole at any moment."""
    compiler = found_compiler()
    if compiler is None:
        raise NotCompiledError("no C compiler was found")
    with TemporaryDirectory(dir=target.parent) as folder:
        made = Path(folder) / target.name
        write_references(Path(folder))
        command = [compiler, *flags, f"-I{folder}", str(SOURCES / "reader.c"), "-o", str(made)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise NotCompiledError(f"{compiler} did not compile it:\n{done.stderr}")
        made.replace(target)


def found_compiler() -> str | None:
    names = (os.environ.get("CC"), "cc", "gcc", "clang")
    return next(filter(None, (shutil.which(name) for name in names if name)), None)


def write_references(folder: Path) -> None:
    """The named character references of HTML as a table in C, sorted by their bytes."""
    longest = max(len(name.rstrip(";")) for name in html5)
    rows = [_row(name, meaning.encode()) for name, meaning in sorted(html5.items())]
    head = f"#define LONGEST_REFERENCE {longest}\n"
    struct = "static const struct reference { const char *name, *value; size_t length; }"
    text = "\n".join([head + struct, "references[] = {", *rows, "};\n"])
    (folder / "references.h").write_text(text, "ascii")


def _row(name: str, meaning: bytes) -> str:
    if len(meaning) > _MAX_MEANING:
        raise ValueError(f"&{name} means more than the reader has room for")
    octal = "".join(f"\\{byte:03o}" for byte in meaning)
    return f'  {{"{name}", "{octal}", {len(name)}}},'


if __name__ == "__main__":
    try:
        compile_library(Path(sys.argv[1]) if sys.argv[1:] else LIBRARY)
    except NotCompiledError as error:
        sys.exit(str(error))
