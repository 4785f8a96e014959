"""A process of the service: `python -m freki.serve.part web|worker`, as its supervisor starts it.

The first line of standard input says how the service is run; its end says that it is over.
"""

import os
import socket
import sys
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

import msgspec
import uvloop

from freki.serve import logs
from freki.serve.terms import Terms

# Answering comes first: workers give way to the web process, and its threads to its loop.
NICENESS = 5
SWITCH_SECONDS = 0.0005


def main(part: str, *arguments: str) -> int:
    """Run one part until it ends."""
    terms = told()
    logs.begin(part, quiet=terms.quiet)
    uvloop.run(_web(terms, int(arguments[0])) if part == "web" else _worker(terms))
    return 0


def as_line(terms: Terms) -> bytes:
    """How the service is run, as the supervisor says it."""
    return msgspec.json.encode(terms, enc_hook=str) + b"\n"


def told() -> Terms:
    """Read byte by byte: what comes after the line is the lifeline's."""
    line = b""
    while (byte := os.read(sys.stdin.fileno(), 1)) not in (b"", b"\n"):
        line += byte
    return msgspec.json.decode(line, type=Terms, dec_hook=_path)


def _path(kind: type, text: Any) -> Any:  # whatever msgspec does not know itself
    assert kind is Path
    return Path(text)


def _web(terms: Terms, listener: int) -> Coroutine[Any, Any, None]:
    sys.setswitchinterval(SWITCH_SECONDS)
    from freki.serve.web import serve  # noqa: PLC0415 - a worker needs none of it

    return serve(terms, socket.socket(fileno=listener))


def _worker(terms: Terms) -> Coroutine[Any, Any, None]:
    os.nice(NICENESS)
    from freki.serve.worker import work  # noqa: PLC0415 - nor the other way round

    return work(terms)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
