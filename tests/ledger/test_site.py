"""A site as a whole: folders, ways between them, what is slow, what is there twice."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from freki import config
from freki.ledger import crawls, site
from freki.ledger.database import Database
from freki.ledger.opened import ledger_of
from freki.ledger.place import Place
from freki.ledger.site import Folder, Slow, Twins, Way
from freki.ledger.store import open_store
from freki.ledger.terms import Terms
from freki.messages import (
    Batch,
    Claim,
    Discovery,
    HostRest,
    Outcome,
    Page,
    Reason,
    Response,
    State,
    Timings,
    Visit,
)

A, B = "http://a.example", "http://b.example"
# Where each was found, by number, and the seconds it took.
SITE = {
    f"{A}/": (None, 0.5),
    f"{A}/docs/": (1, 0.1),
    f"{A}/docs/new/?a=/b/c": (2, 3.0),
    f"{A}/docs/new/one.html": (2, 0.2),
    f"{A}/blog/one": (2, 0.3),
    f"{B}/x/y/z": (5, 0.4),
    f"{A}/gone/": (1, 9.0),
    f"{A}/moved/": (1, 8.0),
}


@pytest.fixture(params=["file", pytest.param("server", marks=pytest.mark.system)])
def db(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Database]:
    place: Place = tmp_path / "freki.db"
    if request.param == "server":
        place = request.getfixturevalue("postgres").schema()
    with closing(open_store(place)) as made:
        fill(made, place)
        yield made


def fill(db: Database, place: Place) -> None:
    """Two crawls of the same site, of which the second is empty yet."""
    for name in ("first", "second"):
        crawl = crawls.begin(db, name, [f"{A}/"], config.settings(), 0.0)
        if name == "second":
            return
        ledger = ledger_of(db, str(place), crawl.id, Terms())
        session = ledger.join(0.0)
        for url, (parent, _) in SITE.items():
            ledger.commit(session, Batch(0.0, discoveries=[Discovery(url, 0, 0, parent=parent)]))
        rests: list[HostRest] = []
        while hosts := ledger.claim(session, 1.0, 9, rests).hosts:
            rests = [HostRest(host.host, 0.0) for host in hosts]
            ends = [outcome(claim) for host in hosts for claim in host.claims]
            ledger.commit(session, Batch(1.0, ends))
        ledger.leave(session, 2.0)


def outcome(claim: Claim) -> Outcome:
    moved, gone = "moved" in claim.url, "gone" in claim.url
    status, reason = (301, Reason.redirect) if moved else (200, Reason.ok)
    if gone:
        status, reason = 404, Reason.http_error
    body = b"the same" if "one" in claim.url else claim.url.encode()
    took = Timings(total=SITE[claim.url][1])
    visit = Visit(1.0, Response(claim.url, status, (), body, "text/html", took), Page([]))
    return Outcome(claim, State.done, reason, visit=visit)


def test_folders_are_counted_with_the_pages_in_them(db: Database) -> None:
    assert site.folders(db, 1) == [
        Folder(A, "/", 1),
        Folder(A, "/blog/", 1),
        Folder(A, "/docs/", 1),
        Folder(A, "/docs/new/", 2),
        Folder(A, "/gone/", 1),
        Folder(B, "/x/y/", 1),
    ]
    assert site.folders(db, 2) == []


def test_ways_lead_from_one_first_folder_to_another(db: Database) -> None:
    ways = site.ways(db, 1, 9)
    assert Way(f"{A}/", f"{A}/docs/", 1) in ways
    assert Way(f"{A}/docs/", f"{A}/blog/", 1) in ways
    assert Way(f"{A}/blog/", f"{B}/x/", 1) in ways
    assert len(ways) == 4  # and to what is gone; within /docs/ is no way
    assert len(site.ways(db, 1, 2)) == 2


def test_the_slowest_pages_come_first_and_redirects_are_none(db: Database) -> None:
    assert site.slowest(db, 1, 2) == [
        Slow(7, f"{A}/gone/", 9.0),
        Slow(3, f"{A}/docs/new/?a=/b/c", 3.0),
    ]
    assert site.slowest(db, 2, 2) == []


def test_pages_of_one_body_are_a_family(db: Database) -> None:
    twins = [(4, f"{A}/docs/new/one.html"), (5, f"{A}/blog/one")]
    assert site.twins(db, 1, 9) == [Twins(twins, 2)]
    assert site.twins(db, 2, 9) == []


def test_answers_are_counted_by_class_of_status(db: Database) -> None:
    assert site.classes(db, 1) == {2: 6, 3: 1, 4: 1}
    assert site.classes(db, 2) == {}
