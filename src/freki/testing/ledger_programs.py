"""What a ledger keeps for programs: requests that are more than an address, and items."""

from contextlib import suppress

from msgspec.structs import replace

from freki.errors import LeaseLost
from freki.messages import Discovery, Fate, Item, Request, State
from freki.testing.bench import Bench, Hand, discovery, failed, page

A = "http://a/"
FORM = Request(
    "POST", (("content-type", "text/plain"),), b"\x00body", callback="read", state=b"\xc0"
)


def asking(url: str, request: Request, depth: int = 1) -> Discovery:
    """A URL that a program asked for."""
    return replace(discovery(url, depth), request=request)


class ProgramsContract:
    """Requests and items."""

    bench: Bench

    # Requests

    def test_a_request_comes_back_as_it_was_asked_for(self) -> None:
        worker = self.bench.worker()
        worker.find(asking(A, FORM))
        (claim,) = worker.claim()
        assert (claim.url, claim.request) == (A, FORM)

    def test_a_link_has_no_request(self) -> None:
        worker = self.bench.worker()
        worker.seed(A)
        assert worker.claim()[0].request is None

    def test_a_request_outlives_its_worker(self) -> None:
        worker = self.bench.worker()
        worker.find(asking(A, FORM))
        worker.claim()
        self.bench.reopen()
        (claim,) = self.bench.worker(now=1000.0).claim(1010.0)
        assert claim.request == FORM

    def test_marks_tell_requests_to_one_address_apart(self) -> None:
        worker = self.bench.worker()
        requests = [replace(FORM, mark=mark, body=mark.encode()) for mark in ("one", "two", "one")]
        worker.find(*(asking(A, request) for request in requests), discovery(A))
        worker.find(*(asking(A, request) for request in requests), discovery(A))
        claims = worker.claim()
        assert [claim.url for claim in claims] == [A, A, A]
        assert [claim.request and claim.request.body for claim in claims] == [b"one", b"two", None]
        self.bench.check()

    def test_a_link_that_waits_becomes_what_a_program_asks_for(self) -> None:
        worker = self.bench.worker()
        worker.seed(A)
        worker.find(asking(A, FORM))
        assert worker.claim()[0].request == FORM

    def test_a_link_found_beside_the_same_request_is_that_request(self) -> None:
        worker = self.bench.worker()
        worker.find(discovery(A, 1), asking(A, FORM, 2))
        (claim,) = worker.claim()
        assert (claim.depth, claim.request) == (1, FORM)

    # Items

    def test_items_are_stored_with_their_page_in_order(self) -> None:
        worker = self.bench.worker()
        worker.seed(A)
        (claim,) = worker.claim()
        items = [Item(b'{"n":%d}' % number, "Book") for number in range(3)]
        worker.commit(replace(page(claim), items=items))
        assert [data for _, data in self.bench.items()] == [item.data.decode() for item in items]

    def test_items_of_a_lost_session_are_not_stored(self) -> None:
        worker = self.bench.worker()
        worker.seed(A)
        (claim,) = worker.claim()
        other = self.bench.worker(now=1000.0)
        (again,) = other.claim(1010.0)
        with suppress(LeaseLost):
            worker.commit(replace(page(claim), items=[Item(b"1")]))
        other.commit(replace(page(again), items=[Item(b"2")]))
        assert self.bench.items() == [(Fate.kept, "2")]

    def test_an_item_whose_key_is_taken_is_dropped(self) -> None:
        worker = self.bench.worker()
        self._commit(worker, A, Item(b"1", key="x"), Item(b"2", key="x"), Item(b"3"))
        self._commit(worker, f"{A}b", Item(b"4", key="x"), Item(b"5", key="y"), Item(b"6"))
        fates = {data: fate for fate, data in self.bench.items()}
        assert fates == {
            "1": Fate.kept, "2": Fate.dropped, "3": Fate.kept,
            "4": Fate.dropped, "5": Fate.kept, "6": Fate.kept,
        }  # fmt: skip

    def test_a_key_of_what_is_not_kept_is_free(self) -> None:
        worker = self.bench.worker()
        self._commit(worker, A, Item(b"1", fate=Fate.failed, detail="oops", key="x"))
        self._commit(worker, f"{A}b", Item(b"2", key="x"))
        assert self.bench.items() == [(Fate.failed, "1"), (Fate.kept, "2")]

    def test_what_failed_has_no_items(self) -> None:
        worker = self.bench.worker()
        worker.seed(A)
        (claim,) = worker.claim()
        worker.commit(failed(claim))
        assert self.bench.items() == []
        assert self.bench.count(State.failed) == 1

    def _commit(self, worker: Hand, url: str, *items: Item) -> None:
        worker.seed(url)
        (claim,) = worker.next_claims()
        worker.commit(replace(page(claim), items=list(items)))
