"""The DevTools protocol over a pipe: JSON messages that end with a zero byte.

A pipe and no WebSocket: nobody else on the machine can reach the browser, and a browser whose pipe
closes ends by itself, so it does not outlive us. No driver stands between: it would be a process
more to retire, and would carry every picture twice.

https://chromedevtools.github.io/devtools-protocol/
"""

import asyncio
from collections import deque
from collections.abc import Callable
from functools import partial
from io import FileIO
from typing import Any, TypeVar

import msgspec
from msgspec import Raw, Struct

# A picture of 8,000 rows, uncompressed and in base64, has 55 MB. What is larger is an attack.
MAX_MESSAGE = 256 * 2**20

T = TypeVar("T")

Listener = Callable[[str, Raw], None]
"""Gets every event of a session: its name, and its parameters as they came."""


class Gone(Exception):
    """The browser, or the page that was asked, is no more."""


class Refused(Exception):
    """The browser says no; the text is its own."""


class _Trouble(Struct, frozen=True):
    message: str = ""


class _Message(Struct, frozen=True):
    id: int = 0
    method: str = ""
    session: str = msgspec.field(name="sessionId", default="")
    params: Raw = Raw(b"{}")
    result: Raw = Raw(b"{}")
    error: _Trouble | None = None


_decode = msgspec.json.Decoder(_Message).decode
_encode = msgspec.json.Encoder().encode


class Cdp(asyncio.Protocol):
    """One browser's pipe. Who asks gives a deadline; once it closes, all who wait get `Gone`."""

    def __init__(self, write_end: FileIO) -> None:
        self._write_end = write_end
        self._writer: asyncio.WriteTransport | None = None
        self._reader: asyncio.ReadTransport | None = None
        self._parts: deque[bytes] = deque()
        self._size = 0
        self._last = 0
        self._waiting: dict[int, asyncio.Future[Raw]] = {}
        self._listeners: dict[str, Listener] = {}
        self.gone = asyncio.Event()

    def __repr__(self) -> str:
        state = "gone" if self.gone.is_set() else f"{len(self._waiting)} waiting"
        return f"<Cdp {state}, {len(self._listeners)} sessions>"

    async def open(self, read_end: FileIO) -> None:
        """Take over both ends; they are closed with the pipe."""
        loop = asyncio.get_running_loop()
        self._writer, _ = await loop.connect_write_pipe(asyncio.BaseProtocol, self._write_end)
        self._reader, _ = await loop.connect_read_pipe(lambda: self, read_end)

    def close(self) -> None:
        """Hang up."""
        for end in (self._writer, self._reader):
            if end is not None and not end.is_closing():
                end.close()
        self._end()

    def listen(self, session: str, listener: Listener | None) -> None:
        """Hand events of a session to a listener; "" is the browser itself."""
        if listener is None:
            self._listeners.pop(session, None)
        else:
            self._listeners[session] = listener

    async def ask(
        self, method: str, kind: type[T], session: str = "", *, within: float, **params: Any
    ) -> T:
        """Send a command and read its answer as `kind`."""
        async with asyncio.timeout(within):
            return msgspec.json.decode(await self.send(method, session, **params), type=kind)

    async def tell(self, method: str, session: str = "", *, within: float, **params: Any) -> None:
        """Send a command whose answer says nothing."""
        async with asyncio.timeout(within):
            await self.send(method, session, **params)

    def send(self, method: str, session: str = "", **params: Any) -> asyncio.Future[Raw]:
        """Send a command at once; whoever wants its answer awaits it, under a deadline."""
        answer: asyncio.Future[Raw] = asyncio.get_running_loop().create_future()
        # Commands that only set something are sent in a row, and the first that fails is told:
        # then nobody looks at the others.
        answer.add_done_callback(_looked_at)
        if self._writer is not None and self._writer.is_closing():
            self._end()  # one end of the pipe may be heard of before the other
        if self.gone.is_set() or self._writer is None:
            answer.set_exception(Gone("the browser is gone"))
            return answer
        self._last += 1
        message: dict[str, Any] = {"id": self._last, "method": method, "params": params}
        if session:
            message["sessionId"] = session
        self._waiting[self._last] = answer
        answer.add_done_callback(partial(self._forget, self._last))
        self._writer.write(_encode(message) + b"\0")
        return answer

    def _forget(self, number: int, answer: asyncio.Future[Raw]) -> None:
        """Who asked has given up; a page that hangs never answers."""
        if answer.cancelled():
            self._waiting.pop(number, None)

    def drop(self, session: str) -> None:
        """A session that ended: nothing of it is handed out any more."""
        self._listeners.pop(session, None)

    # asyncio.Protocol

    def data_received(self, data: bytes) -> None:
        *complete, rest = data.split(b"\0")
        for part in complete:
            self._parts.append(part)
            message = b"".join(self._parts) if len(self._parts) > 1 else part
            self._parts.clear()
            self._size = 0
            self._take(message)
        if rest:
            self._parts.append(rest)
            self._size += len(rest)
            if self._size > MAX_MESSAGE:
                self.close()

    def connection_lost(self, error: Exception | None) -> None:
        self._end()

    def _take(self, raw: bytes) -> None:
        message = _decode(raw)
        if not message.id:
            if (listener := self._listeners.get(message.session)) is not None:
                listener(message.method, message.params)
            return
        answer = self._waiting.pop(message.id, None)
        if answer is None or answer.done():
            return
        if message.error is None:
            answer.set_result(message.result)
        elif "session" in message.error.message.lower():
            answer.set_exception(Gone(message.error.message))
        else:
            answer.set_exception(Refused(message.error.message))

    def _end(self) -> None:
        self.gone.set()
        waiting, self._waiting = self._waiting, {}
        for answer in waiting.values():
            if not answer.done():
                answer.set_exception(Gone("the browser is gone"))


def _looked_at(answer: asyncio.Future[Raw]) -> None:
    if not answer.cancelled():
        answer.exception()
