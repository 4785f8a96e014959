"""URLs of a crawl to be tried again: wished by a caller, carried out by the worker that goes on.

The wish stands with the job until it is done, so it outlives whoever has it in hand. A job that had
ended is opened again; the secrets that went when it did are given anew, or it stays as it is.
"""

import msgspec
from msgspec import Struct

from freki.ledger.jobs import events, orders
from freki.ledger.jobs.keys import Key
from freki.ledger.jobs.orders import Hook, Job, Refusal
from freki.ledger.jobs.place import SQL, Desk, again
from freki.ledger.read import Filter

# Wishes of one job that wait to be carried out.
MOST = 100


class Anew(Struct, frozen=True):
    """What was forgotten when a job ended, given once more."""

    hook: Hook | None = None
    secrets: dict[str, object] | None = None

    def names(self) -> set[str]:
        return {*(self.secrets or ()), *(["webhook"] if self.hook else [])}


NOTHING = Anew()


@again
def reopen(
    desk: Desk, id_: str, wanted: Filter, caller: Key, most_queued: int, now: float,
    anew: Anew = NOTHING,
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
        dropped = [name for name in job.dropped if name not in anew.names()]
        if needed := [name for name in dropped if name != "webhook"]:
            detail = f"its {' and '.join(needed)} were deleted when it ended; give them again"
            return Refusal("secrets_dropped", detail)
        wishes = list(job.again or ())
        if wanted not in wishes:
            wishes.append(wanted)
        if len(wishes) > MOST:
            detail = f"{MOST} kinds of URLs of it wait to be tried again; wait until it goes on"
            return Refusal("quota_queued", detail, orders.ASK_AGAIN)
        row = {
            "id": id_, "again": _json(wishes), "dropped": _json(dropped),
            "hook": _json(anew.hook) if anew.hook else None,
            "secrets": _json(anew.secrets) if anew.secrets else None,
        }  # fmt: skip
        db.execute(SQL["job_again"], row)
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
