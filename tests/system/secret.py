"""A server that nobody may reach, and its log: the judge of every attempt to reach it."""

import asyncio
import errno
import socket
from collections.abc import AsyncIterator, Iterable
from contextlib import ExitStack, asynccontextmanager
from functools import partial

from tests.system.scripted import answer

# Where it listens, by TCP and UDP. The attacker's own site is elsewhere, and is called public.
ADDRESSES = ("127.0.0.1", "127.0.0.2", "127.9.9.9", "::1")
ATTACKER = "127.0.0.77"

WORD = "correct-horse-battery-staple"

ANSWER = answer(
    200,
    f"<title>secret</title>{WORD}".encode(),
    content_type="text/html",
    access_control_allow_origin="*",
)


class Secret:
    """One port for each attempt, so that a hit tells which one it was."""

    def __init__(self) -> None:
        self.ports: dict[str, int] = {}
        self.hits: dict[str, list[str]] = {}

    def hit(self, name: str, how: str) -> None:
        self.hits.setdefault(name, []).append(how)


class _Tcp(asyncio.Protocol):
    """A connection alone is a hit; what is asked is told the secret."""

    def __init__(self, secret: Secret, name: str) -> None:
        self._secret = secret
        self._name = name

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._secret.hit(self._name, f"tcp to {transport.get_extra_info('sockname')}")

    def data_received(self, data: bytes) -> None:
        self._transport.write(ANSWER)
        self._transport.close()


class _Udp(asyncio.DatagramProtocol):
    def __init__(self, secret: Secret, name: str) -> None:
        self._secret = secret
        self._name = name

    def datagram_received(self, data: bytes, address: tuple[str, int]) -> None:
        self._secret.hit(self._name, f"udp of {len(data)} bytes")


@asynccontextmanager
async def secret(names: Iterable[str]) -> AsyncIterator[Secret]:
    """Listens on a port for each name, the same one on all addresses."""
    made = Secret()
    loop = asyncio.get_running_loop()
    with ExitStack() as stack:
        for name in names:
            tcp, udp = _listeners(stack)
            made.ports[name] = tcp[0].getsockname()[1]
            for listener in tcp:
                server = await loop.create_server(partial(_Tcp, made, name), sock=listener)
                stack.callback(server.close)
            for listener in udp:
                transport, _ = await loop.create_datagram_endpoint(
                    partial(_Udp, made, name), sock=listener
                )
                stack.callback(transport.close)
        yield made


def _listeners(stack: ExitStack) -> tuple[list[socket.socket], list[socket.socket]]:
    """On all addresses; a port that is free on one may be taken on another."""
    while True:
        with ExitStack() as unless_all:
            try:
                tcp = _bound(unless_all, socket.SOCK_STREAM, 0)
                udp = _bound(unless_all, socket.SOCK_DGRAM, tcp[0].getsockname()[1])
            except OSError as error:
                if error.errno != errno.EADDRINUSE:
                    raise
                continue
            stack.push(unless_all.pop_all())
            return tcp, udp


def _bound(stack: ExitStack, kind: socket.SocketKind, port: int) -> list[socket.socket]:
    bound = []
    for address in ADDRESSES:
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        made = stack.enter_context(socket.socket(family, kind))
        made.bind((address, port))
        if kind is socket.SOCK_STREAM:
            made.listen()
        made.setblocking(False)
        port = made.getsockname()[1]
        bound.append(made)
    return bound
