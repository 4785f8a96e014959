"""The books of the service: fair, durable, and never two workers on one crawl."""

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from threading import Barrier, Event
from typing import TypeVar

import pytest
from tests.postgres import PostgresServer

from freki.config import Settings
from freki.errors import StoreUnreachable
from freki.ledger import crawls
from freki.ledger.jobs import events, orders, shift, upkeep
from freki.ledger.jobs.folder import Folder
from freki.ledger.jobs.keys import ANYBODY, Key, Quotas
from freki.ledger.jobs.orders import Accepted, Job, Order, Refusal, Repeat, Result
from freki.ledger.jobs.place import SQL, Desk, Place
from freki.ledger.jobs.served import Served
from freki.ledger.jobs.shift import LEASE, MOST_ATTEMPTS, Shift
from freki.ledger.store import open_store, read_store

KINDS: tuple[orders.Kind, ...] = orders.KINDS
DONE = Result("done")


def caller(id_: str, **quotas: int) -> Key:
    return Key(id_, id_, ("submit",), Quotas(**quotas), 0.0)


@pytest.fixture(scope="module")
def server(postgres: PostgresServer) -> Served:
    made = Served(postgres.schema())
    made.prepare()
    return made


def emptied(served: Served, postgres: PostgresServer) -> Served:
    """As new, and in a tenth of the time."""
    kept = ("store", "secret", "books")
    named = "SELECT tablename FROM pg_tables WHERE schemaname = %s AND tablename <> ALL (%s)"
    tables = postgres.ask(named, served.address.schema, list(kept))
    postgres.ask("; ".join(f"DELETE FROM {served.address.schema}.{name}" for name in tables))
    return served


@pytest.fixture(params=["folder", pytest.param("server", marks=pytest.mark.system)])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    if request.param == "folder":
        made: Place = Folder(tmp_path / "data")
    else:
        made = emptied(request.getfixturevalue("server"), request.getfixturevalue("postgres"))
    made.prepare()
    return made


@pytest.fixture
def desk(place: Place) -> Iterator[Desk]:
    with closing(place.desk()) as made:
        yield made


def order(**fields: object) -> Order:
    usual: dict[str, object] = {"kind": "crawl", "name": "x", "request": {}, "seeds": ["http://a/"]}
    return Order(**{**usual, "settings": {}, **fields})  # type: ignore[arg-type]


def accept(desk: Desk, who: Key = ANYBODY, now: float = 0.0, **fields: object) -> Job:
    accepted = orders.accept(desk, order(**fields), who, 10_000, now, None)
    assert isinstance(accepted, Accepted)
    return accepted.job


def take(desk: Desk, worker: Shift, now: float = 0.0) -> Job | None:
    return shift.take(desk, worker, KINDS, now)


def test_whoever_has_least_in_work_is_next(desk: Desk) -> None:
    many, few = caller("many"), caller("few")
    for _ in range(5):
        accept(desk, many)
    accept(desk, few)
    accept(desk, few)
    worker = shift.begin(desk, 0.0)
    owners = [job.owner for _ in range(7) if (job := take(desk, worker))]
    assert owners == ["many", "few", "many", "few", "many", "many", "many"]


def test_somebody_who_waits_for_one_page_goes_first(desk: Desk) -> None:
    for _ in range(3):
        accept(desk)
    waiting = accept(desk, kind="fetch")
    job = take(desk, shift.begin(desk, 0.0))
    assert job is not None
    assert job.id == waiting.id


def test_what_a_silent_worker_had_is_for_others_and_its_late_word_changes_nothing(
    desk: Desk,
) -> None:
    job = accept(desk)
    silent = shift.begin(desk, 0.0)
    taken = take(desk, silent)
    assert taken is not None
    later = LEASE + 1.0
    other = shift.begin(desk, later)
    again = take(desk, other, later)
    assert again is not None
    assert (again.id, again.attempts) == (job.id, 2)
    shift.finish(desk, silent, taken, Result("failed", "crash"), later)
    shift.give_back(desk, silent, taken, Result("queued"), later)
    assert shift.renew(desk, silent, {}, later) == {}
    found = orders.find(desk, job.id)
    assert found is not None
    assert found.state == "running"
    shift.finish(desk, other, again, DONE, later)
    ended = orders.find(desk, job.id)
    assert ended is not None
    assert ended.state == "done"


def test_a_job_that_takes_its_worker_with_it_is_given_up(desk: Desk) -> None:
    job = accept(desk)
    now = 0.0
    for _ in range(MOST_ATTEMPTS):
        assert take(desk, shift.begin(desk, now), now) is not None
        now += LEASE + 1.0
    assert take(desk, shift.begin(desk, now), now) is None
    found = orders.find(desk, job.id)
    assert found is not None
    assert (found.state, found.reason) == ("failed", "crash")


def test_what_is_given_back_counts_as_no_attempt(desk: Desk) -> None:
    accept(desk)
    worker = shift.begin(desk, 0.0)
    for _ in range(MOST_ATTEMPTS + 2):
        job = take(desk, worker)
        assert job is not None
        shift.give_back(desk, worker, job, Result("queued"), 0.0)


@pytest.mark.parametrize(("wish", "state"), [("pause", "paused"), ("cancel", "cancelled")])
def test_a_wish_outlives_the_worker_it_was_for(desk: Desk, wish: str, state: str) -> None:
    job = accept(desk)
    take(desk, shift.begin(desk, 0.0))
    {"pause": orders.pause, "cancel": orders.cancel}[wish](desk, job.id, 1.0)
    later = LEASE + 2.0
    take(desk, shift.begin(desk, later), later)
    found = orders.find(desk, job.id)
    assert found is not None
    assert found.state == state


def test_what_was_taken_back_is_not_given_back(desk: Desk) -> None:
    job, worker = accept(desk), shift.begin(desk, 0.0)
    taken = take(desk, worker)
    assert taken is not None
    orders.pause(desk, job.id, 1.0)
    assert orders.drop(desk, job.id) is False
    shift.give_back(desk, worker, taken, Result("paused"), 2.0)
    (gone,) = orders.abandoned(desk)
    assert (gone.id, gone.state) == (job.id, "cancelled")


def test_two_that_share_a_crawl_are_never_in_work_at_once(desk: Desk) -> None:
    first = accept(desk, likeness=b"same")
    second = accept(desk, likeness=b"same")
    assert second.crawl == first.crawl
    worker = shift.begin(desk, 0.0)
    taken = take(desk, worker)
    assert taken is not None
    assert take(desk, worker) is None
    shift.finish(desk, worker, taken, DONE, 1.0)
    for id_ in (first.id, second.id):
        job = orders.find(desk, id_)
        assert job is not None
        assert job.state == "done"


def test_a_day_has_so_many_pages(desk: Desk) -> None:
    who = caller("who", pages_per_day=10)
    accept(desk, who)
    shift.count(desk, "who", 10, {}, 0.0)
    refused = orders.accept(desk, order(), who, 100, 3_600.0, None)
    assert isinstance(refused, Refusal)
    assert (refused.reason, refused.retry_after) == ("quota_day", 86_400 - 3_600 + 1)
    accept(desk, who, now=86_400.0)


def stored(place: Place, crawl: str) -> None:
    with closing(open_store(place.store_of(crawl))) as db:
        crawls.begin(db, crawl, ["http://a/"], Settings(), time.time())


def is_stored(place: Place, crawl: str) -> bool:
    try:
        with closing(read_store(place.store_of(crawl))) as db:
            return crawls.find(db, crawl) is not None
    except StoreUnreachable:
        return False


def ended(desk: Desk, place: Place, at: float, size: int) -> Job:
    """A job that ended, with something stored."""
    job = accept(desk, now=at)
    worker = shift.begin(desk, at)
    taken = take(desk, worker, at)
    assert taken is not None
    stored(place, job.crawl)
    shift.finish(desk, worker, taken, Result("done", size=size), at)
    shift.end(desk, worker)
    return job


def test_what_is_too_old_is_deleted_with_all_it_stored(desk: Desk, place: Place) -> None:
    old, young = ended(desk, place, 10.0, 1), ended(desk, place, 20.0, 1)
    assert upkeep.delete_old(desk, 15.0) == 1
    assert orders.find(desk, old.id) is None
    assert not is_stored(place, old.crawl)
    assert orders.find(desk, young.id) is not None
    assert is_stored(place, young.crawl)


def test_what_is_too_much_is_deleted_from_the_old_end(desk: Desk, place: Place) -> None:
    jobs = [ended(desk, place, at, 100) for at in (1.0, 2.0, 3.0)]
    assert upkeep.delete_beyond(desk, 250) == 1
    assert [orders.find(desk, job.id) is None for job in jobs] == [True, False, False]
    assert upkeep.bytes_in_all(desk) == 200


def test_what_nobody_knows_is_swept_unless_it_is_young(desk: Desk, place: Place) -> None:
    kept = ended(desk, place, 1.0, 1)
    orphan = "crl_" + "0" * 32
    stored(place, orphan)
    now = time.time()
    assert upkeep.sweep(desk, now) == 0
    assert upkeep.sweep(desk, now + upkeep.YOUNG + 60.0) == 1
    assert is_stored(place, kept.crawl)
    assert not is_stored(place, orphan)


def test_files_of_others_are_not_swept(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    folder.prepare()
    (folder.crawls / "notes.txt").write_text("not ours")
    with closing(folder.desk()) as desk:
        assert upkeep.sweep(desk, time.time() + upkeep.YOUNG + 60.0) == 0
    assert (folder.crawls / "notes.txt").exists()


T = TypeVar("T")


def at_once(place: Place, act: Callable[[Desk, int], T], count: int = 4) -> list[T]:
    """What becomes of it when several do it at the same time, each with a desk of their own."""
    together = Barrier(count)

    def one(number: int) -> T:
        with closing(place.desk()) as desk:
            together.wait()
            return act(desk, number)

    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(one, range(count)))


def test_no_job_is_taken_by_two(desk: Desk, place: Place) -> None:
    jobs = {accept(desk).id for _ in range(40)}

    def take_all(own: Desk, _: int) -> list[str]:
        worker, taken = shift.begin(own, 0.0), list[str]()
        while (job := take(own, worker)) is not None or orders.open_in_all(own).get("queued"):
            taken += [job.id] if job else []
        return taken

    taken = [id_ for of_one in at_once(place, take_all) for id_ in of_one]
    assert sorted(taken) == sorted(jobs)


def test_of_those_that_share_a_crawl_only_one_is_taken_by_all(desk: Desk, place: Place) -> None:
    for _ in range(8):
        accept(desk, likeness=b"same")
    taken = at_once(place, lambda own, _: take(own, shift.begin(own, 0.0)))
    assert len([job for job in taken if job is not None]) == 1


def test_the_same_request_sent_twice_at_once_begins_one_job(desk: Desk, place: Place) -> None:
    repeat = Repeat("key", b"digest")

    def send(own: Desk, _: int) -> str:
        accepted = orders.accept(own, order(), ANYBODY, 100, 0.0, repeat)
        assert isinstance(accepted, Accepted)
        return accepted.job.id

    assert len(set(at_once(place, send))) == 1
    assert orders.open_in_all(desk) == {"queued": 1}


def test_no_more_wait_than_may_whoever_sends_them_at_once(desk: Desk, place: Place) -> None:
    who = caller("who", queued=5)

    def send(own: Desk, _: int) -> list[object]:
        return [orders.accept(own, order(), who, 100, 0.0, None) for _ in range(5)]

    answers = [answer for of_one in at_once(place, send) for answer in of_one]
    assert sum(isinstance(answer, Accepted) for answer in answers) == 5
    assert orders.open_in_all(desk) == {"queued": 5}


def test_who_reads_on_misses_nothing_while_many_write(desk: Desk, place: Place) -> None:
    jobs = [accept(desk) for _ in range(3)]
    began = events.last(desk)
    over, deadline = Event(), time.monotonic() + 30.0

    def write_or_read(own: Desk, number: int) -> list[int]:
        seen, after = list[int](), began
        if number < len(jobs):
            for count in range(40):
                shift.tell(own, jobs[number], {"pages": count}, [], 0, 0.0)
            return seen
        while not over.is_set() and time.monotonic() < deadline:
            new = events.since(own, after, 1_000)
            seen += [event.seq for _, event in new]
            after = max(seen, default=began)
            if len(seen) == 40 * len(jobs):
                over.set()
        return seen

    *_, seen = at_once(place, write_or_read)
    assert seen == [event.seq for _, event in events.since(desk, began, 1_000)]
    assert len(seen) == 40 * len(jobs)


@pytest.mark.parametrize("name", ["../x", "crl_", "crl_x/../y", "", "CRL_" + "0" * 32, "crl_a.db"])
def test_no_name_of_a_crawl_leads_elsewhere(place: Place, name: str) -> None:
    with pytest.raises(ValueError, match="no name"):
        place.store_of(name)


def test_what_was_not_written_whole_was_not_written(desk: Desk) -> None:
    job = accept(desk)

    def dies() -> None:
        with desk.writing() as db:
            db.execute(SQL["job_drop"], (job.id,))
            raise RuntimeError

    with pytest.raises(RuntimeError):
        dies()
    assert orders.find(desk, job.id) == job
