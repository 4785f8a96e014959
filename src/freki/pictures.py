"""What is asked of a browser, and what comes back: frozen values, as those in `messages.py`.

A visit of one URL is one `Shot` and ends as one `Rendering` or one `Unrendered`, never as a
picture that stands for a failure.
"""

from hashlib import sha256
from typing import Literal

from msgspec import Struct

from freki.messages import Reason

# Headers that are the connection's, and nobody's to bring along; cookies have their own place.
OF_THE_CONNECTION = frozenset({
    "host", "content-length", "connection", "transfer-encoding", "upgrade", "te", "trailer",
    "proxy-authorization", "proxy-connection", "keep-alive", "expect", "cookie",
})  # fmt: skip

Format = Literal["webp", "png", "jpeg", "pdf"]
Wait = Literal["settled", "load", "domcontentloaded"]

MEDIA_TYPES = {
    "webp": "image/webp",
    "png": "image/png",
    "jpeg": "image/jpeg",
    "pdf": "application/pdf",
}

# The sides of a thumbnail by default: a row of a list, and a card of a gallery.
THUMBNAILS = (160, 480)


class Viewport(Struct, frozen=True, kw_only=True):
    """The window a page is seen through, in CSS pixels."""

    width: int = 1280
    height: int = 800
    scale: float = 1.0  # device pixels for one of CSS
    mobile: bool = False  # obeys <meta name=viewport>, and is touched
    agent: str = ""  # how it names itself; empty is the browser's own word
    name: str = ""  # of the device, where it is one

    @property
    def is_plain(self) -> bool:
        """A window and no more: nothing has to be pretended."""
        return self.scale == 1 and not self.mobile and not self.agent


class Cookie(Struct, frozen=True, kw_only=True):
    """A cookie that a visit brings along; without a domain, for the host of its URL."""

    name: str
    value: str
    domain: str = ""
    path: str = "/"


class Document(Struct, frozen=True, kw_only=True):
    """An answer that is there already, decoded: a visit begins with it and does not ask again."""

    status: int = 200
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes = b""


class Shot(Struct, frozen=True, kw_only=True):
    """A wish: which URL, seen how, and what to bring back. All of it changes the picture."""

    url: str
    viewports: tuple[Viewport, ...] = (Viewport(),)  # each is a capture, all of one visit
    format: Format = "webp"
    quality: int = 78  # of WebP and JPEG; 100 is WebP without loss
    full_page: bool = False
    max_height: int = 40_000  # CSS pixels of a full page; what is below is left out, and said so
    selector: str = ""  # only this element
    thumbnails: tuple[int, ...] = THUMBNAILS  # widths
    pictures: bool = True  # without, a visit only brings the tree
    html: bool = False  # bring the rendered tree
    wait: Wait = "settled"
    wait_selector: str = ""  # until this is there
    delay: float = 0.0  # seconds on top
    dark: bool = False
    headers: tuple[tuple[str, str], ...] = ()
    cookies: tuple[Cookie, ...] = ()
    hide_banners: bool = False
    block_ads: bool = False
    block_hosts: tuple[str, ...] = ()
    document: Document | None = None  # what its server answered
    locale: str = ""
    timezone: str = ""
    navigate_seconds: float = 20.0
    settle_seconds: float = 5.0
    seconds: float = 40.0  # for everything, once a browser is free

    @property
    def private(self) -> bool:
        """What comes back may be for this caller's eyes only."""
        return bool(self.cookies or self.headers)


class Picture(Struct, frozen=True, kw_only=True):
    """An image, or a PDF, as it is stored: once for each digest."""

    data: bytes
    format: Format
    width: int = 0
    height: int = 0

    @property
    def digest(self) -> bytes:
        """SHA-256."""
        return sha256(self.data).digest()


class Capture(Struct, frozen=True, kw_only=True):
    """A picture of a page, or of one tile of it, and what can be seen at once."""

    picture: Picture
    viewport: Viewport
    tile: int = 0  # from the top, of a page too tall for one picture
    tiles: int = 1
    top: int = 0  # CSS pixels from the top of the page
    truncated: bool = False  # the page goes on below `max_height`
    blank: bool = False  # one colour, or nearly so
    phash: int | None = None  # 64 bits that are alike for pictures that are; see `likeness`
    thumbnails: tuple[Picture, ...] = ()


class Phases(Struct, frozen=True, kw_only=True):
    """Seconds that each part of a visit took."""

    queue: float = 0.0  # until a browser was free
    navigate: float = 0.0  # until the document was loaded
    settle: float = 0.0  # until it stood still
    capture: float = 0.0


class FailedRequest(Struct, frozen=True, array_like=True):
    """Something the page wanted and did not get."""

    url: str
    why: str  # a status, or the network's word


class Rendering(Struct, frozen=True, kw_only=True):
    """A visit that ended well: the page was seen."""

    url: str  # asked for
    final_url: str
    status: int = 200
    title: str = ""
    captures: tuple[Capture, ...] = ()
    html: str = ""
    settled: bool = True  # it stood still before the time for it was over
    phases: Phases = Phases()
    console: tuple[str, ...] = ()  # errors only, shortened
    failed_requests: tuple[FailedRequest, ...] = ()
    requests: int = 0
    blocked: int = 0  # of these: ads and trackers


class Unrendered(Struct, frozen=True, kw_only=True):
    """A visit that did not: why."""

    url: str
    reason: Reason
    detail: str = ""
    phases: Phases = Phases()


def likeness(one: int, other: int) -> int:
    """In how many of its 64 bits one perceptual hash differs from another; up to 5 is alike."""
    return (one ^ other).bit_count()
