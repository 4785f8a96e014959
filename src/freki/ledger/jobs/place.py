"""Where a service keeps its books and its crawls: a folder, or a store on a server.

What both have in common is here; `folder.py` and `served.py` are the two.
"""

import re
from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import wraps
from typing import Concatenate, Final, ParamSpec, Protocol, TypeVar

from freki.ledger import place
from freki.ledger.database import Conflict, Database
from freki.ledger.statements import statements

SQL: Final = statements("jobs.sql")

# Names of crawls become names of files: ours, and nothing that could lead anywhere else.
CRAWL_NAME = re.compile(r"[a-z]{3}_[0-9a-zA-Z]{10,40}")

# Times that two transactions may be in each other's way before it is an error.
MOST_CONFLICTS = 20

P = ParamSpec("P")
T = TypeVar("T")


class Desk(Protocol):
    """A connection to the books, for one thread at a time; others wait their turn."""

    def reading(self) -> AbstractContextManager[Database]: ...

    def writing(self) -> AbstractContextManager[Database]:
        """One transaction: all of it or nothing, and on disk when it is over."""
        ...

    def noting(self) -> AbstractContextManager[Database]:
        """The same for what a crash of a database server may take: sums that are told again."""
        ...

    def now(self) -> float:
        """The date that all who share the books agree on."""
        ...

    def changes(self) -> int:
        """A number that is another one after somebody has written what others wait for."""
        ...

    def bytes_of(self, crawl: str) -> int:
        """What a crawl takes, near enough for quotas."""
        ...

    def hosts_due(self) -> int | None:
        """Hosts that may be asked now and that nobody holds; None where no machine can be added."""
        ...

    def remove(self, crawl: str) -> None:
        """Delete all that a crawl has stored; what is not there any more is as well."""
        ...

    def crawls_before(self, date: float) -> list[str]:
        """The names of crawls of ours that are stored, and were not begun after that."""
        ...

    def forget_texts(self, date: float) -> int:
        """Throw away the indexes in which nobody has searched since; answers with how many."""
        ...

    def settle(self) -> None:
        """See to it that nothing that was deleted stays in a log."""
        ...

    def close(self) -> None: ...


class Place(Protocol):
    """Where a service keeps everything."""

    def desk(self, patience: float = ...) -> Desk:
        """A new connection; so many seconds it tries to come back after it was lost."""
        ...

    def prepare(self) -> None:
        """Make what is not there yet."""
        ...

    def store_of(self, crawl: str) -> place.Place:
        """Where one crawl is stored."""
        ...

    def reading(self, crawl: str) -> AbstractContextManager[Database | None]:
        """The store of a crawl for who only reads; None where nobody has begun to make it."""
        ...

    def room(self) -> int | None:
        """Bytes that are left on the device, where that can be known."""
        ...

    def close(self) -> None: ...


def again(act: Callable[Concatenate[Desk, P], T]) -> Callable[Concatenate[Desk, P], T]:
    """For a transaction: done anew when another one was in its way and it was undone."""

    @wraps(act)
    def persistent(desk: Desk, /, *args: P.args, **kwargs: P.kwargs) -> T:
        for _ in range(MOST_CONFLICTS):
            try:
                return act(desk, *args, **kwargs)
            except Conflict:
                continue
        return act(desk, *args, **kwargs)

    return persistent


def refuse_foreign_name(crawl: str) -> None:
    if CRAWL_NAME.fullmatch(crawl) is None:
        raise ValueError(f"{crawl!r} is no name of a crawl of ours")
