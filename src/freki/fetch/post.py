"""Sends a small message to somebody who asked for it. Nothing of the answer but its status is read.

The address is judged where it is connected to, and a redirect is an answer: nobody leads a message,
and what is in it, anywhere else.
"""

from collections.abc import Mapping

import pycurl

from freki.fetch.door import Door, not_inherited
from freki.fetch.egress import Egress

# Seconds for everything, and bytes of an answer that are taken before it is cut.
SECONDS = 10
CONNECT_SECONDS = 5
MOST_BYTES = 64 * 1024


def post(url: str, body: bytes, headers: Mapping[str, str], egress: Egress) -> int | str:
    """The status of the answer, or in a word why there is none. Blocks."""
    curl, door = pycurl.Curl(), Door(egress)
    taken = 0

    def take(data: bytes) -> int:
        nonlocal taken
        taken += len(data)
        return len(data) if taken <= MOST_BYTES else -1

    try:
        curl.setopt(pycurl.URL, url)
        curl.setopt(pycurl.NOSIGNAL, 1)
        curl.setopt(pycurl.POST, 1)
        curl.setopt(pycurl.POSTFIELDS, body)
        curl.setopt(pycurl.HTTPHEADER, [f"{name}: {value}" for name, value in headers.items()])
        curl.setopt(pycurl.FOLLOWLOCATION, 0)
        curl.setopt(pycurl.PROTOCOLS, pycurl.PROTO_HTTP | pycurl.PROTO_HTTPS)
        curl.setopt(pycurl.PROXY, "")
        curl.setopt(pycurl.NETRC, pycurl.NETRC_IGNORED)
        curl.setopt(pycurl.TIMEOUT, SECONDS)
        curl.setopt(pycurl.CONNECTTIMEOUT, CONNECT_SECONDS)
        curl.setopt(pycurl.OPENSOCKETFUNCTION, door.open)
        curl.setopt(pycurl.SOCKOPTFUNCTION, not_inherited)
        curl.setopt(pycurl.WRITEFUNCTION, take)
        curl.perform()
        return int(curl.getinfo(pycurl.RESPONSE_CODE))
    except pycurl.error as error:
        if door.refusal is not None:
            return "blocked_address"
        status = int(curl.getinfo(pycurl.RESPONSE_CODE))
        return status or _WORDS.get(error.args[0], "failed")
    finally:
        curl.close()


_WORDS = {
    pycurl.E_COULDNT_RESOLVE_HOST: "dns",
    pycurl.E_COULDNT_CONNECT: "connect",
    pycurl.E_OPERATION_TIMEDOUT: "timeout",
    pycurl.E_SSL_CONNECT_ERROR: "tls",
    pycurl.E_PEER_FAILED_VERIFICATION: "tls",
}
