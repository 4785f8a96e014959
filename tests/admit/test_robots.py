import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from freki.admit.robots import MAX_BODY, MAX_LINE, Access, Decision, access, parse


def decide(text: str | bytes, path: str) -> Decision:
    body = text.encode() if isinstance(text, str) else text
    return parse(body).for_agent("freki").decide(path)


def crawl_delay(text: str, agent: str = "freki") -> float | None:
    return parse(text.encode()).for_agent(agent).crawl_delay


def test_a_decision_names_the_rule_and_its_line() -> None:
    text = "# hello\r\nUSER-AGENT: *\r\n\r\ndisallow :  /a/*/b  # why not\r\n"
    assert decide(text, "/a/x/b") == Decision(allowed=False, rule="Disallow: /a/*/b", line=4)


def test_a_rule_is_told_as_it_was_written_but_printable() -> None:
    body = "User-agent: *\nDisallow: /%7Eツ\x1b[31m".encode() + b"\xff"
    assert decide(body, "/~%E3%83%84%1B[31m%FF").rule == "Disallow: /%7Eツ\ufffd[31m\ufffd"


@pytest.mark.parametrize(
    "field",
    ["Dissallow:", "dissalow:", "Disalow:", "diasllow:", "disallaw:", "Disallow", "DISALLOW\t"],
)
def test_a_misspelt_disallow_is_obeyed(field: str) -> None:
    assert not decide(f"User-agent: *\n{field} /a # comment: one\n", "/a").allowed


@pytest.mark.parametrize("field", ["Useragent:", "User agent:", "user-agent"])
def test_a_misspelt_user_agent_is_understood(field: str) -> None:
    assert not decide(f"{field} freki\nDisallow: /a\n", "/a").allowed


def test_prose_without_a_colon_is_no_rule() -> None:
    assert decide("User-agent: *\nDisallow / for all of you\nDisallow\n", "/a").allowed


@pytest.mark.parametrize("mark", [b"\xef\xbb\xbf", b"\xef\xbb", b"\xef"])
def test_a_byte_order_mark_is_skipped_even_when_it_is_cut(mark: bytes) -> None:
    assert not decide(mark + b"User-agent: *\nDisallow: /\n", "/").allowed


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be"])
def test_utf_16_is_read_although_it_should_not_be_sent(encoding: str) -> None:
    body = "User-agent: *\r\nDisallow: /a\r\n".encode(encoding)
    assert decide(body, "/a") == Decision(allowed=False, rule="Disallow: /a", line=2)


def test_nul_bytes_hide_no_rule() -> None:
    assert not decide(b"User-\0agent: *\0\nDis\0allow: /a\0b\n", "/ab").allowed


@pytest.mark.parametrize("separator", ["\x0b", "\x0c", "\x1c", "\x85", "\u2028"])
def test_only_cr_and_lf_end_a_line(separator: str) -> None:
    assert decide(f"User-agent: *\n#{separator}Disallow: /\n", "/").allowed


def test_a_web_page_in_place_of_rules_allows_everything() -> None:
    page = '<!DOCTYPE html>\n<html><head><title>Not: found</title></head>\n<a href="/">x</a></html>'
    assert decide(page, "/a") == Decision(allowed=True)


@pytest.mark.parametrize("rule", ["a", "$", "http://example.com/a", "?a", "."])
def test_a_rule_that_begins_like_no_path_matches_none(rule: str) -> None:
    assert decide(f"User-agent: *\nDisallow: {rule}\n", "/a").allowed


@pytest.mark.parametrize("name", ["", "ツ", "*freki", "!"])
def test_a_user_agent_line_without_a_name_is_for_nobody(name: str) -> None:
    rules = parse(f"User-agent: {name}\nDisallow: /\n".encode())
    assert [rules.for_agent(agent).decide("/").allowed for agent in ("freki", "", "*")] == [
        True
    ] * 3


def test_allowing_an_index_page_does_not_allow_its_directory() -> None:
    text = "User-agent: *\nAllow: /x/index.html\nDisallow: /\n"
    assert [decide(text, path).allowed for path in ("/x/index.html", "/x/")] == [True, False]


def test_a_star_at_the_end_makes_a_rule_longer() -> None:
    text = "User-agent: *\nAllow: /fish\nDisallow: /fish*\n"
    assert not decide(text, "/fish").allowed


@pytest.mark.parametrize("order", [1, -1])
def test_an_escaped_letter_makes_no_rule_longer(order: int) -> None:
    rules = ["Allow: /%62%61%7A", "Disallow: /%62%61%7A/x"][::order]
    assert not decide("User-agent: *\n" + "\n".join(rules), "/%62%61%7A/x").allowed


def test_a_line_is_cut_at_the_limit() -> None:
    rule = "Disallow: /".ljust(MAX_LINE + 10, "a")
    path = "/".ljust(MAX_LINE, "a")
    assert not decide(f"User-agent: *\n{rule}b", path).allowed


def test_sitemaps_are_told_once_each_in_their_order() -> None:
    text = "Sitemap: https://a/2\nSite-map: https://a/1\nsitemap: https://a/2\nSitemap:\n"
    assert parse(text.encode()).sitemaps == ("https://a/2", "https://a/1")


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("10", 10.0),
        ("0.5", 0.5),
        (".5", 0.5),
        ("0", 0.0),
        ("86401", 86_400.0),
        ("9" * 400, 86_400.0),
    ],
)
def test_a_crawl_delay_is_a_number_of_seconds(value: str, seconds: float) -> None:
    assert crawl_delay(f"User-agent: *\nCrawl-delay: {value}\n") == seconds


@pytest.mark.parametrize("value", ["", "-1", "nan", "inf", "1e3", "1_0", "10s"])
def test_an_absurd_crawl_delay_is_ignored(value: str) -> None:
    assert crawl_delay(f"User-agent: *\nCrawl-delay: {value}\n") is None


def test_the_longest_crawl_delay_of_an_agent_counts() -> None:
    text = "User-agent: freki\nCrawl-delay: 1\nCrawl-delay: 3\nDisallow: /a\n"
    assert crawl_delay(text + "User-agent: freki\nCrawl-delay: 2\n") == 3.0


def test_a_crawl_delay_is_for_the_agents_named_before_it() -> None:
    text = "User-agent: geri\nUser-agent: hugin\nCrawl-delay: 10\n\nUser-agent: *\nDisallow: /a\n"
    delays = [crawl_delay(text, agent) for agent in ("geri", "hugin", "freki")]
    assert delays == [10.0, 10.0, None]


def test_a_crawl_delay_after_the_rules_is_for_the_whole_group() -> None:
    text = "User-agent: geri\nUser-agent: freki\nDisallow: /a\nCrawl-delay: 10\n"
    assert [crawl_delay(text, agent) for agent in ("geri", "freki")] == [10.0, 10.0]


def test_our_own_group_without_crawl_delay_frees_from_that_of_all() -> None:
    text = "User-agent: *\nCrawl-delay: 10\nDisallow: /a\nUser-agent: freki\nDisallow: /b\n"
    assert crawl_delay(text) is None


def test_a_crawl_delay_before_any_agent_is_for_nobody() -> None:
    assert crawl_delay("Crawl-delay: 10\nUser-agent: *\nDisallow: /a\n") is None


def test_too_many_requests_means_later() -> None:
    assert access(429) is Access.disallow_for_now


@pytest.mark.parametrize("status", [0, 100, 199, 600, 999])
def test_a_status_that_means_nothing_allows_nothing(status: int) -> None:
    assert access(status) is Access.disallow_for_now


HOSTILE = {
    "rules": b"Allow:/\n",
    "agents": b"User-agent:*\n",
    "agents and rules": b"User-agent:*\nAllow:/\n",
    "agents and delays": b"User-agent:freki\nCrawl-delay:1\n",
    "empty lines": b"\n",
    "stars": b"Disallow:/" + b"*a" * 8000 + b"b\n",
    "question marks": b"Disallow:/" + b"?" * 16_000 + b"\n",
    "escapes": b"Allow:/" + b"%61" * 5000 + b"\n",
    "one line": b"User-agent",
}


@pytest.mark.parametrize("line", HOSTILE.values(), ids=HOSTILE.keys())
def test_a_hostile_file_costs_no_more_than_an_honest_one(line: bytes) -> None:
    body = b"User-agent:*\n" + line * (MAX_BODY // 4 // len(line))
    path = "/" + "a" * 8000
    start = time.process_time()
    parse(body).for_agent("freki").decide(path)
    assert time.process_time() - start < 1.0  # about 0.03; quadratic reading takes minutes


def test_more_comparisons_than_a_decision_may_cost_are_a_no() -> None:
    text = "User-agent: *\n" + "\n".join(f"Disallow: /*{number:x}z" for number in range(3000))
    group = parse(text.encode()).for_agent("freki")
    assert group.decide("/" + "a" * 1000) == Decision(allowed=True)
    assert group.decide("/" + "a" * 8000) == Decision(
        allowed=False, rule="too many wildcard rules for so long a path"
    )


FRAGMENTS = st.sampled_from(
    [
        "User-agent: *",
        "user-agent:freki",
        "Disallow: ",
        "Crawl-delay:1",
        *"/a*$%61#:?\r\n\t\0\1ツ\ufeff",
    ]
)
TEXTS = st.lists(FRAGMENTS).map("".join)


@given(TEXTS.map(str.encode) | st.binary(), TEXTS)
def test_no_file_and_no_path_make_it_raise(body: bytes, path: str) -> None:
    rules = parse(body)
    for agent in ("freki", "*", "", "ツ"):
        group = rules.for_agent(agent)
        assert isinstance(group.decide("/" + path), Decision)


def _matches(rule: str, path: str) -> bool:
    """The meaning of a rule as directly as it can be written down, at exponential cost."""
    if rule in ("", "$"):
        return not rule or not path
    if rule[0] == "*":
        return any(_matches(rule[1:], path[start:]) for start in range(len(path) + 1))
    return path[:1] == rule[0] and _matches(rule[1:], path[1:])


RULES = st.lists(
    st.tuples(st.booleans(), st.text("ab/*$", max_size=6).map("/".__add__)), max_size=5
)


@given(RULES, st.text("ab/$", max_size=8).map("/".__add__))
def test_the_longest_matching_rule_decides(rules: list[tuple[bool, str]], path: str) -> None:
    lines = [f"{'Allow' if allows else 'Disallow'}: {rule}" for allows, rule in rules]
    ranks = [(len(rule), allows) for allows, rule in rules if _matches(rule, path)]
    allowed = max(ranks, default=(0, True))[1]
    assert decide("User-agent: *\n" + "\n".join(lines), path).allowed is allowed
