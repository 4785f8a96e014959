"""Is a store sound? Every promise of the ledger, looked at row by row, and mended where it can be.

A finding is mended by what loses least: counts are counted again, leases of nobody end, and a
page that cannot be read is dropped with its URL put back, so that the crawl fetches it again.
"""

import sqlite3
from collections.abc import Callable, Iterator
from hashlib import sha256
from typing import Final, TypeVar

import msgspec
from msgspec import Struct
from zstandard import ZstdError

from freki.config import Settings
from freki.errors import StoreDamaged
from freki.ledger.blobs import Kind, Shelf
from freki.ledger.cells import odd_cells, rest_soon
from freki.ledger.database import Database, transaction
from freki.ledger.discover import fits
from freki.ledger.identity import (
    drop_host,
    drop_url,
    find_again,
    is_origin,
    is_url,
    key_fits,
    make_prints,
    prints_of,
    put_back,
    renamed_hosts,
)
from freki.ledger.rows import ELSEWHERE, unpack_body, unpack_links
from freki.ledger.statements import statements
from freki.ledger.store import ADVICE, describes_ours
from freki.messages import Reason, State, Timings, Via

SQL: Final = statements("mend.sql")

T = TypeVar("T")

# A store up to this size is looked at before a continued crawl says that it is finished; a second.
SOON_LOOKED_AT = 2**30

# How a URL is mended that is not known any more: the pages that link to it are fetched again.
FOUND_AGAIN = "dropped, and found again by its links"

# Bytes of a SHA-256, which is all there is of a body that was not kept.
DIGEST = 32

# What is mended may leave something behind: a dropped page its body.
ROUNDS = 6


class Finding(Struct, frozen=True):
    """Something that is not as it was promised."""

    what: str
    mended: str  # what repair does, or did
    repair: Callable[[Database], object] | None = None


def structure(db: Database) -> list[str]:
    """What SQLite itself finds wrong with the file, at most a hundred lines of it."""
    if not isinstance(db, sqlite3.Connection):
        return []  # a server looks after its files itself
    try:
        lines = [line for (line,) in db.execute("PRAGMA integrity_check")]
        lines += [f"foreign key: {row}" for row in db.execute("PRAGMA foreign_key_check")]
        if lines == ["ok"] and not describes_ours(db):
            return ["the tables are not described as they were made"]
    except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
        return [str(error)]
    return [] if lines == ["ok"] else lines


def look_soon(db: Database, name: str) -> None:
    """Raise `StoreDamaged` where a crawl that says it is finished may not be, because of damage.

    Takes what a second can tell: a large store is left to `freki check`.
    """
    if not isinstance(db, sqlite3.Connection):
        return
    pages, each = (
        db.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_count", "page_size")
    )
    if pages * each > SOON_LOOKED_AT:
        return
    told = [line for (line,) in db.execute("PRAGMA quick_check(1)") if line != "ok"]
    told += [f"URL {id_} is done and has no page" for id_ in _ids(db, "done_without_page")]
    told += [finding.what for finding in _sums(db)]
    if told:
        raise StoreDamaged(f"crawl {name!r}: {ADVICE[StoreDamaged]} ({told[0]})")


def findings(db: Database) -> Iterator[Finding]:
    """Everything that is wrong above the structure; the sums last, when the rows are right."""
    if isinstance(db, sqlite3.Connection):
        db.text_factory = _text
    if odd := list(_cells(db)):
        yield from odd
        return  # what else there is to say would be about these
    yield from _crawls(db)
    yield from _hosts(db)
    yield from _rows(db)
    yield from _orphans(db)
    yield from _bodies(db)
    yield from _pictures(db)
    yield from _pages(db)
    yield from _texts(db)
    yield from _sums(db)


def _cells(db: Database) -> Iterator[Finding]:
    for cell in odd_cells(db):
        mended = "as in a new row" if cell.otherwise else "dropped with its row"
        yield Finding(str(cell), FOUND_AGAIN if cell.takes_urls else mended, cell.mend)


def _text(raw: bytes) -> str | bytes:
    """A text that is none stays bytes, and is found by that."""
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return raw


def repair(db: Database, store: str) -> tuple[list[Finding], bool]:
    """Mend what can be mended; answers with what that was, and whether the store is sound now."""
    mended: list[Finding] = []
    if broken := structure(db):
        mended = [
            Finding(f"host {id_} has another name now", FOUND_AGAIN, _drop_host(id_))
            for id_ in renamed_hosts(db)
        ]
        if any("host_due" in line for line in broken):
            rest_soon(db)
        db.execute("REINDEX")  # a damaged index is made anew from its table
    if broken := structure(db):
        raise StoreDamaged(f"{store}: {broken[0]}")
    if mended:
        _mend(db, mended)
    for _ in range(ROUNDS):
        if not (found := list(findings(db))):
            return mended, True
        mended += found
        _mend(db, found)
    return mended, not list(findings(db))


def _mend(db: Database, found: list[Finding]) -> None:
    with transaction(db):
        for finding in found:
            if finding.repair is not None:
                finding.repair(db)
        if any(finding.mended == FOUND_AGAIN for finding in found):
            find_again(db)
        mend_sums(db)


def mend_sums(db: Database) -> None:
    """Count again what is kept as counts."""
    counted = db.execute(SQL["counted"]).fetchall()
    db.execute(SQL["tally_clear"])
    db.executemany(SQL["tally_set"], counted)
    for host, _, waiting in db.execute(SQL["waiting_wrong"]).fetchall():
        db.execute(SQL["waiting_set"], (waiting, host))
    for host, _, pages in db.execute(SQL["pages_wrong"]).fetchall():
        db.execute(SQL["pages_set"], (pages, host))
    db.execute(SQL["unfinished_crawls"])


def _crawls(db: Database) -> Iterator[Finding]:
    for id_, name, settings, seeds in db.execute(SQL["crawls_raw"]):
        urls = _decoded(seeds, list[str])
        if urls is None or not all(is_url(url) for url in urls):
            text = f"crawl {name!r} has start URLs that are none"
            yield Finding(text, "left out; give them again", _mend_seeds(id_, seeds))
        if _decoded(settings, Settings) is None:
            text = f"crawl {name!r} has settings that cannot be read"
            yield Finding(text, "those by default; give them again", _doing("settings_reset", id_))


def _decoded(text: str | bytes, kind: type[T]) -> T | None:
    try:
        return msgspec.json.decode(text, type=kind)
    except (msgspec.DecodeError, TypeError):
        return None


def _mend_seeds(crawl: int, seeds: str | bytes) -> Callable[[Database], object]:
    good = [url for url in _decoded(seeds, list[str]) or [] if is_url(url)]
    text = msgspec.json.encode(good).decode()
    return lambda db: db.execute(SQL["seeds_set"], (text, crawl))


def _hosts(db: Database) -> Iterator[Finding]:
    for id_, origin, robots in db.execute(SQL["hosts_raw"]):
        if not isinstance(origin, str) or not is_origin(origin):
            yield Finding(f"the name of host {id_} is none", FOUND_AGAIN, _drop_host(id_))
        try:
            if robots is not None:
                unpack_body(robots)
        except ZstdError:
            text = f"the robots.txt of host {id_} cannot be read"
            yield Finding(text, "asked for again", _doing("rules_drop", id_))


def _rows(db: Database) -> Iterator[Finding]:
    if not key_fits(db):
        yield Finding("the key of the fingerprints is another one", "made again", make_prints)
        return
    prints = prints_of(db)
    for id_, host, print_, path, state, reason, via in db.execute(SQL["urls_raw"]):
        if not (_is_one_of(State, state) and _is_one_of(Via, via)):
            yield Finding(
                f"URL {id_} has the state {state} and the way {via}", FOUND_AGAIN, _drop_url(id_)
            )
        elif state >= State.done and not _is_one_of(Reason, reason):
            yield Finding(f"URL {id_} ended for the reason {reason}", "fetched again", _again(id_))
        elif not isinstance(path, str) or not fits(path, print_, prints):
            text = f"the path of URL {id_} of host {host} is not the one that was stored"
            yield Finding(text, FOUND_AGAIN, _drop_url(id_))


def _orphans(db: Database) -> Iterator[Finding]:
    for statement, what, mended, repair in _ORPHANS:
        for id_ in _ids(db, statement):
            yield Finding(what.format(id_), mended, repair(id_))


def _bodies(db: Database) -> Iterator[Finding]:
    shelf = Shelf(db)
    for id_, digest, data in db.execute(SQL["bodies"]):
        try:
            if data is None and len(digest) == DIGEST:
                continue
            whole = data if data != ELSEWHERE else shelf.find(Kind.body, digest)
            is_whole = whole is not None and sha256(unpack_body(whole)).digest() == digest
        except (ZstdError, TypeError, MemoryError):
            is_whole = False
        if not is_whole:
            mend = _without_blob(Kind.body, digest, _refetch(id_))
            yield Finding(f"body {id_} is not what its digest says", "fetched again", mend)


def _pictures(db: Database) -> Iterator[Finding]:
    shelf = Shelf(db)
    for id_, digest, data in db.execute(SQL["pictures"]):
        whole = data if data != ELSEWHERE else shelf.find(Kind.picture, digest)
        if not isinstance(whole, bytes) or sha256(whole).digest() != digest:
            text = f"picture {id_} is not what its digest says"
            mend = _without_blob(Kind.picture, digest, _doing("picture_drop", id_))
            yield Finding(text, "dropped", mend)


def _without_blob(
    kind: Kind, digest: object, repair: Callable[[Database], object]
) -> Callable[[Database], object]:
    """What is wrong there must go, or who fetches the same again would find it kept already."""

    def mend(db: Database) -> None:
        repair(db)
        Shelf(db).drop(kind, digest)

    return mend


def _pages(db: Database) -> Iterator[Finding]:
    for url, headers, timings, links in db.execute(SQL["pages_raw"]):
        try:
            msgspec.json.decode(headers, type=list[tuple[str, str]])
            msgspec.json.decode(timings, type=Timings)
            unpack_links(links)
        except (msgspec.DecodeError, ZstdError, TypeError, UnicodeError):
            yield Finding(f"the page of URL {url} cannot be read", "fetched again", _again(url))


def _texts(db: Database) -> Iterator[Finding]:
    """Cells that are shown, and that nobody could show."""
    for statement, what, mended, repair in _TEXTS:
        for id_, *cells in db.execute(SQL[statement]):
            if any(isinstance(cell, bytes) for cell in cells):
                yield Finding(what.format(id_), mended, repair(id_))


def _sums(db: Database) -> Iterator[Finding]:
    counted = {tuple(row[:3]): row[3] for row in db.execute(SQL["counted"])}
    tallied = {tuple(row[:3]): row[3] for row in db.execute(SQL["tallied"])}
    if counted != tallied:
        yield Finding("the sums do not add up to the rows", "counted again", mend_sums)
    if wrong := db.execute(SQL["waiting_wrong"]).fetchall():
        yield Finding(
            f"{len(wrong)} hosts have a wrong number of waiting URLs", "counted again", mend_sums
        )
    if wrong := db.execute(SQL["pages_wrong"]).fetchall():
        yield Finding(f"{len(wrong)} hosts gave fewer pages than noted", "counted again", mend_sums)


def _is_one_of(kind: type[State] | type[Reason] | type[Via], value: object) -> bool:
    return value in list(kind)


def _ids(db: Database, statement: str) -> list[int]:
    return [id_ for (id_,) in db.execute(SQL[statement])]


def _doing(statement: str, id_: int) -> Callable[[Database], object]:
    return lambda db: db.execute(SQL[statement], (id_,))


def _drop_url(id_: int) -> Callable[[Database], object]:
    return lambda db: drop_url(db, id_)


def _drop_host(id_: int) -> Callable[[Database], object]:
    return lambda db: drop_host(db, id_)


def _adopt(host: int) -> Callable[[Database], object]:
    """With several crawls nobody knows whose it was; it does no harm."""

    def repair(db: Database) -> None:
        (crawls,) = db.execute(SQL["crawls_counted"]).fetchone()
        if crawls == 1 and db.execute(SQL["host_adopt"], (host,)).rowcount == 0:
            drop_host(db, host)  # the crawl met it again meanwhile

    return repair


def _again(url: int) -> Callable[[Database], object]:
    """Drop the page, and let the URL wait for another visit."""
    return lambda db: put_back(db, url)


def _refetch(body: int) -> Callable[[Database], object]:
    def repair(db: Database) -> None:
        for (url,) in db.execute(SQL["pages_with_body"], (body,)).fetchall():
            _again(url)(db)
        db.execute(SQL["body_drop"], (body,))

    return repair


def _doing_by(statement: str) -> Callable[[int], Callable[[Database], object]]:
    return lambda id_: _doing(statement, id_)


# What belongs to something that is not there: how it is found, told and mended.
_ORPHANS: Final = (
    ("urls_without_host", "URL {} has no host", FOUND_AGAIN, _drop_url),
    ("hosts_without_crawl", "host {} has no crawl", "goes to the only crawl there is", _adopt),
    ("sessions_without_crawl", "session {} has no crawl", "ended", _doing_by("session_drop")),
    ("leased_by_nobody", "URL {} is leased by nobody", "waits again", _doing_by("unlease")),
    ("held_by_nobody", "host {} is held by nobody", "let go", _doing_by("unhold")),
    ("pages_without_url", "page {} has no URL", "dropped", _doing_by("page_drop")),
    ("pages_of_open_urls", "URL {} has a page and no outcome", "fetched again", _again),
    ("done_without_page", "URL {} is done and has no page", "fetched again", _again),
    ("pages_without_body", "the page of URL {} has no body", "fetched again", _again),
    ("items_without_page", "URL {} has items and no page", "dropped", _doing_by("items_drop")),
    (
        "attempts_without_url",
        "attempts of {} have no URL",
        "dropped",
        _doing_by("attempts_drop"),
    ),
    ("requests_without_url", "request {} has no URL", "dropped", _doing_by("request_drop")),
    ("captures_without_rendering", "capture {} has no visit", "dropped", _doing_by("capture_drop")),
    ("captures_without_picture", "capture {} has no picture", "dropped", _doing_by("capture_drop")),
    (
        "thumbnails_without_capture",
        "a thumbnail of capture {} shows nothing",
        "dropped",
        _doing_by("thumbnails_of_capture_drop"),
    ),
    ("unused_pictures", "picture {} belongs to nothing", "dropped", _doing_by("picture_drop")),
    ("unused_bodies", "body {} belongs to no page", "dropped", _doing_by("body_drop")),
)

# What is shown, and what becomes of it where nobody could show it.
_TEXTS: Final = (
    ("texts_of_urls", "the detail of URL {} is no text", "dropped", _doing_by("detail_drop")),
    ("texts_of_attempts", "attempts of URL {} are no text", "dropped", _doing_by("attempts_drop")),
    ("texts_of_pages", "a text of the page of URL {} is none", "fetched again", _again),
    ("texts_of_items", "an item of URL {} is no text", "fetched again", _again),
)
