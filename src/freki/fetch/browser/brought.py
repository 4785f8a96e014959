"""What a visit brings along: headers for the site alone, and an answer that is there already."""

import asyncio
from collections.abc import Callable

import msgspec
from msgspec import Raw

from freki.fetch.browser import events
from freki.pictures import Document, Shot
from freki.url import split

Send = Callable[..., asyncio.Future[Raw]]
"""Sends a command of the page's session."""

# Of how an answer was sent, not of what it is; the body is decoded, and its length another.
_OF_THE_WIRE = frozenset(
    ("content-encoding", "content-length", "transfer-encoding", "connection", "keep-alive",
     "alt-svc")
)  # fmt: skip


class Brought:
    """Stands between a page and its requests, as far as something is brought along."""

    def __init__(self, shot: Shot, frame: str, send: Send) -> None:
        self._frame = frame
        self._send = send
        self._url = shot.url.partition("#")[0]
        self._document = shot.document
        self._headers = shot.headers
        # They may be a secret between us and the site: nobody else gets them.
        self._site = f"{split(shot.url).origin}/"

    def __repr__(self) -> str:
        return f"<Brought to {self._site} document={self._document is not None}>"

    def begin(self) -> None:
        """Have the requests that matter stop here."""
        patterns = []
        if self._headers:
            patterns.append({"urlPattern": f"{self._site}*"})
        if self._document is not None:
            patterns.append({"urlPattern": "*", "resourceType": "Document"})
        if patterns:
            self._send("Fetch.enable", patterns=patterns)

    def paused(self, params: Raw) -> None:
        """A request stopped: answer it, or let it go on."""
        event = msgspec.json.decode(params, type=events.Paused)
        if self._document is None or event.frame_id != self._frame:
            self._go_on(event)
            return
        # Only the first document is the one that was brought, and only if it is asked for as it
        # was: a browser may know that a site is to be asked by https.
        document, self._document = self._document, None
        if event.request.url == self._url:
            self._answer(event, document)
        else:
            self._go_on(event)
            self._step_aside()

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
            self._step_aside()

        answered.add_done_callback(see)

    def _go_on(self, event: events.Paused) -> None:
        if not self._headers or not event.request.url.startswith(self._site):
            self._send("Fetch.continueRequest", requestId=event.request_id)
            return
        own = {name.lower() for name, _ in self._headers}
        kept = [pair for pair in event.request.headers.items() if pair[0].lower() not in own]
        all_ = [{"name": name, "value": value} for name, value in (*kept, *self._headers)]
        self._send("Fetch.continueRequest", requestId=event.request_id, headers=all_)

    def _step_aside(self) -> None:
        """What follows goes its way."""
        if self._headers:
            self.begin()
        else:
            self._send("Fetch.disable")
