"""Where the connections of libcurl go out.

It asks for a socket when it knows the address that it connects to next. So the address is judged
that the packets go to, however it was found: by a name, a redirect, a proxy, in any spelling.
"""

import os
import socket

import pycurl

from freki.fetch.egress import Egress, Refusal

# Family, kind, protocol, and the address as the socket module has it.
Peer = tuple[int, int, int, tuple[str, int, *tuple[int, ...]]]


class Door:
    """The way out of one handle."""

    __slots__ = ("_egress", "refusal")

    def __init__(self, egress: Egress) -> None:
        self._egress = egress
        self.refusal: Refusal | None = None  # of the last address

    def open(self, _purpose: int, peer: Peer) -> "Opened | int":
        """A socket, or none for an address that must not be reached."""
        family, kind, protocol, address = peer
        none: int = pycurl.SOCKET_BAD
        self.refusal = self._egress.refusal(*address[:2])
        if self.refusal is not None:
            return none
        try:
            return Opened(socket.socket(family, kind, protocol).detach())
        except OSError:
            return none


class Opened:
    """A socket for pycurl, which makes a copy of it and drops this one."""

    __slots__ = ("_fd",)

    def __init__(self, fd: int) -> None:
        self._fd = fd

    def fileno(self) -> int:
        return self._fd

    def __del__(self) -> None:
        os.close(self._fd)


def not_inherited(fd: int, _purpose: int) -> int:
    """The copy that pycurl made would be handed down to every process that is started."""
    os.set_inheritable(fd, False)
    return 0
