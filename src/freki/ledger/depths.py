"""Depth is the shortest way: what comes nearer brings along what lies behind it."""

from collections import Counter
from typing import Final

from freki.ledger.belief import Standing, believed
from freki.ledger.database import Database
from freki.ledger.discover import Sieve
from freki.ledger.rows import unpack_links
from freki.ledger.statements import statements
from freki.ledger.terms import Terms
from freki.messages import Batch, Link, Reason, State, Via

SQL: Final = statements("ledger.sql")

Tally = Counter[tuple[int, int]]
Nearer = tuple[int, int]  # the id of a page and the depth it has now


class Depths:
    """The part of a ledger that keeps depths; the ledger counts what they change."""

    _db: Database
    _sieve: Sieve
    _terms: Terms

    def _gain(self, host: int, count: int) -> None:
        raise NotImplementedError

    def _count(self, changes: Tally) -> None:
        raise NotImplementedError

    def _nearer_than_claimed(self, batch: Batch) -> list[Nearer]:
        """Pages that came nearer while they were fetched."""
        nearer = []
        for outcome in batch.outcomes:
            if outcome.visit is not None:
                url = outcome.claim.id
                row = self._db.execute(SQL["url_standing"], (url,)).fetchone()
                _, _, depth = believed(row, Standing)
                if depth < outcome.claim.depth:
                    nearer.append((url, depth))
        return nearer

    def _spread_depths(self, nearer: list[Nearer]) -> None:
        """A page turned out to be nearer than thought: so are the pages it links to.

        Pages of one depth are fetched at the same time and answer in any order, so a page may
        be reached by a longer way first. Without this, `--depth` would lose what lies behind it.
        """
        while nearer:
            page, depth = nearer.pop()
            row = self._db.execute(SQL["page_links"], (page,)).fetchone()
            if row is not None:
                packed, hops = row
                for link in unpack_links(packed):
                    nearer += self._bring_nearer(page, depth, hops, link)

    def _bring_nearer(self, page: int, depth: int, hops: int, link: Link) -> list[Nearer]:
        """Lower the depth of what a page links to; answers with it if it must be spread further."""
        url = self._sieve.find(link.url)
        redirect = link.via == Via.redirect
        depth += not redirect
        if url is None or url.depth <= depth:
            return []
        way = (depth, link.via, hops + 1 if redirect else 0, page, url.id)
        self._db.execute(SQL["url_nearer"], way)
        too_deep = url.state == State.refused and url.reason == Reason.depth
        if too_deep and depth <= (self._terms.max_depth or 0):
            self._db.execute(SQL["url_readmit"], (url.id,))
            self._count(Counter({(State.refused, Reason.depth): -1, (State.waiting, 0): 1}))
            self._gain(url.host, 1)
        return [(url.id, depth)] if url.state == State.done else []
