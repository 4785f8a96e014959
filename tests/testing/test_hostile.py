"""Every misbehaviour of the server, as a raw socket sees it."""

import asyncio
import gzip
import time
import zlib
from email.utils import parsedate_to_datetime
from typing import Literal

import pytest

from freki import url
from freki.testing.hostile import HOSTILE
from freki.testing.server import Site, serve
from freki.testing.synthetic import Web

End = Literal["closed", "reset", "open"]

ENOUGH = 300_000  # bytes; more than any finite behaviour says but the huge ones
# Seconds without a byte. All but silence goes on, or ends by itself.
PATIENCE = 10.0
PATIENCE_WITH_SILENCE = 0.05

ENDLESS = {
    "endless-body": b"\r\ntransfer-encoding: chunked\r\n\r\n",
    "endless-body-without-length": b"Nothing to see here",
    "endless-interim": b"HTTP/1.1 102 Wait\r\n\r\n" * 2,
    "endless-headers": b"x-more: and more\r\nx-more: and more\r\n",
    "endless-header-line": b"x-long: " + b"a" * 100_000,
    "endless-chunk-extension": b"\r\n\r\n5;" + b"a" * 100_000,
    "endless-trailers": b"\r\n0\r\nx-more: and more\r\nx-more: and more\r\n",
    "gzip-bomb": b"content-encoding: gzip\r\n",
    "deflate-bomb": b"content-encoding: deflate\r\n",
    "raw-deflate-bomb": b"content-encoding: deflate\r\n",
    "redirect-bomb": b"HTTP/1.1 302 Found\r\n",
}
SLOW = {
    "silence": b"",
    "slow-headers": b"HTTP/1.1 200 OK\r\nx-slow: a",
    "slow-body": b"content-length: 1000000\r\n\r\na",
    "slow-chunks": b"chunked\r\n\r\n1\r\na\r\n1\r\na\r\n",
}
CUT = {
    "close-at-once": b"",
    "length-too-long": b"content-length: 1000000\r\n\r\n<!doctype",
    "truncated-gzip": b"content-encoding: gzip\r\ncontent-length: ",
}
BROKEN = {
    "length-too-short": b"content-length: 10\r\n\r\n<!doctype html>",
    "length-beyond-numbers": b"content-length: 9999999999999999999999999999999\r\n",
    "length-negative": b"content-length: -5\r\n",
    "two-lengths": b"content-length: 10\r\ncontent-length: 5",
    "length-and-chunked": b"transfer-encoding: chunked\r\ncontent-length: ",
    "chunk-size-nonsense": b"chunked\r\n\r\nzz\r\n",
    "chunk-size-huge": b"chunked\r\n\r\nfffffffffffffffff\r\n",
    "not-gzip": b"content-encoding: gzip\r\n",
    "unknown-coding": b"content-encoding: x-rot13\r\n",
    "many-codings": b"gzip, gzip, gzip, gzip, gzip, gzip",
    "huge-headers": b"x-more: and more\r\n" * 60_000 + b"content-length: ",
    "status-line-nonsense": b"SSH-2.0",
    "status-nonsense": b"HTTP/1.1 abc OK\r\n",
    "status-too-large": b"HTTP/1.1 99999 OK\r\n",
    "no-head": b"<!doctype html>",
    "header-without-colon": b"\r\nthis is no header\r\n",
    "header-folded": b"\r\nx-folded: one\r\n two\r\n",
    "header-bare-cr": b"\r\nx-one: a\rset-cookie: cr=1\r\n",
    "header-bare-lf": b"\r\nx-one: a\nset-cookie: lf=1\n",
    "header-nul": b"\r\nx-nul: a\0b\r\n",
}
REDIRECTS = {
    "redirect-self": b"\r\nlocation: /hostile/redirect-self\r\n",
    "redirect-loop": b"\r\nlocation: /hostile/redirect-loop-back\r\n",
    "redirect-loop-back": b"\r\nlocation: /hostile/redirect-loop\r\n",
    "redirect-growing": b"\r\nlocation: /hostile/redirect-growing?every=0.001&again=and\r\n",
    "redirect-huge": b"\r\nlocation: /" + b"a" * 2**20 + b"\r\n",
    "redirect-fragment": b"\r\nlocation: #here\r\n",
    "redirect-nowhere": b"\r\nlocation: \r\n",
    "redirect-not-a-url": b"\r\nlocation: http://[::1\r\n",
    "redirect-file": b"\r\nlocation: file:///etc/passwd\r\n",
}
LATER = {
    f"{status}-{name}": b"HTTP/1.1 %d Later\r\ncontent-length: 0\r\nretry-after: %b"
    % (status, when)
    for status in (429, 503)
    for name, when in (
        ("seconds", b"1\r\n"),
        ("date", b""),
        ("negative", b"-5\r\n"),
        ("absurd", b"1000000000000000000000000000000\r\n"),
    )
}
RESET = {"reset-at-once": b"", "reset": b"content-length: 1000000\r\n\r\n<!doctype"}


async def hear(site: Site, name: str, enough: int) -> tuple[bytes, End]:
    """What a client gets within its patience, and how it ends."""
    host, port = url.split(site.url).origin.removeprefix("http://").split(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    writer.write(f"GET /hostile/{name}?every=0.001 HTTP/1.1\r\nhost: {host}\r\n\r\n".encode())
    heard = bytearray()
    patience = PATIENCE_WITH_SILENCE if name == "silence" else PATIENCE
    try:
        while len(heard) < enough:
            async with asyncio.timeout(patience):
                data = await reader.read(65_536)
            if not data:
                return bytes(heard), "closed"
            heard += data
    except ConnectionResetError:
        return bytes(heard), "reset"
    except TimeoutError:
        pass
    finally:
        writer.transport.abort()
        await asyncio.wait([asyncio.ensure_future(writer.wait_closed())])
    return bytes(heard), "open"


def behaviour(name: str, enough: int = 2**21) -> tuple[bytes, End, Site]:
    async def visit() -> tuple[bytes, End, Site]:
        async with serve(Web()) as site:
            heard, end = await hear(site, name, enough)
        return heard, end, site

    return asyncio.run(visit())


def test_every_misbehaviour_is_tested() -> None:
    tested = ENDLESS | SLOW | CUT | BROKEN | REDIRECTS | LATER | RESET
    assert tested.keys() == HOSTILE.keys()


@pytest.mark.parametrize("name", ENDLESS)
def test_what_is_endless_goes_on_as_long_as_one_reads(name: str) -> None:
    heard, end, _ = behaviour(name, ENOUGH)
    assert end == "open"
    assert len(heard) >= ENOUGH
    assert ENDLESS[name] in heard


@pytest.mark.parametrize("name", SLOW)
def test_what_is_slow_never_ends(name: str) -> None:
    heard, end, _ = behaviour(name, 80)
    assert end == "open"
    assert SLOW[name] in heard
    assert len(heard) < 200


@pytest.mark.parametrize("name", CUT | BROKEN | REDIRECTS | LATER)
def test_what_lies_ends_the_connection(name: str) -> None:
    heard, end, _ = behaviour(name)
    assert end == "closed"
    assert (CUT | BROKEN | REDIRECTS | LATER)[name] in heard


@pytest.mark.parametrize("name", RESET)
def test_a_reset_is_a_reset(name: str) -> None:
    heard, end, _ = behaviour(name)
    assert end == "reset"
    assert RESET[name] in heard


@pytest.mark.parametrize(
    ("name", "wbits"), [("gzip-bomb", 31), ("deflate-bomb", 15), ("raw-deflate-bomb", -15)]
)
def test_a_bomb_holds_a_thousand_zeros_for_every_byte(name: str, wbits: int) -> None:
    heard, _, _ = behaviour(name, 20_000)
    chunks = heard.partition(b"\r\n\r\n")[2]
    packed, unpacked = 0, 0
    inflate = zlib.decompressobj(wbits)
    while (size := int(chunks.partition(b"\r\n")[0], 16)) + 10 < len(chunks):
        start = chunks.index(b"\r\n") + 2
        zeros = inflate.decompress(chunks[start : start + size])
        assert not zeros.strip(b"\0")
        packed, unpacked = packed + size, unpacked + len(zeros)
        chunks = chunks[start + size + 2 :]
    assert unpacked > packed * 900


def test_a_truncated_gzip_begins_well() -> None:
    heard, _, _ = behaviour("truncated-gzip")
    head, _, body = heard.partition(b"\r\n\r\n")
    assert b"content-length: %d" % len(body) in head
    assert zlib.decompressobj(31).decompress(body).startswith(b"<!doctype html>")
    with pytest.raises(EOFError):
        gzip.decompress(body)


@pytest.mark.parametrize("name", ["429-date", "503-date"])
def test_later_may_be_a_date_two_seconds_ahead(name: str) -> None:
    heard, _, _ = behaviour(name)
    date = heard.decode().partition("retry-after: ")[2].strip()
    assert 0 < parsedate_to_datetime(date).timestamp() - time.time() < 3


@pytest.mark.parametrize(
    ("name", "status"),
    [
        ("silence", 0),
        ("slow-body", 200),
        ("status-line-nonsense", 0),
        ("status-nonsense", 0),
        ("reset", 200),
        ("429-seconds", 429),
        ("redirect-self", 302),
        ("no-such-behaviour", 404),
    ],
)
def test_a_misbehaviour_is_logged_once_with_the_status_it_began_with(
    name: str, status: int
) -> None:
    _, _, site = behaviour(name, 80)
    assert [access.status for access in site.log] == [status]
    assert site.statistics().connections == 0


def test_a_misbehaviour_leaves_the_others_in_peace() -> None:
    async def visit() -> None:
        async with serve(Web()) as site:
            async with asyncio.TaskGroup() as clients:
                for name in ("gzip-bomb", "endless-body", "endless-interim"):
                    clients.create_task(hear(site, name, ENOUGH))
                clients.create_task(hear(site, "slow-headers", 80))
                kind = clients.create_task(hear(site, "redirect-self", ENOUGH))
            assert kind.result()[1] == "closed"

    asyncio.run(visit())
