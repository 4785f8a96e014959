"""A worker's side of the books: take a job, say how it goes, end it or give it back.

A worker is a row that is renewed. Whose time is over, or whose process is surely dead, has its
jobs taken back by whoever looks next: recovery is what everybody does all the time.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from freki.ledger.alive import surely_dead, this_machine, this_process
from freki.ledger.database import Database
from freki.ledger.jobs import events, orders
from freki.ledger.jobs.orders import Job, Kind, Result, Wish
from freki.ledger.jobs.place import SQL, Desk, again

# Seconds a worker may be silent.
LEASE = 15.0

# Times a job may be begun: one that takes its worker with it each time shall not do so for ever.
MOST_ATTEMPTS = 10


class Shift(Struct, frozen=True):
    """A worker at work. Its id is the fencing token of all it does."""

    id: int


class Colleague(Struct, frozen=True):
    """A worker as others see it."""

    id: int
    process: str
    started_at: float
    until: float
    statistics: dict[str, float]


@again
def begin(desk: Desk, now: float) -> Shift:
    with desk.writing() as db:
        _reap(db, now)
        row = (now + LEASE, this_machine(), this_process(), now)
        id_ = db.execute(SQL["worker_add"], row).lastrowid
    assert id_ is not None
    return Shift(id_)


@again
def renew(
    desk: Desk, shift: Shift, statistics: Mapping[str, float], now: float
) -> dict[str, Wish | None]:
    """Stay for another while; answers with the jobs that are ours, and what is wished of them."""
    with desk.writing() as db:
        _reap(db, now, besides=shift.id)
        row = (now + LEASE, msgspec.json.encode(statistics).decode(), shift.id)
        if db.execute(SQL["worker_renew"], row).rowcount == 0:
            return {}
        return dict(db.execute(SQL["jobs_of_worker"], (shift.id,)).fetchall())


@again
def end(desk: Desk, shift: Shift) -> None:
    """Go home; what is still in hand is for others."""
    with desk.writing() as db:
        db.execute(SQL["jobs_back"], (shift.id,))
        db.execute(SQL["worker_drop"], (shift.id,))


def is_on(desk: Desk, shift: Shift) -> bool:
    return any(colleague.id == shift.id for colleague in colleagues(desk))


def colleagues(desk: Desk) -> list[Colleague]:
    """Every worker that is not known to be dead."""
    with desk.reading() as db:
        return [
            Colleague(
                row["id"], row["process"].partition(" ")[0], row["started_at"], row["until"],
                msgspec.json.decode(row["statistics"]),
            )
            for row in db.execute(SQL["workers"])
            if not surely_dead(row["machine"], row["process"])
        ]  # fmt: skip


@again
def take(desk: Desk, shift: Shift, kinds: Sequence[Kind], now: float) -> Job | None:
    """The next job, fairly: of those who wait, whoever has least in work."""
    with desk.reading() as db:  # most looks find nothing, and shall not make others wait
        if db.execute(SQL["work_waits"], _wanted(kinds, now)).fetchone() is None:
            return None
    with desk.writing() as db:
        row = _next(db, kinds, now)
        if row is None:
            return None
        job = orders.job_of(row)
        if job.wish == "cancel":  # while its worker died
            orders.end(db, job, orders.CANCELLED, now)
            return None
        if job.attempts >= MOST_ATTEMPTS:
            detail = f"its worker died {job.attempts} times"
            orders.end(db, job, Result("failed", "crash", detail), now)
            return None
        db.execute(SQL["job_take"], (shift.id, now, job.id))
        if job.started_at is None:
            events.call(db, job, "started", {}, now)
        events.tell(db, job.crawl, "state", {"state": "running"}, now)
        return orders.job_of(db.execute(SQL["job_find"], (job.id,)).fetchone())


def _next(db: Database, kinds: Sequence[Kind], now: float) -> Any:
    row = None
    if "fetch" in kinds:
        row = db.execute(SQL["next_fetch"], (now,)).fetchone()
    return row or db.execute(SQL["next_job"], _wanted(kinds, now)).fetchone()


def _wanted(kinds: Sequence[Kind], now: float) -> dict[str, object]:
    return {"now": now, "kinds": " ".join(kinds)}


@again
def tell(
    desk: Desk, job: Job, progress: Mapping[str, object], pages: Sequence[Mapping[str, object]],
    size: int, now: float,
) -> None:  # fmt: skip
    """How a job goes: its sums, and the pages that came last."""
    with desk.noting() as db:
        db.execute(SQL["job_progress"], (msgspec.json.encode(progress).decode(), size, job.crawl))
        events.tell(db, job.crawl, "progress", {**progress, "latest": pages}, now)


@again
def call_for_pages(desk: Desk, job: Job, pages: Sequence[Mapping[str, object]], now: float) -> None:
    """Tell the caller of each page, where that was asked for."""
    if job.hook is not None and "page" in job.hook.events:
        with desk.writing() as db:
            for page in pages:
                events.call(db, job, "page", {"page": page}, now)


@again
def count(
    desk: Desk, owner: str, pages: int, counts: Mapping[tuple[str, str], float], now: float
) -> None:
    """What was used up, for quotas and for the operator."""
    with desk.noting() as db:
        if pages:
            db.execute(SQL["use"], (owner, orders.day(now), pages))
        rows = sorted((*key, value) for key, value in counts.items() if value)
        db.executemany(SQL["count_up"], rows)


def counters(desk: Desk) -> dict[tuple[str, str], float]:
    """Everything that was ever counted."""
    with desk.reading() as db:
        return {(name, label): value for name, label, value in db.execute(SQL["counters"])}


@again
def give_back(desk: Desk, shift: Shift, job: Job, result: Result, now: float) -> None:
    """Not now: paused, or for whoever takes it next.

    Unless it was taken back or deleted meanwhile: then it has ended.
    """
    with desk.writing() as db:
        row = db.execute(SQL["job_held"], (job.id, shift.id)).fetchone()
        if row is None:
            return
        if row["wish"] == "cancel":
            orders.end(db, orders.job_of(row), orders.CANCELLED, now)
            return
        given = (result.state, result.due or now, 0 if result.went_wrong else 1, job.id, shift.id)
        db.execute(SQL["job_give_back"], given)
        events.tell(db, job.crawl, "state", {"state": result.state}, now)


@again
def finish(desk: Desk, shift: Shift, job: Job, result: Result, now: float) -> None:
    """The outcome of a job, and of all that wait for the same crawl; nothing if it is not ours.

    Where something shall be tried again since, it has not ended; that counts as an attempt.
    """
    with desk.writing() as db:
        row = db.execute(SQL["job_held"], (job.id, shift.id)).fetchone()
        if row is None:
            return
        if row["again"] is not None:
            db.execute(SQL["job_give_back"], ("queued", now, 0, job.id, shift.id))
            events.tell(db, job.crawl, "state", {"state": "queued"}, now)
            return
        ending = [job]
        if result.state in ("done", "failed"):
            waiting = db.execute(SQL["jobs_waiting_for"], (job.crawl,)).fetchall()
            ending += map(orders.job_of, waiting)
        for each in ending:
            orders.end(db, each, result, now)


def _reap(db: Database, now: float, besides: int = 0) -> None:
    """Take back what the dead and the silent had in hand."""
    for row in db.execute(SQL["workers"]).fetchall():
        if row["id"] == besides:
            continue
        if not (row["until"] < now or surely_dead(row["machine"], row["process"])):
            continue
        # One that was reaped or renewed by now, or is being, is let be.
        if db.execute(SQL["worker_reapable"], (row["id"], row["until"])).fetchone() is not None:
            db.execute(SQL["jobs_back"], (row["id"],))
            db.execute(SQL["worker_drop"], (row["id"],))
