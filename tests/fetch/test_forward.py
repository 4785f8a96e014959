import pytest
from hypothesis import given
from hypothesis import strategies as st

from freki.fetch.forward import Request, cut, last_answer, read_request, status_of


def head(line: str, *fields: str) -> bytes:
    return "\r\n".join([line, *fields, "", ""]).encode()


def read(line: str, *fields: str) -> Request:
    request = read_request(head(line, *fields))
    assert request is not None
    return request


@pytest.mark.parametrize(
    ("target", "host", "port"),
    [
        ("a.example:443", "a.example", 443),
        ("a.example:80", "a.example", 80),
        ("A.EXAMPLE:8443", "a.example", 8443),
        ("[::1]:443", "[::1]", 443),
        ("0x7f.1:80", "127.0.0.1", 80),
        ("2130706433:80", "127.0.0.1", 80),
    ],
)
def test_a_tunnel_goes_to_a_host_and_a_port(target: str, host: str, port: int) -> None:
    request = read(f"CONNECT {target} HTTP/1.1", "Host: elsewhere.example")
    assert request.is_tunnel
    assert (request.host, request.port) == (host, port)


def test_a_plain_request_is_sent_on_for_its_url_and_not_for_its_host_field() -> None:
    request = read(
        "GET http://a.example:8080/x?y=%2f HTTP/1.1", "Host: b.example", "Accept: */*",
        "Proxy-Connection: keep-alive", "Connection: keep-alive", "Proxy-Authorization: Basic eA==",
    )  # fmt: skip
    assert (request.host, request.port) == ("a.example", 8080)
    assert request.head == head(
        "GET /x?y=%2f HTTP/1.1", "Host: a.example:8080", "Accept: */*", "Connection: close"
    )


def test_an_upgrade_stays_one() -> None:
    request = read("GET http://a.example HTTP/1.1", "Upgrade: websocket", "Connection: Upgrade")
    assert request.head == head(
        "GET / HTTP/1.1", "Host: a.example", "Upgrade: websocket", "Connection: Upgrade"
    )


@pytest.mark.parametrize(
    "line",
    [
        "GET / HTTP/1.1",
        "GET https://a.example/ HTTP/1.1",
        "GET ftp://a.example/ HTTP/1.1",
        "GET file:///etc/passwd HTTP/1.1",
        "GET http://user:secret@a.example/ HTTP/1.1",
        "GET http://127.0.0.1:6666\\@1.1.1.1/ HTTP/1.1",
        "GET http:///x HTTP/1.1",
        "CONNECT a.example:443/x HTTP/1.1",
        "CONNECT 127.0.0.1:80#@1.1.1.1:80 HTTP/1.1",
        "CONNECT a.example:99999 HTTP/1.1",
        "CONNECT [a.example]:443 HTTP/1.1",
        "CONNECT unix:/run/x HTTP/1.1",
        "GET http://a.example/ HTTP/2",
        "GET  http://a.example/ HTTP/1.1",
        "GET http://a.example/ x HTTP/1.1",
        "",
    ],
)
def test_what_a_proxy_is_not_for_is_no_request(line: str) -> None:
    assert read_request(head(line)) is None


@pytest.mark.parametrize(
    "field", ["no colon", " folded: x", "a\rb: x", "a: x\nHost: y", "a : x", ": x", "a: \0"]
)
def test_fields_that_two_readers_may_read_differently_are_refused(field: str) -> None:
    assert read_request(head("GET http://a.example/ HTTP/1.1", field)) is None


def test_an_answer_is_the_last_of_its_connection() -> None:
    answer = head("HTTP/1.1 200 OK", "Connection: keep-alive", "KEEP-ALIVE: 5", "Content-Length: 2")
    assert last_answer(answer) == head("HTTP/1.1 200 OK", "Content-Length: 2", "Connection: close")


def test_an_answer_with_bare_line_feeds_is_read_too() -> None:
    found = cut(b"HTTP/1.0 404 Not Found\nConnection: keep-alive\n\nbody")
    assert found is not None
    assert status_of(found[0]) == 404
    assert last_answer(found[0]) == head("HTTP/1.0 404 Not Found", "Connection: close")
    assert found[1] == b"body"


@pytest.mark.parametrize(
    "text", [b"", b"220 ftp ready", b"HTTP/1.1 2000 x", b"HTTP/2 200", b"<html>"]
)
def test_what_is_no_answer_has_no_status(text: bytes) -> None:
    assert status_of(text + b"\r\n\r\n") is None


@given(st.binary(max_size=300))
def test_any_bytes_are_a_request_for_a_proxy_or_none(data: bytes) -> None:
    request = read_request(b"GET http://" + data + b" HTTP/1.1\r\n\r\n")
    if request is not None and request.head:
        assert cut(request.head) == (request.head, b"")
        assert b"\r\nConnection: close\r\n" in request.head


@given(st.binary(max_size=300), st.binary(max_size=100))
def test_any_head_is_cut_where_its_empty_line_ends(data: bytes, more: bytes) -> None:
    found = cut(data + b"\r\n\r\n" + more)
    assert found is not None
    assert b"".join(found) == data + b"\r\n\r\n" + more
    assert cut(found[0]) == (found[0], b"")
