"""The part of the suite for ledgers about what is found and stored: see `testing/ledger.py`."""

from contextlib import suppress
from itertools import pairwise

from msgspec.structs import replace

from freki.errors import LeaseLost
from freki.messages import Batch, HostRules, Link, Reason, State, Via
from freki.testing.bench import (
    POLITE,
    Bench,
    Hand,
    discovery,
    failed,
    page,
    redirect,
    rest,
)

A = "http://a/"
SHALLOW = replace(POLITE, max_depth=2)


class FindsContract:
    """What becomes of URLs, pages and bodies."""

    bench: Bench

    # Which URLs are one

    def test_a_url_found_on_ten_pages_is_one_row(self) -> None:
        worker = self.bench.worker(replace(POLITE, per_host=99))
        worker.seed(*(f"{A}{number}" for number in range(10)))
        worker.commit(*(page(claim, f"{A}same") for claim in worker.claim()))
        self.bench.check()
        assert len(self.bench.rows()) == 11
        assert self.bench.row(f"{A}same").parent == f"{A}0"

    def test_a_url_found_twice_at_once_is_one_row(self) -> None:
        worker = self.bench.worker()
        worker.find(*[discovery(A)] * 3, discovery(f"{A}x"), discovery(A))
        assert [row.url for row in self.bench.rows()] == [A, f"{A}x"]
        self.bench.check()

    def test_a_url_that_two_workers_find_is_one_row(self) -> None:
        one, two = self.bench.worker(), self.bench.worker()
        one.find(*(discovery(f"{A}{n}") for n in range(20)))
        two.find(*(discovery(f"{A}{n}") for n in range(10, 30)), discovery("http://b/"))
        one.find(*(discovery(f"{A}{n}") for n in range(30)), discovery("http://b/"))
        assert len(self.bench.rows()) == 31
        self.bench.check()

    def test_what_servers_tell_apart_stays_apart(self) -> None:
        urls = [
            "http://a/", "https://a/", "http://a:81/", "http://b/", "http://a/?", "http://a/?x=",
            "http://a/?x", "http://a/?x=&y=", "http://a/p", "http://a/P", "http://a/p/",
            "http://a/p?q=A", "http://a/p?q=a", "http://a/%7e", "http://a/%7E", "http://a/~",
            "http://a/%C3%A9", "http://a/%c3%a9", "http://a/p?b=1&a=2", "http://a/p?a=2&b=1",
            "http://a//p", "http://a/p;x", "http://a/%00", "http://a/p ",
        ]  # fmt: skip
        self.bench.worker().seed(*urls)
        assert [row.url for row in self.bench.rows()] == urls
        self.bench.check()

    def test_urls_whose_fingerprints_collide_are_told_apart(self) -> None:
        worker = Hand(self.bench.ledger(replace(POLITE, per_host=99), prints=lambda path: 7))
        urls = [f"{A}{number}" for number in range(12)]
        worker.find(*(discovery(url) for url in urls[:6]))
        worker.find(*(discovery(url) for url in urls[3:]), *(discovery(url) for url in urls))
        other = Hand(self.bench.ledger(POLITE, prints=lambda path: 7))
        other.find(*(discovery(url) for url in [*urls, f"{A}new"]))
        worker.find(discovery(f"{A}new"), discovery(f"{A}newer"))
        assert [row.url for row in self.bench.rows()] == [*urls, f"{A}new", f"{A}newer"]
        self.bench.check()

    def test_collisions_do_not_hide_which_way_is_better(self) -> None:
        worker = Hand(self.bench.ledger(SHALLOW, prints=lambda path: 2**63 - 1))
        worker.find(
            discovery(A), discovery(f"{A}x", 9, Reason.depth), discovery(f"{A}x", 2),
            discovery(f"{A}x", 1), discovery(f"{A}x", 3),
        )  # fmt: skip
        row = self.bench.row(f"{A}x")
        assert (row.state, row.depth) == (State.waiting, 1)

    def test_thousands_of_urls_at_once(self) -> None:
        worker = self.bench.worker()
        urls = [f"http://h{number % 50}/{number}" for number in range(5_000)]
        worker.find(*(discovery(url) for url in urls))
        worker.find(*(discovery(url) for url in reversed(urls)))
        assert [row.url for row in self.bench.rows()] == urls
        self.bench.check()

    # Admitted and refused

    def test_refused_and_admitted_are_both_recorded(self) -> None:
        worker = self.bench.worker()
        worker.find(discovery(A), discovery("http://b/", refused=Reason.out_of_scope))
        self.bench.check()
        assert self.bench.row(A).state is State.waiting
        refused = self.bench.row("http://b/")
        assert (refused.state, refused.reason) == (State.refused, Reason.out_of_scope)
        assert [claim.url for claim in worker.claim()] == [A]

    def test_what_is_admitted_by_one_way_is_admitted(self) -> None:
        worker = self.bench.worker()
        for refused, admitted in ((f"{A}1", f"{A}2"), (f"{A}3", f"{A}4")):
            no = Reason.too_many_redirects
            worker.find(discovery(refused, 1, no), discovery(refused, 2), discovery(admitted, 2))
            worker.find(discovery(admitted, 1, no))
            self.bench.check()
        assert self.bench.count(State.waiting) == 4

    def test_a_refused_url_is_admitted_when_a_later_way_allows_it(self) -> None:
        worker = self.bench.worker()
        worker.find(discovery(A, 1, Reason.out_of_scope))
        worker.find(discovery(A, 3))
        self.bench.check()
        row = self.bench.row(A)
        assert (row.state, row.reason, row.depth) == (State.waiting, None, 3)
        assert [claim.url for claim in worker.claim()] == [A]

    def test_an_admitted_url_is_not_refused_by_a_later_way(self) -> None:
        worker = self.bench.worker()
        worker.find(discovery(A, 3))
        worker.find(discovery(A, 1, Reason.depth))
        assert self.bench.row(A).state is State.waiting

    def test_an_outcome_is_for_good(self) -> None:
        worker = self.bench.worker()
        worker.seed(A, f"{A}x")
        one, two = worker.claim()
        worker.commit(page(one), failed(two))
        worker.seed(A, f"{A}x")
        worker.find(discovery(A, 1, Reason.depth), discovery(f"{A}x", 0))
        self.bench.check()
        assert worker.work(now=9.0, refill=[rest(one)]).open == 0
        assert self.bench.count(State.done) == self.bench.count(State.failed) == 1

    def test_an_answer_that_must_not_be_fetched_is_refused(self) -> None:
        worker = self.bench.worker()
        worker.seed(A)
        (claim,) = worker.claim()
        worker.commit(replace(failed(claim, Reason.robots), state=State.refused))
        self.bench.check()
        assert self.bench.row(A).reason is Reason.robots

    # Depth

    def test_a_shorter_way_lowers_the_depth(self) -> None:
        worker = self.bench.worker()
        worker.find(discovery(A, 5))
        worker.find(discovery(A, 3), discovery(A, 4))
        worker.find(discovery(A, 6))
        assert self.bench.row(A).depth == 3
        (claim,) = worker.claim()
        assert claim.depth == 3

    def test_of_two_shorter_ways_at_once_the_shortest_counts(self) -> None:
        worker = self.bench.worker()
        worker.find(discovery(A, 9, Reason.depth))
        worker.find(discovery(f"{A}x"), discovery(A, 4), discovery(A, 2), discovery(A, 3))
        row = self.bench.row(A)
        assert (row.state, row.depth) == (State.waiting, 2)
        self.bench.check()

    def test_pages_behind_a_page_that_came_nearer_are_readmitted(self) -> None:
        worker = self.bench.worker(SHALLOW)
        worker.seed(A)
        chain = [A, f"{A}1", f"{A}2", f"{A}3", f"{A}4"]
        for url, link in pairwise(chain[:4]):
            worker.visit(url, link, max_depth=2)
        assert self.bench.row(chain[3]).reason is Reason.depth
        worker.seed(chain[2])
        self.bench.check()
        row = self.bench.row(chain[3])
        assert (row.state, row.depth, row.parent) == (State.waiting, 1, chain[2])
        worker.visit(chain[3], chain[4], max_depth=2)
        assert self.bench.row(chain[4]).state is State.waiting

    def test_depths_fall_through_pages_already_fetched_and_redirects(self) -> None:
        worker = self.bench.worker(replace(POLITE, max_depth=4))
        worker.seed(A)
        worker.visit(A, f"{A}1")
        worker.visit(f"{A}1", f"{A}2")
        worker.visit(f"{A}2", f"{A}3")
        worker.visit(f"{A}3", f"{A}moved", max_depth=4)
        worker.visit(f"{A}moved", moved_to=f"{A}target", max_depth=4)
        worker.visit(f"{A}target", f"{A}deep", max_depth=4)
        assert self.bench.row(f"{A}deep").reason is Reason.depth
        worker.seed(f"{A}1")
        self.bench.check()
        names = ["2", "3", "moved", "target", "deep"]
        assert [self.bench.row(f"{A}{name}").depth for name in names] == [1, 2, 3, 3, 4]
        assert self.bench.row(f"{A}deep").state is State.waiting
        assert self.bench.row(f"{A}target").via is Via.redirect

    def test_a_page_may_come_nearer_while_it_is_fetched(self) -> None:
        worker, other = self.bench.worker(SHALLOW), self.bench.worker(SHALLOW)
        worker.find(discovery(A, 2))
        (claim,) = worker.claim()
        other.seed(A)
        worker.commit(page(claim, f"{A}1", max_depth=2))
        self.bench.check()
        row = self.bench.row(f"{A}1")
        assert (row.state, row.depth) == (State.waiting, 1)

    def test_a_page_may_come_nearer_in_the_batch_that_ends_it(self) -> None:
        worker = self.bench.worker(SHALLOW)
        worker.find(discovery(A, 2), discovery("http://b/", 0))
        far, near = worker.claim()
        worker.commit(page(far, f"{A}1", max_depth=2), page(near, A, max_depth=2))
        self.bench.check()
        row = self.bench.row(f"{A}1")
        assert (row.state, row.depth) == (State.waiting, 2)

    def test_circles_of_links_come_to_an_end(self) -> None:
        worker = self.bench.worker(replace(POLITE, max_depth=9, per_host=99))
        ring = [f"{A}{number}" for number in range(6)]
        worker.find(*(discovery(url, 8) for url in ring))
        claims = worker.claim()
        for n, claim in enumerate(claims):
            worker.commit(page(claim, ring[n - 1], ring[(n + 1) % 6], claim.url))
        worker.seed(ring[0])
        self.bench.check()
        assert [self.bench.row(url).depth for url in ring] == [0, 1, 2, 3, 2, 1]

    def test_what_was_refused_for_another_reason_is_not_readmitted_by_depth(self) -> None:
        worker = self.bench.worker(SHALLOW)
        worker.find(discovery(A, 2))
        (claim,) = worker.claim()
        worker.find(discovery(f"{A}1", 3, Reason.excluded))
        worker.commit(page(claim, f"{A}1", max_depth=2))
        worker.seed(A)
        assert self.bench.row(f"{A}1").reason is Reason.excluded
        self.bench.check()

    def test_a_sitemap_stays_one_whoever_links_to_it(self) -> None:
        worker = self.bench.worker()
        worker.find(replace(discovery(f"{A}sitemap.xml", 4), via=Via.sitemap_file))
        worker.find(discovery(f"{A}sitemap.xml", 2))
        row = self.bench.row(f"{A}sitemap.xml")
        assert (row.depth, row.via) == (2, Via.sitemap_file)

    def test_who_is_told_to_have_redirected_here_did(self) -> None:
        worker = self.bench.worker()
        worker.find(discovery(A, 4), discovery("http://b/", 1))
        moved, linking = worker.claim()
        worker.commit(redirect(moved, f"{A}to"))
        worker.commit(page(linking, f"{A}to"))
        row = self.bench.row(f"{A}to")
        assert (row.depth, row.parent, row.via, row.hops) == (2, "http://b/", Via.link, 0)

    # Commits

    def test_a_commit_of_what_is_not_held_changes_nothing(self) -> None:
        one, two = self.bench.worker(), self.bench.worker()
        one.seed(A, "http://b/")
        mine, theirs = one.claim(hosts=1), two.claim(hosts=1)
        before = self.bench.dump()
        for outcomes in (
            [page(mine[0], f"{A}new", body=b"new"), page(theirs[0], "http://new/")],
            [page(mine[0], f"{A}new"), page(mine[0])],
        ):
            batch = Batch(9.0, outcomes, [rest(mine[0], 99.0)], discoveries=[discovery(f"{A}y")])
            try:
                one.ledger.commit(one.session, batch)
            except LeaseLost:
                pass
            else:
                raise AssertionError("it was stored")
            assert self.bench.dump() == before
        one.commit(page(mine[0], f"{A}new", "http://new/"))
        self.bench.check()
        assert self.bench.row("http://new/").state is State.waiting

    def test_an_ended_url_cannot_end_again(self) -> None:
        worker = self.bench.worker()
        worker.seed(A)
        (claim,) = worker.claim()
        worker.commit(page(claim))
        before = self.bench.dump()
        for outcome in (page(claim), failed(claim)):
            with suppress(LeaseLost):
                worker.commit(outcome)
            assert self.bench.dump() == before

    def test_an_empty_commit_is_fine(self) -> None:
        worker = self.bench.worker()
        worker.commit()
        self.bench.check()

    def test_rules_of_a_host_come_with_its_next_claims(self) -> None:
        worker = self.bench.worker()
        worker.seed(A)
        (host,) = worker.work().hosts
        assert host.rules is None
        rules = HostRules(host.host, "http://a", 5.0, 200, b"User-agent: *\nDisallow: /\n", 2)
        worker.ledger.commit(worker.session, Batch(5.0, rules=[rules]))
        worker.leave()
        (host,) = self.bench.worker().work(now=99.0).hosts
        assert host.rules == rules

    # Bodies

    def test_equal_bodies_are_stored_once(self) -> None:
        worker = self.bench.worker()
        worker.seed(A, f"{A}1", f"{A}2")
        one, two, three = worker.claim()
        worker.commit(page(one, body=b"same" * 99), page(two, body=b"same" * 99))
        size = len(str(self.bench.dump()))
        worker.commit(page(three, body=b"same" * 99))
        assert len(str(self.bench.dump())) < size + 1000
        assert self.bench.body(A) == self.bench.body(f"{A}2") == b"same" * 99

    def test_bodies_are_kept_as_asked(self) -> None:
        kept = {}
        for keep in ("none", "html", "all"):
            worker = self.bench.worker(replace(POLITE, keep=keep))
            worker.seed(f"{A}{keep}", f"{A}{keep}.png", now=0.0)
            html, image = worker.claim(now=10.0)
            worker.commit(
                page(html, body=keep.encode(), content_type="Text/HTML; charset=x"),
                page(image, body=keep.encode() * 2, content_type="image/png"),
            )
            kept[keep] = [self.bench.body(claim.url) is not None for claim in (html, image)]
            worker.leave(now=-10.0)
        assert kept == {"none": [False, False], "html": [True, False], "all": [True, True]}

    def test_a_body_that_was_not_worth_keeping_once_may_be_the_next_time(self) -> None:
        worker = self.bench.worker(replace(POLITE, keep="html"))
        worker.seed(A, f"{A}1", f"{A}2")
        text, html, more = worker.claim()
        body = b"<p>kept later"
        worker.commit(page(text, body=body, content_type="text/plain"))
        assert self.bench.body(A) is None
        worker.commit(page(html, body=body), page(more, body=body, content_type="text/plain"))
        assert self.bench.body(A) == self.bench.body(f"{A}1") == body

    def test_links_of_any_size_and_script_are_stored(self) -> None:
        worker = self.bench.worker(SHALLOW)
        worker.seed(A)
        (claim,) = worker.claim()
        links = [Link(f"{A}{'x' * number}", "ツ\0\u2028", "nofollow") for number in range(500)]
        worker.commit(page(claim, *links, max_depth=2))
        assert len(self.bench.rows()) == 500
        self.bench.check()
