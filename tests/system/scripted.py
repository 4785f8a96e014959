"""A server that says what a test tells it to, byte for byte, and remembers what it was asked."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from ssl import SSLContext

Script = Mapping[str, bytes | Callable[[], bytes] | None]
"""By path: what to send before closing; None never answers."""


class Scripted:
    """What was asked for, and where to ask."""

    def __init__(self, script: Script) -> None:
        self.script = script
        self.asked: list[str] = []
        self.note: Callable[[str], object] = self.asked.append
        self.cookies: list[str] = []
        self.url = ""

    async def converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            path = head.split()[1].decode()
            self.note(path)
            fields = [line.partition(b": ") for line in head.split(b"\r\n")]
            sent = [value.decode() for name, _, value in fields if name.lower() == b"cookie"]
            self.cookies.append("".join(sent))
            answer = self.script.get(path, NOT_FOUND)
            if answer is None:
                await asyncio.sleep(60)
                return
            writer.write(answer() if callable(answer) else answer)
            await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()


@asynccontextmanager
async def scripted(
    script: Script, host: str = "127.0.0.1", tls: SSLContext | None = None
) -> AsyncIterator[Scripted]:
    """Serve a script on a free port of a loopback address."""
    site = Scripted(script)
    server = await asyncio.start_server(site.converse, host, 0, ssl=tls)
    site.url = f"http{'s' if tls else ''}://{host}:{server.sockets[0].getsockname()[1]}"
    try:
        yield site
    finally:
        server.close()


def answer(status: int, body: bytes = b"", **headers: str) -> bytes:
    """A whole answer; underscores in names of headers stand for dashes."""
    lines = [f"HTTP/1.1 {status} X", f"content-length: {len(body)}", "connection: close"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


def page(*links: str) -> bytes:
    """An HTML page with these links."""
    body = "".join(f'<a href="{link}">to {link}</a> ' for link in links)
    return answer(200, f"<title>page</title>{body}".encode(), content_type="text/html")


NOT_FOUND = answer(404)
