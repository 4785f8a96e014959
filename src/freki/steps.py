"""The contracts between the steps, in the order of the journey.

admit -> ledger -> fetch -> extract -> ledger
"""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Protocol

from msgspec import Struct

from freki.messages import (
    Asked,
    Batch,
    Claim,
    Discovery,
    Failure,
    HostRest,
    HostWork,
    Item,
    Page,
    Reason,
    Response,
)
from freki.pictures import Rendering, Shot, Unrendered

Fetch = Callable[[Claim], Awaitable[Response | Failure]]
"""Gets the bytes of one URL. Redirects are answers like any other. Never raises for what the web
does, and always returns within its deadline."""

Middleware = Callable[[Fetch], Fetch]
"""Wraps a fetch; the order is the list in `engine/build.py`, first one outermost."""

Render = Callable[[Shot], Awaitable[Rendering | Unrendered]]
"""Visits one URL with a browser and takes the pictures that are wished for. Never raises for what
a page does, always returns within its deadline, and no visit knows anything of another."""

Extract = Callable[[Response], Page]
"""Reads an answer. Pure, and total: no content of a page makes it raise."""


class Exploration(Struct, frozen=True):
    """What a program made of an answer."""

    page: Page
    asked: list[Asked] = []
    items: list[Item] = []
    follows: bool = True  # the links of the page come in as well
    error: str = ""  # the traceback, where the program failed: then the rest counts nothing


Explore = Callable[[Claim, Response], Awaitable[Exploration]]
"""Reads an answer in place of `Extract`, with what a user wrote. Never raises for that."""


Ask = Callable[..., Awaitable[Any]]
"""Asks the store a question of `ledger`, on the thread that has it: `await ask(what, *more)`."""


class Gate(Protocol):
    """May this URL come in?"""

    def admit(self, page: Page, claim: Claim) -> list[Discovery]:
        """Every link of a page with its verdict: each URL once, refused ones included.

        Links that were judged lately, by a way as short, are left out: the ledger has them, or
        will have them before anything that is admitted now.
        """
        ...

    def ask(self, asked: Sequence[Asked], page: Page, claim: Claim) -> list[Discovery]:
        """What a program asks for, with verdicts; nobody lays traps for those who know the way."""
        ...

    def returned(self, answer: Response, page: Page, claim: Claim) -> list[Discovery]:
        """A URL that is asked once more, because a redirect leads back to it with a cookie."""
        ...

    def sitemaps(self, urls: Sequence[str], page: Claim) -> list[Discovery]:
        """The sitemaps that a host names, with their verdicts."""
        ...

    def learn(self, response: Response, page: Claim) -> None:
        """Look at a page that was stored: does its pattern still bring anything new?"""
        ...

    def probe(self, page: Claim) -> str | None:
        """A URL that the host of this page cannot have, to be asked for once."""
        ...

    def learn_missing(self, response: Response) -> None:
        """What a host says of a page that it cannot have."""
        ...

    def forget(self) -> None:
        """What was judged lately did not reach the ledger."""
        ...


class Session(Struct, frozen=True):
    """A worker's right to claim and commit in one crawl. Its id is the fencing token."""

    id: int
    crawl: int


class Work(Struct, frozen=True):
    """The answer to a claim."""

    hosts: list[HostWork]
    next_due: float | None = None  # when nothing is due now: the date of what comes first
    open: int = 0  # URLs waiting or leased in the whole crawl, these included
    leased: int = 0  # of these, leased by anybody
    limit_reached: bool = False  # the page limit leaves nothing to claim
    stuck: bool = False  # nothing is due, nobody has anything in hand, and no date changes that


class Ledger(Protocol):
    """Which URL next, and when? What became of it?

    All methods block; `ledger.buffered` puts them on one thread. Times are seconds since the
    epoch and always arguments. A session that was reaped gets `LeaseLost` from `claim`, `commit`
    and `renew`, and nothing of what it brought is stored.
    """

    def join(self, now: float) -> Session:
        """Open a session. Sessions of the dead are reaped here: start-up is recovery."""
        ...

    def renew(self, session: Session, now: float) -> None:
        """Keep the session for another lease time, and reap those whose time is over."""
        ...

    def leave(self, session: Session, now: float) -> None:
        """Give back every claim and host that is still held."""
        ...

    def claim(
        self,
        session: Session,
        now: float,
        hosts: int,
        refill: Sequence[HostRest],
        full: Sequence[int] = (),
    ) -> Work:
        """Lease URLs: of up to `hosts` further hosts, and of hosts in `refill` already held.

        A host in `refill` that gives nothing is let go. Hosts in `full` are left out: the worker
        has enough of them in hand.
        """
        ...

    def commit(self, session: Session, batch: Batch) -> None:
        """Store pages, what they revealed and the outcomes, in one transaction."""
        ...


class Verdict(Struct, frozen=True, gc=False):
    """What becomes of an answer: done, failed, or tried again."""

    reason: Reason
    detail: str = ""
    retry_at: float | None = None
    failed: bool = False
    pause_until: float = 0.0  # for the whole host
    unreached: bool = False  # the host itself could not be reached
