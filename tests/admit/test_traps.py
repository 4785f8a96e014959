"""Ordinary sites by table, traps by table, and a crawl of a web that is full of them."""

import random
import re
import subprocess
import sys
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator
from html import unescape
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from freki import url
from freki.admit.likeness import DULL, WINDOW
from freki.admit.traps import UNSUSPICIOUS, YEARS, Traps
from freki.testing.trapweb import TrapWeb

SITE = "https://www.example.com"
WORDS = (
    *("alder", "birch", "cedar", "elder", "fir", "hazel", "larch", "maple"),
    *("oak", "pine", "rowan", "spruce", "willow", "yew"),
)
MENU = "\n".join(f"{one} {other}" for one in WORDS for other in WORDS)


def title(number: int) -> str:
    dice = random.Random(number)
    return "-".join(dice.choices(WORDS, k=3)) + "abcdefghij"[number % 10] * (number % 4)


def day(number: int) -> tuple[int, int, int]:
    """Year, month and day; a year of 336 days will do."""
    return 2010 + number // 336, 1 + number // 28 % 12, 1 + number % 28


def text(number: int) -> str:
    """A page like no other, but for its menu."""
    return f"{MENU}\n{title(number)} {title(number + 1)}\n{title(number + 2)} {number}"


def token(number: int, length: int = 32) -> str:
    return f"{random.Random(number).getrandbits(4 * length):0{length}x}"


def refusals(urls: Iterable[str], traps: Traps | None = None) -> list[str]:
    traps = traps or Traps()
    return [trap for at in urls if (trap := traps.judge(at)) is not None]


def show(traps: Traps, at: str, page: str) -> bool:
    """Fetch a page; whether it was looked at."""
    if not traps.wants(at):
        return False
    traps.learn(at, page, page.encode())
    return True


def visit(traps: Traps, urls: Iterable[str], page: Callable[[int], str]) -> int:
    """Judge each URL, and fetch it at once; how many were admitted."""
    admitted = 0
    for number, at in enumerate(urls):
        if traps.judge(at) is None:
            admitted += 1
            show(traps, at, page(number))
    return admitted


# Sites whose every page is admitted, though none of them is ever looked at.

ORDINARY: dict[str, Callable[[int], str]] = {
    "numbered pages": lambda n: f"/item/{n}",
    "numbers in names": lambda n: f"/{title(n)}-{n}.html",
    "documentation": lambda n: f"/docs/{WORDS[n % 14]}/{title(n)}.html",
    "an API's documentation": lambda n: f"/std/{WORDS[n % 14]}/{WORDS[n % 9]}/struct.T{n}.html",
    "a blog": lambda n: f"/{2000 + n % 25}/{1 + n % 12:02}/{1 + n % 28:02}/{title(n)}/",
    "a blog's archive": lambda n: f"/{2015 + n % 10}/{1 + n % 12:02}/page/{n}/",
    "a wiki": lambda n: f"/wiki/{title(n)}_and_a_title_that_goes_on_for_quite_some_time_{n}",
    "a wiki in another script": lambda n: f"/wiki/{'%D0%9F' * (9 + n % 90)}{n}",
    "a wiki of parameters": lambda n: f"/index.php?title={title(n)}{n}&action=history&offset={n}",
    "a forum": lambda n: f"/t/{title(n)}/{n}",
    "an old forum": lambda n: f"/viewtopic.php?f={n % 9}&t={n // 2}&start={n % 2 * 20}",
    "a shop": lambda n: f"/{WORDS[n % 14]}/{title(n)}/p/{n}?ref=list",
    "a shop's listings": lambda n: f"/c/{title(n // 20)}{n // 20}?page={n % 20}&order=new",
    "one long listing": lambda n: f"/new?page={n}",
    "commits": lambda n: f"/{title(n)}/repo/commit/{token(n, 40)}",
    "products named by UUID": lambda n: f"/p/{token(n, 8)}-0a0b-4c0d-8e0f-{token(n, 12)}",
    "videos": lambda n: f"/watch?v={token(n, 11)}",
    "a content management system": lambda n: (
        f"/index.php?option=content&view=article&id={n}&Itemid={n % 40}&lang=en"
    ),
    "tracked links": lambda n: f"/item/{n}?utm_source=a&utm_medium=b&utm_campaign={n % 50}",
    "stories": lambda n: f"/article.php?sid={n}",
    "searches": lambda n: f"/?s={title(n)}",
    "files of many releases": lambda n: f"/v{n % 30}.{n % 7}/download/{title(n)}-{n}.tar.gz",
}


@pytest.mark.parametrize("site", ORDINARY)
def test_ordinary_sites_are_never_held_back(site: str) -> None:
    assert refusals(SITE + ORDINARY[site](number) for number in range(5000)) == []


def test_subdomains_of_a_university_are_not_a_farm() -> None:
    assert (
        refusals(f"https://{title(n % 300)}{n % 300}.uni.ac.uk/page/{n}" for n in range(3000)) == []
    )


def test_hosts_of_many_domains_are_not_a_farm() -> None:
    assert refusals(f"https://www.{title(n)}{n}.example/" for n in range(3000)) == []


# Traps that are known by what their URLs look like.


class Shape(NamedTuple):
    name: str
    at: Callable[[int], str]
    budget: int


SHAPED = {
    "long": Shape("too long", lambda n: f"/{'a' * 2048}{n}", 50),
    "deep": Shape("too deep", lambda n: f"/{'/'.join(f'{n}-{k}' for k in range(22))}", 200),
    "repeating": Shape("repeating segments", lambda n: f"/a/{title(n)}/a/{n}/a", 50),
    "days": Shape("calendar", lambda n: "/cal/{}/{}/{}".format(*day(n)), 400),
    "dates": Shape("calendar", lambda n: "/events/{}-{}-{}".format(*day(n)), 400),
    "initials": Shape("calendar", lambda n: "/cal?y={}&m={}&d={}".format(*day(n)), 400),
    "session": Shape("session id", lambda n: f"/item/7?PHPSESSID={token(n)}", 201),
    "session in a path": Shape("session id", lambda n: f"/item/7;jsessionid={token(n)}", 201),
    "session in brackets": Shape("session id", lambda n: f"/(S({token(n, 24)}))/a.aspx", 201),
    "random segments": Shape("session id", lambda n: f"/{token(n)}/item/{n}", 1000),
    "facets": Shape("facets", lambda n: f"/s?a={n % 9}&b={n // 9 % 9}&c={n // 81}", 2500),
}  # fmt: skip


@pytest.mark.parametrize("shape", SHAPED)
def test_traps_by_their_looks_are_held_to_their_budgets(shape: str) -> None:
    name, at, budget = SHAPED[shape]
    traps = Traps()
    refused = refusals((SITE + at(number) for number in range(5000)), traps)
    assert 5000 - len(refused) <= budget
    assert {refusal.partition(":")[0] for refusal in refused} == {name}
    assert traps.statistics().cuts == {name: len(refused)}


def test_a_farm_of_hosts_is_held_to_its_budget() -> None:
    urls = [f"https://{title(n)}{n}.farm.example/" for n in range(2000)]
    traps = Traps()
    refused = refusals(urls, traps)
    assert len(refused) == 1500
    assert refused[0] == "subdomains: all hosts of farm.example has used its budget of 500"
    # Hosts that were welcome stay so.
    assert refusals([f"{at}about" for at in urls[:500]], traps) == []


def test_a_calendar_may_not_stray_far_from_the_first_date() -> None:
    traps = Traps()
    urls = [f"{SITE}/cal/{year}/05/" for year in range(2026 - 50, 2026 + 50)]
    assert traps.judge(f"{SITE}/cal/2026/05/") is None
    refused = refusals(urls, traps)
    assert len(refused) == 100 - 2 * YEARS - 1
    assert (
        refused[0]
        == f"calendar: {SITE}/cal/{{year}}/{{month}}/ goes further than 25 years from 2026"
    )


def test_a_refusal_names_the_pattern() -> None:
    assert refusals(f"{SITE}/item/7?PHPSESSID={token(n)}" for n in range(500))[0] == (
        f"session id: PHPSESSID of {SITE} has used its budget of 200"
    )


def test_a_url_that_is_found_again_does_not_count_twice() -> None:
    urls = [
        f"{SITE}/cal/2026/{month:02}/{day:02}/" for month in range(1, 13) for day in range(1, 29)
    ]
    traps = Traps()
    for _ in range(5):
        assert refusals(urls, traps) == []


def test_every_page_behind_session_ids_is_admitted_once() -> None:
    urls = [f"{SITE}/item/{n}?sid={token(n * 10 + copy)}" for n in range(2000) for copy in range(3)]
    traps = Traps()
    admitted = [at for at in urls if traps.judge(at) is None]
    assert len({url.split(at).path.partition("?")[0] for at in admitted}) == 2000
    assert len(admitted) <= 2200


# Traps that show in what their pages say.


def test_a_pattern_with_few_urls_is_not_looked_at() -> None:
    traps = Traps()
    urls = [
        f"{SITE}/{word}/{number}" for word in WORDS[:2] for number in range(UNSUSPICIOUS // 2 - 1)
    ]
    for at in urls:
        traps.judge(at)
        assert not show(traps, at, "the same")


def test_a_large_section_is_looked_at_in_samples() -> None:
    traps = Traps()
    urls = [f"{SITE}/item/{number}" for number in range(3000)]
    refusals(urls, traps)
    assert 3 * WINDOW < sum(show(traps, at, text(n)) for n, at in enumerate(urls)) < 300


def test_a_section_of_thousands_that_differ_in_one_phrase_is_never_cut() -> None:
    traps = Traps()
    pages = (f"{SITE}/item/{number}" for number in range(5000))
    assert (
        visit(traps, pages, lambda n: f"{MENU}\nThe lamp called {title(n)} {title(n + 7)}") == 5000
    )


@pytest.mark.parametrize(
    ("at", "budget"),
    [
        (lambda n: f"/item/{n}", 1000),
        (lambda n: f"/{title(n)}{n}", 1100),
        (lambda n: f"/lost/{title(n)}/{title(-n)}{n}", 1000),
        (lambda n: f"/x?{title(n)}={n}", 1000),
        (lambda n: f"/item/7?token={token(n)}", 1000),
        (lambda n: f"/{token(n)}/item/7", 200),
        (lambda n: f"/room/{n}?month={n % 12}", 100),
        (lambda n: "/cal/{}/{}/{}".format(*day(n)), 100),
        (lambda n: f"/item/{n}?sid={token(n)}", 1050),
    ],
)  # fmt: skip
def test_a_pattern_that_only_repeats_itself_comes_to_an_end(
    at: Callable[[int], str], budget: int
) -> None:
    admitted = visit(Traps(), (SITE + at(n) for n in range(4000)), lambda n: f"Nothing for {n}")
    assert admitted <= budget + UNSUSPICIOUS


def test_a_repeating_pattern_is_named() -> None:
    traps = Traps()
    visit(traps, (f"{SITE}/item/{n}" for n in range(1500)), lambda n: "the same")
    assert refusals([f"{SITE}/item/5000"], traps) == [
        f"nothing new: {SITE}/item/# only repeats what is known"
    ]


def test_a_calendar_goes_on_while_its_days_are_new() -> None:
    days = [
        f"{SITE}/news/{year}/{month:02}/{date:02}"
        for year in range(2000, 2020)
        for month in range(1, 13)
        for date in range(1, 29, 2)
    ]
    assert visit(Traps(), days, text) == len(days)


def test_a_calendar_of_a_century_proves_itself() -> None:
    months = [f"{SITE}/news/{2026 - n // 12}/{12 - n % 12:02}" for n in range(12 * 100)]
    assert visit(Traps(), months, text) == len(months)


def test_a_refused_url_that_is_found_again_may_have_been_earned() -> None:
    traps = Traps()
    days = ["{}/cal/{}/{}/{}".format(SITE, *day(n)) for n in range(1000)]
    refused = [at for at in days if traps.judge(at) is not None]
    assert len(refused) == 600
    for number, at in enumerate(days[:400]):
        show(traps, at, text(number))
    assert refusals(refused, traps) == []


def test_a_farm_whose_hosts_are_new_goes_on() -> None:
    hosts = [f"https://{title(n)}{n}.blogs.example/" for n in range(2000)]
    assert visit(Traps(), hosts, text) == 2000


def test_a_farm_whose_hosts_are_the_same_ends_soon() -> None:
    hosts = [f"https://{title(n)}{n}.farm.example/" for n in range(2000)]
    assert visit(Traps(), hosts, lambda n: "This domain is for sale.") <= 60


def test_patterns_of_a_farm_are_counted_together() -> None:
    traps = Traps()
    pages = [f"https://h{n % 400}.farm.example/x/{n}" for n in range(8000)]
    assert visit(traps, pages, lambda n: "This domain is for sale.") < 1000
    assert {"subdomains"} == set(traps.statistics().cuts)


def test_copies_of_a_whole_site_are_known() -> None:
    pages = [f"{SITE}/{copy}-{title(copy)}/item/{n}" for copy in range(20) for n in range(200)]
    traps = Traps()
    assert visit(traps, pages[:1000], lambda n: text(n % 200)) == 1000
    assert visit(traps, pages[1000:], lambda n: text(n % 200)) < 2000


def test_a_trap_of_many_small_patterns_shows_in_its_folder() -> None:
    traps = Traps()
    dice = random.Random(1)
    paths = {tuple(dice.choices(WORDS, k=5)) for _ in range(8000)}
    urls = sorted(f"{SITE}/maze/{'/'.join(path)}" for path in paths if len(set(path)) > 3)
    assert visit(traps, urls, lambda n: "A corridor.") < 1200
    assert {"nothing new"} == set(traps.statistics().cuts)


def test_a_real_section_beside_a_trap_is_not_cut() -> None:
    traps = Traps()
    for number in range(4000):
        visit(traps, [f"{SITE}/maze/{title(number)}/{number}"], lambda _: "A corridor.")
        assert visit(traps, [f"{SITE}/real/{number}"], lambda _, n=number: text(n)) == 1  # type: ignore[misc]


def test_what_one_pattern_is_looked_at_for_is_no_evidence_against_its_site() -> None:
    traps = Traps()
    for number in range(3000):
        traps.judge(f"{SITE}/item/{number}")
        show(traps, f"{SITE}/item/{number}", text(number))
        if number % 3 == 0:
            traps.judge(f"{SITE}/login/{number}")
            show(traps, f"{SITE}/login/{number}", "Who are you?")
    assert refusals([f"{SITE}/other/section/of/pages/{n}" for n in range(300)], traps) == []


def test_pages_without_text_are_told_apart_by_their_bytes() -> None:
    traps = Traps()
    for number in range(2000):
        at = f"{SITE}/image/{number}.png"
        assert traps.judge(at) is None
        if traps.wants(at):
            traps.learn(at, "", number.to_bytes(8, "big"))


# Pages that say that they are not there.


MISSING = "Oops!\nWe looked for {} everywhere.\nTry the search\n" + MENU


def test_a_page_for_what_is_missing_is_known_again() -> None:
    traps = Traps()
    traps.learn_missing(f"{SITE}/qxvbwkz", MISSING.format("/qxvbwkz"))
    assert traps.is_soft_missing(SITE, MISSING.format("17"))
    assert traps.is_soft_missing(SITE, MISSING.format("that page"))
    assert not traps.is_soft_missing(SITE, text(1))
    assert not traps.is_soft_missing("https://other.example", MISSING.format("17"))


def test_an_origin_will_do_for_a_page_that_quotes_nothing() -> None:
    traps = Traps()
    traps.learn_missing(SITE, MISSING.format("it"))
    assert traps.is_soft_missing(SITE, MISSING.format("it"))


def test_a_pattern_of_missing_pages_is_called_so() -> None:
    traps = Traps()
    traps.learn_missing(f"{SITE}/qxvbwkz", MISSING.format("/qxvbwkz"))
    urls = [f"{SITE}/lost/{title(n)}/{n}" for n in range(2000)]
    for at in urls:
        if traps.judge(at) is None:
            show(traps, at, MISSING.format(url.split(at).path))
    assert set(traps.statistics().cuts) == {"soft 404"}
    assert refusals([f"{SITE}/lost/{title(1)}/5000"], traps) == [
        f"soft 404: {SITE}/lost shows its page for what is missing"
    ]


# For any input.


def test_any_number_of_names_needs_little_memory() -> None:
    traps = Traps()
    dice = random.Random(1)
    for _ in range(5000):
        name = "".join(dice.choices("abcdefghijklmnop", k=9))
        traps.judge(f"{SITE}/{name}/{name[::-1]}?{name[::2]}")
    assert traps.statistics().patterns < 200


@given(st.lists(st.tuples(st.text(), st.text(max_size=20)), max_size=9))
def test_any_urls_get_the_same_answers_again(found: list[tuple[str, str]]) -> None:
    urls = [to for path, _ in found if (to := url.join(f"{SITE}/a/", path)) is not None]

    def run() -> Iterator[object]:
        traps = Traps()
        for at in urls * 9:
            yield traps.judge(at)
            yield show(traps, at, "".join(page for _, page in found))
        yield traps.statistics()

    assert list(run()) == list(run())


ANSWERS = """
from freki.admit.traps import Traps
traps = Traps()
for n in range(800):
    at = f"https://a.example/x{n % 40}/y/{n}?a={n}&b={n % 3}&sid=abcdef{n:06}"
    print(traps.judge(at))
    traps.wants(at) and traps.learn(at, f"page {at}"[: n % 60], b"")
print(traps)
"""


def test_every_process_gives_the_same_answers(capfd: pytest.CaptureFixture[str]) -> None:
    exec(ANSWERS, {})
    ours = capfd.readouterr().out
    subprocess.run(
        [sys.executable, "-c", ANSWERS], env={"PYTHONPATH": ":".join(sys.path)}, check=True
    )
    assert capfd.readouterr().out == ours


# A crawl of a web full of traps.

HREF = re.compile(r'<a href="([^"]*)"')
TAG = re.compile(r"<[^>]*>")
START = "http://127.0.0.1:8080/"


class Crawl:
    """A crawler of few lines, with nothing against traps but `Traps`."""

    def __init__(self, web: TrapWeb) -> None:
        self.web = web
        self.traps = Traps()
        self.fetched: list[str] = []
        self.refused: set[str] = set()
        self.patterns = 0  # at most
        known, ring = {START}, deque([START])
        while ring and len(self.fetched) < 20_000:
            for link in dict.fromkeys(self._fetch(ring.popleft())):
                if link in known:
                    continue
                refused = self.traps.judge(link)
                if refused is None:
                    known.add(link)
                    ring.append(link)
                else:
                    self.refused.add(refused)

    def _fetch(self, at: str) -> Iterator[str]:
        self.fetched.append(at)
        if len(self.fetched) == 50:
            missing = f"{START}qxvbwkz"
            self.traps.learn_missing(missing, TAG.sub("", self._say(missing)))
        page = self._say(at)
        show(self.traps, at, TAG.sub("", page))
        self.patterns = max(self.patterns, self.traps.statistics().patterns)
        for href in HREF.findall(page):
            if (to := url.join(at, unescape(href))) is not None:
                yield to

    def _say(self, at: str) -> str:
        origin, path = url.split(at)
        return self.web.answer(origin.partition("//")[2], path).body.decode()

    def consumption(self) -> Counter[str]:
        """Pages fetched, by the trap they are in."""
        places = (
            (origin.partition("//")[2], path) for origin, path in map(url.split, self.fetched)
        )
        return Counter(self.web.trap(host, path) or "real" for host, path in places)


@pytest.fixture(scope="module")
def crawl() -> Crawl:
    return Crawl(TrapWeb(real_pages=1000))


def test_the_real_section_among_traps_is_crawled_completely(crawl: Crawl) -> None:
    paths = {url.split(at).path for at in crawl.fetched if at.startswith(START)}
    assert len(crawl.web.real()) == 1000
    assert crawl.web.real() <= paths


@pytest.mark.parametrize(
    ("trap", "budget"),
    [
        ("calendar", 400),
        ("session", 1000 + 200 + 1000 // 4 + UNSUSPICIOUS),  # each page once, and the budget
        ("visit", 1000 + 2 * 1000 + 500),  # the budget, and what a thousand pages earn, by samples
        ("maze", 1000),
        ("shop", 1250),
        ("lost", 1000 + DULL),
        ("farm", 500),
    ],
)
def test_no_trap_costs_more_than_its_budget(crawl: Crawl, trap: str, budget: int) -> None:
    assert 10 <= crawl.consumption()[trap] <= budget


def test_every_trap_is_named(crawl: Crawl) -> None:
    assert set(crawl.traps.statistics().cuts) == {
        "calendar",
        "facets",
        "nothing new",
        "repeating segments",
        "session id",
        "soft 404",
        "subdomains",
    }
    assert f"soft 404: {START}lost shows its page for what is missing" in crawl.refused
    assert "subdomains: all hosts of farm.localhost only repeats what is known" in crawl.refused


def test_the_traps_need_no_memory(crawl: Crawl) -> None:
    assert crawl.patterns < 2000
