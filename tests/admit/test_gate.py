from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from freki import config
from freki.admit.gate import (
    LOOKS_BEFORE_PROBE,
    MAX_NESTED_SITEMAPS,
    PROBE,
    RECENT,
    REMEMBERED,
    SITEMAPS_FIRST,
    Gate,
)
from freki.admit.scope import Scope
from freki.admit.traps import Traps
from freki.messages import BACK, Claim, Discovery, Link, Page, Reason, Request, Response, Via

A = "http://a/"


def gate(*starts: str, max_redirects: int = 3, traps: Traps | None = None, **scope: Any) -> Gate:
    chosen = config.settings({"scope": scope}).scope
    return Gate(Scope(chosen, starts or (A,)), traps, _read, max_redirects)


def _read(response: Response) -> str:
    return response.body.decode()


def claim(url: str = A, depth: int = 0, hops: int = 0, via: Via = Via.link) -> Claim:
    return Claim(7, 1, url, depth, 1, hops, via)


def admit(gate: Gate, links: Sequence[str | Link], of: Claim | None = None) -> list[Discovery]:
    made = [link if isinstance(link, Link) else Link(link) for link in links]
    return gate.admit(Page(made), of or claim())


def verdicts(found: Sequence[Discovery]) -> dict[str, Reason | None]:
    return {discovery.url: discovery.refused for discovery in found}


def moved(url: str) -> Link:
    return Link(url, via=Via.redirect)


# What a discovery says


def test_a_link_is_one_step_further_than_its_page() -> None:
    (found,) = admit(gate(), [Link(f"{A}x", via=Via.frame)], claim(depth=2))
    assert found == Discovery(f"{A}x", depth=3, priority=3, via=Via.frame, parent=7)


def test_a_redirect_is_no_step_but_a_hop() -> None:
    (found,) = admit(gate(), [moved(f"{A}x")], claim(depth=2, hops=1))
    assert (found.depth, found.hops, found.via) == (2, 2, Via.redirect)
    (linked,) = admit(gate(), [f"{A}x"], claim(depth=2, hops=1))
    assert linked.hops == 0


def test_a_start_url_is_always_welcome() -> None:
    assert gate(depth=0, exclude=["*"]).seed("http://z/") == Discovery(
        "http://z/", depth=0, priority=0, via=Via.seed
    )


# The order of the questions


@pytest.mark.parametrize(
    ("url", "of", "reason"),
    [
        (f"{A}ok", claim(depth=1), None),
        ("http://z/", claim(depth=9), Reason.out_of_scope),
        (f"{A}no", claim(depth=9), Reason.excluded),
        (f"{A}deep", claim(depth=2), Reason.depth),
    ],
)
def test_what_is_too_deep_is_welcome_by_a_shorter_way(
    url: str, of: Claim, reason: Reason | None
) -> None:
    narrow = gate(depth=2, exclude=["*/no"])
    assert verdicts(admit(narrow, [url], of)) == {url: reason}


def test_too_many_redirects_are_refused() -> None:
    few = gate(max_redirects=3)
    assert verdicts(admit(few, [moved(f"{A}3")], claim(hops=2))) == {f"{A}3": None}
    (refused,) = admit(few, [moved(f"{A}4")], claim(hops=3))
    assert (refused.refused, refused.detail) == (
        Reason.too_many_redirects,
        "4 redirects in a row",
    )


def test_no_redirects_at_all_may_be_wanted() -> None:
    assert verdicts(admit(gate(max_redirects=0), [moved(f"{A}x")])) == {
        f"{A}x": Reason.too_many_redirects
    }


# What was judged lately


def test_a_url_is_passed_on_once() -> None:
    same = gate()
    assert len(admit(same, [f"{A}x", f"{A}y", f"{A}x"])) == 2
    assert admit(same, [f"{A}x", f"{A}y"], claim(f"{A}y", depth=1)) == []


def test_a_shorter_way_is_passed_on() -> None:
    same = gate()
    admit(same, [f"{A}x"], claim(depth=4))
    assert admit(same, [f"{A}x"], claim(depth=5)) == []
    (nearer,) = admit(same, [f"{A}x"], claim(depth=3))
    assert nearer.depth == 4
    assert admit(same, [f"{A}x"], claim(depth=3)) == []
    (redirected,) = admit(same, [moved(f"{A}x")], claim(depth=3))
    assert redirected.depth == 3


def test_a_refusal_for_the_url_holds_for_every_way() -> None:
    same = gate(exclude=["*/no"])
    assert len(admit(same, ["http://z/", f"{A}no"], claim(depth=9))) == 2
    assert admit(same, ["http://z/", f"{A}no"], claim(depth=1)) == []


def test_a_refusal_for_the_way_does_not() -> None:
    same = gate(depth=2)
    admit(same, [f"{A}x"], claim(depth=2))
    admit(same, [moved(f"{A}y")], claim(depth=2, hops=3))
    assert verdicts(admit(same, [f"{A}x", f"{A}y"], claim(depth=1))) == {
        f"{A}x": None,
        f"{A}y": None,
    }


def test_what_did_not_reach_the_ledger_is_passed_on_again() -> None:
    same = gate()
    admit(same, [f"{A}x", "http://z/"])
    same.forget()
    assert len(admit(same, [f"{A}x", "http://z/"])) == 2


def test_only_so_much_is_remembered() -> None:
    same = gate()
    for start in range(0, 3 * RECENT, 25_000):
        admit(same, [f"{A}{number}" for number in range(start, start + 25_000)])
    assert len(same._recent) + len(same._older) <= 2 * (RECENT + 25_000)
    assert admit(same, [f"{A}{3 * RECENT - 1}"]) == []
    assert len(admit(same, [f"{A}0"])) == 1


def test_long_urls_are_passed_on_each_time() -> None:
    same = gate()
    long = f"{A}{'x' * REMEMBERED}"
    assert len(admit(same, [long])) == len(admit(same, [long])) == 1


@given(st.lists(st.tuples(st.sampled_from("pqrs"), st.integers(0, 5), st.booleans()), max_size=30))
def test_the_shortest_admitted_way_is_always_passed_on(ways: list[tuple[str, int, bool]]) -> None:
    same = gate(depth=4)
    shortest: dict[str, int] = {}
    passed: dict[str, int] = {}
    for name, depth, is_redirect in ways:
        url = f"{A}{name}"
        way = depth if is_redirect else depth + 1
        if way <= 4:
            shortest[url] = min(way, shortest.get(url, way))
        for found in admit(same, [moved(url) if is_redirect else url], claim(depth=depth)):
            if found.refused is None:
                passed[found.url] = min(found.depth, passed.get(found.url, found.depth))
    assert passed == shortest


# Start URLs that move


def test_a_start_url_that_moves_takes_the_scope_along() -> None:
    same = gate()
    assert verdicts(admit(same, [moved("http://b/")])) == {"http://b/": None}
    new_home = claim("http://b/", hops=1, via=Via.redirect)
    assert verdicts(admit(same, ["http://b/x", f"{A}x", "http://c/"], new_home)) == {
        "http://b/x": None,
        f"{A}x": None,
        "http://c/": Reason.out_of_scope,
    }


def test_a_page_that_moves_does_not() -> None:
    assert verdicts(admit(gate(), [moved("http://b/")], claim(depth=1))) == {
        "http://b/": Reason.out_of_scope
    }


def test_what_was_outside_before_a_start_url_moved_there_comes_in() -> None:
    same = gate(A, "http://b/")
    admit(same, ["http://c/", "http://c/x"])
    assert verdicts(admit(same, [moved("http://c/")], claim("http://b/"))) == {"http://c/": None}
    new_home = claim("http://c/", hops=1, via=Via.redirect)
    assert verdicts(admit(same, ["http://c/x"], new_home)) == {"http://c/x": None}


def test_a_worker_learns_the_new_home_from_pages_of_it() -> None:
    same = gate()
    found = admit(same, ["http://b/y"], claim("http://b/x", depth=3))
    assert verdicts(found) == {"http://b/y": None}


# Sitemaps


def test_sitemaps_are_read_first_and_not_nested_without_end() -> None:
    same = gate()
    (named,) = same.sitemaps([f"{A}sitemap.xml"], claim())
    assert (named.via, named.depth, named.hops, named.parent) == (Via.sitemap_file, 0, 1, 7)
    assert named.priority < same.seed(A).priority
    inside = [Link(f"{A}2.xml", via=Via.sitemap_file)]
    assert verdicts(admit(same, inside, claim(hops=1, via=Via.sitemap_file))) == {f"{A}2.xml": None}
    deep = claim(hops=MAX_NESTED_SITEMAPS, via=Via.sitemap_file)
    assert verdicts(admit(gate(), inside, deep)) == {f"{A}2.xml": Reason.trap}


@pytest.mark.parametrize(
    ("way", "cookies", "again"),
    [
        (["a", "b", "a"], [True, False], True),
        (["a", "b", "a"], [False, True], True),
        (["a", "b", "c", "a"], [False, True, False], True),
        (["a", "b", "c", "b"], [False, False, True], True),
        (["a", "b", "a"], [False, False], False),
        (["a", "b", "c"], [True, True], False),
        (["a", "a"], [True], False),
    ],
)
def test_a_url_that_a_redirect_leads_back_to_is_asked_once_more_if_there_is_a_cookie(
    way: list[str], cookies: list[bool], again: bool
) -> None:
    def back(via: Via) -> list[str]:
        asked, same = list[Discovery](), gate()
        for (here, there), cookie in zip(pairwise(way), cookies, strict=True):
            headers = (("set-cookie", "x=1"),) if cookie else ()
            answer = Response(A + here, 302, headers, b"")
            page = Page([Link(A + there, via=Via.redirect)])
            asked += same.returned(answer, page, claim(A + here, via=via))
        return [found.place for found in asked]

    assert back(Via.redirect) == ([f"{A}{way[-1]}#{BACK}"] if again else [])
    assert back(Via.external) == []


def test_what_leads_back_again_and_again_is_asked_once_more_only() -> None:
    same, page = gate(), Page([Link(f"{A}b", via=Via.redirect)])
    answer = Response(A, 302, (("set-cookie", "x=1"),), b"")
    again = Claim(7, 1, A, 0, request=Request(mark=BACK))
    for _ in range(3):
        assert same.returned(answer, page, again) == []


def test_an_index_of_thousands_of_sitemaps_does_not_come_before_all_pages() -> None:
    def urgent(hops: int) -> int:
        index = claim(f"{A}index.xml", hops=hops, via=Via.sitemap_file)
        inside = [Link(f"{A}{number}.xml", via=Via.sitemap_file) for number in range(1000)]
        listed = Link(f"{A}listed", via=Via.sitemap)
        *inside_found, page = admit(gate(), [*inside, listed], index)
        return sum(found.priority < page.priority for found in inside_found)

    assert urgent(hops=1) == SITEMAPS_FIRST
    assert urgent(hops=2) == 0
    named = gate().sitemaps([f"{A}{number}.xml" for number in range(1000)], claim(A))
    assert sum(found.priority < 0 for found in named) == SITEMAPS_FIRST


def test_sitemaps_are_read_only_where_they_are_wanted() -> None:
    urls = [f"{A}sitemap.xml"]
    assert gate(sitemap="no").sitemaps(urls, claim()) == []
    assert gate(scope="page").sitemaps(urls, claim()) == []
    assert gate().sitemaps(urls, claim(via=Via.external)) == []


def test_a_list_in_a_list_leads_no_further_from_the_start() -> None:
    (inner,) = admit(gate(), [Link(f"{A}2.xml", via=Via.sitemap_file)], claim(via=Via.sitemap_file))
    assert inner.depth == 0


def test_a_sitemap_elsewhere_takes_the_crawl_nowhere() -> None:
    same, elsewhere = gate(), claim("http://b/ours.xml", via=Via.sitemap_file)
    listed = [Link(f"{A}x", via=Via.sitemap), Link("http://b/", via=Via.sitemap)]
    assert verdicts(admit(same, listed, elsewhere)) == {
        f"{A}x": None,
        "http://b/": Reason.out_of_scope,
    }
    assert same.sitemaps(["http://b/sitemap.xml"], elsewhere) == []
    assert len(same.sitemaps([f"{A}sitemap.xml"], claim(f"{A}ours.xml", via=Via.sitemap_file))) == 1


def test_what_a_sitemap_lists_is_judged_like_a_link() -> None:
    listed = [Link(f"{A}x", via=Via.sitemap), Link("http://z/", via=Via.sitemap)]
    assert verdicts(admit(gate(), listed, claim(via=Via.sitemap_file))) == {
        f"{A}x": None,
        "http://z/": Reason.out_of_scope,
    }


# Links to outside that are only checked


def test_links_to_outside_are_checked_where_that_is_wanted() -> None:
    (checked,) = admit(gate(check_external=True), ["http://z/"])
    assert (checked.via, checked.refused) == (Via.external, None)


def test_what_was_checked_leads_nowhere() -> None:
    checked = claim("http://z/", depth=1, via=Via.external)
    assert admit(gate(check_external=True), [A, "http://y/", moved("http://x/")], checked) == []


# Traps


def test_a_trap_is_refused_with_what_gave_it_away() -> None:
    wary = gate(traps=Traps())
    found = [
        discovery
        for number in range(300)
        for discovery in admit(wary, [f"{A}{'x/' * 3}{'x/' * number}"], claim(depth=1))
    ]
    trapped = [discovery for discovery in found if discovery.refused is Reason.trap]
    assert trapped
    assert all(discovery.detail for discovery in trapped)
    assert found[0].refused is None


def test_a_host_whose_pages_are_looked_at_often_is_probed_once() -> None:
    wary = gate(traps=Traps())
    probes = []
    for number in range(3000):
        url = f"{A}list?page={number}"
        admit(wary, [url], claim(depth=1))
        wary.learn(Response(url, 200, (), b"one two three four five six"), claim(url))
        if (probe := wary.probe(claim(url))) is not None:
            probes.append(number)
            assert probe.startswith(f"http://a{PROBE}")
    assert len(probes) == 1
    assert probes[0] >= LOOKS_BEFORE_PROBE - 1
    assert wary.probe(claim("http://b/")) is None


def test_without_traps_nothing_is_looked_at() -> None:
    calm = gate()
    calm.learn(Response(A, 200, (), b"x"), claim())
    calm.learn_missing(Response(A, 200, (), b"x"))
    assert calm.probe(claim()) is None
