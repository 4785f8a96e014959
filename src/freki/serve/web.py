"""The web process: takes requests at a socket that whoever started it holds open.

The socket outlives the process: who calls while it is started again waits, and is not refused.
"""

import asyncio
import socket
import sys
from types import FrameType

import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

from freki.serve.app import api, around
from freki.serve.streams import Watch
from freki.serve.terms import MAX_HEAD, Terms

# Seconds for the head of a request to come, seconds a silent connection is kept, and connections.
HEAD_SECONDS = 15.0
KEEP_ALIVE = 30
MOST_CONNECTIONS = 10_000
LAST_SECONDS = 5


class Server(uvicorn.Server):
    """Ends its streams first: it waits for every answer under way."""

    def __init__(self, config: uvicorn.Config, end_streams: "EndStreams") -> None:
        super().__init__(config)
        self._end_streams = end_streams

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        self._end_streams()
        super().handle_exit(sig, frame)


class EndStreams:
    """The watch is made when the application starts."""

    def __init__(self, state: object) -> None:
        self._state = state

    def __call__(self) -> None:
        watch: Watch | None = getattr(self._state, "watch", None)
        if watch is not None:
            watch.end()


def patient(seconds: float) -> type[H11Protocol]:
    """A protocol that does not wait for ever for the first request of a connection."""

    class Patient(H11Protocol):
        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            super().connection_made(transport)
            self._late = self.loop.call_later(seconds, self._give_up)

        def connection_lost(self, exc: Exception | None) -> None:
            self._late.cancel()
            super().connection_lost(exc)

        def _give_up(self) -> None:
            if self.cycle is None:  # no head has come as a whole
                self.transport.close()

    return Patient


def server(terms: Terms, head_seconds: float = HEAD_SECONDS) -> Server:
    """A server for the application."""
    app = api(terms)
    made: ASGIApp = around(app, terms)
    config = uvicorn.Config(
        made,
        lifespan="on",
        http=patient(head_seconds),
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        h11_max_incomplete_event_size=MAX_HEAD,
        timeout_keep_alive=KEEP_ALIVE,
        timeout_graceful_shutdown=LAST_SECONDS,
        limit_concurrency=MOST_CONNECTIONS,
        backlog=2_048,
    )
    return Server(config, EndStreams(app.state))


async def serve(terms: Terms, listener: socket.socket) -> None:
    """Serve until told to end, or until whoever started us is gone."""
    made = server(terms)
    async with asyncio.TaskGroup() as group:
        lifeline = group.create_task(_end_with_stdin(made))
        await made.serve([listener])
        lifeline.cancel()


async def _end_with_stdin(made: Server) -> None:
    reader = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), sys.stdin
    )
    await reader.read()
    made.handle_exit(15, None)
