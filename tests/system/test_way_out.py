"""Through the proxy a browser gets what it gets without one: bodies, streams, sockets, TLS."""

import asyncio
import base64
import hashlib
import ssl
import subprocess
from pathlib import Path

import pytest

from freki.fetch.browser.find import find
from freki.fetch.browser.pool import Size, pool
from freki.fetch.browser.process import Terms
from freki.fetch.egress import Egress
from freki.messages import Reason
from freki.pictures import Rendering, Shot, Unrendered

PAGE = b"""<!doctype html><title></title><script>
const said = {}
const say = (what, how) => {
  said[what] = how
  if (Object.keys(said).length == 4) document.title = JSON.stringify(said, Object.keys(said).sort())
}
const body = 'x'.repeat(300000)
fetch('/post', {method: 'POST', body}).then(a => a.text()).then(a => say('post', a))
fetch('/chunks').then(a => a.text()).then(a => say('chunks', a.length))
new EventSource('/events').onmessage = event => say('event', event.data)
const socket = new WebSocket(`ws://${location.host}/socket`)
socket.onopen = () => socket.send('hello')
socket.onmessage = event => say('socket', event.data)
</script>"""

WEBSOCKET = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"  # RFC 6455 1.3


class Conversation:
    """One connection; it is kept open for as many requests as come."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    async def hold(self) -> None:
        try:
            while True:
                head = await self._reader.readuntil(b"\r\n\r\n")
                await self._answer(head.split()[1].decode(), _fields(head))
        except (asyncio.IncompleteReadError, ConnectionError, ssl.SSLError):
            self._writer.close()

    async def _answer(self, path: str, fields: dict[bytes, bytes]) -> None:
        match path:
            case "/post":
                body = await self._reader.readexactly(int(fields[b"content-length"]))
                self._send(str(len(body)).encode())
            case "/chunks":
                self._writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
                self._writer.write(b"%x\r\n%b\r\n" % (50_000, b"x" * 50_000) * 4 + b"0\r\n\r\n")
            case "/events":
                self._writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n")
                self._writer.write(b"data: now\n\n")
            case "/socket":
                await self._socket(fields[b"sec-websocket-key"])
            case _:
                self._send(PAGE, b"text/html")

    def _send(self, body: bytes, kind: bytes = b"text/plain") -> None:
        self._writer.write(
            b"HTTP/1.1 200 OK\r\nContent-Type: %b\r\nContent-Length: %d\r\n\r\n%b"
            % (kind, len(body), body)
        )

    async def _socket(self, key: bytes) -> None:
        accept = base64.b64encode(hashlib.sha1(key + WEBSOCKET).digest())
        self._writer.write(
            b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            b"Sec-WebSocket-Accept: %b\r\n\r\n" % accept
        )
        await self._reader.readexactly(2 + 4 + 5)  # a masked frame with five letters
        self._writer.write(b"\x81\x02ho")


def _fields(head: bytes) -> dict[bytes, bytes]:
    lines = [line.partition(b": ") for line in head.split(b"\r\n")[1:]]
    return {name.lower(): value for name, _, value in lines}


def visited(*, tls: ssl.SSLContext | None = None) -> Rendering | Unrendered:
    async def visit() -> Rendering | Unrendered:
        server = await asyncio.start_server(
            lambda reader, writer: Conversation(reader, writer).hold(), "127.0.0.1", 0, ssl=tls
        )
        port = server.sockets[0].getsockname()[1]
        terms = Terms(found=find(), agent="Freki")
        async with server, pool(terms, Size(browsers=1), Egress(allow_private=True)) as render:
            url = f"http{'s' if tls else ''}://localhost:{port}/"
            there = "title:not(:empty)"
            return await render(Shot(url=url, pictures=False, wait="load", wait_selector=there))

    return asyncio.run(visit())


def test_bodies_streams_and_sockets_go_through() -> None:
    seen = visited()
    assert isinstance(seen, Rendering), seen
    assert seen.title == '{"chunks":200000,"event":"now","post":"300000","socket":"ho"}'


@pytest.fixture
def untrusted(tmp_path: Path) -> ssl.SSLContext:
    key, certificate = tmp_path / "key.pem", tmp_path / "cert.pem"
    command = "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost"
    files = ["-keyout", str(key), "-out", str(certificate)]
    subprocess.run([*command.split(), *files], check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    return context


def test_certificates_are_verified_by_the_browser_behind_the_proxy(
    untrusted: ssl.SSLContext,
) -> None:
    seen = visited(tls=untrusted)
    assert isinstance(seen, Unrendered)
    assert seen.reason is Reason.tls
