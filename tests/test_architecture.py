"""The invariants of ARCHITECTURE.md that can be read off the source: what is nowhere to be found.

Exceptions are named here with their reason, and each list is compared whole: one that is no
longer needed fails as well.
"""

import ast
import asyncio
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from pathlib import Path
from typing import cast

import msgspec
import pytest
from importlinter.cli import lint_imports

from freki import config
from freki.config import Settings
from freki.engine.build import crew_size, worker
from freki.ledger import crawls
from freki.ledger.store import open_store
from freki.testing.server import serve
from freki.testing.synthetic import Web

CHECKOUT = Path(__file__).parents[1]
SOURCE = CHECKOUT / "src" / "freki"
ARCHITECTURE = CHECKOUT / "ARCHITECTURE.md"

MAX_FILE_LINES = 400
MAX_FUNCTION_LINES = 60
MAX_PARAMETERS = 7
MAX_NESTING = 4
MAX_ARCHITECTURE_LINES = 200

LONG_FILES: dict[str, str] = {}
TASKS_WITHOUT_A_GROUP = {
    "api.py": "a generator is closed by any task, and a TaskGroup must be left by its own",
    "cli/crawl.py": "Ctrl-C cancels the crawl, and not the command that sums it up",
    "fetch/rendered.py": "a pool of browsers is left by the task that entered it",
    "spider/batch.py": "stands around a generator, as api.py; ends them itself",
}
QUEUES_WITHOUT_A_LIMIT = {
    "api.py": "who puts waits for room first, and can be let go while it waits",
}
NETWORK = {
    "cli/doctor.py": "asks what there is: libcurl's version, and whether names are resolved",
    "ledger/alive.py": "the name of this machine",
    "ledger/place.py": "takes the address of a server apart",
    "serve/part.py": "is handed the socket that requests come to",
    "serve/supervisor.py": "holds the socket that requests come to",
    "serve/web.py": "listens at the socket that requests come to",
}
STATEMENTS_OUTSIDE_THE_LEDGER = {
    "sinks/query.py": "to DuckDB, about rows that were read of the store; it never sees the store",
}
RUNS_A_PROGRAM = {
    "cli/shell.py": "gives the person at the keyboard a Python to type into",
    "fetch/browser/launcher.py": "becomes the browser; no word of it came from a page",
}
BROAD_EXCEPTS = {
    "api.py": "carries an exception from one thread to another",
    "spider/batch.py": "what a receiver of items raises is told, and tried again",
    "spider/explore.py": "what a callback raises costs its page, and is told",
    "spider/pipeline.py": "what a pipeline raises costs its item, and is told",
    "serve/worker.py": "what goes wrong with one caller's job must not end the jobs of others",
}

Test = Callable[[ast.AST], bool]


def modules() -> dict[str, ast.Module]:
    return {
        path.relative_to(SOURCE).as_posix(): ast.parse(path.read_text("utf-8"))
        for path in sorted(SOURCE.rglob("*.py"))
    }


MODULES = modules()


def having(matches: Test, names: Iterable[str] = MODULES) -> set[str]:
    """The files in which something matches."""
    return {name for name in names if any(map(matches, ast.walk(MODULES[name])))}


def outside(*folders: str) -> list[str]:
    return [name for name in MODULES if not name.startswith(folders)]


def imports(*packages: str) -> Test:
    """Anywhere in a file, also inside of functions."""

    def matches(node: ast.AST) -> bool:
        match node:
            case ast.Import(names=names):
                found = {alias.name for alias in names}
            case ast.ImportFrom(module=str(module)):
                found = {module}
            case _:
                return False
        return any(name == known or name.startswith(f"{known}.")
                   for name in found for known in packages)  # fmt: skip

    return matches


def called(node: ast.AST) -> str:
    """The last part of the name of what is called, or nothing."""
    match node:
        case ast.Call(func=ast.Attribute(attr=name)) | ast.Call(func=ast.Name(id=name)):
            return name
        case _:
            return ""


# --- layers ---


def test_the_contracts_of_the_layers_hold(capsys: pytest.CaptureFixture[str]) -> None:
    code = lint_imports(str(CHECKOUT / "pyproject.toml"), no_cache=True, no_logo=True)
    assert code == 0, capsys.readouterr().out


def test_only_fetch_reaches_the_network() -> None:
    network = imports("pycurl", "socket", "ssl", "http.client", "urllib", "ftplib", "smtplib")
    assert having(network, outside("fetch/", "testing/")) == set(NETWORK)


def test_only_extract_parses_html() -> None:
    assert having(imports("turbohtml", "html", "xml"), outside("extract/", "testing/")) == set()


def test_only_the_ledger_speaks_to_its_database() -> None:
    def speaks(node: ast.AST) -> bool:
        return called(node) in ("execute", "executemany", "executescript")

    assert having(speaks, outside("ledger/", "testing/")) == set(STATEMENTS_OUTSIDE_THE_LEDGER)


def test_only_the_command_line_and_the_service_read_the_environment() -> None:
    def reads(node: ast.AST) -> bool:
        return called(node) in ("getenv", "expanduser", "expandvars", "home") or (
            isinstance(node, ast.Attribute) and node.attr in ("environ", "environb")
        )

    assert having(reads, outside("cli/", "serve/")) == set()


def test_nothing_can_run_what_it_was_given() -> None:
    runs = imports("pickle", "marshal", "shelve", "subprocess", "code", "runpy")

    def evaluates(node: ast.AST) -> bool:
        match node:
            case ast.Call(func=ast.Name(id=name)):
                return name in ("eval", "exec", "compile", "__import__")
            case ast.Call(func=ast.Attribute(value=ast.Name(id="os"), attr=name)):
                return name.startswith(("system", "popen", "exec", "spawn"))
            case _:
                return runs(node)

    assert having(evaluates) == set(RUNS_A_PROGRAM)


# --- tasks, queues, exceptions ---


def task_groups(module: ast.AST) -> Iterator[str]:
    """The names that task groups have: of `async with`, and of parameters."""
    for node in ast.walk(module):
        match node:
            case ast.withitem(context_expr=call, optional_vars=ast.Name(id=name)):
                if called(call) == "TaskGroup":
                    yield name
            case ast.arg(arg=name, annotation=ast.expr() as annotation):
                if ast.unparse(annotation).endswith("TaskGroup"):
                    yield name


def test_every_task_has_an_owner() -> None:
    found = set()
    for name, module in MODULES.items():
        groups = set(task_groups(module))
        for node in ast.walk(module):
            match node:
                case ast.Call(func=ast.Attribute(value=ast.Name(id=owner), attr="create_task")):
                    owned = owner in groups
                case _:
                    owned = called(node) not in ("create_task", "ensure_future")
            if not owned:
                found.add(name)
    assert found == set(TASKS_WITHOUT_A_GROUP)


def test_every_queue_has_a_bound() -> None:
    def unbounded(node: ast.AST) -> bool:
        if not called(node).endswith("Queue"):
            return False
        assert isinstance(node, ast.Call)
        size = [*node.args, *(word.value for word in node.keywords if word.arg == "maxsize")]
        return not size or (isinstance(size[0], ast.Constant) and not size[0].value)

    assert having(unbounded) == set(QUEUES_WITHOUT_A_LIMIT)


def test_every_cache_has_a_bound() -> None:
    def unbounded(node: ast.AST) -> bool:
        match node:
            case ast.ImportFrom(module="functools", names=names):
                return any(alias.name == "cache" for alias in names)
            case ast.Call(func=ast.Name(id="lru_cache"), args=args, keywords=words):
                sizes = [*args, *(word.value for word in words)]
                return any(isinstance(size, ast.Constant) and size.value is None for size in sizes)
            case _:
                return False

    assert having(unbounded) == set()


def test_broad_excepts_stand_at_named_borders_only() -> None:
    """One that raises again only tidies up, and hides nothing."""

    def is_broad(node: ast.AST) -> bool:
        match node:
            case ast.ExceptHandler(type=None, body=body):
                return not isinstance(body[-1], ast.Raise)
            case ast.ExceptHandler(type=ast.expr() as kind, body=body):
                names = {part.id for part in ast.walk(kind) if isinstance(part, ast.Name)}
                raises = isinstance(body[-1], ast.Raise)
                return not names.isdisjoint({"Exception", "BaseException"}) and not raises
            case ast.Call(args=args) if called(node) == "suppress":
                return any(isinstance(arg, ast.Name) and arg.id == "Exception" for arg in args)
            case _:
                return False

    assert having(is_broad) == set(BROAD_EXCEPTS)


# --- options ---


class Watched:
    """Settings that note which of their fields are read."""

    def __init__(self, value: msgspec.Struct, read: set[str]) -> None:
        self._value = value
        self._read = read

    def __getattr__(self, name: str) -> object:
        computed = getattr(type(self._value), name)
        if isinstance(computed, property) and computed.fget is not None:
            return computed.fget(self)
        found = getattr(self._value, name)
        if isinstance(found, msgspec.Struct):
            return Watched(found, self._read)
        self._read.add(name)
        return found


def test_a_crawl_reads_every_option_there_is(tmp_path: Path) -> None:
    """An option that nothing reads is a promise nobody keeps. Two hosts: one is out of scope."""
    store, read = tmp_path / "freki.db", set[str]()
    settings = config.settings({"politeness": {"delay": 0}})

    async def crawl() -> None:
        async with serve(Web(pages=16, hosts=2, cross_links=0.5)) as site:
            with closing(open_store(store)) as db:
                begun = crawls.begin(db, "all", [site.url], settings, 0.0)
            watched = cast("Settings", Watched(settings, read))
            async with worker(begun, store, [site.url], watched) as (working, _):
                await working.run()
            crew_size(watched)

    asyncio.run(crawl())
    assert read == {option.name for option in config.options()}


# --- shape ---


def functions() -> Iterator[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]]:
    for name, module in MODULES.items():
        for node in ast.walk(module):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                yield f"{name}: {node.name}", node


def nesting(node: ast.AST, depth: int = 0) -> int:
    """How deep blocks stand in blocks; `elif` is written beside its `if`, and counts so."""
    blocks = (ast.If, ast.For, ast.While, ast.With, ast.Try, ast.Match, ast.AsyncFor, ast.AsyncWith)
    deepest = depth
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda):
            continue
        is_elif = isinstance(node, ast.If) and isinstance(child, ast.If) and node.orelse == [child]
        deepest = max(deepest, nesting(child, depth + (isinstance(child, blocks) and not is_elif)))
    return deepest


def test_no_file_is_too_long_to_be_read_at_once() -> None:
    files = (SOURCE / name for name in MODULES)
    lengths = {path: len(path.read_text("utf-8").splitlines()) for path in files}
    long = {path for path, length in lengths.items() if length > MAX_FILE_LINES}
    assert {path.relative_to(SOURCE).as_posix() for path in long} == set(LONG_FILES)


def test_functions_are_short_flat_and_take_few_parameters() -> None:
    too_much = []
    for name, function in functions():
        lines = (function.end_lineno or 0) - function.lineno + 1
        given = function.args
        parameters = [*given.posonlyargs, *given.args, *given.kwonlyargs]
        count = sum(parameter.arg not in ("self", "cls") for parameter in parameters)
        if lines > MAX_FUNCTION_LINES or count > MAX_PARAMETERS or nesting(function) > MAX_NESTING:
            too_much.append(f"{name}: {lines} lines, {count} parameters, {nesting(function)} deep")
    assert too_much == []


# --- the page itself ---


def in_backticks(text: str) -> list[str]:
    return re.findall(r"`([^`\n]+)`", text)


def test_the_page_is_short_enough_to_be_read() -> None:
    assert len(ARCHITECTURE.read_text("utf-8").splitlines()) <= MAX_ARCHITECTURE_LINES


def test_every_path_the_page_names_exists() -> None:
    path = re.compile(r"[\w.-]+(/[\w.-]*)+|[\w-]+\.(py|sql|md|toml)")
    named = [word for word in in_backticks(ARCHITECTURE.read_text("utf-8")) if path.fullmatch(word)]
    assert len(named) > 30
    folders = [CHECKOUT, SOURCE, *(folder for folder in SOURCE.iterdir() if folder.is_dir())]
    missing = [word for word in named if not any((folder / word).exists() for folder in folders)]
    assert missing == []


def test_every_test_the_page_names_exists() -> None:
    named = {word for word in in_backticks(ARCHITECTURE.read_text("utf-8")) if word[:5] == "test_"}
    assert len(named) > 10
    tests = "\n".join(path.read_text("utf-8") for path in (CHECKOUT / "tests").rglob("*.py"))
    written = set(re.findall(r"^ *(?:async )?def (test_\w+)", tests, re.MULTILINE))
    assert named - written == set()
