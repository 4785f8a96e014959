"""HTTP by libcurl, driven by the event loop.

libcurl says which sockets it waits for and when its next timer is due; the loop tells it when
that comes. Nothing polls, and no request has a thread. One `Http` is one connection pool, DNS
cache and cookie jar.
"""

import asyncio
import os
from collections.abc import Callable
from typing import Any

import pycurl

from freki.config import Fetching
from freki.fetch.asking import ask, blamed, plain
from freki.fetch.body import Beginning, Intake
from freki.fetch.decode import ACCEPTED
from freki.fetch.door import Door, not_inherited
from freki.fetch.egress import Egress
from freki.fetch.names import Names, Resolve, by_system
from freki.messages import Claim, Failure, Reason, Response, Timings, Via
from freki.url import hostname, is_address, port_of, split

# A host that sends less than the limit for this long is given up.
SLOW_SECONDS = 20

# How long libcurl knows an address; `names.py` knows it longer, and tells it with every request.
# It looks through all that it knows for each new connection: of thousands of hosts in a minute,
# that is a quarter of what a request costs.
DNS_SECONDS = 5

# What sitemaps.org allows a sitemap to have.
SITEMAP_BYTES = 50 * 2**20

# RFC 9309 2.5 asks to read at least 500 KiB of a robots.txt, and nobody reads more.
ROBOTS_BYTES = 512 * 1024

# The headers of every request.
STANDARD = [
    "Accept: text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8",
    f"Accept-Encoding: {ACCEPTED}",
]

_VERSIONS = {
    "1.1": pycurl.CURL_HTTP_VERSION_1_1,
    "2": pycurl.CURL_HTTP_VERSION_2TLS,
    "3": pycurl.CURL_HTTP_VERSION_3,
}
_VERSION_NAMES = {10: "1.0", 1: "1.0", 2: "1.1", 3: "2", 30: "3"}

# CURLE_TOO_LARGE, which pycurl has no name for: a header line beyond what libcurl takes.
_E_TOO_LARGE = 100

# https://curl.se/libcurl/c/libcurl-errors.html; what is not listed is `protocol`.
_REASONS = {
    pycurl.E_COULDNT_RESOLVE_HOST: Reason.dns,
    pycurl.E_COULDNT_RESOLVE_PROXY: Reason.dns,
    pycurl.E_COULDNT_CONNECT: Reason.connect,
    pycurl.E_INTERFACE_FAILED: Reason.connect,
    pycurl.E_OPERATION_TIMEDOUT: Reason.timeout,
    pycurl.E_PARTIAL_FILE: Reason.incomplete,
    pycurl.E_GOT_NOTHING: Reason.incomplete,
    pycurl.E_SEND_ERROR: Reason.incomplete,
    pycurl.E_RECV_ERROR: Reason.incomplete,
    pycurl.E_FILESIZE_EXCEEDED: Reason.too_large,
    _E_TOO_LARGE: Reason.too_large,
    pycurl.E_SSL_CONNECT_ERROR: Reason.tls,
    pycurl.E_SSL_ENGINE_NOTFOUND: Reason.tls,
    pycurl.E_SSL_ENGINE_SETFAILED: Reason.tls,
    pycurl.E_SSL_CERTPROBLEM: Reason.tls,
    pycurl.E_SSL_CIPHER: Reason.tls,
    pycurl.E_PEER_FAILED_VERIFICATION: Reason.tls,
    pycurl.E_USE_SSL_FAILED: Reason.tls,
    pycurl.E_SSL_CACERT_BADFILE: Reason.tls,
    pycurl.E_SSL_SHUTDOWN_FAILED: Reason.tls,
    pycurl.E_SSL_CRL_BADFILE: Reason.tls,
    pycurl.E_SSL_ISSUER_ERROR: Reason.tls,
    pycurl.E_SSL_INVALIDCERTSTATUS: Reason.tls,
}


class Http:
    """The HTTP client of one worker. `fetch` is a `steps.Fetch`."""

    def __init__(
        self,
        settings: Fetching,
        user_agent: str,
        per_host: int,
        types: tuple[str, ...] = (),
        resolve: Resolve = by_system,
        open_at_most: int = 0,
    ) -> None:
        self._settings = settings
        self._types = tuple(kind.lower() for kind in types)
        self._user_agent = user_agent
        self._loop = asyncio.get_running_loop()
        self._egress = Egress(settings.allow_private, settings.allow_address)
        self._names = Names(settings.connect_timeout, self._egress, resolve)
        self._doors: dict[pycurl.Curl, Door] = {}
        self._free: list[pycurl.Curl] = []
        self._waiting: dict[pycurl.Curl, asyncio.Future[tuple[int, str]]] = {}
        self._timer: asyncio.Handle | None = None
        self._share = pycurl.CurlShare()
        self._share.setopt(pycurl.SH_SHARE, pycurl.LOCK_DATA_COOKIE)
        self._multi = multi = pycurl.CurlMulti()
        multi.setopt(pycurl.M_SOCKETFUNCTION, self._on_socket)
        multi.setopt(pycurl.M_TIMERFUNCTION, self._on_timer)
        multi.setopt(pycurl.M_MAX_HOST_CONNECTIONS, per_host)
        # How many there are at once is for the engine to say; the others up to here are kept for
        # later use, which costs half as much as to connect again.
        multi.setopt(pycurl.M_MAXCONNECTS, open_at_most or settings.connections)

    def __repr__(self) -> str:
        return f"<Http in_flight={len(self._waiting)} idle_handles={len(self._free)}>"

    async def fetch(self, claim: Claim) -> Response | Failure:
        host = hostname(claim.url)
        if claim.proxy:
            failure = await self._barred(claim, host)
            return failure or await self._transfer(claim, [], 0.0)
        if is_address(host):
            return await self._transfer(claim, [], 0.0)
        asked_at = self._loop.time()
        addresses = self._names.recall(host)
        if addresses is None:
            addresses = await self._names.ask(host)
        looked_up = self._loop.time() - asked_at
        if isinstance(addresses, Failure):
            timings = Timings(dns=looked_up, total=looked_up)
            return Failure(addresses.reason, addresses.detail, timings)
        return await self._transfer(claim, addresses, looked_up)

    async def _barred(self, claim: Claim, host: str) -> Failure | None:
        """Why a proxy is not asked: it would go where we must not.

        It asks for the address itself, so names are only looked at where private addresses are
        refused; elsewhere it may know names that we do not.
        """
        if is_address(host):
            refusal = self._egress.refusal(host.strip("[]"), port_of(claim.url))
            return Failure(Reason.blocked_address, f"{host}: {refusal}") if refusal else None
        if self._settings.allow_private:
            return None
        found = self._names.recall(host) or await self._names.ask(host)
        return found if isinstance(found, Failure) else None

    async def _transfer(
        self, claim: Claim, addresses: list[str], looked_up: float
    ) -> Response | Failure:
        curl = self._free.pop() if self._free else self._new_handle()
        intake = self._intake(claim)
        curl.setopt(pycurl.URL, claim.url)
        # libcurl would write %2f as %2F; a server may tell them apart, so the path goes as it is.
        curl.setopt(pycurl.REQUEST_TARGET, split(claim.url).path)
        curl.setopt(pycurl.WRITEFUNCTION, intake.write)
        curl.setopt(pycurl.HEADERFUNCTION, intake.header)
        door = self._doors[curl]
        door.refusal = None
        if addresses:
            curl.setopt(pycurl.RESOLVE, [pinned(claim.url, addresses)])
        is_plain = claim.request is None and not claim.proxy
        if not is_plain:
            ask(curl, claim, STANDARD)
        done = self._waiting[curl] = self._loop.create_future()
        self._multi.add_handle(curl)
        try:
            code, message = await done
        except asyncio.CancelledError:
            if self._waiting.pop(curl, None):
                self._multi.remove_handle(curl)
                self._put_away(curl, is_plain=is_plain)
            raise
        answer = _answer(curl, claim.url, intake, (code, message), looked_up)
        self._put_away(curl, is_plain=is_plain)
        if code and door.refusal is not None:
            detail = f"{hostname(claim.url)}: {door.refusal}"
            return Failure(Reason.blocked_address, detail, answer.timings)
        return blamed(answer, claim.proxy) if claim.proxy else answer

    def _put_away(self, curl: pycurl.Curl, *, is_plain: bool) -> None:
        if not is_plain:
            plain(curl, STANDARD)
        self._free.append(curl)

    def _intake(self, claim: Claim) -> Intake:
        """Sitemaps may be as large as their standard allows; of a checked link nothing is read.

        What a crawl wants to keep is no reason not to know what its hosts want.
        """
        match claim.via:
            case Via.external:
                return Intake(0)
            case Via.sitemap_file | Via.seed if _lists_pages(claim):
                return Intake(max(self._settings.max_body, SITEMAP_BYTES))
            case Via.robots_file:
                return Beginning(ROBOTS_BYTES)
            case _:
                return Intake(self._settings.max_body, self._types)

    def cookies(self) -> list[str]:
        """Every cookie, a line for each, as `take_cookies` wants them."""
        curl = self._free[-1] if self._free else self._new_handle()
        lines: list[str] = curl.getinfo(pycurl.INFO_COOKIELIST)
        if not self._free:
            self._free.append(curl)
        return lines

    def take_cookies(self, lines: list[str]) -> None:
        """Put cookies into the jar."""
        curl = self._new_handle()
        for line in lines:
            curl.setopt(pycurl.COOKIELIST, line)
        self._free.append(curl)

    def close(self) -> None:
        """End every transfer and close every connection."""
        if self._timer is not None:
            self._timer.cancel()
        for curl, done in self._waiting.items():
            self._multi.remove_handle(curl)
            done.cancel()
        for curl in [*self._waiting, *self._free]:
            curl.close()
        self._multi.close()
        self._share.close()

    def _new_handle(self) -> pycurl.Curl:
        """Everything that is the same for all requests, set once."""
        settings, curl = self._settings, pycurl.Curl()
        door = self._doors[curl] = Door(self._egress)
        options: dict[int, Any] = {
            pycurl.NOSIGNAL: 1,
            pycurl.SHARE: self._share,
            pycurl.COOKIEFILE: "",  # switches the jar on and reads no file
            pycurl.USERAGENT: self._user_agent,
            pycurl.HTTPHEADER: STANDARD,
            pycurl.HTTP_CONTENT_DECODING: 0,  # see decode.py
            pycurl.PROTOCOLS: pycurl.PROTO_HTTP | pycurl.PROTO_HTTPS,
            pycurl.OPENSOCKETFUNCTION: door.open,
            pycurl.SOCKOPTFUNCTION: not_inherited,
            pycurl.PROXY: "",  # none from the environment
            pycurl.NETRC: pycurl.NETRC_IGNORED,
            pycurl.PATH_AS_IS: 1,
            pycurl.HTTP_VERSION: _VERSIONS[settings.http],
            pycurl.CONNECTTIMEOUT_MS: int(settings.connect_timeout * 1000),
            pycurl.TIMEOUT_MS: int(settings.timeout * 1000),
            pycurl.LOW_SPEED_LIMIT: settings.min_speed,
            pycurl.LOW_SPEED_TIME: SLOW_SECONDS,
            # Without any, libcurl passes over a length that no number of its own can hold.
            pycurl.MAXFILESIZE_LARGE: 2**62,
            pycurl.DNS_CACHE_TIMEOUT: DNS_SECONDS,
            pycurl.SSL_VERIFYPEER: 0 if settings.insecure else 1,
            pycurl.SSL_VERIFYHOST: 0 if settings.insecure else 2,
        }
        for option, value in options.items():
            curl.setopt(option, value)
        return curl

    def _on_socket(self, event: int, fd: int, _multi: object, _data: object) -> None:
        loop = self._loop
        if event == pycurl.POLL_REMOVE:
            loop.remove_reader(fd)
            loop.remove_writer(fd)
            return
        if event & pycurl.POLL_IN:
            loop.add_reader(fd, self._act, fd, pycurl.CSELECT_IN)
        else:
            loop.remove_reader(fd)
        if event & pycurl.POLL_OUT:
            loop.add_writer(fd, self._act, fd, pycurl.CSELECT_OUT)
        else:
            loop.remove_writer(fd)

    def _on_timer(self, milliseconds: int) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if milliseconds >= 0:
            call: Callable[..., object] = self._act
            self._timer = self._loop.call_later(milliseconds / 1000, call, pycurl.SOCKET_TIMEOUT, 0)

    def _act(self, fd: int, event: int) -> None:
        self._multi.socket_action(fd, event)
        left = 1
        while left:
            left, succeeded, failed = self._multi.info_read()
            for curl in succeeded:
                self._finish(curl, 0, "")
            for curl, code, message in failed:
                self._finish(curl, code, message)

    def _finish(self, curl: pycurl.Curl, code: int, message: str) -> None:
        self._multi.remove_handle(curl)
        done = self._waiting.pop(curl)
        if not done.done():
            done.set_result((code, message))


def _lists_pages(claim: Claim) -> bool:
    """A start URL with such a name may well be a sitemap."""
    return claim.via == Via.sitemap_file or claim.url.endswith((".xml", ".xml.gz"))


def pinned(url: str, addresses: list[str]) -> str:
    """A line of CURLOPT_RESOLVE: libcurl connects to these addresses and asks nobody.

    `+` makes libcurl forget the line after `DNS_SECONDS`; it is given with every request.
    """
    listed = ",".join(f"[{address}]" if ":" in address else address for address in addresses)
    return f"+{hostname(url)}:{port_of(url)}:{listed}"


def _answer(
    curl: pycurl.Curl, url: str, intake: Intake, ended: tuple[int, str], looked_up: float
) -> Response | Failure:
    info = curl.getinfo
    code, message = ended
    tls = info(pycurl.APPCONNECT_TIME)
    timings = Timings(
        looked_up,
        looked_up + info(pycurl.CONNECT_TIME),
        looked_up + tls if tls else 0.0,
        looked_up + info(pycurl.STARTTRANSFER_TIME),
        looked_up + info(pycurl.TOTAL_TIME),
    )
    status = info(pycurl.RESPONSE_CODE)
    if code and not intake.enough:
        detail = message or f"libcurl error {code}"
        if code == pycurl.E_COULDNT_CONNECT and (number := info(pycurl.OS_ERRNO)):
            detail = detail.replace("Could not connect to server", os.strerror(number))
        return intake.failure(_reason(code, message), detail, timings, status)
    wire_bytes = info(pycurl.HEADER_SIZE) + info(pycurl.SIZE_DOWNLOAD_T)
    http = _VERSION_NAMES.get(info(pycurl.INFO_HTTP_VERSION), "?")
    return intake.response(url, status, timings, wire_bytes, http, info(pycurl.PRIMARY_IP))


def _reason(code: int, message: str) -> Reason:
    reason = _REASONS.get(code, Reason.protocol)
    if reason is Reason.timeout and "too slow" in message:
        return Reason.too_slow
    if reason is Reason.timeout and not message.startswith("Operation"):
        return Reason.connect  # nobody was reached, as if the connection had been refused
    if "response headers" in message:
        return Reason.too_large
    return reason
