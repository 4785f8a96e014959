"""Lists in another order than that of discovery: whole, and from any place on."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from random import Random
from typing import Any

import pytest
from msgspec.structs import replace

from freki.ledger import order
from freki.ledger.database import Database
from freki.ledger.order import SORTS, What, after, listed
from freki.ledger.place import Place
from freki.ledger.read import Filter
from freki.ledger.retry import retry
from freki.ledger.store import open_store, read_store
from freki.messages import Outcome, Page, Reason, Response, State, Timings, Visit
from freki.testing.bench import SHARED, StoreBench, failed, redirect

COUNT = 40
ORDERS = [
    (what, sort, descending)
    for what, sorts in SORTS.items()
    for sort in sorts
    for descending in (False, True)
]  # fmt: skip


@pytest.fixture(scope="module", params=["file", pytest.param("server", marks=pytest.mark.system)])
def place(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Place:
    """A store of pages that have little in common."""
    made: Place = tmp_path_factory.mktemp("order") / "freki.db"
    if request.param == "server":
        made = request.getfixturevalue("postgres").schema()
    _fill(made)
    return made


@pytest.fixture
def db(place: Place) -> Iterator[Database]:
    with closing(read_store(place)) as opened:
        yield opened


def _fill(place: Place) -> None:
    dice = Random(3)
    with closing(StoreBench(place)) as bench:
        worker = bench.worker(replace(SHARED, per_host=COUNT))
        worker.seed(*(f"http://{'ab'[n % 2]}/{dice.randrange(10**6)}" for n in range(COUNT)))
        ends = []
        for number, claim in enumerate(worker.claim()):
            if number % 10 == 3:
                ends.append(failed(claim))
                continue
            if number % 10 == 4:
                ends.append(redirect(claim, "http://a/far"))
                continue
            seconds = Timings(total=dice.choice([0.1, 0.25, 1 / 3, 2.0]))
            status = dice.choice([200, 200, 404, 500])
            said = dice.choice([b"", b"short", b"long " * 9])
            answer = Response(claim.url, status, (), said, "text/html", seconds)
            visit = Visit(0.0, answer, Page([], title=dice.choice([None, "one", "two"])))
            reason = Reason.ok if status == 200 else Reason.http_error
            ends.append(Outcome(claim, State.done, reason, f"status {status}", visit=visit))
        worker.commit(*ends)


def walked(db: Database, what: What, wanted: Filter, part: int) -> list[order.Listed]:
    """A whole list, a part at a time."""
    found: list[order.Listed] = []
    wanted = replace(wanted, limit=part)
    while rows := list(listed(db, 1, what, wanted)):
        found += rows
        wanted = after(wanted, rows[-1].cursor)
    return found


KEYS: dict[str, Any] = {
    "status": lambda line: line.status,
    "size": lambda line: line.bytes,
    "time": lambda line: line.timings["total"],
    "depth": lambda line: line.depth,
    "url": lambda line: line.url,
}


@pytest.mark.parametrize(("what", "sort", "descending"), ORDERS)
def test_a_list_is_sorted_as_a_whole_and_walked_without_gap_or_overlap(
    what: What, sort: str, descending: bool, db: Database
) -> None:
    plain = {row.number: row.line for row in listed(db, 1, what, Filter())}
    key = KEYS[sort]
    there = {number: line for number, line in plain.items() if key(line) is not None}
    # What is alike stays in the order of discovery.
    expected = sorted(there, key=lambda number: key(there[number]), reverse=descending)
    expected += [number for number in plain if number not in there]
    for part in (1, 7, COUNT * 2):
        rows = walked(db, what, Filter(sort=sort, descending=descending), part)
        assert [row.number for row in rows] == expected
        assert {row.number: row.line for row in rows} == plain


@pytest.mark.parametrize("sort", SORTS["pages"])
@pytest.mark.parametrize(
    "wanted",
    [
        Filter(status=(400, 599)),
        Filter(origin="http://b"),
        Filter(text="TWO"),
        Filter(text="nothing", among="[1, 2, 3, 4, 5]"),
        Filter(redirects=True),
        Filter(content_type="text/", status=(200, 200), origin="http://a"),
        Filter(content_type="image/"),
    ],
)
def test_what_is_filtered_is_the_same_in_any_order(sort: str, wanted: Filter, db: Database) -> None:
    plain = {row.number for row in listed(db, 1, "pages", wanted)}
    sorted_ = [row.number for row in listed(db, 1, "pages", replace(wanted, sort=sort))]
    assert set(sorted_) == plain
    assert len(sorted_) == len(plain)


@pytest.mark.parametrize(
    "wanted",
    [
        Filter(state=State.failed),
        Filter(reason=Reason.redirect),
        Filter(message="status 404"),
        Filter(message="", state=State.done),
        Filter(depth=0, status=(200, 299)),
        Filter(text="nothing", among="[1, 2]"),
    ],
)
def test_filters_of_urls_hold_in_any_order(wanted: Filter, db: Database) -> None:
    plain = {row.number for row in listed(db, 1, "urls", wanted)}
    for sort in SORTS["urls"]:
        found = [row.number for row in listed(db, 1, "urls", replace(wanted, sort=sort))]
        assert set(found) == plain
        assert len(found) == len(plain)


def test_a_list_goes_on_where_its_last_row_is_gone(tmp_path: Path) -> None:
    _fill(tmp_path / "freki.db")
    with closing(open_store(tmp_path / "freki.db")) as db:
        rows = list(listed(db, 1, "pages", Filter(sort="size")))
        last, rest = rows[4], rows[5:]
        retry(db, 1, Filter(status=(last.line.status, last.line.status)))
        wanted = after(Filter(sort="size"), last.cursor)
        left = [row.number for row in listed(db, 1, "pages", wanted)]
        assert left == [row.number for row in rest if row.line.status != last.line.status]
