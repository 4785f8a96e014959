"""What callers ask for: accepted, looked up, changed, taken back."""

import secrets as dice
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Literal

import msgspec
from msgspec import Struct

from freki.ledger.database import Database
from freki.ledger.jobs import events
from freki.ledger.jobs.keys import Key
from freki.ledger.jobs.place import SQL, Desk, again
from freki.ledger.read import Filter

Kind = Literal["crawl", "screenshots", "fetch"]
State = Literal["queued", "running", "paused", "done", "failed", "cancelled"]
Wish = Literal["pause", "cancel", "reload"]

KINDS: tuple[Kind, ...] = ("crawl", "screenshots", "fetch")
ENDED: frozenset[State] = frozenset({"done", "failed", "cancelled"})

PREFIXES: dict[Kind, str] = {"crawl": "crl", "screenshots": "scr", "fetch": "fet"}

# Whose a job is that was deleted while it was worked on.
NOBODY = ""

# Seconds after which it is worth asking again where there is no room now.
ASK_AGAIN = 5


class Hook(Struct, frozen=True):
    """Where to tell of a job."""

    url: str
    events: tuple[str, ...]
    secret: str


class Order(Struct, frozen=True):
    """What a caller asks for, checked."""

    kind: Kind
    name: str
    request: dict[str, object]  # as it was asked for, without secrets
    seeds: list[str]
    settings: dict[str, dict[str, object]]
    secrets: dict[str, object] | None = None
    hook: Hook | None = None
    likeness: bytes | None = None  # of all that changes the result, where it may be shared
    share: bool = True  # what others asked for in the same words, and get or have
    fresh_after: float = 0.0  # a result that ended before is too old
    pages: int | None = None  # as many as it may bring


class Job(Struct, frozen=True):
    """An order, and what became of it."""

    seq: int
    id: str
    owner: str
    kind: Kind
    crawl: str
    state: State
    wish: Wish | None
    name: str
    request: dict[str, object]
    seeds: list[str]
    settings: dict[str, dict[str, object]]
    secrets: dict[str, object] | None
    dropped: list[str]  # secrets that went when it ended, and would have to be given anew
    again: list[Filter] | None  # to be tried again, before it goes on
    hook: Hook | None
    created_at: float
    started_at: float | None
    ended_at: float | None
    attempts: int
    reason: str | None
    detail: str | None
    progress: dict[str, object]
    bytes: int

    @property
    def has_ended(self) -> bool:
        return self.state in ENDED

    @property
    def is_abandoned(self) -> bool:
        """It was deleted, and is only there because somebody works on it."""
        return self.owner == NOBODY


class Result(Struct, frozen=True):
    """What became of a job: its outcome, or queued or paused again."""

    state: State
    reason: str | None = None
    detail: str | None = None
    progress: dict[str, object] | None = None
    size: int | None = None  # that its crawl takes on disk
    due: float = 0.0  # queued, and not before
    went_wrong: bool = False  # queued again, and one attempt fewer is left


CANCELLED = Result("cancelled", "cancelled")


class Refusal(Struct, frozen=True):
    """Why an order was not accepted, for now or for good."""

    reason: str
    detail: str
    retry_after: int | None = None


class Repeat(Struct, frozen=True):
    """How a caller says that this request is the same one again."""

    key: str
    digest: bytes


class Accepted(Struct, frozen=True):
    """An order that stands in the books."""

    job: Job
    repeated: bool = False  # it was accepted before, and this is the same answer
    shared: bool = False  # somebody asked for the same, and has it or will


@again
def accept(
    desk: Desk, order: Order, caller: Key, most_queued: int, now: float, repeat: Repeat | None
) -> Accepted | Refusal:
    """Take an order in, in one transaction with everything that it is counted against."""
    with desk.writing() as db:
        db.execute(SQL["orders_in_order"])
        if repeat is not None and (before := _before(db, caller.id, repeat)) is not None:
            return before
        if (refusal := no_room(db, order.pages, caller, most_queued, now)) is not None:
            return refusal
        alike = _alike(db, order)
        job = _written(db, order, caller.id, alike, now)
        if repeat is not None:
            row = (caller.id, repeat.key, repeat.digest, job.id, now)
            db.execute(SQL["idempotency_add"], row)
        if alike is None:
            events.tell(db, job.crawl, "state", {"state": job.state}, now)
        return Accepted(job, shared=alike is not None)


def _before(db: Database, owner: str, repeat: Repeat) -> Accepted | Refusal | None:
    row = db.execute(SQL["idempotency_find"], (owner, repeat.key)).fetchone()
    if row is None:
        return None
    if row["digest"] != repeat.digest:
        return Refusal(
            "idempotency_mismatch", "this Idempotency-Key was used for another request; take a new"
        )
    job = _found(db, row["job"])
    if job is None:
        return Refusal("idempotency_mismatch", "what this Idempotency-Key began was deleted")
    return Accepted(job, repeated=True)


def no_room(
    db: Database, pages: int | None, caller: Key, most_queued: int, now: float
) -> Refusal | None:
    """Why there shall be no other job in the queue now."""
    mine = dict(db.execute(SQL["open_of"], (caller.id,)).fetchall())
    quotas = caller.quotas
    if mine.get("queued", 0) >= quotas.queued:
        detail = f"{quotas.queued} of your jobs are waiting already; wait for some, or cancel some"
        return Refusal("quota_queued", detail, ASK_AGAIN)
    in_all = dict(db.execute(SQL["open_in_all"]).fetchall())
    if in_all.get("queued", 0) >= most_queued:
        return Refusal("queue_full", "the service has as much to do as it may have", ASK_AGAIN)
    if pages is not None and pages > quotas.pages_per_job:
        detail = f"a job of yours may have {quotas.pages_per_job} pages, not {pages}"
        return Refusal("quota_pages", detail)
    used = db.execute(SQL["used_on"], (caller.id, day(now))).fetchone()
    if used is not None and used["pages"] >= quotas.pages_per_day:
        detail = f"you have used the {quotas.pages_per_day} pages of this day"
        return Refusal("quota_day", detail, _until_midnight(now))
    return None


def _alike(db: Database, order: Order) -> Job | None:
    if order.likeness is None or not order.share:
        return None
    return _job(db.execute(SQL["job_alike"], (order.likeness, order.fresh_after)).fetchone())


def _written(db: Database, order: Order, owner: str, alike: Job | None, now: float) -> Job:
    id_ = new_id(order.kind)
    ready = alike is not None and alike.has_ended
    row = {
        "id": id_,
        "owner": owner,
        "kind": order.kind,
        "crawl": alike.crawl if alike else id_,
        "state": "done" if ready else "queued",
        "name": order.name,
        "request": _json(order.request),
        "seeds": _json(order.seeds),
        "settings": _json(order.settings),
        "secrets": _json(order.secrets) if order.secrets else None,
        "hook": _json(order.hook) if order.hook else None,
        "likeness": order.likeness,
        "created_at": now,
        "started_at": now if ready else None,
        "ended_at": now if ready else None,
        "progress": _json(alike.progress) if alike else None,
        "bytes": alike.bytes if alike else 0,
    }
    db.execute(SQL["job_add"], row)
    made = _found(db, id_)
    assert made is not None
    return made


def find(desk: Desk, id_: str) -> Job | None:
    """The job of that id, whoever it belongs to."""
    with desk.reading() as db:
        return _found(db, id_)


def listed(
    desk: Desk, owner: str | None, kind: str | None, state: str | None, before: int | None,
    limit: int,
) -> list[Job]:  # fmt: skip
    """Jobs, newest first; `before` is the `seq` of the last one that was seen."""
    wanted = {"owner": owner, "kind": kind, "state": state, "before": before, "limit": limit}
    with desk.reading() as db:
        return [job for row in db.execute(SQL["jobs"], wanted) if (job := _job(row))]


def pause(desk: Desk, id_: str, now: float) -> Job | None:
    """Let it rest; None where it has ended."""
    return _turned(desk, id_, {"queued": "paused", "paused": "paused"}, "pause", now)


def resume(desk: Desk, id_: str, now: float) -> Job | None:
    """Let it go on; None where it has ended."""
    return _turned(desk, id_, {"paused": "queued", "queued": "queued"}, None, now)


@again
def cancel(desk: Desk, id_: str, now: float) -> Job | None:
    """End it; what it has stays. None where it has ended otherwise."""
    with desk.writing() as db:
        job = held(db, id_)
        if job is None or job.state in ("done", "failed"):
            return None
        if job.state == "running":
            db.execute(SQL["job_call_off"], (id_,))
        elif job.state != "cancelled":
            end(db, job, CANCELLED, now)
        return _found(db, id_)


@again
def change(
    desk: Desk, id_: str, settings: Mapping[str, object], request: Mapping[str, object]
) -> Job | None:
    """Other settings; a crawl under way takes them over. None where it has ended."""
    with desk.writing() as db:
        job = held(db, id_)
        if job is None or job.has_ended:
            return None
        db.execute(SQL["job_settings"], (_json(settings), _json(request), id_))
        db.execute(SQL["job_wish"], ("reload", id_))
        return _found(db, id_)


@again
def drop(desk: Desk, id_: str) -> bool:
    """Forget a job; True if nobody else wants the files of its crawl.

    One in work stays until its worker has let go, but is nobody's from now on.
    """
    with desk.writing() as db:
        job = held(db, id_)
        if job is None:
            return False
        db.execute(SQL["deliveries_drop"], (id_,))
        if job.state == "running":
            db.execute(SQL["job_abandon"], (NOBODY, id_))
            return False
        db.execute(SQL["job_drop"], (id_,))
        if db.execute(SQL["crawl_users"], (job.crawl,)).fetchone()[0]:
            return False
        db.execute(SQL["events_drop"], (job.crawl,))
        return True


def abandoned(desk: Desk) -> list[Job]:
    """Jobs that were deleted while they were worked on, and have ended since."""
    with desk.reading() as db:
        rows = db.execute(SQL["jobs_abandoned"], (NOBODY,)).fetchall()
    return [job_of(row) for row in rows]


def end(db: Database, job: Job, result: Result, now: float) -> None:
    """An order has its outcome: its secrets go, and whoever wants to hear of it is told."""
    told = {"state": result.state, "reason": result.reason, "detail": result.detail}
    progress = _json(result.progress) if result.progress is not None else None
    row = {"id": job.id, "at": now, "progress": progress, "bytes": result.size, **told}
    row["dropped"] = _json(_dropped(job))
    db.execute(SQL["job_end"], row)
    events.call(db, job, "finished" if result.state == "done" else "failed", told, now)
    events.tell(db, job.crawl, "state", told, now)


def _dropped(job: Job) -> list[str]:
    hook = ["webhook"] if job.hook is not None else []
    return sorted({*job.dropped, *(job.secrets or ()), *hook})


def open_in_all(desk: Desk) -> dict[str, int]:
    """How many jobs are queued, and how many are running."""
    with desk.reading() as db:
        return dict(db.execute(SQL["open_in_all"]).fetchall())


def oldest_queued(desk: Desk) -> float | None:
    """Since when the job waits that has waited longest."""
    with desk.reading() as db:
        (at,) = db.execute(SQL["oldest_queued"]).fetchone()
    return None if at is None else float(at)


def day(now: float) -> str:
    """The day that quotas are counted by."""
    return datetime.fromtimestamp(now, UTC).date().isoformat()


def new_id(kind: Kind) -> str:
    """A name nobody can guess: 128 bits of chance."""
    return f"{PREFIXES[kind]}_{dice.token_hex(16)}"


@again
def _turned(
    desk: Desk, id_: str, states: dict[State, State], wish: Wish | None, now: float
) -> Job | None:
    """Change the state of what waits; what is in work is wished to."""
    with desk.writing() as db:
        job = held(db, id_)
        if job is None or job.has_ended:
            return None
        if job.state == "running":
            db.execute(SQL["job_wish"], (wish, id_))
        elif (state := states.get(job.state)) not in (None, job.state):
            db.execute(SQL["job_state"], (state, id_))
            events.tell(db, job.crawl, "state", {"state": state}, now)
        return _found(db, id_)


def held(db: Database, id_: str) -> Job | None:
    """A job that nobody else changes until the transaction ends."""
    return _job(db.execute(SQL["job_hold"], (id_,)).fetchone())


def _found(db: Database, id_: str) -> Job | None:
    return _job(db.execute(SQL["job_find"], (id_,)).fetchone())


_COLUMNS_OF_JSON = (
    "request", "seeds", "settings", "secrets", "dropped", "again", "hook", "progress",
)  # fmt: skip


def _job(row: Any) -> Job | None:
    if row is None:
        return None
    values = {name: row[name] for name in Job.__struct_fields__}
    for name in _COLUMNS_OF_JSON:
        values[name] = msgspec.json.decode(values[name]) if values[name] else None
    values["progress"] = values["progress"] or {}
    return msgspec.convert(values, Job)


def job_of(row: Any) -> Job:
    """A row of the table, whole."""
    job = _job(row)
    assert job is not None
    return job


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()


def _until_midnight(now: float) -> int:
    return int(86_400 - now % 86_400) + 1
