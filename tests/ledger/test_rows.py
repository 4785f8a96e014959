import msgspec
import pytest
from msgspec.structs import replace

from freki.ledger.rows import (
    NOFOLLOW,
    NOINDEX,
    Packer,
    unpack_body,
    unpack_links,
    unpack_rules,
)
from freki.messages import (
    Batch,
    Claim,
    HostRules,
    Link,
    Outcome,
    Page,
    Reason,
    Response,
    State,
    Via,
    Visit,
)
from freki.testing.bench import again, failed, page, redirect

CLAIM = Claim(7, 3, "http://a/", 0)
LINKS = [Link("http://a/x", "Ünïcode ツ", "nofollow", Via.link), Link("http://b/", via=Via.frame)]


def test_links_come_back_as_they_went_in() -> None:
    (row,) = Packer("all").pack(Batch(0.0, [page(CLAIM, *LINKS)])).pages
    assert isinstance(row[-1], bytes)
    assert unpack_links(row[-1]) == LINKS


def test_a_page_without_links_stores_none() -> None:
    (row,) = Packer("all").pack(Batch(0.0, [page(CLAIM)])).pages
    assert row[-1] is None
    assert unpack_links(None) == []


def test_bodies_come_back_as_they_went_in() -> None:
    body = bytes(range(256)) * 99
    ((digest, data),) = Packer("all").pack(Batch(0.0, [page(CLAIM, body=body)])).bodies
    assert len(digest) == 32
    assert data is not None
    assert len(data) < len(body)
    assert unpack_body(data) == body


@pytest.mark.parametrize(
    ("keep", "content_type", "kept"),
    [
        ("all", "image/png", True),
        ("all", "", True),
        ("html", "TEXT/HTML;charset=x", True),
        ("html", "application/xhtml+xml", True),
        ("html", "text/plain", False),
        ("none", "text/html", False),
    ],
)
def test_what_is_not_kept_leaves_its_digest(keep: str, content_type: str, kept: bool) -> None:
    outcome = page(CLAIM, content_type=content_type)
    ((digest, data),) = Packer(keep).pack(Batch(0.0, [outcome])).bodies
    assert len(digest) == 32
    assert (data is not None) is kept


def test_rules_of_a_host_come_back_as_they_went_in() -> None:
    rules = HostRules(3, "http://a", 5.0, 200, b"User-agent: *\n" * 99, 1)
    ((body, at, status, tries, host),) = Packer("none").pack(Batch(0.0, rules=[rules])).rules
    packed, when, code, count = msgspec.convert(
        (body, at, status, tries), tuple[bytes, float, int, int]
    )
    assert unpack_rules(3, "http://a", packed, when, code, count) == rules
    assert host == 3
    assert unpack_rules(3, "http://a", None, None, 0, 0) is None


def test_outcomes_are_counted_by_state_and_reason() -> None:
    outcomes = [page(CLAIM), page(CLAIM), redirect(CLAIM, "http://a/x"), failed(CLAIM)]
    rows = Packer("all").pack(Batch(0.0, [*outcomes, again(CLAIM, 9.0)]))
    assert dict(rows.ended) == {
        (State.done, Reason.ok): 2,
        (State.done, Reason.redirect): 1,
        (State.failed, Reason.timeout): 1,
        (State.waiting, 0): 1,
    }
    assert rows.waiting_hosts == [3]
    assert rows.stored[3] == 2


def test_a_try_without_an_answer_leaves_a_trace_and_a_refusal_none() -> None:
    refused = Outcome(CLAIM, State.refused, Reason.robots, "line 3", at=5.0)
    rows = Packer("all").pack(Batch(0.0, [again(CLAIM, 9.0), failed(CLAIM), refused]))
    assert [row[2] for row in rows.attempts] == [Reason.timeout, Reason.timeout]
    assert len(rows.ends) == 3


def test_what_a_page_forbids_is_kept() -> None:
    visit = Visit(0.0, Response("http://a/", 200, (), b""), Page([], noindex=True, nofollow=True))
    (row,) = Packer("all").pack(Batch(0.0, [replace(page(CLAIM), visit=visit)])).pages
    assert NOINDEX | NOFOLLOW in row


def test_headers_of_any_bytes_are_kept() -> None:
    headers = tuple((f"x-{code}", chr(code)) for code in range(256))
    visit = Visit(0.0, Response("http://a/", 200, headers, b""), Page([]))
    (row,) = Packer("all").pack(Batch(0.0, [replace(page(CLAIM), visit=visit)])).pages
    texts = [value for value in row if isinstance(value, str) and value.startswith('[["x-0"')]
    assert msgspec.json.decode(texts[0]) == [list(pair) for pair in headers]
