"""A service with one large crawl in it, written through the contract of the ledger.

The crawl is of a site as they are: folders in folders, a navigation on every page, links to pages
nearby, some broken, moved, slow or alike; and a browser that saw each page once.
"""

import random
import time
import zlib
from collections.abc import Iterator, Sequence
from contextlib import closing
from io import BytesIO
from pathlib import Path

from PIL import Image, ImageDraw

from freki.config import Settings
from freki.engine.build import terms as ledger_terms
from freki.ledger import captures, crawls
from freki.ledger.database import Database
from freki.ledger.jobs import orders, shift
from freki.ledger.jobs.keys import ANYBODY
from freki.ledger.jobs.orders import Accepted, Order, Result
from freki.ledger.opened import ledger_of
from freki.ledger.store import open_store
from freki.messages import (
    Batch,
    Claim,
    Discovery,
    HostRest,
    Link,
    Outcome,
    Page,
    Reason,
    Response,
    State,
    Timings,
    Via,
    Visit,
)
from freki.pictures import Capture, Picture, Rendering, Unrendered, Viewport
from freki.serve.terms import Terms
from freki.steps import Ledger, Session

SITE = "https://site.example"
BEGIN = 1_700_000_000.0
SECTIONS = 40
FOLDERS = 25
NAVIGATION = 30  # links that every page has
NEARBY = 40
CHUNK = 500
STYLES = 400  # pictures that look different
WIDTH, HEIGHT = 480, 300

SETTINGS = Settings()
WORDS = (
    "river", "stone", "window", "paper", "garden", "letter", "winter", "morning", "market",
    "island", "copper", "silver",
)  # fmt: skip


def large_crawl(data: Path, pages: int, captured: int) -> str:
    """Make a service in a folder; answers with the id of its crawl."""
    terms = Terms(data=data)
    terms.place.prepare()
    with closing(terms.place.desk()) as desk:
        order = Order("crawl", "site.example", {"urls": [f"{SITE}/"]}, [f"{SITE}/"], {})
        accepted = orders.accept(desk, order, ANYBODY, 10, time.time(), None)
        assert isinstance(accepted, Accepted)
        shift_ = shift.begin(desk, time.time())
        job = shift.take(desk, shift_, ["crawl"], time.time())
        assert job is not None
        path = terms.place.store_of(job.crawl)
        with closing(open_store(path)) as db:
            crawl = crawls.begin(db, job.crawl, job.seeds, SETTINGS, BEGIN)
            ledger = ledger_of(db, str(path), crawl.id, ledger_terms(SETTINGS))
            Site(ledger, pages).crawl()
            look(db, crawl.id, captured)
            crawls.end(db, crawl, "finished", BEGIN + pages / 100, pages / 100)
        progress: dict[str, object] = {"pages": pages, "failed": pages // 100, "waiting": 0}
        size = desk.bytes_of(job.crawl)
        shift.finish(desk, shift_, job, Result("done", None, None, progress, size), time.time())
        shift.end(desk, shift_)
    return job.id


def url_of(number: int) -> str:
    """Each page once; its path is as long as those of sites are on average."""
    if number == 0:
        return f"{SITE}/"
    section, folder = number % SECTIONS, number // SECTIONS % FOLDERS
    return f"{SITE}/section-{section:02}/folder-{folder:02}/{_title(number).replace(' ', '-')}"


def broken(number: int) -> str:
    """An address that only one page has a link to."""
    return f"{SITE}/section-{number % SECTIONS:02}/gone-{number:06}"


def _title(number: int) -> str:
    dice = random.Random(number)
    return f"{' '.join(dice.choices(WORDS, k=4))} {number:06}"


class Site:
    """What is known of the pages, handed to a ledger as a crawl does."""

    def __init__(self, ledger: Ledger, pages: int) -> None:
        self._ledger = ledger
        self._pages = pages
        self._session: Session = ledger.join(BEGIN)
        self._held: list[int] = []

    def crawl(self) -> None:
        for at in range(0, self._pages, CHUNK):
            some = range(at, min(self._pages, at + CHUNK))
            self._commit(at, [self._found(number) for number in some])
            self._commit(at, list(self._beside(some)))
            while claims := self._claims(at):
                self._end(at, claims)
        self._ledger.leave(self._session, self._now(self._pages))

    def _now(self, number: int) -> float:
        return BEGIN + number / 100

    def _commit(self, at: int, found: Sequence[Discovery]) -> None:
        self._ledger.commit(self._session, Batch(self._now(at), discoveries=list(found)))

    def _found(self, number: int) -> Discovery:
        via = Via.link if number else Via.seed
        return Discovery(url_of(number), number % 9, number % 9, via, parent=max(1, number // 20))

    def _beside(self, numbers: Sequence[int]) -> Iterator[Discovery]:
        """What is broken, moved, down or not allowed, found on some of these pages."""
        for number in numbers:
            parent = max(1, number // 20)
            if number % 50 == 7:
                yield Discovery(broken(number), 3, 3, parent=parent)
            if number % 40 == 9:
                yield Discovery(f"{SITE}/moved/{number:06}", 3, 3, parent=parent)
            if number % 100 == 11:
                host = f"http://partner-{number % 7}.example"
                yield Discovery(f"{host}/page-{number}", 3, 3, parent=parent)
            if number % 20 == 13:
                url, why = f"{SITE}/private/{number:06}", Reason.robots
                yield Discovery(url, 3, 3, parent=parent, refused=why, detail="Disallow: /private")

    def _claims(self, at: int) -> list[Claim]:
        rests = [HostRest(host, 0) for host in self._held]
        work = self._ledger.claim(self._session, self._now(at + CHUNK) + 60, 512, rests)
        claims = [claim for host in work.hosts for claim in host.claims]
        self._held = [host.host for host in work.hosts]
        return claims

    def _end(self, at: int, claims: Sequence[Claim]) -> None:
        now = self._now(at)
        self._ledger.commit(
            self._session, Batch(now, [self._outcome(now, each) for each in claims])
        )

    def _outcome(self, at: float, claim: Claim) -> Outcome:
        if claim.url.startswith("http://partner"):
            detail = "no answer from 192.0.2.7 in 10 s"
            return Outcome(claim, State.failed, Reason.timeout, detail, at=at)
        number = int(claim.url[-6:]) if claim.url[-6:].isdigit() else 0
        if "/moved/" in claim.url:
            links = [Link(url_of(number), "", via=Via.redirect)]
            visit = Visit(at, self._answer(claim.url, 301, b"", at), Page(links))
            return Outcome(claim, State.done, Reason.redirect, url_of(number), visit=visit, at=at)
        if "/gone-" in claim.url:
            visit = Visit(at, self._answer(claim.url, 404, b"Not here", at), Page([], title="Gone"))
            return Outcome(claim, State.done, Reason.http_error, "404", visit=visit, at=at)
        body = self._body(number)
        page = Page(self._links(number), title=_title(number), description="Of the site " * 4)
        visit = Visit(at, self._answer(claim.url, 200, body, at), page)
        return Outcome(claim, State.done, Reason.ok, visit=visit, at=at)

    def _answer(self, url: str, status: int, body: bytes, at: float) -> Response:
        took = 3.0 if at % 97 < 1 else 0.02 + zlib.crc32(url.encode()) % 200 / 1000
        headers = (
            ("content-type", "text/html; charset=utf-8"), ("server", "nginx"), ("etag", f'"{url}"'),
            ("date", "Tue, 14 Nov 2023 22:13:20 GMT"), ("cache-control", "max-age=600"),
        )  # fmt: skip
        times = Timings(dns=0.001, connect=0.004, tls=0.01, first_byte=took / 2, total=took)
        return Response(url, status, headers, body, "text/html", times, len(body), "2", "192.0.2.1")

    def _body(self, number: int) -> bytes:
        number = number if number % 300 else 0  # some pages are the same page
        text = " ".join(random.Random(number).choices(WORDS, k=300))
        return f"<!doctype html><title>{_title(number)}</title><p>{text}</p>".encode()

    def _links(self, number: int) -> list[Link]:
        everywhere = [Link(url_of(each), f"Section {each}") for each in range(NAVIGATION)]
        nearby = [number * 17 % self._pages + each for each in range(1, NEARBY)]
        links = [Link(url_of(each % self._pages), _title(each % self._pages)) for each in nearby]
        if number % 50 == 7:
            links.append(Link(broken(number), "More about it"))
        return everywhere + links


def look(db: Database, crawl: int, captured: int) -> None:
    """A picture of each page; some show nothing, and some could not be taken."""
    bases = [_drawn(number) for number in range(STYLES)]
    for number in range(captured):
        captures.store_of(db, crawl, number + 1, BEGIN + number, _seen(number, bases))


def _seen(number: int, bases: Sequence[bytes]) -> Rendering | Unrendered:
    url = url_of(number)
    if number % 120 == 5:
        return Unrendered(url=url, reason=Reason.timeout, detail="no answer in 20 s")
    dice = random.Random(number)
    style = number % STYLES if number % 3 else number % 10
    small = Picture(data=_marked(bases[style], number), format="webp", width=WIDTH, height=HEIGHT)
    large = Picture(data=_marked(bases[style], -1 - number), format="webp", width=1280, height=800)
    phash = random.Random(style).getrandbits(64) ^ (1 << dice.randrange(64))
    seen = Capture(
        picture=large, viewport=Viewport(), phash=phash, blank=number % 90 == 4, thumbnails=(small,)
    )
    return Rendering(url=url, final_url=url, title=_title(number), captures=(seen,), requests=20)


def _drawn(number: int) -> bytes:
    dice = random.Random(number)
    image = Image.new("RGB", (WIDTH, HEIGHT), "white")
    draw = ImageDraw.Draw(image)
    draw.rectangle((0, 0, WIDTH, 40), fill=f"hsl({dice.randrange(360)}, 60%, 40%)")
    for line in range(60, HEIGHT, 14):
        width = dice.randrange(100, WIDTH - 20)
        draw.rectangle((20, line, width, line + 6), fill=f"hsl({dice.randrange(360)}, 20%, 60%)")
    out = BytesIO()
    image.save(out, "WEBP", quality=60)
    return out.getvalue()


def _marked(webp: bytes, number: int) -> bytes:
    """The same picture as a file of its own: with a part behind it that nobody reads."""
    note = f"picture {number:+08}".encode()
    body = webp[8:] + b"NOTE" + len(note).to_bytes(4, "little") + note
    return b"RIFF" + len(body).to_bytes(4, "little") + body
