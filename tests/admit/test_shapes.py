import pytest
from hypothesis import given
from hypothesis import strategies as st

from freki.admit import shapes
from freki.admit.shapes import Session

UUID = "550e8400-e29b-41d4-a716-446655440000"
SHA = "da39a3ee5e6b4b0d3255bfef95601890afd80709"
ID = "a1b2c3d4e5f6a7b8"


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("guide", "guide"),
        ("red-shoes", "red-shoes"),
        ("17", "#"),
        ("item-17.html", "item-#.html"),
        ("filter[12]", "filter[#]"),
        ("20240517", "{date}"),
        ("20241317", "#"),
        ("2024-05", "{date}"),
        ("2024-05-17", "{date}"),
        (UUID, "~"),
        (SHA, "~"),
        (f"{SHA}.html", "~"),
        ("dQw4w9WgXcQ7Zk2p", "~"),
        ("deadbeef", "deadbeef"),
        ("internationalisation", "internationalisation"),
        ("my-10-best-recipes-of-2024", "my-#-best-recipes-of-#"),
        ("a-title-that-nobody-would-call-a-name", "*"),
        ("x" * 5000, "*"),
        ("caf%C3%A9", "caf%C#%A#"),
        ("", ""),
    ],
)
def test_a_shape_is_what_remains_without_numbers_and_tokens(name: str, expected: str) -> None:
    assert shapes.shape(name) == expected


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/", ""),
        ("/a/b/", "a b "),
        ("/2024/05/17/slug", "{year} {month} {day} slug"),
        ("/2024/5", "{year} {month}"),
        ("/blog/2024/05/", "blog {year} {month} "),
        ("/2024/05/page/2", "{year} {month} page #"),
        ("/item/2024", "item #"),
        ("/2024/13", "# #"),
        ("/2024/05/32", "{year} {month} #"),
        ("/1234/05", "# #"),
        ("/t/1999/77", "t # #"),
    ],
)
def test_a_year_is_one_where_a_month_follows(path: str, expected: str) -> None:
    assert shapes.segments(path) == expected.split(" ")


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/" + "a" * 2048, "too long"),
        ("/" + "a" * 2047, None),
        ("/?q=" + "a" * 2048, "too long"),
        ("/a/b/c/d/e/f/g/h/i/j/k/l/m/n/o/p/q/r/s/t/u", "too deep"),
        ("/a/b/c/d/e/f/g/h/i/j/k/l/m/n/o/p/q/r/s/t", None),
        ("/a/a/a", "repeating segments"),
        ("/about/contact/about/news/about", "repeating segments"),
        ("/a////b", "repeating segments"),
        ("/x?a=1&a=1&a=1", "repeating segments"),
        ("/x?a[]=1&a[]=2&a[]=3", None),
        ("/clients/src/main/java/org/kafka/clients/src/kafka", None),
        ("/2011/11/11/11", None),
        ("/tiles/0/0/0/0.png", None),
        ("/a/a", None),
        ("/", None),
    ],
)
def test_oddities_are_what_no_honest_url_has(path: str, expected: str | None) -> None:
    assert shapes.oddity(path) == expected


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/x?PHPSESSID=abc&page=2", Session("PHPSESSID", "/x?page=2")),
        ("/x?page=2&phpsessid=abc", Session("phpsessid", "/x?page=2")),
        ("/x?sid=0123456789abcdef", Session("sid", "/x")),
        ("/x?s=3fa9c0d1e2&p=1", Session("s", "/x?p=1")),
        ("/x;jsessionid=1A2B3C?a=1", Session("jsessionid", "/x?a=1")),
        ("/x;jsessionid=1A2B3C.node1/y", Session("jsessionid", "/x/y")),
        ("/(S(lit3py55t21z5v55vlm25s55))/orders.aspx", Session("S", "/orders.aspx")),
        ("/x?CFID=1234&CFTOKEN=567&a=1", Session("CFID", "/x?a=1")),
        ("/x?ASPSESSIONIDQASBTRCC=AB", Session("ASPSESSIONID", "/x")),
        ("/article.php?sid=1234", None),
        ("/?s=crawlers", None),
        ("/x;v=1.2/y", None),
        ("/x?session=morning", None),
        ("/x", None),
    ],
)
def test_session_ids_are_known_by_name(path: str, expected: Session | None) -> None:
    assert shapes.session(path) == expected


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/calendar/2026/05/", "only"),
        ("/2024/05/17", "only"),
        ("/events/2026-05", "only"),
        ("/calendar?month=5&year=2026", "only"),
        ("/calendar?view=day&date=2026-05-17", "only"),
        ("/x?y=2026&m=5", "only"),
        ("/team/12?year=2026", "also"),
        ("/stats?team=5&year=2026", "also"),
        ("/calendar/week/523", "also"),
        ("/2024/05/17/slug", None),
        ("/2024/05/page/2", None),
        ("/map?x=1&y=2", None),
        ("/item/17", None),
        ("/", None),
    ],
)
def test_a_calendar_varies_in_dates_and_maybe_more(path: str, expected: str | None) -> None:
    address, _, query = path.partition("?")
    names = shapes.names(query) if query else []
    assert shapes.dates(shapes.segments(address), names) == expected


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/cal/2026/05", 2026),
        ("/cal?date=20260517", 2026),
        ("/cal?month=05-1999", 1999),
        ("/cal?month=5", None),
        ("/cal?stamp=1700000000", None),
    ],
)
def test_the_year_of_a_dated_url(path: str, expected: int | None) -> None:
    assert shapes.year(path) == expected


@given(st.text(), st.text())
def test_any_text_has_a_shape(address: str, query: str) -> None:
    path = f"/{address}?{query}"
    shapes.oddity(path)
    shapes.session(path)
    parts, names = shapes.segments(f"/{address}"), shapes.names(query)
    assert len(parts) == address.count("/") + 1
    shapes.dates(parts, names)
    shapes.year(path)
