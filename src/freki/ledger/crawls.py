"""The crawls of a store: begun, continued, ended."""

import sqlite3
import time
from collections.abc import Sequence
from typing import Final

import msgspec
from msgspec import Struct

from freki.config import Settings
from freki.errors import BadInput, CrawlRunning, StoreDamaged
from freki.ledger.alive import surely_dead, this_machine
from freki.ledger.belief import SESSIONS, SILENCE, believed
from freki.ledger.check import look_soon
from freki.ledger.database import Database
from freki.ledger.identity import is_url, key_fits
from freki.ledger.statements import statements
from freki.ledger.store import ADVICE, describes_ours, translated
from freki.url import split

SQL: Final = statements("crawls.sql")


class Crawl(Struct, frozen=True, array_like=True):
    """A run of a named crawl."""

    id: int
    name: str
    run: int
    settings: Settings
    seeds: list[str]
    status: str  # running, finished, limited or interrupted
    started_at: float
    ended_at: float | None  # when work on it ended last, also where it goes on now
    seconds: float
    wire_bytes: int
    program: str = ""  # how the spider was named that reads its pages

    @property
    def is_over(self) -> bool:
        return self.status == "finished"


def find(db: Database, name: str) -> Crawl | None:
    """The latest run of a crawl."""
    return _crawl(db.execute(SQL["crawl_latest"], (name,)).fetchone())


def newest(db: Database) -> Crawl | None:
    """The crawl that was begun last."""
    return _crawl(db.execute(SQL["crawl_newest"]).fetchone())


def default_name(seed: str) -> str:
    """The name of a crawl that got none: the host of its first start URL, with the port."""
    return split(seed).origin.partition("://")[2]


def names(db: Database) -> list[str]:
    """Every crawl of the store, newest first."""
    return [name for (name,) in db.execute(SQL["crawl_names"])]


def begin(
    db: Database,
    name: str,
    seeds: Sequence[str],
    settings: Settings,
    now: float,
    program: str = "",
) -> Crawl:
    """A new run of the crawl of that name."""
    with translated(name):
        row = (name, name, _json(settings), _json(list(seeds)), now, program)
        if db.execute(SQL["crawl_begin"], row).rowcount == 0:
            raise CrawlRunning(
                f"crawl {name!r} was begun by somebody else at this moment; join it with: "
                "freki worker, or start another crawl with --name"
            )
    crawl = find(db, name)
    assert crawl is not None
    return crawl


def resume(db: Database, crawl: Crawl, seeds: Sequence[str], settings: Settings) -> Crawl:
    """Continue a crawl with these settings; start URLs are added to those it has."""
    refuse_if_running(db, crawl)
    refuse_if_damaged(db, crawl)
    all_seeds = [*crawl.seeds, *(seed for seed in seeds if seed not in crawl.seeds)]
    with translated(crawl.name):
        db.execute(SQL["crawl_resume"], (_json(settings), _json(all_seeds), crawl.id))
    resumed = find(db, crawl.name)
    assert resumed is not None
    return resumed


def end(db: Database, crawl: Crawl, status: str, now: float, seconds: float) -> None:
    """Note how the work ended, and for how long it went on.

    A crawl that was continued is not finished before a look at its store: raises `StoreDamaged`.
    """
    with translated(crawl.name):
        try:
            if status == "finished" and crawl.ended_at is not None:
                look_soon(db, crawl.name)
        except BaseException:
            status = "interrupted"
            raise
        finally:
            db.execute(SQL["crawl_end"], (status, now, seconds, crawl.id))


def keep_cookies(db: Database, crawl: int, lines: list[str]) -> None:
    """Store the cookies of a crawl: who logged in is still logged in after a restart."""
    with translated(f"crawl {crawl}"):
        db.execute(SQL["cookies_keep"], ("\n".join(lines), crawl))


def cookies_of(db: Database, crawl: int) -> list[str]:
    """The cookies that a crawl had."""
    (lines,) = db.execute(SQL["cookies_of"], (crawl,)).fetchone()
    return str(lines).splitlines()


def start_pages(db: Database, crawl: int) -> list[str]:
    """The start URLs and where they redirected to: what the scope is measured from."""
    urls = [url.partition("#")[0] for (url,) in db.execute(SQL["start_pages"], (crawl,))]
    if not all(is_url(url) for url in urls):
        raise StoreDamaged(f"crawl {crawl}: {ADVICE[StoreDamaged]} (its start pages)")
    return urls


def worked_on_by(db: Database, crawl: Crawl) -> str | None:
    """The number of a process that works on a crawl, or None where surely nobody does."""
    with translated(crawl.name):
        sessions = believed(db.execute(SQL["sessions_of"], (crawl.id,)).fetchall(), SESSIONS)
    for _, until, machine, process in sessions:
        if surely_dead(machine, process):
            continue
        # One so far away was set by nobody, unless we see who: who joins will see if it is renewed.
        if until < time.time() + SILENCE or machine == this_machine():
            return str(process).partition(" ")[0]
    return None


def refuse_if_running(db: Database, crawl: Crawl) -> None:
    """Raises `CrawlRunning` where another process may be at it."""
    if (pid := worked_on_by(db, crawl)) is not None:
        raise CrawlRunning(
            f"crawl {crawl.name!r} is being worked on by process {pid}; wait for it, stop it "
            "with Ctrl-C, or start another crawl with --name"
        )


def refuse_if_damaged(db: Database, crawl: Crawl) -> None:
    """Raises `StoreDamaged` where nothing can be believed: not what a table is, or what is new."""
    detail = ""
    with translated(crawl.name):
        if isinstance(db, sqlite3.Connection) and not describes_ours(db):
            detail = "its tables are not described as they were made"
        elif not key_fits(db):
            detail = "the key of its fingerprints is another one"
        if detail:
            raise StoreDamaged(f"crawl {crawl.name!r}: {ADVICE[StoreDamaged]} ({detail})")


def _json(value: Settings | list[str]) -> str:
    return msgspec.json.encode(value).decode()


def _crawl(row: tuple[object, ...] | None) -> Crawl | None:
    if row is None:
        return None
    id_, name, run, settings, seeds, *rest = row
    try:
        crawl = msgspec.convert(
            [
                id_,
                name,
                run,
                msgspec.json.decode(str(settings)),
                msgspec.json.decode(str(seeds)),
                *rest,
            ],
            Crawl,
            strict=False,
        )
    except msgspec.ValidationError as error:
        raise BadInput(f"crawl {name!r} has settings this version does not know: {error}") from None
    if not all(is_url(seed) for seed in crawl.seeds):
        raise StoreDamaged(f"crawl {name!r}: {ADVICE[StoreDamaged]} (its start URLs)")
    return crawl
