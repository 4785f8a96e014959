"""Serves a synthetic web on loopback addresses: fast, logging everything, hostile on request.

    async with serve(Web(pages=1000)) as site:
        await crawl(site.url)
        assert not violations(site.log, delay=0.1)

`python -m freki.testing.server --pages 10000 --port 8081` does it in a process of its own.

A path `/hostile/NAME` misbehaves; `hostile.HOSTILE` is the table.
"""

import argparse
import asyncio
import errno
import json
import re
import signal
import socket
import struct
import sys
import time
from collections import Counter, deque
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass, fields
from functools import lru_cache
from http import HTTPStatus
from ipaddress import ip_address
from pathlib import Path
from typing import NamedTuple, TextIO, cast

from freki.testing.auditor import Access
from freki.testing.hostile import Step, script
from freki.testing.synthetic import Answer, Web, address

MAX_HEAD = 65_536  # bytes of a request, and of what a client may send ahead of its answers

_CACHED = 2048  # rendered answers; some 15 MB
_HOST = re.compile(r"[a-z0-9.:\[\]-]+")  # pages repeat it, so nothing else may come in


@asynccontextmanager
async def serve(
    web: Web,
    host: str = "127.0.0.1",
    port: int = 0,
    *,
    journal: Path | None = None,
    remember: int = 100_000,
) -> AsyncIterator["Site"]:
    """Listen until the block ends; `host` is where a web with one host is, others have theirs.

    The last `remember` requests are kept in memory. A `journal` gets every one as a
    line of JSON, which `auditor.read` understands at any moment.
    """
    hosts = [host] if web.hosts == 1 else [address(number) for number in range(web.hosts)]
    loop = asyncio.get_running_loop()
    with ExitStack() as stack:
        lines = stack.enter_context(journal.open("a", 1, encoding="utf-8")) if journal else None
        listeners = _listen(hosts, port)
        site = Site(web, tuple(map(_url, listeners)), remember, lines)
        for listener in listeners:
            server = await loop.create_server(lambda: _Connection(site), sock=listener)
            stack.callback(server.close)
        try:
            yield site
        finally:
            site.abort()
            await asyncio.sleep(0)  # lets every connection hear of its end and log it


def _listen(hosts: Sequence[str], port: int) -> list[socket.socket]:
    """One listener for each host, all on the same port."""
    for _ in range(8):  # a port that is free on one address may be taken on the next
        try:
            return _bind(hosts, port)
        except OSError as error:
            if port or error.errno != errno.EADDRINUSE:
                raise
    return _bind(hosts, port)


def _bind(hosts: Sequence[str], port: int) -> list[socket.socket]:
    listeners = []
    with ExitStack() as unless_all:
        for host in hosts:
            if not ip_address(host).is_loopback:
                raise ValueError(f"{host} is no loopback address; this web is not for the world")
            family = socket.AF_INET6 if ":" in host else socket.AF_INET
            listener = socket.create_server((host, port), family=family, backlog=1024)
            listeners.append(unless_all.enter_context(listener))
            port = listener.getsockname()[1]
        unless_all.pop_all()
    return listeners


def _url(listener: socket.socket) -> str:
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}/" if ":" in host else f"http://{host}:{port}/"


@dataclass(frozen=True, slots=True)
class Statistics:
    """How a site is doing."""

    requests: int  # that arrived, also those still being answered
    statuses: dict[int, int]  # of those that ended; 0 where no answer began
    connections: int  # open now
    most_connections: int  # open at the same time


class _Rendered(NamedTuple):
    answer: Answer
    head: bytes  # without the empty line that ends it
    body: bytes


class _Request(NamedTuple):
    host: str
    path: str
    method: str
    agent: str
    keep_alive: bool
    wall: float
    start: float


class Site:
    """A running server: where it is, and what happened so far."""

    def __init__(
        self, web: Web, urls: tuple[str, ...], remember: int, journal: TextIO | None
    ) -> None:
        self.web = web
        self.urls = urls  # of every host, in order
        self.log: deque[Access] = deque(maxlen=remember)  # in the order of their ends
        self._journal = journal
        self._requests = 0
        self._statuses: Counter[int] = Counter()
        self._connections: set[_Connection] = set()
        self._most_connections = 0
        self._failures: dict[tuple[str, str], int] = {}  # of flaky pages, hence no others' memory
        self._rendered = lru_cache(_CACHED)(self._render)

    def __repr__(self) -> str:
        return f"<Site {self.url} {self.statistics()}>"

    @property
    def url(self) -> str:
        """The first page of the first host."""
        return self.urls[0]

    def statistics(self) -> Statistics:
        """Counts of this moment."""
        return Statistics(
            self._requests, dict(self._statuses), len(self._connections), self._most_connections
        )

    def abort(self) -> None:
        """Cut every connection; the site goes on listening."""
        for connection in tuple(self._connections):
            connection.abort()

    def opened(self, connection: "_Connection") -> None:
        self._connections.add(connection)
        self._most_connections = max(self._most_connections, len(self._connections))

    def closed(self, connection: "_Connection") -> None:
        self._connections.discard(connection)

    def answer(self, host: str, path: str) -> _Rendered:
        """What this request gets: the web's answer to one more attempt."""
        self._requests += 1
        failures = self._failures.get((host, path), 0)
        rendered = self._rendered(host, path, failures + 1)
        if rendered.answer.status == HTTPStatus.SERVICE_UNAVAILABLE:
            self._failures[host, path] = failures + 1
        return rendered

    def ended(self, request: _Request, status: int) -> None:
        host, path, method, agent, _, wall, start = request
        access = Access(host, path, method, status, agent, wall, start, time.monotonic())
        self._statuses[status] += 1
        self.log.append(access)
        if self._journal:
            self._journal.write(f"{json.dumps(access._asdict())}\n")

    def _render(self, host: str, path: str, attempt: int) -> _Rendered:
        answer = self.web.answer(host, path, attempt)
        return _Rendered(answer, _head(answer), answer.body)


def _head(answer: Answer) -> bytes:
    lines = [
        f"HTTP/1.1 {answer.status} {HTTPStatus(answer.status).phrase}",
        *(f"{name}: {value}" for name, value in answer.headers),
        f"content-length: {len(answer.body)}\r\n",
    ]
    return "\r\n".join(lines).encode("latin-1")


class _Connection(asyncio.Protocol):
    """Answers one request after the other, however many arrive at once."""

    _transport: asyncio.Transport

    def __init__(self, site: Site) -> None:
        self._site = site
        self._buffer = bytearray()
        self._request: _Request | None = None  # being answered
        self._script: Iterator[Step] | None = None
        self._status = 0
        self._timer: asyncio.Handle | None = None
        self._blocked = False  # by a client that does not read

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # uvloop's transports do not declare themselves as asyncio's.
        self._transport = cast("asyncio.Transport", transport)
        self._site.opened(self)

    def connection_lost(self, exc: Exception | None) -> None:
        if self._timer:
            self._timer.cancel()
        if self._request:
            self._site.ended(self._request, self._status)
        self._request = self._script = None
        self._site.closed(self)

    def abort(self) -> None:
        self._transport.abort()

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        self._advance()
        if len(self._buffer) > MAX_HEAD:
            self._transport.pause_reading()

    def pause_writing(self) -> None:
        self._blocked = True

    def resume_writing(self) -> None:
        # Not at once: asyncio is in the middle of a write here, and a transport that is closed
        # meanwhile would be closed twice.
        self._blocked = False
        proceed = self._play if self._script else self._advance
        self._timer = asyncio.get_running_loop().call_soon(proceed)

    def _advance(self) -> None:
        while self._request is None and not (self._blocked or self._transport.is_closing()):
            end = self._buffer.find(b"\r\n\r\n")
            if end < 0:
                if len(self._buffer) > MAX_HEAD:
                    self._refuse(431)
                return
            head = bytes(self._buffer[:end])
            del self._buffer[: end + 4]
            self._begin(head)

    def _begin(self, head: bytes) -> None:
        request = _parse(head)
        if isinstance(request, int):
            self._refuse(request)
            return
        self._request = request
        rendered = self._site.answer(request.host, request.path)
        if rendered.answer.hostile:
            self._script = script(rendered.answer.hostile, request.path)
            self._play()
        elif rendered.answer.delay:
            loop = asyncio.get_running_loop()
            self._timer = loop.call_later(rendered.answer.delay, self._answer_late, rendered)
        else:
            self._answer(request, rendered)

    def _refuse(self, status: int) -> None:
        self._transport.write(_head(Answer(status, (("connection", "close"),))) + b"\r\n")
        self._transport.close()

    def _answer_late(self, rendered: _Rendered) -> None:
        assert self._request
        self._answer(self._request, rendered)
        self._advance()

    def _answer(self, request: _Request, rendered: _Rendered) -> None:
        answer, head, body = rendered
        end = b"\r\n" if request.keep_alive else b"connection: close\r\n\r\n"
        self._transport.write(head + end if request.method == "HEAD" else head + end + body)
        self._status = answer.status
        self._end(request)
        if not request.keep_alive:
            self._transport.close()

    def _end(self, request: _Request) -> None:
        self._site.ended(request, self._status)
        self._request = self._script = None
        self._status = 0
        if not (self._transport.is_reading() or self._transport.is_closing()):
            self._transport.resume_reading()

    def _play(self) -> None:
        """Take one step of a behaviour, and come back for the next when it is time."""
        assert self._request
        assert self._script
        loop = asyncio.get_running_loop()
        match next(self._script, b""):
            case b"":
                self._end(self._request)
                self._transport.close()
            case None:
                self._reset()
            case bytes(data):
                self._status = self._status or _status(data)
                self._transport.write(data)
                if not self._blocked:  # else `resume_writing` goes on
                    self._timer = loop.call_soon(self._play)
            case seconds:
                self._timer = loop.call_later(seconds, self._play)

    def _reset(self) -> None:
        # Closing a socket that may not linger sends RST instead of FIN.
        linger = struct.pack("ii", 1, 0)
        self._transport.get_extra_info("socket").setsockopt(
            socket.SOL_SOCKET, socket.SO_LINGER, linger
        )
        self._transport.abort()


def _parse(head: bytes) -> _Request | int:
    """A request, or the status that refuses it; nobody should send a body here."""
    line, _, _ = head.partition(b"\r\n")
    method, _, rest = line.decode("latin-1").partition(" ")
    path, _, version = rest.partition(" ")
    if version not in ("HTTP/1.1", "HTTP/1.0") or not path.startswith("/"):
        return 400
    if method not in ("GET", "HEAD"):
        return 405
    fields = head.lower()
    length = _field(head, fields, b"content-length")
    if length not in ("", "0") or b"\r\ntransfer-encoding:" in fields:
        return 413
    host = _field(head, fields, b"host").lower()
    if not _HOST.fullmatch(host):
        return 400
    agent = _field(head, fields, b"user-agent")
    connection = _field(head, fields, b"connection").lower()
    keep_alive = connection == "keep-alive" if version == "HTTP/1.0" else connection != "close"
    return _Request(host, path, method, agent, keep_alive, time.time(), time.monotonic())


def _field(head: bytes, lowered: bytes, name: bytes) -> str:
    start = lowered.find(b"\r\n%b:" % name)
    if start < 0:
        return ""
    start += len(name) + 3
    end = head.find(b"\r\n", start)
    return head[start : end if end >= 0 else len(head)].decode("latin-1").strip()


def _status(data: bytes) -> int:
    code = data[9:12]
    return int(code) if data.startswith(b"HTTP/1.") and code.isdigit() else 0


def main(arguments: Sequence[str] | None = None) -> None:
    """Serve until SIGTERM or SIGINT; prints one line with the URL when ready."""
    parser = argparse.ArgumentParser("python -m freki.testing.server", description=main.__doc__)
    parser.add_argument("--host", default="127.0.0.1", help="where a web with one host is")
    parser.add_argument("--port", type=int, default=0, help="0, the default, takes any free one")
    parser.add_argument("--journal", type=Path, help="access log, one line of JSON per request")
    knobs = parser.add_argument_group("the web", "explained in freki.testing.synthetic.Web")
    for knob in (field for field in fields(Web) if field.init):
        many = "*" if isinstance(knob.default, tuple) else None
        option = f"--{knob.name.replace('_', '-')}"
        kind = str if many else type(knob.default)
        knobs.add_argument(
            option, type=kind, nargs=many, default=knob.default, help="default: %(default)r"
        )
    given = vars(parser.parse_args(arguments))
    host, port, journal = given.pop("host"), given.pop("port"), given.pop("journal")
    given["hostile"] = tuple(given["hostile"])
    try:
        web = Web(**given)
    except ValueError as error:
        parser.error(str(error))
    asyncio.run(_serve_until_told(web, host, port, journal))


async def _serve_until_told(web: Web, host: str, port: int, journal: Path | None) -> None:
    told = asyncio.Event()
    for sign in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(sign, told.set)
    async with serve(web, host, port, journal=journal) as site:
        sys.stdout.write(f"{site.url}\n")
        sys.stdout.flush()
        await told.wait()


if __name__ == "__main__":
    main()
