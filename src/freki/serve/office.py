"""The books as the web process sees them: what routes and views ask, in words of the service.

Everything here blocks, and belongs into a thread. Whatever is asked for is looked up for a
caller: what is not theirs is not there.
"""

import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager

from msgspec import Struct
from msgspec.structs import replace

from freki.errors import StoreError
from freki.ledger import captures, crawls, read
from freki.ledger import retry as retrying
from freki.ledger.crawls import Crawl
from freki.ledger.database import Database
from freki.ledger.jobs import events, keys, orders, retries, shift
from freki.ledger.jobs.events import Event
from freki.ledger.jobs.keys import Key
from freki.ledger.jobs.orders import Accepted, Job, Kind, Order, Refusal, Repeat
from freki.ledger.jobs.retries import NOTHING, Anew
from freki.ledger.jobs.shift import Colleague
from freki.serve.problems import Problem
from freki.serve.searching import READ_FOR, Searching
from freki.serve.terms import Terms

# Seconds a request waits for a store that is not there: callers know to come again.
PATIENCE = 0.5

# Seconds for which it is remembered whether there is any key.
KEYS_LOOKED_AT = 1.0


class Results(Struct, frozen=True):
    """The store of a job, open for reading."""

    db: Database
    crawl: Crawl


class Standing(Struct, frozen=True):
    """How the service as a whole is doing."""

    queued: int
    running: int
    workers: list[Colleague]
    oldest_queued_seconds: float


class Office:
    """One for the process; its methods may be called from any thread."""

    def __init__(self, terms: Terms) -> None:
        self.terms = terms
        self.place = terms.place
        self._desk = self.place.desk(PATIENCE)
        # Streams look often and shall not make those wait who bring something.
        self._watching = self.place.desk(PATIENCE)
        self._searching = Searching()
        self._has_key = (False, float("-inf"))

    def __repr__(self) -> str:
        return f"<Office {self.place}>"

    def close(self) -> None:
        self._searching.close()
        self._desk.close()
        self._watching.close()
        self.place.close()

    # Callers

    def needs_key(self) -> bool:
        """Once there is a key, and wherever others may call, everybody needs one."""
        known, at = self._has_key
        if time.monotonic() - at > KEYS_LOOKED_AT:
            known = keys.any_live(self._desk)
            self._has_key = (known, time.monotonic())
        return known or self.terms.is_open

    def now(self) -> float:
        return self._desk.now()

    def holder(self, token: str) -> Key | None:
        return keys.holder(self._desk, token)

    def known_keys(self) -> list[Key]:
        return keys.known(self._desk)

    def new_key(self, name: str, scopes: tuple[keys.Scope, ...]) -> str:
        """What its holder sends; it is not kept, so it can be shown only once."""
        token, _ = keys.add(self._desk, name, scopes, keys.Quotas(), self._desk.now())
        return token

    def revoke_key(self, id_: str) -> None:
        keys.revoke(self._desk, id_, self._desk.now())

    # Jobs

    def accept(self, order: Order, caller: Key, repeat: Repeat | None = None) -> Accepted:
        """Write an order into the books; whoever has time will work on it."""
        most = self.terms.max_queued
        answer = orders.accept(self._desk, order, caller, most, self._desk.now(), repeat)
        if isinstance(answer, Refusal):
            raise Problem(answer.reason, answer.detail, retry_after=answer.retry_after)
        if order.likeness is not None:
            result = "hit" if answer.shared else "miss"
            shift.count(self._desk, caller.id, 0, {("cache", result): 1}, self._desk.now())
        return answer

    def job(self, caller: Key, id_: str, kind: Kind | None = None) -> Job:
        """A job of this caller; an administrator sees everybody's."""
        job = orders.find(self._desk, id_)
        if job is None or job.is_abandoned or (kind is not None and job.kind != kind):
            raise Problem("not_found")
        if job.owner != caller.id and not caller.may("admin"):
            raise Problem("not_found")
        return job

    def job_of(self, id_: str) -> Job:
        """A job whose caller is known."""
        job = orders.find(self._watching, id_)
        if job is None:
            raise Problem("not_found")
        return job

    def jobs(
        self, caller: Key, kind: Kind | None, state: str | None, before: int | None, limit: int
    ) -> list[Job]:
        """The caller's jobs, newest first."""
        owner = None if caller.may("admin") else caller.id
        return orders.listed(self._desk, owner, kind, state, before, limit)

    def pause(self, job: Job) -> Job:
        return _still_going(orders.pause(self._desk, job.id, self._desk.now()), job)

    def resume(self, job: Job) -> Job:
        return _still_going(orders.resume(self._desk, job.id, self._desk.now()), job)

    def cancel(self, job: Job) -> Job:
        return _still_going(orders.cancel(self._desk, job.id, self._desk.now()), job)

    def change(
        self, job: Job, settings: dict[str, dict[str, object]], request: dict[str, object]
    ) -> Job:
        """Other settings, from now on."""
        return _still_going(orders.change(self._desk, job.id, settings, request), job)

    def retry(
        self, job: Job, wanted: read.Filter, caller: Key, anew: Anew = NOTHING
    ) -> tuple[Job, int]:
        """Have URLs that ended tried again, with how many there are; one that has ended goes on."""
        with self.results(job) as found:
            count = _to_retry(job, found, wanted) if found else 0
        if not count:
            raise Problem("nothing_to_retry", "no URL of this crawl has ended so")
        most = self.terms.max_queued
        answer = retries.reopen(self._desk, job.id, wanted, caller, most, self._desk.now(), anew)
        if isinstance(answer, Refusal):
            raise Problem(answer.reason, answer.detail, retry_after=answer.retry_after)
        if answer is None or answer.is_abandoned:
            raise Problem("not_found")
        return answer, count

    def delete(self, job: Job) -> None:
        """Forget a job and delete its files; of one in work as soon as its worker lets go."""
        if orders.drop(self._desk, job.id):
            self._desk.remove(job.crawl)

    def deliveries(self, job: Job, after: int, limit: int) -> list[events.Line]:
        return events.deliveries(self._desk, job.id, after, limit)

    # Results

    @contextmanager
    def results(self, job: Job) -> Iterator[Results | None]:
        """The store of a job, or None as long as there is nothing in it."""
        try:
            with self.place.reading(job.crawl) as db:
                crawl = crawls.find(db, job.crawl) if db is not None else None
                yield Results(db, crawl) if db is not None and crawl is not None else None
        except (sqlite3.Error, StoreError) as error:
            raise Problem("storage", type(error).__name__, retry_after=5) from error

    def searched(
        self, job: Job, found: Results, wanted: read.Filter, patience: float | None = READ_FOR
    ) -> tuple[read.Filter, int]:
        """The same, and beside addresses and titles what pages say, as far as they were read.

        Answers also with how many were not; without a bound to patience none is left out.
        """
        if not wanted.text:
            return wanted, 0
        store = self.place.store_of(job.crawl)
        text = self._searching.search(store, found.db, found.crawl, wanted.text, patience)
        return replace(wanted, among=text.among), text.unread

    # Events

    def changes(self) -> int:
        """A number that is another one when something may have happened."""
        return self._watching.changes()

    def events_of(self, crawl: str, after: int, limit: int = 500) -> list[Event]:
        return events.of_crawl(self._watching, crawl, after, limit)

    def events_since(self, after: int, limit: int = 2_000) -> list[tuple[str, Event]]:
        """What happened in any crawl, with its name."""
        return events.since(self._watching, after, limit)

    def state_of(self, id_: str) -> str | None:
        """The state of a job, or None where it was deleted."""
        job = orders.find(self._watching, id_)
        return job.state if job and not job.is_abandoned else None

    def event_before_latest(self, crawl: str, count: int) -> int:
        return events.before_latest(self._watching, crawl, count)

    def last_event(self) -> int:
        return events.last(self._watching)

    # The service itself

    def standing(self) -> Standing:
        now = self._desk.now()
        counts = orders.open_in_all(self._desk)
        oldest = orders.oldest_queued(self._desk)
        return Standing(
            queued=counts.get("queued", 0),
            running=counts.get("running", 0),
            workers=[
                colleague for colleague in shift.colleagues(self._desk) if colleague.until >= now
            ],
            oldest_queued_seconds=max(0.0, now - oldest) if oldest else 0.0,
        )

    def hosts_due(self) -> int | None:
        return self._desk.hosts_due()

    def counters(self) -> dict[tuple[str, str], float]:
        return shift.counters(self._desk)


def _to_retry(job: Job, found: Results, wanted: read.Filter) -> int:
    """How many URLs would be tried again; for pictures, as long as there are too few."""
    if job.kind != "screenshots":
        return retrying.count(found.db, found.crawl.id, wanted)
    if job.progress.get("captured") == job.progress.get("requested"):
        return 0
    failed = captures.Wanted(crawl=found.crawl.id, reason=wanted.reason, failed=True)
    return len(captures.numbers(found.db, failed))


def page_of(results: Results, id_: int, *, with_links: bool = False) -> read.PageLine | None:
    """The page of that number, redirects included."""
    wanted = read.Filter(after=id_ - 1, limit=1, redirects=True)
    found = read.numbered_pages(results.db, results.crawl.id, wanted, with_links=with_links)
    return next((page for number, page in found if number == id_), None)


def changed(job: Job, given: dict[str, dict[str, object]]) -> dict[str, dict[str, object]]:
    """The settings of a job with some of them new."""
    merged = {part: dict(fields) for part, fields in job.settings.items()}
    for part, fields in given.items():
        merged.setdefault(part, {}).update(fields)
    return merged


def _still_going(job: Job | None, before: Job) -> Job:
    if job is None:
        raise Problem("has_ended", f"it is {before.state}; what it found can still be read")
    return job
