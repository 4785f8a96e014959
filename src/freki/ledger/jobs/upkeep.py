"""What is old or too much is deleted, and what nobody knows any more is swept."""

from freki.ledger.jobs import orders
from freki.ledger.jobs.events import KEPT, trim
from freki.ledger.jobs.orders import Job
from freki.ledger.jobs.place import SQL, Desk, again

# Seconds for which a request may be sent again under the same Idempotency-Key.
REMEMBERED = 86_400.0

# A store younger than this may be that of a job which is being accepted right now.
YOUNG = 300.0

MOST_AT_ONCE = 100


def delete_old(desk: Desk, before: float) -> int:
    """Delete jobs that ended before; answers with how many."""
    with desk.reading() as db:
        rows = db.execute(SQL["ended_before"], (before, MOST_AT_ONCE)).fetchall()
    return _delete(desk, [orders.job_of(row) for row in rows])


def delete_abandoned(desk: Desk) -> int:
    """Delete what was deleted while somebody worked on it."""
    return _delete(desk, orders.abandoned(desk))


def delete_beyond(desk: Desk, most_bytes: float) -> int:
    """Delete what ended first, until the rest takes no more than that."""
    deleted = 0
    while bytes_in_all(desk) > most_bytes:
        with desk.reading() as db:
            rows = db.execute(SQL["ended_first"], (1,)).fetchall()
        if not rows:
            break
        deleted += _delete(desk, [orders.job_of(row) for row in rows])
    return deleted


def bytes_in_all(desk: Desk) -> int:
    """What all crawls take on disk, as it was told last."""
    with desk.reading() as db:
        (size,) = db.execute(SQL["bytes_in_all"]).fetchone()
    return int(size)


@again
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


def sweep(desk: Desk, now: float) -> int:
    """Delete crawls that no job knows: of jobs that were deleted while they were begun."""
    known = _crawls(desk)
    strays = [name for name in desk.crawls_before(now - YOUNG) if name not in known]
    for name in strays:
        desk.remove(name)
    return len(strays)


def _crawls(desk: Desk) -> set[str]:
    with desk.reading() as db:
        return {row["crawl"] for row in db.execute(SQL["crawls_known"])}


def _delete(desk: Desk, jobs: list[Job]) -> int:
    for job in jobs:
        if orders.drop(desk, job.id):
            desk.remove(job.crawl)
    return len(jobs)
