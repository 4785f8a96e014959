"""Starts the processes of a service, and starts again what dies. It does nothing else.

It holds the socket that requests come to, and a pipe to each process: when it is gone, however it
went, the pipes close and the others end.
"""

import asyncio
import os
import signal
import socket
import sys
import time
from collections.abc import Callable
from contextlib import closing, suppress

from freki.errors import BadInput, StoreError
from freki.ledger.jobs import shift
from freki.serve import logs
from freki.serve.part import as_line
from freki.serve.terms import Terms

# Seconds before a process that died is started again: the first time at once, then longer, and
# from the beginning once one has lived for a while.
PAUSES = (0.0, 0.2, 0.5, 1.0, 2.0, 5.0)
LIVED = 10.0

# Seconds that everything has to end.
LAST_SECONDS = 12.0

BACKLOG = 2_048

Listener = socket.socket


class Supervisor:
    """The processes of one service on this machine."""

    def __init__(self, terms: Terms, listener: socket.socket | None) -> None:
        self._terms = terms
        self._listener = listener
        self._children: dict[str, asyncio.subprocess.Process] = {}
        self._ending = asyncio.Event()

    def __repr__(self) -> str:
        return f"<Supervisor of {', '.join(self._children)}>"

    def end(self) -> None:
        """Let all of them end."""
        self._ending.set()

    @property
    def processes(self) -> dict[str, int]:
        """Their numbers, by name."""
        return {name: child.pid for name, child in self._children.items()}

    async def run(self, began: Callable[[], None] = lambda: None) -> None:
        """Keep them running until told to end."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, self.end)
        async with asyncio.TaskGroup() as group:
            keeping = [group.create_task(self._keep(name)) for name in self._names()]
            began()
            await self._ending.wait()
            if self._listener is not None:
                self._listener.close()  # who comes now is refused, and asks another instance
            await self._let_all_end()
            for task in keeping:
                task.cancel()

    def _names(self) -> list[str]:
        workers = [f"worker-{number}" for number in range(1, self._terms.workers + 1)]
        return (["web"] if self._listener is not None else []) + workers

    async def _keep(self, name: str) -> None:
        """One place, filled again when its process dies."""
        deaths = 0
        while not self._ending.is_set():
            started = time.monotonic()
            child = self._children[name] = await self._start(name)
            code = await child.wait()
            if self._ending.is_set():
                return
            deaths = 1 if time.monotonic() - started > LIVED else deaths + 1
            logs.event("process_died", process=name, pid=child.pid, code=code, deaths=deaths)
            await asyncio.to_thread(self._count, name)
            await asyncio.sleep(PAUSES[min(deaths - 1, len(PAUSES) - 1)])

    async def _start(self, name: str) -> asyncio.subprocess.Process:
        words = ["-m", "freki.serve.part", name.partition("-")[0]]
        sockets: tuple[int, ...] = ()
        if name == "web":
            assert self._listener is not None
            sockets = (self._listener.fileno(),)
            words.append(str(sockets[0]))
        child = await asyncio.create_subprocess_exec(
            sys.executable,
            *words,
            stdin=asyncio.subprocess.PIPE,
            pass_fds=sockets,
            start_new_session=True,  # Ctrl-C is for us to hand on
        )
        assert child.stdin is not None
        child.stdin.write(as_line(self._terms))
        logs.event("process_begins", process=name, pid=child.pid)
        return child

    def _count(self, name: str) -> None:
        """A store that is away is perhaps why it died, and no reason for us to."""
        died: dict[tuple[str, str], float] = {("worker_restarts", name.partition("-")[0]): 1}
        with suppress(StoreError), closing(self._terms.place.desk(patience=0.0)) as desk:
            shift.count(desk, "", 0, died, desk.now())

    async def _let_all_end(self) -> None:
        """Workers give back what they have; whoever is late is ended."""
        children = [child for child in self._children.values() if child.returncode is None]
        for child in children:
            child.terminate()
        until = time.monotonic() + LAST_SECONDS
        for child in children:
            try:
                async with asyncio.timeout(max(0.1, until - time.monotonic())):
                    await child.wait()
            except TimeoutError:
                child.kill()
                await child.wait()


def listen(host: str, port: int) -> socket.socket:
    """The socket that requests come to."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listener = socket.create_server((host, port), family=family, backlog=BACKLOG)
    except OSError as error:
        why = os.strerror(error.errno or 0)
        raise BadInput(
            f"cannot listen at {host}, port {port}: {why}; take another --port"
        ) from None
    listener.set_inheritable(True)
    return listener


def address(listener: socket.socket) -> str:
    """Where that is, as a URL."""
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
