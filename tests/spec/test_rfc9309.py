"""RFC 9309, clause by clause. The engine's part (fetching, redirects, caching) is tested there."""

import pytest

from freki.admit.robots import Access, Decision, access, parse
from freki.url import parse as parse_url
from freki.url import split


def decide(text: str, url: str, agent: str = "freki") -> Decision:
    path = split(parse_url(f"https://example.com{url}")).path
    return parse(text.encode()).for_agent(agent).decide(path)


def allows(text: str, url: str, agent: str = "freki") -> bool:
    return decide(text, url, agent).allowed


def group(*rules: str) -> str:
    return "\n".join(["User-agent: freki", *rules])


# --- 2.1 and 2.2: groups, lines and their syntax ---


def test_2_1_a_group_is_its_user_agent_lines_and_the_rules_after_them() -> None:
    text = (
        "User-agent: freki\nUser-agent: geri\nDisallow: /both\n\nUser-agent: hugin\nDisallow: /it\n"
    )
    assert [allows(text, "/both", agent) for agent in ("freki", "geri", "hugin")] == [
        False,
        False,
        True,
    ]
    assert [allows(text, "/it", agent) for agent in ("freki", "geri", "hugin")] == [
        True,
        True,
        False,
    ]


def test_2_1_an_empty_line_ends_no_group() -> None:
    assert not allows("User-agent: freki\n\n\nDisallow: /a\n\nDisallow: /b\n", "/b")


def test_2_1_rules_before_the_first_user_agent_line_concern_nobody() -> None:
    assert allows("Disallow: /\nUser-agent: freki\nDisallow: /a\n", "/b")
    assert not allows("Disallow: /\nUser-agent: freki\nDisallow: /a\n", "/a")


def test_2_2_an_empty_pattern_matches_nothing() -> None:
    assert allows(group("Disallow:"), "/a")
    assert not allows(group("Disallow: /", "Allow:"), "/a")


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_2_2_a_line_ends_with_cr_lf_or_both(end: str) -> None:
    text = end.join(["User-agent: freki", "", "Allow: /a", "Disallow: /", ""])
    assert decide(text, "/b") == Decision(allowed=False, rule="Disallow: /", line=4)


def test_2_2_the_last_line_needs_no_end() -> None:
    assert not allows("User-agent: freki\nDisallow: /", "/")


@pytest.mark.parametrize(
    "line", ["disallow:/a", "DISALLOW : /a", " \t Disallow\t:\t/a \t", "DisAllow: /a#"]
)
def test_2_2_field_names_have_any_case_and_white_space_around_them(line: str) -> None:
    assert not allows(group(line), "/a")


# --- 2.2.1: the user-agent line ---


@pytest.mark.parametrize("name", ["freki", "FREKI", "Freki"])
def test_2_2_1_the_product_token_matches_in_any_case(name: str) -> None:
    text = f"User-agent: {name}\nDisallow: /\n"
    assert [allows(text, "/", agent) for agent in ("freki", "Freki", "FREKI")] == [False] * 3


def test_2_2_1_a_product_token_is_matched_whole() -> None:
    assert allows("User-agent: freki-images\nDisallow: /\n", "/")
    assert allows("User-agent: frek\nDisallow: /\n", "/")


def test_2_2_1_what_follows_a_product_token_is_no_part_of_it() -> None:
    assert not allows("User-agent: Freki/1.0 (+https://example.com)\nDisallow: /\n", "/")


def test_2_2_1_groups_of_one_agent_are_combined() -> None:
    text = (
        "User-agent: freki\nDisallow: /a\nUser-agent: geri\nDisallow: /b\n"
        "User-agent: FREKI\nDisallow: /c\nAllow: /a/open\n"
    )
    urls = ("/a", "/a/open", "/b", "/c")
    assert [allows(text, url) for url in urls] == [False, True, True, False]


@pytest.mark.parametrize("star", ["*", "* # everybody", "* everybody"])
def test_2_2_1_the_group_of_all_counts_where_no_group_matches(star: str) -> None:
    text = f"User-agent: geri\nAllow: /\nUser-agent: {star}\nDisallow: /\n"
    assert not allows(text, "/")


def test_2_2_1_groups_of_all_are_combined_too() -> None:
    text = "User-agent: *\nDisallow: /a\nUser-agent: geri\nAllow: /\nUser-agent: *\nDisallow: /b\n"
    assert [allows(text, url) for url in ("/a", "/b")] == [False, False]


def test_2_2_1_the_group_of_all_does_not_count_where_a_group_matches() -> None:
    text = "User-agent: *\nDisallow: /a\nUser-agent: freki\nDisallow: /b\n"
    assert [allows(text, url) for url in ("/a", "/b")] == [True, False]


def test_2_2_1_a_matching_group_without_rules_frees_from_the_group_of_all() -> None:
    assert allows("User-agent: *\nDisallow: /\nUser-agent: freki\n", "/a")


@pytest.mark.parametrize("text", ["", "User-agent: geri\nDisallow: /\n", "Sitemap: https://a/b\n"])
def test_2_2_1_without_a_group_for_us_or_all_no_rules_apply(text: str) -> None:
    assert decide(text, "/a") == Decision(allowed=True)


# --- 2.2.2: the allow and disallow lines ---


def test_2_2_2_paths_match_with_case() -> None:
    assert [allows(group("Disallow: /A"), url) for url in ("/A", "/a")] == [False, True]


def test_2_2_2_a_match_starts_with_the_first_octet_of_the_path() -> None:
    assert [allows(group("Disallow: /a"), url) for url in ("/a", "/ab", "/a/b", "/b/a")] == [
        False,
        False,
        False,
        True,
    ]


def test_2_2_2_the_query_belongs_to_the_path() -> None:
    assert [allows(group("Disallow: /a?b="), url) for url in ("/a?b=1", "/a?c=1")] == [False, True]


@pytest.mark.parametrize("order", [1, -1])
def test_2_2_2_the_match_with_the_most_octets_is_used(order: int) -> None:
    text = group(*["Allow: /a/", "Disallow: /a/secret", "Allow: /a/secret/not"][::order])
    urls = ("/a/", "/a/secret", "/a/secret/not/so")
    assert [allows(text, url) for url in urls] == [True, False, True]


@pytest.mark.parametrize("order", [1, -1])
def test_2_2_2_octets_of_wildcards_count_for_the_most_specific_match(order: int) -> None:
    text = group(*["Allow: /page", "Disallow: /*.html"][::order])
    assert [allows(text, url) for url in ("/page", "/page.html")] == [True, False]


@pytest.mark.parametrize("order", [1, -1])
def test_2_2_2_octets_are_counted_after_escaping(order: int) -> None:
    # "ツ" is one character, three octets of UTF-8, and nine octets when they are escaped.
    text = group(*["Disallow: /ツ", "Allow: /*********"][::order])
    assert allows(text, "/ツ")
    text = group(*["Disallow: /ツ", "Allow: /********"][::order])
    assert not allows(text, "/ツ")


@pytest.mark.parametrize("order", [1, -1])
def test_2_2_2_allow_wins_where_both_are_equivalent(order: int) -> None:
    assert allows(group(*["Allow: /a", "Disallow: /a"][::order]), "/a")
    assert allows(group(*["Allow: /*b", "Disallow: /a*"][::order]), "/ab")


def test_2_2_2_what_no_rule_matches_is_allowed() -> None:
    assert decide(group("Disallow: /a"), "/b") == Decision(allowed=True)


def test_2_2_2_robots_txt_itself_is_allowed() -> None:
    assert allows(group("Disallow: /", "Disallow: /robots.txt"), "/robots.txt")
    assert not allows(group("Disallow: /"), "/robots.txt.bak")


@pytest.mark.parametrize("kind", ["Allow", "Disallow"])
@pytest.mark.parametrize("rule", ["/ツ", "/%E3%83%84", "/%e3%83%84"])
@pytest.mark.parametrize("url", ["/ツ", "/%E3%83%84", "/%e3%83%84"])
def test_2_2_2_octets_outside_of_ascii_match_escaped_or_not(kind: str, rule: str, url: str) -> None:
    text = group("Disallow: /" if kind == "Allow" else "Allow: /", f"{kind}: {rule}")
    assert allows(text, url) is (kind == "Allow")


@pytest.mark.parametrize("url", ["/~baz", "/%7Ebaz", "/%7e%62a%7A"])
def test_2_2_2_an_escaped_letter_in_a_url_is_that_letter(url: str) -> None:
    assert not allows(group("Disallow: /~baz"), url)
    assert allows(group("Disallow: /", "Allow: /~baz"), url)


@pytest.mark.parametrize("url", ["/~baz", "/%7Ebaz", "/%7e%62a%7A"])
def test_2_2_2_an_escaped_letter_in_a_disallow_line_is_that_letter(url: str) -> None:
    assert not allows(group("Disallow: /%7Eb%61z"), url)


def test_2_2_2_an_escaped_letter_in_an_allow_line_matches_as_written() -> None:
    text = group("Disallow: /", "Allow: /%7ebaz")
    assert allows(text, "/%7Ebaz")
    assert not allows(text, "/~baz")


def test_2_2_2_an_escaped_reserved_character_is_not_that_character() -> None:
    text = group("Disallow: /a%2Fb")
    assert [allows(text, url) for url in ("/a%2Fb", "/a%2fb", "/a/b")] == [False, False, True]
    assert allows(group("Disallow: /a/b"), "/a%2Fb")


@pytest.mark.parametrize("rule", ["/a?u=https://b", "/a?u=https%3A%2F%2Fb", "/a?u=https%3a//b"])
@pytest.mark.parametrize("url", ["/a?u=https://b", "/a?u=https%3A%2F%2Fb"])
def test_2_2_2_delimiters_in_a_query_match_escaped_or_not(rule: str, url: str) -> None:
    assert not allows(group(f"Disallow: {rule}"), url)


@pytest.mark.parametrize("rule", ["/a b", "/a%20b"])
def test_2_2_2_what_a_url_cannot_contain_matches_its_escape(rule: str) -> None:
    assert not allows(group(f"Disallow: {rule}"), "/a b")
    assert not allows(group(f"Disallow: {rule}"), "/a%20b")


# --- 2.2.3: special characters ---


def test_2_2_3_a_hash_begins_a_comment() -> None:
    text = group("# Disallow: /a", "Disallow: /b # Disallow: /c", "Disallow: /d#e")
    urls = ("/a", "/b", "/c", "/d", "/de")
    assert [allows(text, url) for url in urls] == [True, False, True, False, False]


def test_2_2_3_a_dollar_is_the_end_of_the_path() -> None:
    text = group("Allow: /", "Disallow: /this/path/exactly$")
    urls = ("/this/path/exactly", "/this/path/exactly/", "/this/path/exactly?", "/this/path")
    assert [allows(text, url) for url in urls] == [False, True, True, True]


def test_2_2_3_a_dollar_before_the_end_is_an_ordinary_character() -> None:
    text = group("Disallow: /a$b")
    assert [allows(text, url) for url in ("/a$b", "/a", "/a$")] == [False, True, True]


def test_2_2_3_a_star_is_any_number_of_any_characters() -> None:
    text = group("Disallow: /this/*/exactly")
    urls = ("/this/x/exactly", "/this/x/y/exactly/z", "/this//exactly", "/this/exactly", "/this/x")
    assert [allows(text, url) for url in urls] == [False, False, False, True, True]


def test_2_2_3_a_rule_may_begin_with_a_star() -> None:
    text = group("Disallow: *.gif$")
    urls = ("/a.gif", "/b/c.gif", "/a.gif?b", "/gif")
    assert [allows(text, url) for url in urls] == [False, False, True, True]


def test_2_2_3_several_stars_are_found_in_their_order() -> None:
    text = group("Disallow: /*a*b*c$")
    assert [allows(text, url) for url in ("/abc", "/xaxbxc", "/cba", "/abcx", "/abcxc")] == [
        False,
        False,
        True,
        True,
        False,
    ]


@pytest.mark.parametrize(("escape", "char"), [("%2A", "*"), ("%24", "$"), ("%2a", "*")])
@pytest.mark.parametrize("kind", ["Allow", "Disallow"])
def test_2_2_3_an_escaped_special_character_is_matched_verbatim(
    escape: str, char: str, kind: str
) -> None:
    text = group("Disallow: /" if kind == "Allow" else "Allow: /", f"{kind}: /with-{escape}")
    matched = kind == "Allow"
    urls = (f"/with-{char}", f"/with-{escape}", "/with-", "/with-x")
    assert [allows(text, url) is matched for url in urls] == [True, True, False, False]


# --- 2.2.4: other records ---


@pytest.mark.parametrize("record", ["Sitemap: https://a/b.xml", "Crawl-delay: 1", "Unheard-of: /"])
def test_2_2_4_other_records_end_no_group(record: str) -> None:
    among_agents = f"User-agent: freki\n{record}\nUser-agent: *\nDisallow: /\n"
    assert [allows(among_agents, "/", agent) for agent in ("freki", "geri")] == [False, False]
    among_rules = f"User-agent: freki\nDisallow: /a\n{record}\nDisallow: /b\n"
    assert not allows(among_rules, "/b")


def test_2_2_4_sitemaps_belong_to_no_group() -> None:
    text = "Sitemap: https://a/1\nUser-agent: geri\nSITEMAP: https://a/2 # two\nDisallow: /\n"
    assert parse(text.encode()).sitemaps == ("https://a/1", "https://a/2")


# --- 2.3: access ---


@pytest.mark.parametrize("status", [200, 204, 206])
def test_2_3_1_1_after_a_success_the_rules_are_followed(status: int) -> None:
    assert access(status) is Access.use_body


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_2_3_1_2_redirects_that_were_not_followed_to_an_end_count_as_unavailable(
    status: int,
) -> None:
    assert access(status) is Access.allow_all


@pytest.mark.parametrize("status", [400, 401, 403, 404, 410, 451, 499])
def test_2_3_1_3_unavailable_means_that_everything_may_be_accessed(status: int) -> None:
    assert access(status) is Access.allow_all


@pytest.mark.parametrize("status", [500, 502, 503, 599, 0])
def test_2_3_1_4_unreachable_means_a_complete_disallow(status: int) -> None:
    assert access(status) is Access.disallow_for_now


def test_2_3_1_5_parseable_lines_count_among_lines_that_are_not() -> None:
    text = "<html>\n\x07\x1b[0m\nUser-agent: freki\n:::\n: /\nDisallow\n%%%\nDisallow: /a\n</html>"
    assert [allows(text, url) for url in ("/a", "/b")] == [False, True]


# --- 2.5: limits ---


def test_2_5_at_least_500_kibibytes_are_parsed() -> None:
    text = "User-agent: freki\n".ljust(500 * 1024 - len("\nDisallow: /"), "#") + "\nDisallow: /"
    assert len(text) == 500 * 1024
    assert not allows(text, "/")


def test_2_5_there_is_a_limit() -> None:
    assert allows("User-agent: freki\n" + "#" * 1024 * 1024 + "\nDisallow: /", "/")


# --- 5: the worked examples, told with other names ---


def test_5_1_each_agent_follows_its_own_group() -> None:
    text = (
        "User-Agent: *\nDisallow: *.zip$\nDisallow: /drafts/\nAllow: /books/\n\n"
        "User-Agent: geri\nDisallow:/\nAllow:/drafts/one.html\nAllow:/drafts/one.zip\n\n"
        "User-Agent: hugin\nUser-Agent: munin\nDisallow: /drafts/one.html\n\n"
        "User-Agent: sleipnir\n"
    )
    urls = ("/books/", "/drafts/one.html", "/drafts/one.zip", "/a.zip")
    verdicts = {
        agent: [allows(text, url, agent) for url in urls]
        for agent in ("freki", "geri", "hugin", "munin", "sleipnir")
    }
    assert verdicts == {
        "freki": [True, False, False, False],
        "geri": [False, True, True, False],
        "hugin": [True, False, True, True],
        "munin": [True, False, True, True],
        "sleipnir": [True, True, True, True],
    }


def test_5_2_the_longest_match_decides() -> None:
    text = group("Allow: /drafts/page/", "Disallow: /drafts/page/closed.gif")
    assert not allows(text, "/drafts/page/closed.gif")
