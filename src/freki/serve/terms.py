"""What the operator of a service decides. Every default is the closed one."""

from collections.abc import Sequence
from ipaddress import ip_address
from pathlib import Path
from typing import Annotated

from msgspec import Meta, Struct

from freki.errors import BadConfig
from freki.ledger.jobs.choose import place_of
from freki.ledger.jobs.place import Place

PORT = 8300

# What a request may be. A body holds a hundred start URLs as long as they may be.
MAX_BODY = 2**20
MAX_HEAD = 16 * 1024
MAX_URL = 2_048
MAX_SEEDS = 1_000
MAX_PAGE_SIZE = 1_000
BODY_SECONDS = 15.0

# Requests that are answered at once, event streams among them.
MOST_AT_ONCE = 1_000

LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})


class Terms(Struct, frozen=True):
    """How the service is run. Each is an option of `freki serve`."""

    data: Annotated[Path, Meta(description="where everything is kept")] = Path("freki-data")
    store: Annotated[
        str, Meta(description="keep everything on a server, as postgresql://USER@HOST/DATABASE")
    ] = ""
    blobs: Annotated[
        str, Meta(description="of --store: keep bodies and pictures in a folder or at a URL")
    ] = ""
    host: Annotated[str, Meta(description="the address to listen at")] = "127.0.0.1"
    port: Annotated[int, Meta(description="0 is any that is free")] = PORT
    workers: Annotated[int, Meta(description="processes that work on jobs")] = 2
    jobs: Annotated[int, Meta(description="jobs that a worker has in hand at once")] = 16
    browsers: Annotated[int, Meta(description="of each worker; 0 is what fits")] = 0
    browser: Annotated[str, Meta(description="the program, where it is not found by itself")] = ""
    allow_private: Annotated[
        bool, Meta(description="reach private addresses too, as this machine and its network")
    ] = False
    known_as: Annotated[
        tuple[str, ...], Meta(description="a host name it is called by without a key")
    ] = ()
    public_url: Annotated[str, Meta(description="what stands before the paths in answers")] = ""
    max_queued: Annotated[int, Meta(description="jobs that may wait, of all callers")] = 10_000
    keep_days: Annotated[float, Meta(description="delete jobs that ended earlier")] = 30.0
    keep_gb: Annotated[float, Meta(description="delete the oldest beyond so much")] = 50.0
    cache_seconds: Annotated[
        float, Meta(description="how long a capture may be used again for the same wish")
    ] = 3_600.0
    quiet: Annotated[bool, Meta(description="log only what goes wrong")] = False

    def __repr__(self) -> str:
        """Without the password of the store."""
        return f"<Terms of {self.place}>"

    @property
    def place(self) -> Place:
        return place_of(self.store, self.data)

    @property
    def where(self) -> str:
        """The option that names the place."""
        return f"--store {self.place}" if self.store else f"--data {self.data}"

    @property
    def is_open(self) -> bool:
        """Can others than this machine reach it?"""
        return not is_loopback(self.host)


def is_loopback(host: str) -> bool:
    if host in LOOPBACK_NAMES:
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def refuse_open_door(terms: Terms, *, has_key: bool) -> None:
    """Nobody else may reach a service that lets everybody in."""
    if terms.is_open and not has_key:
        raise BadConfig(
            f"--host {terms.host} lets others call, and there is no key to tell who may; "
            f"make one first: freki keys add NAME {terms.where}"
        )


def host_is_ours(header: str, terms: Terms) -> bool:
    """Is this a name we are called by? A page whose name was pointed at us says its own."""
    host = _without_port(header).lower().rstrip(".")
    allowed: Sequence[str] = (*terms.known_as, terms.host)
    return is_loopback(host) or host in allowed or "*" in allowed


def _without_port(header: str) -> str:
    if header.startswith("["):
        return header[1:].partition("]")[0]
    return header.partition(":")[0]
