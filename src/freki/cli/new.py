"""`freki new`: a small project that works, with a test."""

import re
from importlib.resources import files
from keyword import iskeyword
from pathlib import Path

from freki.cli.exits import Exit
from freki.cli.options import Parser
from freki.errors import BadInput
from freki.url import parse

NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,50}")
START = "https://example.com/"

NEXT = """\
{folder}/
  {module}.py: the spider: where it starts, what it takes out of pages
  test_{module}.py: its test, against the page in pages/
  pages/: saved pages; freki save URL pages/NAME.page adds one

Next:
  cd {folder}
  python -m pytest
  freki shell {url}
  freki crawl --spider {module}.py
  freki items"""


def run(command: str, words: list[str]) -> int:
    arguments = parser(command).parse_args(words)
    if not NAME.fullmatch(arguments.name):
        raise BadInput(f"{arguments.name!r} is no name: letters, digits, - and _, a letter first")
    url = parse(arguments.url)
    module = arguments.name.lower().replace("-", "_")
    if iskeyword(module):
        raise BadInput(f"{module!r} is a word of Python; give another name")
    folder = Path(arguments.name)
    if folder.exists():
        raise BadInput(f"{folder} exists; give another name, or remove it first")
    _write(folder, module, url)
    print(NEXT.format(folder=folder, module=module, url=url))
    return Exit.finished


def parser(command: str) -> Parser:
    """The options of `freki new`."""
    made = Parser(
        command,
        "Makes a folder with a spider, a saved page and a test.",
        "  freki new books\n  freki new books https://books.example/",
    )
    made.add_argument("name", metavar="NAME", help="of the folder and the spider")
    made.add_argument("url", nargs="?", default=START, metavar="URL", help=f"default: {START}")
    return made


def _write(folder: Path, module: str, url: str) -> None:
    words = {
        "@module@": module,
        "@class@": "".join(part.title() for part in module.split("_")),
        "@url@": url,
    }
    templates = files("freki.cli") / "template"
    for name, target in (
        ("spider.txt", f"{module}.py"),
        ("test.txt", f"test_{module}.py"),
        ("start.txt", "pages/start.page"),
    ):
        text = (templates / name).read_text("utf-8")
        for word, value in words.items():
            text = text.replace(word, value)
        path = folder / target
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
