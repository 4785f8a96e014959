"""`freki diff`: what changed between two pictures."""

from pathlib import Path

import msgspec

from freki.cli.files import write_file
from freki.cli.options import Parser
from freki.errors import BadInput
from freki.fetch.browser.compare import Difference, compare, marked


def run(command: str, words: list[str]) -> int:
    """Exits with 0, whether anything changed or not."""
    arguments = parser(command).parse_args(words)
    first, second = _read(arguments.first), _read(arguments.second)
    try:
        difference = compare(first, second)
        framed = marked(second, difference) if arguments.output is not None else b""
    except (OSError, ValueError) as error:
        raise BadInput(f"these are no two pictures: {error}") from None
    if arguments.output is not None:
        write_file(arguments.output, framed)
    if arguments.json:
        print(msgspec.json.encode(difference).decode())
    else:
        print("\n".join(_told(difference)))
    return 0


def parser(command: str) -> Parser:
    """The options of `freki diff`."""
    made = Parser(
        command,
        "What changed between two pictures of a page: WebP, PNG or JPEG.",
        "  freki diff monday.webp tuesday.webp\n"
        "  freki diff monday.webp tuesday.webp -o changes.png",
    )
    made.add_argument("first", type=Path, metavar="BEFORE")
    made.add_argument("second", type=Path, metavar="AFTER")
    made.add_argument(
        "-o", "--output", type=Path, metavar="FILE", help="the later one with frames, as PNG"
    )
    made.add_argument("--json", action="store_true", help="one JSON object")
    return made


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise BadInput(f"{path}: {error.strerror}") from None


def _told(difference: Difference) -> list[str]:
    if difference.same:
        return ["the same, byte for byte"]
    lines = [f"{difference.changed:.2%} changed"]
    if difference.grown:
        lines.append(
            f"{abs(difference.grown)} rows {'taller' if difference.grown > 0 else 'lower'}"
        )
    if difference.shifted:
        lines.append(f"{difference.shifted} rows moved up or down, otherwise as before")
    for name, boxes in (("changed", difference.boxes), ("removed", difference.removed)):
        lines += [f"  {name} {box.width}x{box.height} at {box.x},{box.y}" for box in boxes[:20]]
    return lines
