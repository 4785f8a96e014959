"""How much chaos, and what it showed.

Plain pytest runs a short form of everything here. `./chaos` runs the long one, by the options
below, and both end with a table of what was measured.
"""

import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from tests.chaos.rig import SMALL_WEB, TOWNS, WEB, Site, crawl, now, site

from freki.testing.history import History, read

Measured = Callable[[str, str], None]
"""Notes a line of the table: what, and how it went."""

TABLE = "chaos"  # the lines of the table are properties of the tests, as reports carry them


class Scale(NamedTuple):
    """How often each kind of trouble is made."""

    kills: int = 5
    steps: int | None = 6  # moments to kill at, spread over all; None is every one
    recoveries: int = 2
    copies: int = 6
    images: int = 20  # of a disk after a power cut
    faults: int = 2  # writes that fail, per error
    locked: float = 2.0  # seconds
    known: int = 20_000  # URLs of a large store
    flips: int = 12
    lease: float = 1.0
    cut: float = 2.0


LONG = Scale(
    kills=200,
    steps=None,
    recoveries=30,
    copies=40,
    images=300,
    faults=12,
    locked=30.0,
    known=1_000_000,
    flips=1000,
    lease=3.0,
    cut=60.0,
)


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("chaos", "the long form of the chaos suite; see docs/durability.md")
    group.addoption("--long", action="store_true", help="everything as often as promised")
    group.addoption("--seed", type=int, default=0, help="of every dice (default: 0)")
    for name, usual in zip(Scale._fields, LONG, strict=True):
        kind = float if isinstance(usual, float) else int
        group.addoption(f"--{name}", type=kind, help=f"default of the long form: {usual or 'all'}")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    for item in items:
        if item.path.is_relative_to(here):
            item.add_marker(pytest.mark.system)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    lines = [
        line
        for reports in terminalreporter.stats.values()
        for report in reports
        if isinstance(report, pytest.TestReport) and report.when == "call"
        for name, line in report.user_properties
        if name == TABLE
    ]
    if lines:
        terminalreporter.section("chaos")
    for line in lines:
        terminalreporter.write_line(str(line))


@pytest.fixture(scope="session")
def scale(request: pytest.FixtureRequest) -> Scale:
    """The short form, or what the command line says."""
    option = request.config.getoption
    scale = LONG if option("--long", False) else Scale()
    given = {name: option(f"--{name}", None) for name in Scale._fields}
    return scale._replace(**{name: value for name, value in given.items() if value is not None})


@pytest.fixture
def dice(request: pytest.FixtureRequest) -> random.Random:
    """Falls the same for the same seed and test."""
    return random.Random(f"{request.config.getoption('--seed', 0)} {request.node.name}")


@pytest.fixture
def measured(request: pytest.FixtureRequest) -> Measured:
    """Adds to the table."""
    properties = request.node.user_properties
    return lambda what, how: properties.append((TABLE, f"{what:<28} {how}"))


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A site of some 2,500 URLs of every kind."""
    with site(tmp_path_factory.mktemp("library"), WEB) as running:
        yield running


@pytest.fixture(scope="session")
def undisturbed(library: Site, tmp_path_factory: pytest.TempPathFactory) -> History:
    """What a crawl of the library is when nothing happens."""
    store = tmp_path_factory.mktemp("undisturbed") / "freki.db"
    began = now()
    crawl(library.url, store)
    return read(store, library.log(began))


@pytest.fixture(scope="session")
def cities(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with site(tmp_path_factory.mktemp("cities"), TOWNS) as running:
        yield running


@pytest.fixture(scope="session")
def quiet_cities(cities: Site, tmp_path_factory: pytest.TempPathFactory) -> History:
    store = tmp_path_factory.mktemp("quiet") / "freki.db"
    crawl(cities.url, store, "--scope=any")
    return read(store)


@pytest.fixture(scope="session")
def hut(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A site of few pages."""
    with site(tmp_path_factory.mktemp("hut"), SMALL_WEB) as running:
        yield running


@pytest.fixture(scope="session")
def quiet(hut: Site, tmp_path_factory: pytest.TempPathFactory) -> History:
    """What a crawl of the hut is when nothing happens."""
    store = tmp_path_factory.mktemp("quiet") / "freki.db"
    crawl(hut.url, store)
    return read(store)
