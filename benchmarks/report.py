"""Tables, and where they go: each benchmark has a section of docs/performance.md."""

import os
import platform
from collections.abc import Iterable, Sequence
from pathlib import Path

PAGE = Path(__file__).parent.parent / "docs" / "performance.md"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def machine() -> str:
    """What it ran on, as far as it matters."""
    return f"{os.cpu_count()} cores, {platform.system()}, Python {platform.python_version()}"


def publish(benchmark: str, text: str, *, write: bool) -> None:
    """Print a result, and put it into its section where that is wanted."""
    print(text)
    if not write:
        return
    begin = f"<!-- benchmarks/{benchmark}.py writes below this line -->\n"
    end = f"<!-- benchmarks/{benchmark}.py writes above this line -->\n"
    page = PAGE.read_text("utf-8")
    head, found, rest = page.partition(begin)
    _, closed, tail = rest.partition(end)
    if not (found and closed):
        raise RuntimeError(f"{PAGE.name} has no section for {benchmark}.py")
    PAGE.write_text(f"{head}{begin}\n{text}\n\n{end}{tail}", "utf-8")
