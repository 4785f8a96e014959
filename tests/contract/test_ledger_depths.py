"""The depth limit is exact whatever order the answers of several workers come in."""

import random
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from freki.messages import Claim, Outcome, Reason, State
from freki.testing.bench import SHARED, StoreBench, page, redirect

NODES = 9


class Graph:
    """Pages that link to each other, and redirects."""

    def __init__(self, links: list[list[int]], moved: list[bool]) -> None:
        self.links = links
        self.moved = [bool(here and targets) for here, targets in zip(moved, links, strict=True)]

    def url(self, node: int) -> str:
        return f"http://{'ab'[node % 2]}/{node}"

    def answer(self, claim: Claim, max_depth: int) -> Outcome:
        node = int(claim.url.rpartition("/")[2])
        targets = [self.url(target) for target in self.targets(node)]
        if self.moved[node]:
            return redirect(claim, targets[0], max_depth=max_depth)
        return page(claim, *dict.fromkeys(targets), max_depth=max_depth)

    def depths(self) -> dict[str, int]:
        """The shortest way from page 0; a redirect is no step."""
        depths = {0: 0}
        for _ in range(NODES):
            for node, depth in list(depths.items()):
                for target in self.targets(node):
                    further = depth + (not self.moved[node])
                    depths[target] = min(further, depths.get(target, further))
        return {self.url(node): depth for node, depth in depths.items()}

    def linked_from(self, urls: Iterable[str]) -> set[str]:
        return {
            self.url(target) for url in urls for target in self.targets(int(url.rpartition("/")[2]))
        }

    def targets(self, node: int) -> list[int]:
        """A redirect leads to one place only."""
        return self.links[node][: 1 if self.moved[node] else None]


GRAPHS = st.builds(
    Graph,
    st.lists(st.lists(st.integers(0, NODES - 1), max_size=3), min_size=NODES, max_size=NODES),
    st.lists(st.booleans(), min_size=NODES, max_size=NODES),
)


@pytest.fixture(scope="module")
def store() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder) / "freki.db"


@settings(max_examples=60, deadline=None)
@given(graph=GRAPHS, max_depth=st.integers(0, 4), seed=st.integers())
def test_every_page_within_the_limit_is_fetched_and_no_other(
    store: Path, graph: Graph, max_depth: int, seed: int
) -> None:
    bench = StoreBench(store)
    dice = random.Random(seed)
    workers = [bench.worker(replace(SHARED, max_depth=max_depth, per_host=2)) for _ in range(2)]
    workers[0].seed(graph.url(0))
    held: list[list[Claim]] = [[], []]
    while workers[0].work(hosts=0).open:
        who = dice.randrange(2)
        held[who] += workers[who].claim(hosts=dice.randrange(3))
        dice.shuffle(held[who])
        now, held[who] = held[who][:2], held[who][2:]
        workers[who].commit(*(graph.answer(claim, max_depth) for claim in now))
    bench.check()
    fetched = {row.url: row.depth for row in bench.rows() if row.state is State.done}
    assert fetched == {url: n for url, n in graph.depths().items() if n <= max_depth}
    refused = {row.url for row in bench.rows() if row.reason is Reason.depth}
    assert refused == graph.linked_from(fetched) - set(fetched)
    bench.close()
