"""The only way out for a browser: a forward proxy on this machine that judges every address.

A browser has dozens of ways to connect, and no list of them is complete. So it is told that there
is a proxy, for everything, and no other way. The proxy asks what a name means, once, judges the
addresses, and connects to one that it judged.

    async with proxy(Egress(allow_private=False)) as way_out:
        launch(args=way_out.flags)
"""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import cast

from msgspec import Struct

from freki.fetch.egress import Egress
from freki.fetch.forward import Request, cut, last_answer, read_request, status_of
from freki.fetch.names import Names, Resolve, by_system
from freki.messages import Failure, Reason
from freki.url import hostname, is_address, parse, port_of

# Bytes of a head; Chromium's own limit for those of answers.
MAX_HEAD = 256 * 1024

# Places of which it is remembered why they were not reached.
MAX_FAILURES = 1000

# How often connections are looked at for their age, in seconds.
SWEEP = 1.0

ESTABLISHED = b"HTTP/1.1 200 Connection established\r\n\r\n"
FORBIDDEN = b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
NOT_FOR_A_PROXY = b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"


class Limits(Struct, frozen=True):
    """What a browser may take."""

    connections: int = 512  # at once; each context of Chromium stays below 32
    connect_seconds: float = 10.0
    idle_seconds: float = 60.0
    seconds: float = 900.0  # of a connection
    answer_bytes: int = 256 * 2**20  # of a connection


class Traffic(Struct, frozen=True):
    """What went through so far."""

    connections: int  # open now
    opened: int
    refused: dict[str, int]  # by reason; blocked addresses by their kind
    sent: int  # bytes
    received: int


@asynccontextmanager
async def proxy(
    egress: Egress, limits: Limits | None = None, resolve: Resolve = by_system
) -> AsyncIterator["Proxy"]:
    """Listens until the block ends; then every connection is cut."""
    limits = limits or Limits()
    loop = asyncio.get_running_loop()
    async with asyncio.TaskGroup() as group:
        made = Proxy(egress, limits, Names(limits.connect_seconds, egress, resolve), group)
        server = await loop.create_server(lambda: Client(made), "127.0.0.1", 0)
        made.address = server.sockets[0].getsockname()[:2]
        sweeping = group.create_task(made.sweep())
        try:
            yield made
        finally:
            server.close()
            sweeping.cancel()
            made.cut_all()


class Proxy:
    """A running proxy."""

    def __init__(
        self, egress: Egress, limits: Limits, names: Names, group: asyncio.TaskGroup
    ) -> None:
        self.limits = limits
        self.group = group
        self.address = ("", 0)
        self.clients: set[Client] = set()
        self.refused: Counter[str] = Counter()
        self.opened = self.sent = self.received = 0
        self.closed = False
        self._egress = egress
        self._names = names
        self._failures: dict[tuple[str, int], Failure] = {}

    def __repr__(self) -> str:
        return f"<Proxy {self.url} {self.traffic()}>"

    @property
    def url(self) -> str:
        host, port = self.address
        return f"http://{host}:{port}"

    @property
    def flags(self) -> list[str]:
        """What Chromium is started with, so that it has no other way out."""
        return flags(self.url)

    def traffic(self) -> Traffic:
        """Counts of this moment."""
        open_ = len(self.clients)
        return Traffic(open_, self.opened, dict(self.refused), self.sent, self.received)

    def failure(self, url: str) -> Failure | None:
        """Why the host of a URL was not reached when it was last tried; None where it was."""
        url = parse(url)
        return self._failures.get((hostname(url), port_of(url)))

    async def dial(self, request: Request, server: "Server") -> Failure | None:
        """Connect to where a request wants to go, unless that must not be."""
        place = (request.host, request.port)
        failure = await self._dial(*place, server)
        self._failures.pop(place, None)
        if failure is None:
            self.opened += 1
            return None
        if len(self._failures) >= MAX_FAILURES:
            del self._failures[next(iter(self._failures))]
        self._failures[place] = failure
        return failure

    async def _dial(self, host: str, port: int, server: "Server") -> Failure | None:
        if is_address(host):
            found: list[str] | Failure = [host.strip("[]")]
        else:
            found = self._names.recall(host) or await self._names.ask(host)
        if isinstance(found, Failure):
            self.refused[found.reason.name] += 1
            return found
        for address in found:
            if (refusal := self._egress.refusal(address, port)) is not None:
                self.refused[refusal.name] += 1
                return Failure(Reason.blocked_address, f"{host}: {refusal}")
        failure = await self._connect(host, port, found, server)
        if failure is not None:
            self.refused[failure.reason.name] += 1
        return failure

    async def _connect(
        self, host: str, port: int, addresses: list[str], server: "Server"
    ) -> Failure | None:
        """One address after the other, each for its share of the time."""
        loop = asyncio.get_running_loop()
        share = self.limits.connect_seconds / len(addresses)
        failure = Failure(Reason.connect, f"no connection to {host}")
        for address in addresses:
            try:
                async with asyncio.timeout(share):
                    await loop.create_connection(lambda: server, address, port)
            except TimeoutError:
                failure = Failure(Reason.timeout, f"no connection to {host} in time")
            except OSError as error:
                failure = Failure(Reason.connect, f"no connection to {host}: {error.strerror}")
            else:
                return self._unless_circular(host, server)
        return failure

    def _unless_circular(self, host: str, server: "Server") -> Failure | None:
        peer, port = server.transport.get_extra_info("peername")[:2]
        if (peer.removeprefix("::ffff:"), port) != self.address:
            return None
        server.abort()
        return Failure(Reason.blocked_address, f"{host}: the proxy does not serve itself")

    async def sweep(self) -> None:
        """Cut what is idle or old."""
        loop = asyncio.get_running_loop()
        while True:
            await asyncio.sleep(SWEEP)
            now = loop.time()
            for client in tuple(self.clients):
                idle, age = now - client.active_at, now - client.began_at
                if idle > self.limits.idle_seconds or age > self.limits.seconds:
                    self.refused["seconds"] += 1
                    client.abort()

    def cut_all(self) -> None:
        self.closed = True
        for client in tuple(self.clients):
            client.abort()


class End(asyncio.Protocol):
    """One end of a connection through the proxy."""

    transport: asyncio.Transport
    other: "End | None" = None

    def pause_writing(self) -> None:
        if self.other is not None and not self.other.transport.is_closing():
            self.other.transport.pause_reading()

    def resume_writing(self) -> None:
        if self.other is not None and not self.other.transport.is_closing():
            self.other.transport.resume_reading()

    def connection_lost(self, _error: Exception | None) -> None:
        if self.other is not None:
            self.other.transport.close()

    def abort(self) -> None:
        """Cut it at once."""
        self.transport.abort()


class Client(End):
    """The end at the browser."""

    def __init__(self, proxy: Proxy) -> None:
        self.began_at = self.active_at = asyncio.get_running_loop().time()
        self._proxy = proxy
        self._early = b""  # what came before there was a connection to send it to
        self._opening: asyncio.Task[None] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # uvloop's transports are none of asyncio's classes.
        self.transport = cast("asyncio.Transport", transport)
        if self._proxy.closed or len(self._proxy.clients) >= self._proxy.limits.connections:
            self._proxy.refused["connections"] += 1
            self.abort()
            return
        self._proxy.clients.add(self)

    def data_received(self, data: bytes) -> None:
        self.active_at = asyncio.get_running_loop().time()
        if self.other is not None:
            self._proxy.sent += len(data)
            self.other.transport.write(data)
            return
        self._early += data
        if self._opening is not None:
            return
        if (found := cut(self._early)) is not None:
            head, self._early = found
            self.transport.pause_reading()
            group = self._proxy.group
            self._opening = group.create_task(self._open(head))
        elif len(self._early) > MAX_HEAD:
            self._turn_away(NOT_FOR_A_PROXY)

    async def _open(self, head: bytes) -> None:
        request = read_request(head)
        if request is None:
            self._proxy.refused["request"] += 1
            self._turn_away(NOT_FOR_A_PROXY)
            return
        server = Server(self._proxy, self, request.is_tunnel)
        failure = await self._proxy.dial(request, server)
        if failure is None and self.transport.is_closing():
            server.abort()
        elif failure is not None:
            # Without a tunnel an answer would be shown as if it were the page.
            self._turn_away(FORBIDDEN if request.is_tunnel else b"")
        else:
            self._join(request, server)

    def _join(self, request: Request, server: "Server") -> None:
        if request.is_tunnel:
            self.transport.write(ESTABLISHED)
        server.transport.write(request.head + self._early)
        self._proxy.sent += len(request.head) + len(self._early)
        self.other = server
        self.transport.resume_reading()

    def _turn_away(self, answer: bytes) -> None:
        self.transport.write(answer)
        self.transport.close()

    def eof_received(self) -> bool:
        """A browser never closes one direction only: nobody is there for the answer any more."""
        return False

    def connection_lost(self, error: Exception | None) -> None:
        self._proxy.clients.discard(self)
        if self._opening is not None:
            self._opening.cancel()
        super().connection_lost(error)


class Server(End):
    """The end at the site."""

    def __init__(self, proxy: Proxy, client: Client, is_tunnel: bool) -> None:
        self.other: Client = client
        self._proxy = proxy
        self._left = proxy.limits.answer_bytes
        self._head = None if is_tunnel else b""  # as far as it came; None once it went through

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # uvloop's transports are none of asyncio's classes.
        self.transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        self.other.active_at = asyncio.get_running_loop().time()
        self._proxy.received += len(data)
        self._left -= len(data)
        if self._left < 0:
            self._proxy.refused["answer_bytes"] += 1
            self.abort()
        elif self._head is None:
            self.other.transport.write(data)
        else:
            self._head += data
            self._read_heads()

    def _read_heads(self) -> None:
        """Hand on the heads of an answer, the last one as one that ends the connection."""
        while self._head is not None and (found := cut(self._head)) is not None:
            head, rest = found
            match status_of(head):
                case None:
                    self.abort()
                    return
                case 101:
                    self._head = None
                    self.other.transport.write(head + rest)
                case status if status < 200:
                    self._head = rest
                    self.other.transport.write(head)
                case _:
                    self._head = None
                    self.other.transport.write(last_answer(head) + rest)
        if self._head is not None and len(self._head) > MAX_HEAD:
            self.abort()


def flags(proxy: str) -> list[str]:
    """Chromium's switches for: everything by this proxy, and nothing beside it."""
    return [
        f"--proxy-server={proxy}",
        # Else loopback and link-local addresses would be reached without it.
        "--proxy-bypass-list=<-loopback>",
        # Nothing is resolved here: names go to the proxy.
        "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
        "--dns-prefetch-disable",
        "--disable-quic",
        # chrome and headless_shell name it differently.
        "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
        "--webrtc-ip-handling-policy=disable_non_proxied_udp",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-domain-reliability",
        "--disable-sync",
        "--no-pings",
    ]
