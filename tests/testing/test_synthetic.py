import json
import os
import re
import subprocess
import sys
import tracemalloc
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from hashlib import sha256

import pytest

from freki.testing.synthetic import Answer, Web, address, host_number

ROUGH = Web(
    pages=600,
    redirects=0.15,
    missing=0.1,
    broken=0.05,
    flaky=0.1,
    duplicates=0.1,
    files=0.1,
    messy=0.5,
)
HOST = "127.0.0.1:8080"

Crawl = Callable[[Callable[[str], Answer], str, int | None], set[str]]


def answers(web: Web, attempt: int = 9) -> dict[str, Answer]:
    return {path: web.answer(HOST, path, attempt) for path in sorted(web.expected())}


def fields(answer: Answer) -> dict[str, str]:
    return dict(answer.headers)


def fingerprint(web: Web) -> str:
    return sha256(repr(answers(web)).encode()).hexdigest()


@pytest.mark.parametrize(
    ("number", "expected"),
    [(0, "127.0.0.1"), (1, "127.0.0.2"), (255, "127.0.1.0"), (2**24 - 3, "127.255.255.254")],
)
def test_hosts_are_numbered_through_the_loopback_network(number: int, expected: str) -> None:
    assert address(number) == expected
    assert host_number(expected) == number


@pytest.mark.parametrize("other", ["", "localhost", "126.255.255.255", "127.255.255.255", "::1"])
def test_other_addresses_have_no_number(other: str) -> None:
    assert host_number(other) is None


def test_every_process_computes_the_same_web() -> None:
    web = replace(ROUGH, pages=64)
    program = (
        "from hashlib import sha256\n"
        "from freki.testing.synthetic import Answer, Web\n"
        f"web = {web!r}\n"
        f"answers = {{path: web.answer({HOST!r}, path, 9) for path in sorted(web.expected())}}\n"
        "print(sha256(repr(answers).encode()).hexdigest())\n"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "PYTHONHASHSEED": "77"}
    there = subprocess.check_output([sys.executable, "-c", program], env=environment, text=True)
    assert there.strip() == fingerprint(web)


def test_another_seed_is_another_web() -> None:
    assert ROUGH.expected() != replace(ROUGH, seed=1).expected()
    assert ROUGH.answer(HOST, "/") != replace(ROUGH, seed=1).answer(HOST, "/")


def test_a_million_pages_cost_no_memory() -> None:
    web = Web(pages=1_000_000)
    web.answer(HOST, "/")
    tracemalloc.start()
    for hall in range(0, 60_000, 600):
        assert web.answer(HOST, f"/hall/{hall}/" if hall else "/").status == 200
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 2_000_000


@pytest.mark.parametrize("pages", [1, 15, 16, 17, 64, 65, 1000])
def test_every_number_is_reached_from_the_first_page(pages: int) -> None:
    assert len(Web(pages=pages).expected()) == pages


def test_every_number_is_reached_however_few_books_are_pages() -> None:
    web = Web(pages=500, redirects=0.4, missing=0.3, files=0.3)
    firsts = {path for path in web.expected() if "?hop=" not in path}
    assert len(firsts) == 500


def test_expected_starts_at_depth_nought_and_grows_to_everything() -> None:
    web = Web(pages=500)
    rings = [web.expected(depth=depth) for depth in range(7)]
    assert rings[0] == {"/"}
    assert rings[0] < rings[1] < rings[2] < rings[3]
    assert rings[6] == web.expected()


def test_a_start_that_is_no_page_is_all_there_is() -> None:
    assert Web().expected("/nothing/here") == {"/nothing/here"}


@pytest.mark.parametrize("host", ["hall.example", "127.0.0.1", "127.0.0.1:8080", "[::1]:8080"])
@pytest.mark.parametrize("depth", [None, 1])
def test_messy_links_lead_to_the_expected_pages(crawl: Crawl, host: str, depth: int | None) -> None:
    web = replace(ROUGH, pages=100, messy=1.0)

    def get(url: str) -> Answer:
        return web.answer(host, url.removeprefix(f"http://{host}"), attempt=9)

    assert crawl(get, f"http://{host}/", depth) == web.expected(depth=depth)


def test_messy_pages_write_links_in_every_way() -> None:
    web = replace(ROUGH, messy=1.0)
    bodies = "".join(
        answer.body.decode()
        for answer in answers(web).values()
        if fields(answer)["content-type"].startswith("text/html")
    )
    for spelling in (
        'href="http://127.0.0.1:8080/',
        'href="//127.0.0.1:8080/',
        'href="HTTP://127.0.0.1:8080/',
        'href="http://127.0.0.1:08080/',
        'href="./',
        'href="../',
        'href="/./',
        'href="/%2E/',
        "HREF = '",
        "#part-2",
        "&amp;part=",
        "&#38;part=",
        "&part=",
        "/café-",
        "/caf%C3%A9-",
    ):
        assert spelling in bodies
    assert re.search(r'href="  /[a-z/0-9]+[a-z]+ [a-z]+-\d+\n"', bodies)


def test_tidy_pages_write_links_in_one_way() -> None:
    web = Web(pages=100)
    hrefs = re.findall(r'<a href="([^"]*)"', web.answer(HOST, "/hall/1/").body.decode())
    assert set(hrefs) - {"mailto:keeper@library.invalid"} <= web.expected()


def test_a_name_that_is_no_address_is_the_first_host() -> None:
    web = Web(hosts=3)
    (book,) = re.findall(r'<li><a href="(/[^"]*-1)"', web.answer(HOST, "/").body.decode())
    assert web.answer("hall.example", book).status == 200
    assert web.answer("127.0.0.9", book).status == 200
    assert web.answer("127.0.0.2", book).status == 404


def test_cross_links_name_other_hosts_of_the_web_and_keep_the_port() -> None:
    web = Web(pages=64, hosts=3, cross_links=0.5)
    linked = Counter(
        host
        for path in web.expected()
        for host in re.findall(r'href="http://([^/"]+)/', web.answer(HOST, path).body.decode())
    )
    del linked[HOST]  # the canonical links
    assert linked.keys() == {"127.0.0.2:8080", "127.0.0.3:8080"}
    assert 0.4 < linked.total() / (64 * web.links_per_page) < 0.6


def test_the_shares_are_kept() -> None:
    statuses = Counter(answer.status for answer in answers(ROUGH, attempt=1).values())
    hops = sum("?hop=" in path for path in ROUGH.expected())
    redirects = sum(statuses[status] for status in (301, 302, 307, 308)) - hops
    books = ROUGH.pages * 15 / 16
    assert redirects / books == pytest.approx(0.15, abs=0.04)
    assert (statuses[404] + statuses[410]) / books == pytest.approx(0.1, abs=0.03)
    assert statuses[500] / books == pytest.approx(0.05, abs=0.03)
    assert statuses[503] / books == pytest.approx(0.1, abs=0.03)
    assert all(statuses[status] for status in (301, 302, 307, 308, 404, 410))


def test_shares_of_more_than_everything_are_refused() -> None:
    with pytest.raises(ValueError, match="more than all books"):
        Web(redirects=0.6, files=0.5)


@pytest.mark.parametrize(("pages", "hosts"), [(0, 1), (1, 0), (1, 2**24)])
def test_a_web_without_pages_or_with_too_many_hosts_is_refused(pages: int, hosts: int) -> None:
    with pytest.raises(ValueError, match="no web has"):
        Web(pages=pages, hosts=hosts)


def test_a_flaky_page_fails_as_often_as_it_is_told_to() -> None:
    web = Web(pages=64, flaky=0.5, flaky_failures=3)
    flaky = [path for path, answer in answers(web, attempt=1).items() if answer.status == 503]
    assert flaky
    for path in flaky:
        statuses = [web.answer(HOST, path, attempt).status for attempt in range(1, 6)]
        assert statuses == [503, 503, 503, 200, 200]


def test_duplicates_have_the_body_of_their_hall() -> None:
    web = Web(pages=64, duplicates=0.3)
    urls = Counter(answer.body for answer in answers(web).values())
    assert 5 < urls.total() - len(urls) < 30
    assert all(web.answer(HOST, f"/hall/{hall}/").body in urls for hall in (1, 2, 3))


def test_a_duplicate_leads_where_its_hall_leads() -> None:
    web = Web(pages=640, duplicates=0.3)
    hall = web.answer(HOST, "/hall/30/").body
    duplicates = {path for path, answer in answers(web).items() if answer.body == hall}
    assert len(duplicates) > 1
    for path in duplicates:
        assert web.expected(path, depth=1) == web.expected("/hall/30/", depth=1) | {path}


def test_redirects_go_straight_in_chains_and_in_loops() -> None:
    web = replace(ROUGH, messy=0.0)
    lengths: Counter[int] = Counter()
    loops: Counter[int] = Counter()
    for path in web.expected():
        chain = [path]
        while location := fields(web.answer(HOST, chain[-1], 9)).get("location"):
            chain.append(location.removeprefix(f"http://{HOST}"))
            if chain[-1] in chain[:-1]:
                loops[len(chain) - 1 - chain.index(chain[-1])] += 1
                break
        else:
            lengths[len(chain) - 1] += 1
        assert web.answer(HOST, f"{path.partition('?')[0]}?hop=9").status == 404
    assert {0, 1, 2, 3, 4, 5, 6} <= lengths.keys()
    assert {1, 3} <= loops.keys()


def test_files_have_the_bytes_that_their_type_promises() -> None:
    files = {path.rpartition(".")[2]: answer for path, answer in answers(Web(files=1.0)).items()}
    assert fields(files["txt"])["content-type"] == "text/plain; charset=utf-8"
    assert json.loads(files["json"].body)["title"].startswith("The ")
    assert files["png"].body.startswith(b"\x89PNG\r\n\x1a\n")
    assert files["pdf"].body.startswith(b"%PDF-1.7\n")


def test_pages_are_small_as_a_rule_and_large_now_and_then() -> None:
    sizes = sorted(len(answer.body) for answer in answers(Web(pages=500)).values())
    assert sizes[0] > 1_500
    assert sizes[len(sizes) // 2] < 6_000
    assert 30_000 < sizes[-1] < 60_000
    largest = max(len(answer.body) for answer in answers(Web(pages=500, largest=2000)).values())
    assert largest < 8_000


def test_a_page_says_what_a_good_page_says() -> None:
    body = Web().answer(HOST, "/hall/3/").body.decode()
    for part in (
        '<html lang="en',
        "<title>Hall 3, of the ",
        '<meta name="description" content="',
        f'<link rel="canonical" href="http://{HOST}/hall/3/">',
        "<h1>Hall 3",
        "<p>",
        "<ul>",
        "<table>",
    ):
        assert part in body


def test_robots_and_style_are_there() -> None:
    web = Web(robots="User-agent: *\nDisallow: /hall/\n", delay=0.5)
    assert web.answer(HOST, "/robots.txt").body == b"User-agent: *\nDisallow: /hall/\n"
    assert fields(web.answer(HOST, "/library.css"))["content-type"] == "text/css"
    assert web.answer(HOST, "/robots.txt").delay == 0.5


def test_hostile_paths_carry_their_name_and_only_the_first_page_links_to_them() -> None:
    web = Web(pages=64, hostile=("silence", "reset"))
    assert web.answer(HOST, "/hostile/silence?every=2").hostile == "silence"
    assert b'href="/hostile/reset"' in web.answer(HOST, "/").body
    assert not any("hostile" in path for path in web.expected())
    assert b"hostile" not in web.answer(HOST, "/hall/1/").body


@pytest.mark.parametrize(
    "path",
    [
        "/x",
        "/hall/0/",
        "/hall/007/",
        "/hall/63/",
        "/hall/1",
        "/-1",
        "/a-b-1",
        f"/a-b-{'9' * 99}",
        "",
    ],
)
def test_a_path_that_no_page_links_to_is_not_found(path: str) -> None:
    assert Web().answer(HOST, path).status == 404
