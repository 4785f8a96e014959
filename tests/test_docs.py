"""The documentation tells what there is, all of it, and nothing else."""

import re
import shlex
import tomllib
from collections.abc import Iterable, Iterator
from contextlib import redirect_stdout
from functools import cache
from importlib import import_module
from io import StringIO
from pathlib import Path

import msgspec
import pytest
from tests.background import background
from tests.command import freki

import freki as library
from freki import config, errors
from freki.cli import items
from freki.cli.exits import Exit
from freki.cli.main import COMMANDS
from freki.cli.options import Parser, settings_of
from freki.ledger import read
from freki.ledger.story import Story
from freki.messages import MEANINGS, Link, Page, Reason, Response, State, Timings, Via
from freki.spider.rules import rules_from
from freki.testing.server import serve
from freki.testing.synthetic import Web

CHECKOUT = Path(__file__).parents[1]
DOCS = sorted((CHECKOUT / "docs").glob("*.md"))
PAGES = [CHECKOUT / "README.md", CHECKOUT / "ARCHITECTURE.md", CHECKOUT / "CHANGELOG.md", *DOCS]

# Of ./test and of the benchmarks, which are no commands of Freki.
OTHER_OPTIONS = {"--kills", "--quick", "--scale", "--schema", "--write"}

# What this machine, and nobody else's, has.
MACHINE_PATH = re.compile(r"(?<![\w.~])/(?:home|root|tmp|work|mnt|Users|opt|var)/")


def text_of(name: str) -> str:
    return (CHECKOUT / name).read_text("utf-8")


def section(name: str, heading: str) -> str:
    """What stands under a heading, up to the next one as high."""
    level, _, _ = heading.partition(" ")
    _, found, rest = f"\n{text_of(name)}\n".partition(f"\n{heading}\n")
    assert found, f"{name} has no {heading!r}"
    return re.split(rf"\n#{{1,{len(level)}}} ", rest)[0]


def rows(text: str) -> dict[str, list[str]]:
    """The tables of a text: what the first cell has in backticks, and the other cells."""
    found = {}
    for line in text.splitlines():
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line.strip().strip("|"))]
        for word in re.findall(r"`([^`]+)`", cells[0]) if line.strip().startswith("|") else []:
            found[word] = cells[1:]
    return found


def outside_of_code(text: str) -> str:
    return re.sub(r"```.*?```", "", text, flags=re.DOTALL)


def code(path: Path, language: str) -> Iterator[str]:
    yield from re.findall(rf"```{language}\n(.*?)```", path.read_text("utf-8"), re.DOTALL)


@cache  # of eleven commands
def parser(command: str) -> Parser:
    made: Parser = import_module(COMMANDS[command][0]).parser(command)
    return made


def own_flags(command: str) -> set[str]:
    """The options of a command that are no settings of a crawl."""
    settings = {flag for option in config.options() for flag in (option.flag, negated(option.flag))}
    help_ = {"-h", "--help"}
    return set(parser(command).flags()) - help_ - (settings if command == "crawl" else set())


def negated(flag: str) -> str:
    return flag.replace("--", "--no-", 1)


# --- commands and options ---


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_a_section_with_its_options_and_no_others(command: str) -> None:
    listed = rows(section("docs/commands.md", f"## freki {command}"))
    assert {word.split()[0] for word in listed if word.startswith("-")} == own_flags(command)


def test_every_command_is_in_the_list_of_commands() -> None:
    listed = rows(text_of("docs/commands.md"))
    named = {word for word in listed if word.startswith("freki ")}
    assert named == {f"freki {name}" for name in COMMANDS}


def shown(default: object) -> str:
    """A default as the tables spell it; what has none is told in words."""
    match default:
        case None | ():
            return ""
        case bool():
            return f"`{str(default).lower()}`"
        case _:
            return f"`{default}`"


@pytest.mark.parametrize("part", [field.name for field in msgspec.structs.fields(config.Settings)])
def test_every_setting_is_in_the_table_of_its_part_with_its_default(part: str) -> None:
    listed = rows(section("docs/crawl.md", f"### {part}"))
    defaults = {
        option.flag: shown(option.default) for option in config.options() if option.part == part
    }
    assert listed.keys() == defaults.keys()
    for flag, default in defaults.items():
        assert listed[flag][0] == default or not default, flag


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_every_option_that_a_page_names_exists(path: Path) -> None:
    named = set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", path.read_text("utf-8")))
    known = {flag for command in COMMANDS for flag in parser(command).flags()}
    assert named - known - OTHER_OPTIONS - {"--help", "--version"} == set()


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_every_variable_that_a_page_names_exists(path: Path) -> None:
    named = set(re.findall(r"FREKI_[A-Z_]+\b", path.read_text("utf-8"))) - {"FREKI_"}
    assert named <= {option.variable for option in config.options()}


def calls(lines: Iterable[str]) -> Iterator[list[str]]:
    """The words of those lines that call freki, up to what the shell does with the output."""
    for line in lines:
        lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
        lexer.whitespace_split = True
        words = list(lexer)
        end = next((at for at, word in enumerate(words) if word[0] in "|>;&"), len(words))
        if words and words[0] in ("freki", "./freki"):
            yield words[1:end]


def understand(command: str, *words: str) -> None:
    arguments = parser(command).parse_args(words)
    if command == "crawl":
        config.settings(config.from_flags(settings_of(arguments)))


def test_the_shell_code_of_every_page_is_understood() -> None:
    called = [
        words for path in PAGES for block in code(path, "sh") for words in calls(block.splitlines())
    ]
    assert len(called) > 20
    for words in called:
        understand(*words)


@pytest.mark.parametrize("command", COMMANDS)
def test_the_examples_in_the_help_of_a_command_are_understood(command: str) -> None:
    lines = str(parser(command).epilog).splitlines()
    # A remark stands some blanks behind its example.
    called = list(calls(re.split(r"\s{2,}", line.strip())[0] for line in lines))
    assert called or command == "completion"
    for words in called:
        understand(*words)


def test_the_configuration_files_of_the_pages_are_right(tmp_path: Path) -> None:
    examples = [example for path in PAGES for example in code(path, "toml")]
    assert examples
    for example in examples:
        file = tmp_path / "freki.toml"
        file.write_text(example)
        if example.startswith("# rules.toml"):
            rules_from(file)
            continue
        config.settings(config.from_file(file))
        assert tomllib.loads(example).keys() == {option.part for option in config.options()}


# --- outcomes ---


def test_every_state_and_every_way_has_a_row() -> None:
    page = "docs/urls-and-outcomes.md"
    assert rows(section(page, "## States")).keys() == {state.name for state in State}
    assert rows(section(page, "## How it was found")).keys() == {via.name for via in Via}


@pytest.mark.parametrize(
    ("outcome", "numbers"),
    [("done", range(1, 20)), ("failed", range(20, 50)), ("refused", range(50, 100))],
)
def test_every_reason_has_a_row_under_its_outcome(outcome: str, numbers: range) -> None:
    listed = rows(section("docs/urls-and-outcomes.md", f"## {outcome}"))
    assert listed.keys() == {reason.name for reason in Reason if reason in numbers}


def test_every_reason_is_told_in_words() -> None:
    assert MEANINGS.keys() == {reason.name for reason in Reason}


def test_exactly_the_reasons_that_nothing_gives_are_called_reserved() -> None:
    source = "".join(path.read_text("utf-8") for path in (CHECKOUT / "src").rglob("*.py"))
    unused = {reason.name for reason in Reason if f"Reason.{reason.name}" not in source}
    listed = rows(text_of("docs/urls-and-outcomes.md"))
    assert {word for word, cells in listed.items() if cells[0].startswith("reserved")} == unused


def test_every_exit_code_has_a_row() -> None:
    page = section("docs/output.md", "## Exit codes")
    listed = re.findall(r"^\| (\d+) \| `(\w+)` \|", page, re.MULTILINE)
    assert {name: int(code) for code, name in listed} == {exit_.name: exit_ for exit_ in Exit}


# --- output and names ---


@pytest.mark.parametrize(
    ("heading", "line"),
    [
        ("## Fields of freki urls", read.UrlLine),
        ("## Fields of freki pages", read.PageLine),
        ("## Fields of freki items", items.Row),
        ("## The story of a URL", Story),
    ],
)
def test_every_field_of_the_output_has_a_row(heading: str, line: type[msgspec.Struct]) -> None:
    assert rows(section("docs/output.md", heading)).keys() == set(line.__struct_fields__)


def test_every_field_of_the_summary_has_a_row(tmp_path: Path) -> None:
    store = tmp_path / "freki.db"
    with background(serve(Web(pages=2))) as site:
        summary = freki("crawl", site.url, "--delay", "0", "--store", store, "--json").json
    status = freki("status", "--store", store, "--json").json
    listed = rows(section("docs/output.md", "## The summary"))
    assert listed.keys() == summary.keys() | status.keys()


def test_every_public_name_is_on_the_page_of_the_library() -> None:
    page = text_of("docs/library.md")
    assert [name for name in library.__all__ if f"\n## freki.{name}\n" not in page] == []
    tree = {kind.__name__ for kind in vars(errors).values() if isinstance(kind, type)}
    assert rows(section("docs/library.md", "## Errors")).keys() == tree
    has = rows(section("docs/library.md", "## What a page has"))
    sample = library.Page(Response("http://a/", 200, (), b""))
    assert has.keys() == {name for name in dir(sample) if not name.startswith("_")}
    inner = {"response": (*Response.__struct_fields__, *Timings.__struct_fields__)}
    inner |= {"said": Page.__struct_fields__, "links": Link.__struct_fields__}
    for kind in (
        library.Spider,
        library.Request,
        library.Selection,
        library.Stored,
        library.Summary,
    ):
        listed = rows(section("docs/library.md", f"## freki.{kind.__name__}"))
        assert listed.keys() == {name for name in dir(kind) if not name.startswith("_")}
    for name, fields in inner.items():
        assert [field for field in fields if f"`{field}`" not in has[name][0]] == []


def test_the_python_of_the_readme_runs_as_it_stands() -> None:
    (example,) = code(CHECKOUT / "README.md", "python")
    assert len(example.splitlines()) <= 12
    out = StringIO()
    with background(serve(Web(pages=2))) as site, redirect_stdout(out):
        here = example.replace("https://example.com", site.url)
        here = here.replace("max_pages=20", "max_pages=2, delay=0")
        exec(compile(here, "README.md", "exec"), {"__name__": "__main__"})
    assert out.getvalue().startswith(f"200 {site.url} The Library")


def test_the_python_of_every_page_compiles() -> None:
    for path in PAGES:
        for example in code(path, "python"):
            compile(example, path.name, "exec")


# --- pages ---


def anchors(path: Path) -> set[str]:
    """Headings as links of Markdown name them."""
    headings = re.findall(r"^#+ (.+)$", path.read_text("utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_every_link_of_a_page_leads_somewhere(path: Path) -> None:
    for target in re.findall(r"\]\(([^)]+)\)", outside_of_code(path.read_text("utf-8"))):
        if "://" in target:
            continue
        name, _, anchor = target.partition("#")
        to = (path.parent / name).resolve() if name else path
        assert to.exists(), target
        assert not anchor or anchor in anchors(to), target


def test_every_page_is_in_the_index() -> None:
    linked = set(re.findall(r"\]\(([\w-]+\.md)", text_of("docs/index.md")))
    assert linked == {path.name for path in DOCS} - {"index.md"}


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_no_page_names_a_path_of_this_machine(path: Path) -> None:
    assert MACHINE_PATH.findall(path.read_text("utf-8")) == []
