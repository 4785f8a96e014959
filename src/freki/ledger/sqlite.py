"""The ledger on SQLite: one file, one transaction per batch.

A lease is a session: a row with a deadline whose id is the fencing token. A URL or host names
the session that holds it. Reaping a session gives back all it held and deletes the row, so
whatever that worker still sends is refused as a whole.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

from msgspec import json

from freki.errors import LeaseLost, StoreDamaged
from freki.ledger.alive import this_machine, this_process
from freki.ledger.belief import SESSIONS, URLS, Date, Heard, Host, Standing, believed
from freki.ledger.blobs import blobs_of
from freki.ledger.database import Database, transaction
from freki.ledger.depths import Depths, Nearer, Tally
from freki.ledger.discover import Fingerprint, Known, New, Sieve
from freki.ledger.identity import prints_of
from freki.ledger.rows import Packer, Rows, asked, pack_request, unpack_rules
from freki.ledger.statements import statements
from freki.ledger.store import ADVICE, translated
from freki.ledger.terms import Terms
from freki.messages import Batch, Claim, HostRest, HostWork, Reason, State
from freki.steps import Session, Work

SQL: Final = statements("ledger.sql")

# Up to this many known URLs the filter is filled at the start (0.6 s); beyond, every
# discovery of a resumed crawl is looked up, which is slower and just as right.
MAX_LOADED = 1_000_000

# A host whose limit is leased out is looked at again after this: what is leased may turn out to
# be no page, and that is known with the next commit or later.
FULL_SECONDS = 0.25

HostRow = tuple[Any, ...]


class SqliteLedger(Depths):
    """One worker's view of one crawl in a store. All methods block; use one thread at a time."""

    def __init__(
        self,
        db: Database,
        store: str,
        crawl: int,
        terms: Terms,
        prints: Fingerprint | None = None,  # in place of the keyed ones
    ) -> None:
        self._db = db
        self._store = store
        self._crawl = crawl
        self._terms = terms
        self._heard = Heard()
        with translated(store):
            self._packer = Packer(terms.keep, blobs_of(db))
            self._sieve = self._make_sieve(prints or prints_of(db))
            known = sum(count for _, _, count in db.execute(SQL["tally"], (crawl,)))
            if known <= MAX_LOADED:
                self._sieve.load(known)

    def __repr__(self) -> str:
        return f"<SqliteLedger {self._store} crawl={self._crawl} {self._sieve!r}>"

    def _make_sieve(self, prints: Fingerprint) -> Sieve:
        return Sieve(self._db, SQL, self._crawl, prints)

    def join(self, now: float) -> Session:
        with self._writing():
            here = (self._crawl, self._terms.lease)
            (last,) = believed(self._db.execute(SQL["last_date"], here).fetchone(), Date)
            self._reap(now)
            if last is not None and last > now:
                self._turn_back(last - now)
            mark = (self._crawl, now + self._terms.lease, this_machine(), this_process())
            session = self._db.execute(SQL["session_open"], mark).lastrowid or 0
            if self._db.execute(SQL["leased_by_host"], (session,)).fetchone() is not None:
                raise StoreDamaged(f"{self._store}: {ADVICE[StoreDamaged]} (who leased what)")
            return Session(session, self._crawl)

    def renew(self, session: Session, now: float) -> None:
        with self._writing():
            self._hold(session)
            self._db.execute(SQL["session_renew"], (now + self._terms.lease, session.id))
            self._reap(now, besides=session.id)

    def leave(self, session: Session, now: float) -> None:
        with self._writing():
            self._release(session.id, now, untried=True)

    def claim(
        self,
        session: Session,
        now: float,
        hosts: int,
        refill: Sequence[HostRest],
        full: Sequence[int] = (),
    ) -> Work:
        left_out = json.encode(full).decode()
        with self._writing():
            self._hold(session)
            self._rest(refill)
            waiting, leased, stored = self._db.execute(SQL["counts"], (self._crawl,)).fetchone()
            room = self._room(leased + stored)
            wanted = hosts if room > 0 else 0
            work: list[HostWork] = []
            for host in self._candidates(session, now, wanted, refill, left_out):
                of_host = self._take(session, now, host, room)
                room -= len(of_host.claims)
                if of_host.claims:
                    work.append(of_host)
            taken = sum(len(of_host.claims) for of_host in work)
            self._count(Counter({(State.waiting, 0): -taken, (State.leased, 0): taken}))
            next_due = self._next_due(now, left_out)
            next_due = next_due if room > 0 else None  # a date would say that waiting for it helps
            idle = next_due is None and not (work or refill or full)
            stuck = idle and self._nobody_works(session)
        return Work(
            work, next_due, waiting + leased, leased + taken, limit_reached=room <= 0, stuck=stuck
        )

    def commit(self, session: Session, batch: Batch) -> None:
        rows = self._packer.pack(batch)  # hashing and compression, before any lock
        found = [*batch.discoveries]
        for outcome in batch.outcomes:
            found += outcome.discoveries
        with translated(self._store):
            new, known = self._sieve.sift(found)
        with self._writing():
            self._hold(session)
            self._end(session, rows)
            nearer = self._add(new, known, int(batch.at))
            self._keep(rows)
            if self._terms.max_depth is not None:
                self._spread_depths(nearer + self._nearer_than_claimed(batch))
            self._rest(batch.rests)
            self._db.executemany(SQL["host_rules"], rows.rules)
        self._sieve.remember(new)

    def close(self) -> None:
        self._db.close()

    @contextmanager
    def _writing(self) -> Iterator[None]:
        with translated(self._store):
            try:
                with transaction(self._db):
                    yield
            except BaseException:
                self._sieve.forget()  # it may have seen rows that are no more
                raise

    # Sessions

    def _hold(self, session: Session) -> None:
        if self._db.execute(SQL["session_alive"], (session.id,)).fetchone() is None:
            raise LeaseLost(f"session {session.id} was taken over by another worker")

    def _reap(self, now: float, besides: int | None = None) -> None:
        """Take back what the dead and the silent hold."""
        rows = self._db.execute(SQL["sessions"], (self._crawl,)).fetchall()
        for session in believed(rows, SESSIONS):
            if session[0] != besides and self._heard.is_over(session, now):
                self._release(session[0], now)

    def _turn_back(self, seconds: float) -> None:
        """The clock was set back while nobody worked; the old dates would stall us for as long."""
        if self._db.execute(SQL["sessions"], (self._crawl,)).fetchone() is None:
            self._db.execute(SQL["hosts_back"], (seconds, self._crawl))
            self._db.execute(SQL["urls_back"], (seconds, self._crawl))

    def _release(self, session: int, now: float, *, untried: bool = False) -> None:
        """What is given back was not tried; what was taken back may have killed its worker."""
        returned = self._db.execute(SQL["leased_by_host"], (session,)).fetchall()
        self._db.execute(SQL["urls_release"], (untried, session))
        for host, count in returned:
            self._gain(host, count)
        total = sum(count for _, count in returned)
        self._count(Counter({(State.leased, 0): -total, (State.waiting, 0): total}))
        self._db.execute(SQL["hosts_release"], (now, self._terms.rest, session))
        self._db.execute(SQL["session_close"], (session,))

    # Claims

    def _candidates(
        self, session: Session, now: float, hosts: int, refill: Sequence[HostRest], left_out: str
    ) -> list[HostRow]:
        owner = session.id if self._terms.exclusive else None
        held = [
            host
            for rest in refill
            for host in self._db.execute(SQL["host_of_id"], (rest.host, owner))
        ]
        due = self._db.execute(SQL["hosts_due"], (self._crawl, now, hosts, left_out)).fetchall()
        return held + due

    def _next_due(self, now: float, left_out: str) -> float | None:
        """When the first host may be asked that has something to ask for."""
        row = self._db.execute(SQL["next_due"], (self._crawl, left_out)).fetchone()
        return self._believable(believed(row, Date).date, now)

    def _believable(self, date: float | None, now: float) -> float | None:
        """The first date of all hosts; all are now where nobody sets one so far away."""
        last = now + self._terms.longest
        if date is None or date <= last:
            return date
        self._db.execute(SQL["urls_now"], (self._crawl, last))
        self._db.execute(SQL["hosts_now"], (now, self._crawl, last))
        return now

    def _nobody_works(self, session: Session) -> bool:
        """Whether nobody has a URL that is leased, or will give one back."""
        row = self._db.execute(SQL["anybody"], (self._crawl, session.id)).fetchone()
        return row is None

    def _take(self, session: Session, now: float, host: HostRow, room: float) -> HostWork:
        """Lease the next URLs of a host; one that has none due is let go until it has."""
        id_, origin, next_at, delay, failures, pages, *robots = believed(host, Host)
        quota = int(max(0, min(room, self._terms.per_host, self._budget(id_, pages))))
        rows = self._db.execute(SQL["urls_due"], (id_, now, quota)).fetchall()
        urls = self._sieve.verified(origin, id_, believed(rows, URLS), self._store)
        claims = [
            Claim(url, id_, origin + path, depth, attempts + 1, hops, via)
            if request is None
            else asked(Claim(url, id_, origin + path, depth, attempts + 1, hops, via), request)
            for url, path, depth, attempts, hops, via, request in urls
        ]
        if claims:
            self._db.executemany(SQL["url_lease"], [(session.id, claim.id) for claim in claims])
            # A shared host goes to the end of the line, so that all get their turn.
            owner, turn = (session.id, next_at) if self._terms.exclusive else (None, now)
            self._db.execute(SQL["host_take"], (owner, turn, len(claims), id_))
        else:
            due = now + FULL_SECONDS if room > 0 else 0.0
            if quota:
                due = self._first_due(id_)
            self._db.execute(SQL["host_leave"], (due, id_))
        rules = unpack_rules(id_, origin, *robots)
        return HostWork(id_, origin, claims, next_at, delay, failures, rules)

    def _first_due(self, host: int) -> float:
        row = self._db.execute(SQL["first_due"], (host,)).fetchone()
        date: float | None = believed(row, Date).date
        if date is None:  # it was said to have URLs, and has none
            self._db.execute(SQL["host_empty"], (host,))
        return date or 0.0

    def _budget(self, host: int, pages: int) -> float:
        """How many more pages a host may give; what waits beyond the last one is refused."""
        limit = self._terms.max_pages_per_host
        if limit is None:
            return float("inf")
        (leased,) = self._db.execute(SQL["leased_of_host"], (host,)).fetchone()
        if pages >= limit and not leased:
            refused = self._db.execute(SQL["refuse_rest"], (host,)).rowcount
            self._db.execute(SQL["host_empty"], (host,))
            moved = {(State.waiting, 0): -refused, (State.refused, Reason.budget): refused}
            self._count(Counter(moved))
        return float(limit - pages - leased)

    def _room(self, taken: int) -> float:
        """How many more pages may be claimed; leased ones count as stored, so it is exact."""
        limit = self._terms.max_pages
        return float("inf") if limit is None else limit - taken

    def _rest(self, rests: Sequence[HostRest]) -> None:
        self._db.executemany(
            SQL["host_rest"],
            [(rest.next_at, rest.delay, rest.failures, rest.host) for rest in rests],
        )

    # Commits

    def _end(self, session: Session, rows: Rows) -> None:
        if rows.ends and self._end_urls(session, rows) != len(rows.ends):
            raise LeaseLost(f"session {session.id} commits URLs that it does not hold")
        for host in rows.waiting_hosts:
            self._gain(host, 1)
        if self._terms.max_pages_per_host is not None:
            self._db.executemany(SQL["host_pages"], [(n, host) for host, n in rows.stored.items()])
        if rows.wire_bytes:
            self._note_wire(session, rows.wire_bytes)
        rows.ended[(State.leased, 0)] -= len(rows.ends)
        self._count(rows.ended)

    def _end_urls(self, session: Session, rows: Rows) -> int:
        """Give URLs their outcomes; answers with how many of them were held."""
        return self._db.executemany(SQL["url_end"], [(*e, session.id) for e in rows.ends]).rowcount

    def _keep(self, rows: Rows) -> None:
        """Store what was fetched and taken out of it."""
        self._db.executemany(SQL["body_add"], rows.bodies)
        self._db.executemany(SQL["page_add"], rows.pages)
        self._db.executemany(SQL["attempt_add"], rows.attempts)
        self._db.executemany(SQL["item_add"], [(self._crawl, *item) for item in rows.items])

    def _note_wire(self, _session: Session, wire_bytes: int) -> None:
        self._db.execute(SQL["wire_add"], (wire_bytes, self._crawl))

    def _add(self, new: Sequence[New], known: list[Known], at: int) -> list[Nearer]:
        """Insert what is new, improve what is known; answers with pages that came nearer by it."""
        new, more = self._insert(new, at)
        self._ask_for(new)
        known = [*known, *more]
        return [(url.id, url.found.depth) for url in known if self._improve(url)]

    def _insert(self, new: Sequence[New], at: int) -> tuple[Sequence[New], list[Known]]:
        """Insert what is new; answers with it, and with what turned out to be known."""
        known: list[Known] = []
        tried = [*new]
        (mark,) = self._db.execute(SQL["url_mark"]).fetchone()
        while new:
            added = self._db.executemany(SQL["url_add"], [self._url_row(url, at) for url in new])
            if added.rowcount == len(new):
                break
            # Another worker was quicker: then it is known.
            new, more = self._sieve.sift_again(new, mark)
            known += more
            tried += new
        for host, state, reason, count in self._db.execute(SQL["added_since"], (mark,)).fetchall():
            self._count(Counter({(state, reason): count}))
            if state == State.waiting:
                self._gain(host, count)
        return tried, known

    def _ask_for(self, new: Sequence[New]) -> None:
        """Note what requests are beyond their addresses."""
        requests = [
            (pack_request(url.found.request), self._host_id(url.origin), url.print)
            for url in new
            if url.found.request is not None
        ]
        self._db.executemany(SQL["request_add"], requests)

    def _url_row(self, url: New, at: int) -> tuple[object, ...]:
        found = url.found
        state = State.waiting if found.refused is None else State.refused
        return (
            self._host_id(url.origin), url.print, url.path, state, found.refused, found.depth,
            found.priority, found.via, found.hops, found.parent, at, found.detail or None,
        )  # fmt: skip

    def _host_id(self, origin: str) -> int:
        if (host := self._sieve.host_id(origin)) is None:
            self._db.execute(SQL["host_add"], (self._crawl, origin))
            host = self._sieve.host_id(origin)
        if host is None:  # its name is taken, and nobody has it
            raise StoreDamaged(f"{self._store}: {ADVICE[StoreDamaged]} (the index of hosts)")
        return host

    def _improve(self, url: Known) -> bool:
        """A URL found again, by a better way. True if it is a page that came nearer.

        Its row is looked at again: another worker, or this very batch, may have changed it.
        """
        found = url.found
        row = self._db.execute(SQL["url_standing"], (url.id,)).fetchone()
        state, reason, depth = believed(row, Standing)
        if found.request is not None and state in (State.waiting, State.refused):
            self._db.execute(SQL["request_of"], (url.id, pack_request(found.request)))
        if state == State.refused:
            better = (found.depth, found.priority, found.via, found.hops, found.parent, url.id)
            self._db.execute(SQL["url_admit"], better)
            self._count(Counter({(State.refused, reason): -1, (State.waiting, 0): 1}))
            self._gain(url.host, 1)
        elif depth > found.depth:
            way = (found.depth, found.via, found.hops, found.parent, url.id)
            self._db.execute(SQL["url_nearer"], way)
            return bool(state == State.done)
        return False

    def _gain(self, host: int, count: int) -> None:
        """So many more URLs of a host wait."""
        self._db.execute(SQL["host_gain"], (count, host))

    def _count(self, changes: Tally) -> None:
        self._db.executemany(
            SQL["tally_add"],
            [(self._crawl, *place, change) for place, change in changes.items() if change],
        )
