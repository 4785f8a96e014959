"""What happened: for streams that replay it, and for callers who want to be called."""

from collections.abc import Mapping
from typing import Protocol

import msgspec
from msgspec import Struct

from freki.ledger.database import Database
from freki.ledger.jobs.place import SQL, Desk, again

# Events of progress that are kept of a crawl: at two a second, the last half hour and more. The
# pages themselves are in its store.
KEPT = 5_000

# Seconds until a delivery that failed is tried again; after the last one it is given up.
BACKOFF = (1.0, 4.0, 15.0, 60.0, 300.0, 1_800.0)

# Seconds after which somebody else may try a delivery whose worker went silent.
DELIVERY_LEASE = 60.0


class Event(Struct, frozen=True):
    """Something that happened in a crawl."""

    seq: int
    at: float
    kind: str  # state or progress
    data: msgspec.Raw


class Delivery(Struct, frozen=True):
    """A message to a caller."""

    id: int
    job: str
    kind: str
    url: str
    secret: str
    body: str
    at: float
    attempts: int


class Line(Struct, frozen=True):
    """A message as its job shows it."""

    id: int
    kind: str
    at: float
    due: float | None
    attempts: int
    outcome: str | None


class _Hook(Protocol):
    @property
    def url(self) -> str: ...
    @property
    def events(self) -> tuple[str, ...]: ...
    @property
    def secret(self) -> str: ...


class _Job(Protocol):
    @property
    def id(self) -> str: ...
    @property
    def kind(self) -> str: ...
    @property
    def hook(self) -> _Hook | None: ...


def tell(db: Database, crawl: str, kind: str, data: Mapping[str, object], now: float) -> None:
    """Note what happened, in the transaction that makes it so, and as its last part.

    Numbers grow in the order of the commits, so that nobody who goes on from one misses another.
    """
    db.execute(SQL["events_in_order"])
    db.execute(SQL["event_add"], (crawl, now, kind, msgspec.json.encode(data).decode()))


def call(db: Database, job: _Job, kind: str, data: Mapping[str, object], now: float) -> None:
    """Put a message into the post, if the caller asked for it."""
    if job.hook is None or kind not in job.hook.events:
        return
    body = {"event": kind, "job": job.id, "kind": job.kind, "at": now, **data}
    row = (
        job.id,
        kind,
        job.hook.url,
        job.hook.secret,
        msgspec.json.encode(body).decode(),
        now,
        now,
    )
    db.execute(SQL["delivery_add"], row)


def of_crawl(desk: Desk, crawl: str, after: int, limit: int) -> list[Event]:
    """What happened in a crawl after an event."""
    with desk.reading() as db:
        rows = db.execute(SQL["events_of"], (crawl, after, limit))
        return [Event(seq, at, kind, msgspec.Raw(data.encode())) for seq, at, kind, data in rows]


def since(desk: Desk, after: int, limit: int) -> list[tuple[str, Event]]:
    """What happened in any crawl after an event, with the crawl's name."""
    with desk.reading() as db:
        rows = db.execute(SQL["events_since"], (after, limit))
        return [
            (crawl, Event(seq, at, kind, msgspec.Raw(data.encode())))
            for seq, crawl, at, kind, data in rows
        ]


def before_latest(desk: Desk, crawl: str, count: int) -> int:
    """The number of the event after which the latest ones of a crawl come."""
    with desk.reading() as db:
        (seq,) = db.execute(SQL["event_before"], (crawl, count)).fetchone()
    return int(seq)


def last(desk: Desk) -> int:
    """The number of the last event of all."""
    with desk.reading() as db:
        (seq,) = db.execute(SQL["event_last"]).fetchone()
    return int(seq)


@again
def trim(desk: Desk, crawl: str) -> None:
    """Forget old progress: the sums of today make those of yesterday needless."""
    with desk.writing() as db:
        db.execute(SQL["events_trim"], (crawl, KEPT))


@again
def due(desk: Desk, now: float, limit: int) -> list[Delivery]:
    """Messages to bring now; nobody else will try them for a while."""
    with desk.reading() as db:
        if db.execute(SQL["any_due"], (now,)).fetchone() is None:
            return []
    with desk.writing() as db:
        found = [
            Delivery(*row) for row in db.execute(SQL["deliveries_due"], (now, limit)).fetchall()
        ]
        leases = [(now + DELIVERY_LEASE, delivery.id) for delivery in found]
        db.executemany(SQL["delivery_lease"], leases)
    return found


@again
def brought(desk: Desk, delivery: Delivery, outcome: str, _now: float) -> None:
    """The caller has it."""
    with desk.writing() as db:
        db.execute(SQL["delivery_over"], (outcome, delivery.id))


@again
def not_brought(desk: Desk, delivery: Delivery, outcome: str, now: float) -> None:
    """Try again later, up to the last time."""
    with desk.writing() as db:
        if delivery.attempts >= len(BACKOFF):
            db.execute(SQL["delivery_over"], (outcome, delivery.id))
        else:
            again = now + BACKOFF[delivery.attempts]
            db.execute(SQL["delivery_again"], (again, outcome, delivery.id))


def deliveries(desk: Desk, job: str, after: int, limit: int) -> list[Line]:
    """The messages of a job, and what became of them."""
    with desk.reading() as db:
        return [Line(*row) for row in db.execute(SQL["deliveries_of"], (job, after, limit))]
