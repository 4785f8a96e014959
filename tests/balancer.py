"""A load balancer as small as one can be: connections in turn, and past who does not listen."""

import socket
import threading
from collections.abc import Sequence
from contextlib import suppress
from itertools import count
from types import TracebackType
from typing import Self

CHUNK = 65_536


class Balancer:
    """Hands connections on to ports of this machine, bytes both ways."""

    def __init__(self, ports: Sequence[int]) -> None:
        self._ports = ports
        self._turns = count()
        self._listening = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.url = f"http://127.0.0.1:{self._listening.getsockname()[1]}"

    def __enter__(self) -> Self:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:  # fmt: skip
        self._listening.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                near, _ = self._listening.accept()
                if (far := self._someone()) is None:
                    near.close()
                    continue
                for source, sink in ((near, far), (far, near)):
                    threading.Thread(target=_carry, args=(source, sink), daemon=True).start()

    def _someone(self) -> socket.socket | None:
        turn = next(self._turns)
        for at in range(len(self._ports)):
            with suppress(OSError):
                port = self._ports[(turn + at) % len(self._ports)]
                far = socket.create_connection(("127.0.0.1", port), timeout=5)
                far.settimeout(None)
                return far
        return None


def _carry(source: socket.socket, sink: socket.socket) -> None:
    with suppress(OSError):
        while said := source.recv(CHUNK):
            sink.sendall(said)
    for end in (source, sink):
        with suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)
        end.close()
