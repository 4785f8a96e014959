from itertools import islice, product

from freki.admit.facets import COMBINATIONS, PER_PATH, PER_VALUE, Facets


def admitted(queries: list[str], paths: int = 1) -> int:
    facets = Facets()
    facets.paths = paths
    return sum(map(facets.combine, queries))


def shop(size: int) -> list[str]:
    chosen = product(range(12), range(10), range(8), range(20))
    return [f"brand={a}&colour={b}&size={c}&page={d}" for a, b, c, d in islice(chosen, size)]


def test_few_combinations_are_always_welcome() -> None:
    assert admitted(shop(COMBINATIONS)) == COMBINATIONS


def test_combinations_of_few_values_come_to_an_end() -> None:
    assert COMBINATIONS < admitted(shop(19_200)) <= COMBINATIONS + 20 * PER_VALUE + PER_PATH


def test_facets_may_be_chosen_in_any_sets() -> None:
    queries = [
        f"{a}={x}&{b}={y}"
        for a, b in product("abcdef", "ghijkl")
        for x in range(9)
        for y in range(9)
    ]
    assert admitted(queries) <= COMBINATIONS + 9 * PER_VALUE + PER_PATH


def test_topics_of_a_forum_have_no_end() -> None:
    queries = [
        f"f={topic % 9}&t={topic}&start={page}" for topic in range(5000) for page in range(2)
    ]
    assert admitted(queries) == 10_000


def test_listings_of_many_categories_are_welcome() -> None:
    queries = [f"page={page}&order=new" for _ in range(300) for page in range(20)]
    assert admitted(queries, paths=300) == 6000


def test_parameters_without_end_cost_no_memory() -> None:
    facets = Facets()
    for number in range(1000):
        facets.combine(f"{'x' * (number % 30)}{chr(97 + number % 26)}={number}&b=1")
    assert len(facets._values) <= 16
