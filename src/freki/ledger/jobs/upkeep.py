"""What is old or too much is deleted, and what nobody knows any more is swept."""

import time

from freki.ledger.jobs import orders
from freki.ledger.jobs.events import KEPT, trim
from freki.ledger.jobs.orders import Job
from freki.ledger.jobs.place import CRAWL_NAME, SQL, Desk, Place

# Seconds for which a request may be sent again under the same Idempotency-Key.
REMEMBERED = 86_400.0

# A store younger than this may be that of a job which is being accepted right now.
YOUNG = 300.0

MOST_AT_ONCE = 100


def delete_old(desk: Desk, place: Place, before: float) -> int:
    """Delete jobs that ended before; answers with how many."""
    with desk.reading() as db:
        rows = db.execute(SQL["ended_before"], (before, MOST_AT_ONCE)).fetchall()
    return _delete(desk, place, [orders.job_of(row) for row in rows])


def delete_abandoned(desk: Desk, place: Place) -> int:
    """Delete what was deleted while somebody worked on it."""
    return _delete(desk, place, orders.abandoned(desk))


def delete_beyond(desk: Desk, place: Place, most_bytes: float) -> int:
    """Delete what ended first, until the rest takes no more than that."""
    deleted = 0
    while bytes_in_all(desk) > most_bytes:
        with desk.reading() as db:
            rows = db.execute(SQL["ended_first"], (1,)).fetchall()
        if not rows:
            break
        deleted += _delete(desk, place, [orders.job_of(row) for row in rows])
    return deleted


def bytes_in_all(desk: Desk) -> int:
    """What all crawls take on disk, as it was told last."""
    with desk.reading() as db:
        (size,) = db.execute(SQL["bytes_in_all"]).fetchone()
    return int(size)


def forget_requests(desk: Desk, now: float) -> None:
    """Idempotency-Keys of yesterday mean nothing any more."""
    with desk.writing() as db:
        db.execute(SQL["idempotency_forget"], (now - REMEMBERED,))


def trim_events(desk: Desk) -> None:
    """Streams are cut at their old end."""
    with desk.reading() as db:
        long = [row["crawl"] for row in db.execute(SQL["events_many"], (KEPT,))]
    for crawl in long:
        trim(desk, crawl)


def sweep(desk: Desk, place: Place) -> int:
    """Delete stores that no job knows: of jobs that were deleted while they were begun."""
    known = _crawls(desk)
    names = {file.name.partition(".")[0] for file in place.crawls.iterdir()}
    swept = 0
    for name in sorted(names - known):
        if CRAWL_NAME.fullmatch(name) and _is_old(place, name):
            place.remove(name)
            swept += 1
    return swept


def _is_old(place: Place, crawl: str) -> bool:
    now = time.time()
    return all(now - file.stat().st_mtime > YOUNG for file in place.files_of(crawl))


def _crawls(desk: Desk) -> set[str]:
    with desk.reading() as db:
        return {row["crawl"] for row in db.execute(SQL["crawls_known"])}


def _delete(desk: Desk, place: Place, jobs: list[Job]) -> int:
    for job in jobs:
        if orders.drop(desk, job.id):
            place.remove(job.crawl)
    return len(jobs)
