"""What stands between a page and the network, beside the proxy: what one visit has of its own.

Headers that only the site gets, an answer that is there already, and hosts that are left out.
DevTools' own list of blocked hosts works in the page's process, and lets some through: those asked
for while the document arrives.
"""

import asyncio
from collections.abc import Callable, Iterable, Iterator

import msgspec
from msgspec import Raw

from freki.fetch.browser import events
from freki.fetch.browser.ads import ADS
from freki.pictures import Document, Shot
from freki.url import hostname, split

Send = Callable[..., asyncio.Future[Raw]]
"""Sends a command of the page's session."""

# Of how an answer was sent, not of what it is; the body is decoded, and its length another.
_OF_THE_WIRE = frozenset(
    ("content-encoding", "content-length", "transfer-encoding", "connection", "keep-alive",
     "alt-svc")
)  # fmt: skip


class Between:
    """Stops the requests of a page that matter to a visit, and tells them how to go on."""

    def __init__(self, shot: Shot, frame: str, send: Send) -> None:
        self.blocked = 0
        self._frame = frame
        self._send = send
        self._url = shot.url.partition("#")[0]
        self._document = shot.document
        self._headers = shot.headers
        # They may be a secret between us and the site: nobody else gets them.
        self._site = f"{split(shot.url).origin}/"
        self._left_out = frozenset(_left_out(shot))
        self._stands = False

    def __repr__(self) -> str:
        return f"<Between {self._site} blocked={self.blocked}>"

    def begin(self) -> None:
        """Have the requests that matter stop here."""
        if patterns := list(self._patterns()):
            self._stands = True
            self._send("Fetch.enable", patterns=patterns)
        elif self._stands:
            self._send("Fetch.disable")

    def _patterns(self) -> Iterator[dict[str, str]]:
        if self._headers:
            yield {"urlPattern": f"{self._site}*"}
        if self._document is not None:
            yield {"urlPattern": "*", "resourceType": "Document"}
        for host in sorted(self._left_out):
            for place in (host, f"*.{host}", f"{host}:*", f"*.{host}:*"):
                yield {"urlPattern": f"*://{place}/*"}

    def paused(self, params: Raw) -> None:
        """A request stopped: answer it, refuse it, or let it go on."""
        event = msgspec.json.decode(params, type=events.Paused)
        if self._is_left_out(event.request.url):
            self._refuse(event)
        elif self._document is None or event.frame_id != self._frame:
            self._go_on(event)
        else:
            # Only the first document is the one that was brought, and only if it is asked for as
            # it was: a browser may know that a site is to be asked by https.
            document, self._document = self._document, None
            if event.request.url == self._url:
                self._answer(event, document)
            else:
                self._go_on(event)
                self.begin()

    def _is_left_out(self, url: str) -> bool:
        # The patterns stop more: a URL may have another in its query.
        return bool(self._left_out) and not self._left_out.isdisjoint(_above(hostname(url)))

    def _refuse(self, event: events.Paused) -> None:
        self.blocked += 1
        # A frame stays empty then; blocked, it would show a page that says so.
        why = "Aborted" if event.resource_type == "Document" else "BlockedByClient"
        self._send("Fetch.failRequest", requestId=event.request_id, errorReason=why)

    def _answer(self, event: events.Paused, document: Document) -> None:
        headers = [pair for pair in document.headers if pair[0].lower() not in _OF_THE_WIRE]
        lines = "\0".join(f"{name}: {value}" for name, value in headers)
        answered = self._send(
            "Fetch.fulfillRequest",
            requestId=event.request_id,
            responseCode=document.status,
            binaryResponseHeaders=lines.encode("latin-1", "replace"),
            body=document.body,
        )

        def see(answer: asyncio.Future[Raw]) -> None:
            if not answer.cancelled() and answer.exception() is not None:
                self._go_on(event)  # what our client takes, the browser may not
            self.begin()

        answered.add_done_callback(see)

    def _go_on(self, event: events.Paused) -> None:
        if not self._headers or not event.request.url.startswith(self._site):
            self._send("Fetch.continueRequest", requestId=event.request_id)
            return
        own = {name.lower() for name, _ in self._headers}
        kept = [pair for pair in event.request.headers.items() if pair[0].lower() not in own]
        all_ = [{"name": name, "value": value} for name, value in (*kept, *self._headers)]
        self._send("Fetch.continueRequest", requestId=event.request_id, headers=all_)


def _left_out(shot: Shot) -> Iterable[str]:
    """Who looks at an advertiser's own page wants to see it."""
    own = set(_above(hostname(shot.url)))
    ads = [host for host in ADS if host not in own] if shot.block_ads else []
    return (*(host.lower() for host in shot.block_hosts), *ads)


def _above(host: str) -> Iterator[str]:
    """A host and the domains that it is below."""
    while host:
        yield host
        _, _, host = host.partition(".")
