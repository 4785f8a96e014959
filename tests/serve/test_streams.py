"""Events over HTTP: whoever comes and goes hears all of them once, and many cost what one does."""

import asyncio
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from itertools import islice
from pathlib import Path
from threading import Barrier

import httpx
from tests.serve.conftest import Api

from freki.ledger.jobs import events
from freki.serve.office import Office
from freki.serve.streams import Watch
from freki.serve.terms import Terms

LISTENERS = 4
ROUNDS = 3
OF_A_ROUND = 40


def begun(client: httpx.Client) -> str:
    return str(client.post("/crawls", json={"urls": ["https://a.example/"]}).json()["id"])


def tell(data: Path, job: str, count: int) -> None:
    with closing(Terms(data=data).place.desk()) as desk:
        for number in range(count):
            with desk.writing() as db:
                events.tell(db, job, "progress", {"pages": number}, 1.0)


def heard(client: httpx.Client, job: str, after: int) -> Iterator[int]:
    """The numbers of events as they come, from one connection."""
    head = {"Last-Event-ID": str(after)}
    with client.stream("GET", f"/crawls/{job}/events", headers=head) as stream:
        for line in stream.iter_lines():
            if line.startswith("id: "):
                yield int(line.removeprefix("id: "))


def test_who_comes_and_goes_hears_everything_once(api: Api, data: Path) -> None:
    client = api()
    job = begun(client)  # which is the first event
    together = Barrier(LISTENERS + 1, timeout=30)

    def listen(at_once: int) -> list[int]:
        """Hear a few, go away in the middle, and come again, while others do at other places."""
        found: list[int] = []
        for round_ in range(1, ROUNDS + 1):
            while (missing := 1 + round_ * OF_A_ROUND - len(found)) > 0:
                last = found[-1] if found else 0
                found += islice(heard(client, job, last), min(at_once, missing))
            together.wait()
        return found

    with ThreadPoolExecutor(LISTENERS) as threads:
        listening = [threads.submit(listen, 7 + 6 * each) for each in range(LISTENERS)]
        for _ in range(ROUNDS):
            tell(data, job, OF_A_ROUND)
            together.wait()
    for each in listening:
        numbers = each.result()
        assert len(numbers) == 1 + ROUNDS * OF_A_ROUND
        assert numbers == list(islice(heard(client, job, 0), len(numbers)))


def test_a_browser_begins_where_its_page_says(api: Api, data: Path) -> None:
    client = api()
    job, other = begun(client), begun(client)
    tell(data, job, 5)
    tell(data, other, 5)
    office = Office(Terms(data=data))
    begin = office.event_before_latest(job, 3)
    assert office.event_before_latest(job, 100) == 0
    office.close()
    with client.stream("GET", f"/crawls/{job}/events", params={"after": begin}) as stream:
        numbers = (line for line in stream.iter_lines() if line.startswith("id: "))
        assert list(islice(numbers, 3)) == ["id: 5", "id: 6", "id: 7"]
    both = {"Last-Event-ID": "6"}  # as it comes back by itself
    with client.stream("GET", f"/crawls/{job}/events?after={begin}", headers=both) as stream:
        numbers = (line for line in stream.iter_lines() if line.startswith("id: "))
        assert next(numbers) == "id: 7"


def test_who_has_read_as_far_gets_the_same_without_another_look(api: Api, data: Path) -> None:
    job = begun(api())
    office = Office(Terms(data=data))

    async def look() -> None:
        watch = Watch(office)
        first, second = [await watch.look(job, job, 0) for _ in range(2)]
        assert first is second
        assert first.lines.startswith(b"id: 1\nevent: state\n")
        assert not (await watch.look(job, job, first.last)).lines
        tell(data, job, 1)
        watch.look_anew()
        assert b"progress" in (await watch.look(job, job, first.last)).lines

    asyncio.run(look())
    office.close()


def test_who_listens_again_to_what_goes_on_again_is_not_told_that_it_is_over(
    api: Api, data: Path
) -> None:
    job = begun(api())
    office = Office(Terms(data=data))

    async def look() -> None:
        watch = Watch(office)
        with closing(Terms(data=data).place.desk()) as desk:
            set_state = "UPDATE job SET state = ?"
            with desk.writing() as db:
                db.execute(set_state, ("done",))
            assert (await watch.look(job, job, 0)).is_over
            with desk.writing() as db:
                db.execute(set_state, ("queued",))
            assert not (await watch.look(job, job, 0)).is_over

    asyncio.run(look())
    office.close()
