"""The sieve beside a server: what it will ask for one by one is fetched at once before."""

from collections.abc import Mapping, Sequence
from typing import Final

from freki.ledger.database import Database, Row
from freki.ledger.discover import MAX_ORIGINS, Fingerprint, Known, New, Sieve
from freki.ledger.statements import statements
from freki.messages import Discovery

OURS: Final = statements("postgres/ledger.sql")

# Above every id: none of the rows that were in the way is ours.
_NONE_OF_OURS = 2**63

Place = tuple[int, int]  # host and fingerprint


class FetchingSieve(Sieve):
    """Sorts discoveries with two questions to the server, however many there are."""

    def __init__(
        self,
        db: Database,
        statements: Mapping[str, str],
        crawl: int,
        fingerprint: Fingerprint,
    ) -> None:
        super().__init__(db, statements, crawl, fingerprint)
        self._fetched: dict[Place, Row | None] = {}
        self._nowhere: set[str] = set()  # origins that have no row

    def sift(self, found: Sequence[Discovery]) -> tuple[list[New], list[Known]]:
        try:
            return super().sift(found)
        finally:
            self._put_away()

    def sift_taken(self, taken: Sequence[New]) -> tuple[list[New], list[Known]]:
        """Of URLs that were taken when they were to be inserted: those that are new all the same,
        because only their fingerprint was taken, and those that are known.
        """
        self.fetch_hosts({url.origin for url in taken})
        self._fetch_rows([(url.origin, url.print) for url in taken])
        try:
            return self.sift_again(taken, _NONE_OF_OURS)
        finally:
            self._put_away()

    def host_id(self, origin: str) -> int | None:
        return None if origin in self._nowhere else super().host_id(origin)

    def fetch_hosts(self, origins: set[str]) -> list[str]:
        """Learn the rows of hosts; answers with those that have none."""
        if len(self._origins) + len(origins) > MAX_ORIGINS:
            self._origins.clear()
        wanted = [origin for origin in origins if origin not in self._origins]
        if wanted:
            self._origins |= self._db.execute(OURS["hosts_by_origin"], (self._crawl, wanted))
        return [origin for origin in wanted if origin not in self._origins]

    def _places(self, found: Sequence[Discovery]) -> list[tuple[Discovery, str, str, int]]:
        places = list(super()._places(found))
        self._nowhere = set(self.fetch_hosts({origin for _, origin, _, _ in places}))
        perhaps = {
            (origin, print_)
            for _, origin, _, print_ in places
            if not self._complete or not self._is_new(origin, print_)
        }
        self._fetch_rows(perhaps)
        return places

    def _fetch_rows(self, places: Sequence[tuple[str, int]] | set[tuple[str, int]]) -> None:
        wanted = [
            (self._origins[origin], print_) for origin, print_ in places if origin in self._origins
        ]
        self._fetched = dict.fromkeys(wanted)
        if wanted:
            hosts, prints = zip(*wanted, strict=True)
            rows = self._db.execute(OURS["urls_by_print"], (list(hosts), list(prints)))
            self._fetched |= {(host, print_): tuple(row) for host, print_, *row in rows}

    def _row(self, host: int | None, print_: int) -> Row | None:
        if host is not None and (host, print_) in self._fetched:
            return self._fetched[host, print_]
        return super()._row(host, print_)

    def _row_to_change(self, host: int | None, print_: int) -> Row | None:
        row: Row | None = self._db.execute(OURS["url_lock"], (host, print_)).fetchone()
        return row

    def _put_away(self) -> None:
        self._fetched = {}
        self._nowhere = set()
