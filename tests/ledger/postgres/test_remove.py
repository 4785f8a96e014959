"""What is taken out of a store that crawls share is gone, and the others are as they were."""

from collections.abc import Iterator
from contextlib import closing

import pytest
from tests.ledger.test_captures import NOW, seen
from tests.postgres import PostgresServer

from freki.config import Settings
from freki.errors import LeaseLost
from freki.ledger import captures, crawls, read
from freki.ledger.check import findings
from freki.ledger.move import tables
from freki.ledger.opened import ledger_of
from freki.ledger.postgres.link import Server
from freki.ledger.postgres.remove import remove
from freki.ledger.postgres.store import open_server
from freki.ledger.terms import Terms
from freki.messages import (
    Batch,
    Discovery,
    Link,
    Outcome,
    Page,
    Reason,
    Response,
    State,
    Timings,
    Via,
    Visit,
)
from freki.steps import Ledger, Session

pytestmark = pytest.mark.system

URL = "http://a.example/"


@pytest.fixture
def db(postgres: PostgresServer) -> Iterator[Server]:
    with closing(open_server(postgres.schema(), "process")) as made:
        yield made


def crawled(db: Server, name: str) -> tuple[Ledger, Session]:
    """A crawl with one page, one link that waits and one picture, all like those of any other."""
    crawl = crawls.begin(db, name, [URL], Settings(), NOW)
    ledger = ledger_of(db, name, crawl.id, Terms())
    session = ledger.join(NOW)
    ledger.commit(session, Batch(NOW, discoveries=[Discovery(URL, 0, 0, Via.seed)]))
    ((claim,),) = (work.claims for work in ledger.claim(session, NOW, 1, []).hosts)
    response = Response(URL, 200, (("content-type", "text/html"),), b"<p>", "text/html", Timings())
    page = Page(links=[Link(f"{URL}next", "next")])
    visit = Visit(NOW, response, page)
    found = [Discovery(f"{URL}next", 1, 0, Via.link, parent=claim.id)]
    outcome = Outcome(claim, State.done, Reason.ok, visit=visit, at=NOW)
    ledger.commit(session, Batch(NOW, [outcome], discoveries=found))
    captures.store_of(db, crawl.id, claim.id, NOW, seen(URL))
    return ledger, session


def rows(db: Server) -> dict[str, int]:
    asked = (f"SELECT count(*) FROM {table}" for table in (*tables(), "session", "tally"))
    counts = [db.execute(statement).fetchone()[0] for statement in asked]
    return {name: n for name, n in zip((*tables(), "session", "tally"), counts, strict=True) if n}


def test_others_keep_what_they_share(db: Server) -> None:
    for name in ("one", "other"):
        ledger, session = crawled(db, name)
        ledger.leave(session, NOW)
    remove(db, "one")
    assert crawls.names(db) == ["other"]
    other = crawls.find(db, "other")
    assert other is not None
    ((number, line),) = read.numbered_pages(db, other.id, read.Filter())
    assert (line.url, read.body(db, number)) == (URL, b"<p>")
    (visit,) = captures.renderings(db, captures.Wanted(crawl=other.id))
    digest = bytes.fromhex(visit.captures[0].sha256)
    assert captures.picture(db, digest, other.id) is not None
    assert list(findings(db)) == []


def test_of_the_last_one_nothing_is_left(db: Server) -> None:
    ledger, session = crawled(db, "one")
    assert rows(db).keys() >= {"crawl", "host", "url", "page", "body", "picture", "session"}
    remove(db, "one")
    assert rows(db) == {"secret": 1}
    with pytest.raises(LeaseLost):
        ledger.commit(session, Batch(NOW, discoveries=[Discovery(f"{URL}late", 0, 0, Via.seed)]))
    assert rows(db) == {"secret": 1}
