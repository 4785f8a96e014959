"""URLs of a crawl to be tried again: wished by a caller, carried out by the worker that goes on.

The wish stands with the job until it is done, so it outlives whoever has it in hand. A job that had
ended is opened again, without the secrets that went when it did.
"""

import msgspec

from freki.ledger.jobs import events, orders
from freki.ledger.jobs.keys import Key
from freki.ledger.jobs.orders import Hook, Job, Refusal
from freki.ledger.jobs.place import SQL, Desk, again
from freki.ledger.read import Filter

# Wishes of one job that wait to be carried out.
MOST = 100


@again
def reopen(
    desk: Desk, id_: str, wanted: Filter, caller: Key, most_queued: int, now: float,
    hook: Hook | None = None,
) -> Job | Refusal | None:  # fmt: skip
    """Note what shall be tried again; who has ended waits for its turn anew. None: it is gone."""
    with desk.writing() as db:
        db.execute(SQL["orders_in_order"])
        job = orders.held(db, id_)
        if job is None:
            return None
        if job.has_ended:
            refusal = orders.no_room(db, None, caller, most_queued, now)
            if refusal is not None:
                return refusal
        wishes = list(job.again or ())
        if wanted not in wishes:
            wishes.append(wanted)
        if len(wishes) > MOST:
            detail = f"{MOST} kinds of URLs of it wait to be tried again; wait until it goes on"
            return Refusal("quota_queued", detail, orders.ASK_AGAIN)
        dropped = [name for name in job.dropped if hook is None or name != "webhook"]
        row = {"id": id_, "again": _json(wishes), "dropped": _json(dropped)}
        db.execute(SQL["job_again"], {**row, "hook": _json(hook) if hook else None})
        if job.has_ended:
            db.execute(SQL["job_reopen"], (now, id_))
            events.tell(db, job.crawl, "state", {"state": "queued"}, now)
        return orders.held(db, id_)


def wished(desk: Desk, id_: str) -> list[Filter]:
    """What shall be tried again."""
    job = orders.find(desk, id_)
    return list(job.again or ()) if job else []


@again
def carried_out(desk: Desk, id_: str, done: list[Filter]) -> None:
    """These wait again in their store; what was wished meanwhile is still to be done."""
    with desk.writing() as db:
        job = orders.held(db, id_)
        if job is not None:
            left = [wanted for wanted in job.again or () if wanted not in done]
            db.execute(SQL["job_retried"], (_json(left) if left else None, id_))


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()
