"""Host names to addresses: each asked for once at a time, remembered for a while, never waited for
by others.

libcurl would resolve by itself, but with few threads: a resolver that does not answer for some
names holds up all others. Here a question has a thread of its own, so that the system's rules
(hosts file, search domains, mDNS) hold and nobody waits but who asks.
"""

import asyncio
import socket
import threading
from collections.abc import Callable

from freki.fetch.egress import Egress
from freki.messages import Failure, Reason

# The system's answers come without their time to live. A minute follows a host that moves soon
# enough, and asks once a minute at most.
KEPT_SECONDS = 60.0
FAILURE_KEPT_SECONDS = 30.0

# Names that are remembered. A crawl that knows more hosts asks again, which costs a packet.
MAX_NAMES = 10_000

# Questions under way at once; each is a thread that waits. More wait their turn.
MAX_QUESTIONS = 500

Resolve = Callable[[str], list[str]]


def by_system(host: str) -> list[str]:
    """The addresses of a host, in the order in which they should be tried; blocks."""
    if host == "localhost" or host.endswith(".localhost"):
        return ["127.0.0.1", "::1"]  # RFC 6761 6.3, and what libcurl does
    found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(address[0]) for *_, address in found))


class Names:
    """What is known of host names: addresses that may be reached, or why there are none."""

    def __init__(self, timeout: float, egress: Egress, resolve: Resolve = by_system) -> None:
        self._timeout = timeout
        self._egress = egress
        self._resolve = resolve
        self._loop = asyncio.get_running_loop()
        self._known: dict[str, tuple[float, list[str] | Failure]] = {}
        self._asking: dict[str, asyncio.Future[list[str] | Failure]] = {}
        self._turns = asyncio.Semaphore(MAX_QUESTIONS)

    def __repr__(self) -> str:
        return f"<Names known={len(self._known)} asking={len(self._asking)}>"

    def recall(self, host: str) -> list[str] | Failure | None:
        """What is known at once; None means that it must be asked for."""
        known = self._known.get(host)
        if known is None or known[0] < self._loop.time():
            return None
        return known[1]

    async def ask(self, host: str) -> list[str] | Failure:
        """The addresses of a host; however many ask for it at once, it is asked once."""
        if (asking := self._asking.get(host)) is not None:
            return await asyncio.shield(asking)
        asking = self._asking[host] = self._loop.create_future()
        try:
            answer = await self._ask(host)
            self._remember(host, answer)
            asking.set_result(answer)
        finally:
            asking.cancel()  # which changes nothing where there is a result
            del self._asking[host]
        return answer

    async def _ask(self, host: str) -> list[str] | Failure:
        answered: asyncio.Future[list[str] | Failure] = self._loop.create_future()
        async with self._turns:
            # A daemon: a resolver that hangs must not keep the program from ending.
            threading.Thread(target=self._in_thread, args=(host, answered), daemon=True).start()
            try:
                async with asyncio.timeout(self._timeout):
                    return await answered
            except TimeoutError:
                text = f"no answer about {host} within {self._timeout:g} seconds"
                return Failure(Reason.dns, text)

    def _in_thread(self, host: str, answered: "asyncio.Future[list[str] | Failure]") -> None:
        answer: list[str] | Failure
        try:
            answer = self._judged(host, self._resolve(host))
        except (OSError, UnicodeError) as error:
            answer = Failure(Reason.dns, f"{host}: {getattr(error, 'strerror', None) or error}")
        try:
            self._loop.call_soon_threadsafe(_settle, answered, answer)
        except RuntimeError:
            return  # the loop has ended, and nobody waits any more

    def _judged(self, host: str, addresses: list[str]) -> list[str] | Failure:
        """Those that may be reached. They are pinned, so nobody connects to the others."""
        if not addresses:
            return Failure(Reason.dns, f"{host} has no address")
        refusals = [self._egress.refusal(address) for address in addresses]
        allowed = [
            address for address, refusal in zip(addresses, refusals, strict=True) if not refusal
        ]
        return allowed or Failure(Reason.blocked_address, f"{host}: {refusals[0]}")

    def _remember(self, host: str, answer: list[str] | Failure) -> None:
        if len(self._known) >= MAX_NAMES:
            del self._known[next(iter(self._known))]
        kept = FAILURE_KEPT_SECONDS if isinstance(answer, Failure) else KEPT_SECONDS
        self._known.pop(host, None)
        self._known[host] = (self._loop.time() + kept, answer)


def _settle(answered: "asyncio.Future[list[str] | Failure]", answer: list[str] | Failure) -> None:
    if not answered.done():
        answered.set_result(answer)
