"""The ledger on PostgreSQL: the same rules as on SQLite, for workers that write at the same time.

Where SQLite has one writer, rows are locked here: a worker its session, so that nobody reaps it in
the middle of a transaction; a claim its hosts, and it passes over those that others look at; a
commit what it changes. What everybody would change, the sums, each worker keeps in rows of its own.

`session.serial` counts transactions. After a lost connection it tells whether the last one came
through, and after a crash of the server whether earlier ones were lost with it: then the worker
begins again, from what the store knows.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from operator import itemgetter
from typing import Any, TypeVar

from freki.errors import LeaseLost, StoreBusy, StoreError
from freki.ledger.database import Conflict, ConnectionLost
from freki.ledger.depths import Tally
from freki.ledger.discover import Fingerprint, Known, New
from freki.ledger.postgres.front import Front
from freki.ledger.postgres.link import Server
from freki.ledger.postgres.sieve import OURS, FetchingSieve
from freki.ledger.postgres.upgrade import refuse_newer
from freki.ledger.rows import Rows, asked, unpack_rules
from freki.ledger.sqlite import FULL_SECONDS, SQL, HostRow, SqliteLedger
from freki.ledger.store import VERSION
from freki.ledger.terms import Terms
from freki.messages import Batch, Claim, HostRest, HostWork, State
from freki.steps import Session, Work

# How often two transactions may be in each other's way before it is an error.
MOST_CONFLICTS = 20

# How often one may wait in vain for what another one holds.
MOST_WAITS = 3

T = TypeVar("T")

Asked = tuple[str, Any]  # a statement with what is sent with it


class PostgresLedger(SqliteLedger):
    """One worker's view of one crawl in a store on a server."""

    def __init__(
        self,
        db: Server,
        store: str,
        crawl: int,
        terms: Terms,
        prints: Fingerprint | None = None,
    ) -> None:
        super().__init__(db, store, crawl, terms, prints)
        self._server = db
        db.be_a_workers()
        self._session: Session | None = None
        self._serial = 0  # of the last transaction that came through
        self._next_serial = 0
        self._front = Front()
        self._changes: Tally = Counter()
        self._gains: Counter[int] = Counter()

    def __repr__(self) -> str:
        return f"<PostgresLedger {self._store} crawl={self._crawl} {self._sieve!r}>"

    def _make_sieve(self, prints: Fingerprint) -> FetchingSieve:
        return FetchingSieve(self._db, SQL, self._crawl, prints)

    # Transactions

    def join(self, now: float) -> Session:
        self._refuse_newer()
        if (lost := self._session) is not None:  # nobody need wait until its lease is over
            self.leave(lost, now)
        session = self._again(partial(super().join, now))
        assert session is not None, "without a session nothing can have come through unseen"
        self._session, self._serial = session, 0
        return session

    def renew(self, session: Session, now: float) -> None:
        self._db.execute(OURS["end_the_silent"]).fetchall()
        self._again(partial(super().renew, session, now), session)
        self._server.ask_for_date()

    def leave(self, session: Session, now: float) -> None:
        self._session = None
        self._again(partial(super().leave, session, now))

    def claim(
        self,
        session: Session,
        now: float,
        hosts: int,
        refill: Sequence[HostRest],
        full: Sequence[int] = (),
    ) -> Work:
        claim = partial(self._claim, session, now, hosts, refill, full)
        work = self._again(claim, session)
        if work is None:
            raise LeaseLost(f"session {session.id} does not know what it claimed")
        return work

    def commit(self, session: Session, batch: Batch) -> None:
        self._again(partial(super().commit, session, batch), session)

    def _again(self, act: Callable[[], T], session: Session | None = None) -> T | None:
        """Do it, once: again where it was undone, and None where only the answer was lost."""
        conflicts = 0
        while True:
            try:
                done = act()
            except Conflict:
                conflicts += 1
                if conflicts > MOST_CONFLICTS:
                    raise
            except ConnectionLost:
                if session is not None and self._came_through(session):
                    return None
            except StoreBusy:
                conflicts += 1
                if conflicts > MOST_WAITS:
                    raise
                self._db.execute(OURS["end_the_silent"]).fetchall()
            except StoreError:
                self._refuse_newer()  # which would explain it
                raise
            else:
                self._serial = self._next_serial
                return done

    def _refuse_newer(self) -> None:
        """Raises `StoreTooNew` where the tables were changed for a later version of us."""
        version, oldest = self._db.execute(OURS["oldest"]).fetchone()
        refuse_newer(version, oldest, self._store)

    def _came_through(self, session: Session) -> bool:
        """Whether the transaction whose end we did not see ended well."""
        self._sieve.forget()
        row = self._db.execute(OURS["serial"], (session.id,)).fetchone()
        if row is None or row[0] not in (self._serial, self._serial + 1):
            raise LeaseLost(f"session {session.id} was taken over, or its server lost commits")
        came_through: bool = row[0] > self._serial
        self._serial = row[0]
        return came_through

    @contextmanager
    def _writing(self) -> Iterator[None]:
        self._changes.clear()
        self._gains.clear()
        with super()._writing():
            yield
            self._settle()

    def _settle(self) -> None:
        """What others may wait for comes last, in the order in which all lock it."""
        if gains := {host: count for host, count in sorted(self._gains.items()) if count}:
            self._server.later(OURS["hosts_lock"], ([*gains],))
            self._server.later(OURS["hosts_gain"], ([*gains], [*gains.values()]))
        changes = [(*place, change) for place, change in self._changes.items() if change]
        if changes:
            states, reasons, counts = zip(*changes, strict=True)
            part = self._session.id if self._session else 0  # as long as it is there
            row = (self._crawl, part, list(states), list(reasons), list(counts))
            self._server.later(OURS["tally_change"], row)

    def _count(self, changes: Tally) -> None:
        for place, change in changes.items():  # not `update`: it is slow for a few
            self._changes[place] += change

    def _gain(self, host: int, count: int) -> None:
        self._gains[host] += count

    def _note_wire(self, session: Session, wire_bytes: int) -> None:
        self._server.later(OURS["wire_note"], (wire_bytes, session.id))

    # Sessions

    def _hold(self, session: Session) -> None:
        self._know(session, self._db.execute(OURS["hold"], (session.id, VERSION)).fetchone())

    def _know(self, session: Session, row: tuple[int] | None) -> None:
        """A session is ours that is there, and counted all our transactions."""
        if row is None:
            raise LeaseLost(f"session {session.id} was taken over by another worker")
        self._next_serial = row[0]
        if session == self._session and row[0] != self._serial + 1:
            raise LeaseLost(f"session {session.id}: the server crashed and lost commits")

    def _reap(self, now: float, besides: int | None = None) -> None:
        if besides:
            self._hand_over_wire(besides)
        for session in self._db.execute(SQL["sessions"], (self._crawl,)).fetchall():
            id_, until, *_ = session
            if id_ == besides or not self._heard.is_over(session, now):
                continue
            # Whoever is in the middle of a transaction, or reaped or renewed by now, is let be.
            if self._db.execute(OURS["session_reapable"], (id_, until)).fetchone() is not None:
                self._release(id_, now)

    def _release(self, session: int, now: float, *, untried: bool = False) -> None:
        if self._db.execute(OURS["session_lock"], (session, VERSION)).fetchone() is None:
            return
        self._hand_over_wire(session)
        self._db.execute(OURS["tally_fold"], (self._crawl, session))
        self._db.execute(OURS["tally_forget"], (self._crawl, session))
        super()._release(session, now, untried=untried)

    def _hand_over_wire(self, session: int) -> None:
        """With every commit, all workers would wait for the one row of the crawl."""
        self._db.execute(OURS["wire_keep"], (session,))
        self._db.execute(OURS["wire_taken"], (session,))

    # Claims

    def _claim(
        self,
        session: Session,
        now: float,
        hosts: int,
        refill: Sequence[HostRest],
        full: Sequence[int],
    ) -> Work:
        with self._writing():
            (waiting, leased, stored), held, free = self._look(session, now, hosts, refill, full)
            room = self._room(leased + stored)
            work = self._take_all(session, now, [*held, *(free if room > 0 else ())], room)
            if self._terms.exclusive and {row[0] for row in free} & {one.host for one in work}:
                self._server.later(OURS["durably"])
            taken = sum(len(of_host.claims) for of_host in work)
            room -= taken
            self._count(Counter({(State.waiting, 0): -taken, (State.leased, 0): taken}))
            # Who got all they wanted comes again at once, and need not know of a date.
            hungry = room > 0 and len(work) < max(hosts, 1)
            next_due = self._due_next(now, full) if hungry else None
            idle = next_due is None and not (work or refill or full)
            stuck = idle and self._nobody_works(session)
        return Work(
            work, next_due, waiting + leased, leased + taken, limit_reached=room <= 0, stuck=stuck
        )

    def _look(
        self,
        session: Session,
        now: float,
        hosts: int,
        refill: Sequence[HostRest],
        full: Sequence[int],
    ) -> tuple[tuple[int, int, int], list[HostRow], list[HostRow]]:
        """What is in which state, the hosts to refill that are still ours, and others to take."""
        ids = [rest.host for rest in refill]
        asked: list[Asked] = [(OURS["hold"], (session.id, VERSION)), *_rests(refill)]
        if self._terms.max_pages is not None:
            asked.append((OURS["limit_lock"], (self._crawl,)))
        owner = session.id if self._terms.exclusive else None
        asked += [
            (SQL["counts"], (self._crawl,)),
            (OURS["hosts_of"], (ids, owner)),
            (OURS["hosts_free"], (self._crawl, now, hosts, [*full, *ids], self._front.at(now))),
        ]
        held, *_, counts, ours, free = self._server.together(asked)
        self._know(session, held.fetchone())
        rows = {row[0]: row for row in ours.fetchall()}
        others = free.fetchall()
        if hosts > 0:
            self._front.move(others[-1][2] if len(others) == hosts else None)
        return counts.fetchone(), [rows[id_] for id_ in ids if id_ in rows], others

    def _due_next(self, now: float, full: Sequence[int]) -> float | None:
        row = self._db.execute(OURS["due_next"], (self._crawl, list(full))).fetchone()
        return self._believable(row[0] if row else None, now)

    def _take_all(
        self, session: Session, now: float, hosts: list[HostRow], room: float
    ) -> list[HostWork]:
        """Lease the next URLs of hosts; those that have none due are let go until they have."""
        most = self._terms.per_host
        if room >= most * len(hosts) and self._terms.max_pages_per_host is None:
            return self._take_some(session, now, [(host, most) for host in hosts])
        work: list[HostWork] = []
        for host in hosts:
            id_, pages = host[0], host[5]
            quota = int(max(0, min(room, most, self._budget(id_, pages))))
            of_host = self._take_some(session, now, [(host, quota)], room=room)
            room -= sum(len(one.claims) for one in of_host)
            work += of_host
        return work

    def _take_some(
        self,
        session: Session,
        now: float,
        wanted: Sequence[tuple[HostRow, int]],
        room: float = 1.0,
    ) -> list[HostWork]:
        if not wanted:
            return []
        claims = self._lease(session, now, {host[0]: (host[1], quota) for host, quota in wanted})
        taken = [host for host, _ in wanted if host[0] in claims]
        if taken:
            # A shared host goes to the end of the line, so that all get their turn.
            owner, turn = (session.id, None) if self._terms.exclusive else (None, now)
            counts = [len(claims[host[0]]) for host in taken]
            taken_ids = [host[0] for host in taken]
            self._server.later(OURS["hosts_take"], (owner, turn, taken_ids, counts))
        self._let_go([host for host in wanted if host[0][0] not in claims], now, room)
        return [_work(host, claims[host[0]]) for host in taken]

    def _lease(
        self, session: Session, now: float, quotas: dict[int, tuple[str, int]]
    ) -> dict[int, list[Claim]]:
        given = ([*quotas], [quota for _, quota in quotas.values()], now, session.id)
        rows = self._db.execute(OURS["urls_take"], given).fetchall()
        claims: dict[int, list[Claim]] = {}
        for host, url, path, depth, attempts, hops, via, request in rows:
            claim = Claim(url, host, quotas[host][0] + path, depth, attempts + 1, hops, via)
            claims.setdefault(host, []).append(claim if request is None else asked(claim, request))
        return claims

    def _let_go(self, hosts: Sequence[tuple[HostRow, int]], now: float, room: float) -> None:
        if not hosts:
            return
        # None: when the first of its URLs is due.
        soon = now + FULL_SECONDS if room > 0 else 0.0
        dues = [None if quota else soon for _, quota in hosts]
        self._server.later(OURS["hosts_leave"], ([host[0] for host, _ in hosts], dues))

    def _rest(self, rests: Sequence[HostRest]) -> None:
        for statement, given in _rests(rests):
            self._server.later(statement, given)

    # Commits

    def _end_urls(self, session: Session, rows: Rows) -> int:
        columns = map(list, zip(*rows.ends, strict=True))
        return self._db.execute(OURS["urls_end"], (*columns, session.id)).rowcount

    def _insert(self, new: Sequence[New], at: int) -> tuple[Sequence[New], list[Known]]:
        tried, known = [*new], list[Known]()
        sieve = self._sieve
        assert isinstance(sieve, FetchingSieve)
        while new:
            self._add_hosts(sieve, new)
            columns = map(list, zip(*(self._url_row(url, at) for url in new), strict=True))
            added = set(self._db.execute(OURS["urls_add"], tuple(columns)).fetchall())
            taken = []
            for url in new:
                if (host := self._host_id(url.origin), url.print) not in added:
                    taken.append(url)
                elif (refused := url.found.refused) is not None:
                    self._changes[State.refused, refused] += 1
                else:
                    self._changes[State.waiting, 0] += 1
                    self._gains[host] += 1
            new, more = sieve.sift_taken(taken) if taken else ([], [])
            known += more
            tried += new
        return tried, known

    def _keep(self, rows: Rows) -> None:
        """One commit after the other from here on: numbers of pages and items grow in their order,
        so that who exports misses none that became visible late.
        """
        if rows.pages or rows.items:
            self._db.execute(OURS["in_order"], (self._crawl,))
        rows.bodies.sort(key=itemgetter(0))  # as everybody does who stores the same ones
        super()._keep(rows)

    def _add_hosts(self, sieve: FetchingSieve, new: Sequence[New]) -> None:
        """Rows for hosts that are new, in the order of their discovery."""
        origins = dict.fromkeys(url.origin for url in new)
        if missing := set(sieve.fetch_hosts(set(origins))):
            ordered = [origin for origin in origins if origin in missing]
            self._db.execute(OURS["hosts_add"], (self._crawl, ordered))
            sieve.fetch_hosts(missing)


def _rests(rests: Sequence[HostRest]) -> list[Asked]:
    """What makes hosts rest."""
    if not rests:
        return []
    ordered = sorted(rests, key=lambda rest: rest.host)
    columns = ((rest.host, rest.next_at, rest.delay, rest.failures) for rest in ordered)
    hosts, *others = map(list, zip(*columns, strict=True))
    locked = [(OURS["hosts_lock"], (hosts,))] if len(hosts) > 1 else []
    return [*locked, (OURS["rest_all"], (hosts, *others))]


def _work(host: HostRow, claims: list[Claim]) -> HostWork:
    id_, origin, next_at, delay, failures, _pages, *robots = host
    return HostWork(
        id_, origin, claims, next_at, delay, failures, unpack_rules(id_, origin, *robots)
    )
