"""What the steps hand to each other: frozen values, told in the order of the journey.

The structs are msgspec's because they are made for every page and every link:
a frozen dataclass costs eight times as much to make. `gc=False` is set where a
value cannot be part of a cycle; it takes them off the garbage collector's list.
"""

from contextlib import suppress
from enum import IntEnum

from msgspec import Struct


class State(IntEnum):
    """Where a URL stands. The last three are its outcome, which never changes again."""

    waiting = 0
    leased = 1
    done = 2  # an HTTP answer was stored, whatever its status
    failed = 3  # no usable answer after all attempts
    refused = 4  # never fetched


class Reason(IntEnum):
    """Why a URL has its outcome. The numbers are stored: never renumber, only add."""

    # of done
    ok = 1
    redirect = 2  # the target is a URL of its own
    http_error = 3  # a stored answer with status 4xx or 5xx
    sitemap = 4  # read for the URLs it lists; no page
    checked = 5  # a link that leads outside was tried, and its answer noted
    # of failed
    dns = 20
    connect = 21
    tls = 22
    timeout = 23
    too_slow = 24  # fewer bytes per second than the limit, for too long
    too_large = 25  # body or headers
    incomplete = 26  # the connection ended before the announced length
    decode = 27  # the content coding is broken or unknown
    protocol = 28  # not HTTP
    blocked_address = 29
    bad_redirect = 30  # a redirect without a usable target
    not_wanted = 31  # the answer has a content type that was not asked for
    crash = 32
    cancelled = 33
    settle = 34  # what a rendering had to wait for did not come
    capture = 35  # the browser gave no picture in time, or none at all
    oom = 36  # the page took more memory than a browser may have
    download = 37  # a file to be saved, no page
    dialogs = 38  # one dialog after the other
    no_element = 39  # nothing on the page matches the selector
    busy = 40  # no browser was free in time
    proxy = 41  # the proxy could not be reached, or refused
    # of refused
    out_of_scope = 50
    excluded = 51
    depth = 52
    budget = 53
    trap = 54
    robots = 55
    robots_unreachable = 56
    nofollow = 57
    too_many_redirects = 58
    host_down = 59  # it could not be connected to, or had no time, again and again


class Meaning(Struct, frozen=True):
    """A reason as people are told it."""

    words: str
    remedy: str = ""  # what to do about it on a command line


# By the names of reasons.
MEANINGS = {
    "ok": Meaning("a page"),
    "redirect": Meaning("leads elsewhere"),
    "http_error": Meaning("the server answered with an error"),
    "sitemap": Meaning("a sitemap"),
    "checked": Meaning("a link to outside, checked"),
    "dns": Meaning("its name has no address"),
    "connect": Meaning("no connection could be made"),
    "tls": Meaning("no secure connection could be made"),
    "timeout": Meaning("no answer in time"),
    "too_slow": Meaning("the answer came too slowly"),
    "too_large": Meaning("it is larger than is taken"),
    "incomplete": Meaning("the answer broke off"),
    "decode": Meaning("its compression is broken"),
    "protocol": Meaning("the answer is no HTTP"),
    "blocked_address": Meaning(
        "its address must not be reached from here",
        "--allow-private and --allow-address say what may be",
    ),
    "bad_redirect": Meaning("it leads to no place"),
    "not_wanted": Meaning("its kind is not wanted"),
    "crash": Meaning("what was to read or to show it broke down"),
    "cancelled": Meaning("it was called off"),
    "settle": Meaning("what a picture had to wait for did not come"),
    "capture": Meaning("the browser gave no picture"),
    "oom": Meaning("it takes more memory than a browser may have"),
    "download": Meaning("it is a file to be saved, no page"),
    "dialogs": Meaning("it opens dialogs without end"),
    "no_element": Meaning("nothing on it matches the selector"),
    "busy": Meaning("no browser was free in time"),
    "proxy": Meaning("the proxy could not be reached, or refused"),
    "out_of_scope": Meaning("outside of what the crawl is about", "--scope widens that"),
    "excluded": Meaning(
        "left out by a pattern", "--include, --exclude and --sitemap only say what is"
    ),
    "depth": Meaning("further from the start than the crawl goes", "--depth is how far"),
    "budget": Meaning("its host gave as many pages as wanted", "--max-pages-per-host is how many"),
    "trap": Meaning(
        "its pattern brought nothing new any more", "--no-trap-budgets would follow it"
    ),
    "robots": Meaning("robots.txt does not allow it"),
    "robots_unreachable": Meaning("robots.txt could not be read", "freki retry tries again"),
    "nofollow": Meaning("links to it say nofollow", "--obey-nofollow was given"),
    "too_many_redirects": Meaning(
        "too many redirects in a row led to it", "--max-redirects is how many"
    ),
    "host_down": Meaning(
        "its host could not be reached or had no time, again and again", "freki retry tries again"
    ),
}


# The outcomes that count as pages; redirects, sitemaps and checked links do not.
PAGES = frozenset({Reason.ok, Reason.http_error})


class Via(IntEnum):
    """How a URL was discovered. Stored like `Reason`."""

    seed = 0
    link = 1
    redirect = 2
    sitemap = 3
    canonical = 4
    frame = 5
    refresh = 6
    sitemap_file = 7  # is a sitemap itself
    external = 8  # leads outside, and is only checked
    robots_file = 9  # the rules of a host; no URL of a crawl, so never stored


class Link(Struct, frozen=True, gc=False, array_like=True):
    """A link of a page, as it is stored with the page."""

    url: str
    text: str = ""  # of the anchor, shortened
    rel: str = ""
    via: int = Via.link


class Request(Struct, frozen=True, gc=False, array_like=True):
    """What a request is beyond its address, where a program asked for it."""

    method: str = "GET"
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes = b""
    render: bool = False  # by a browser
    callback: str = ""  # the method of the spider that gets the answer
    state: bytes = b""  # what the program wants to know then: typed, as MessagePack
    mark: str = ""  # tells it from other requests to the same address


# The mark of a request to a URL that was redirected, and to which a redirect came back.
BACK = "back"


class Claim(Struct, frozen=True, gc=False):
    """A URL that was leased to us, and what the ledger knows of it."""

    id: int
    host: int
    url: str
    depth: int
    attempt: int = 1
    hops: int = 0  # redirects that led here; for a sitemap, sitemaps
    via: int = Via.link
    request: Request | None = None  # None is a plain GET
    proxy: str = ""  # set by a middleware, and stored nowhere


class HostRules(Struct, frozen=True):
    """What a host answered when it was asked for robots.txt."""

    host: int
    origin: str
    at: float  # when it was asked
    status: int  # after all redirects; 0 where there was no whole answer
    body: bytes = b""
    tries: int = 0  # in a row that gave no usable answer


class HostWork(Struct, frozen=True):
    """Claims of one host, and how it wants to be treated."""

    host: int
    origin: str
    claims: list[Claim]
    next_at: float = 0.0  # not before; seconds since the epoch
    delay: float | None = None  # learnt from its response times; None where nothing is known
    failures: int = 0  # connection failures in a row
    rules: HostRules | None = None


class Timings(Struct, frozen=True, gc=False, array_like=True):
    """Seconds since the start of the request, as libcurl counts them."""

    dns: float = 0.0
    connect: float = 0.0
    tls: float = 0.0
    first_byte: float = 0.0
    total: float = 0.0


class Response(Struct, frozen=True):
    """An HTTP answer, whole and decoded."""

    url: str
    status: int
    headers: tuple[tuple[str, str], ...]  # names lower-cased, in order of arrival
    body: bytes
    content_type: str = ""
    timings: Timings = Timings()
    wire_bytes: int = 0
    http: str = "1.1"
    address: str = ""
    cached: bool = False  # from our own cache: the host was not asked

    def header(self, name: str) -> str | None:
        """The first header of that name (lower-case)."""
        return next((value for key, value in self.headers if key == name), None)

    @property
    def location(self) -> str:
        """Where a redirect leads, as its server wrote it; empty where it does not say."""
        location = self.header("location") or ""
        with suppress(UnicodeError):
            # Browsers read this header as UTF-8; the bytes of headers are kept as Latin-1.
            return location.encode("latin-1").decode("utf-8")
        return location


class Failure(Struct, frozen=True, gc=False):
    """No usable answer. What the web does is a value, not an exception."""

    reason: Reason
    detail: str = ""
    timings: Timings = Timings()
    status: int = 0  # where an answer began


class Page(Struct, frozen=True):
    """What an answer says."""

    links: list[Link]
    title: str | None = None
    description: str | None = None
    canonical: str | None = None
    language: str | None = None
    charset: str | None = None
    noindex: bool = False
    nofollow: bool = False


class Asked(Struct, frozen=True, gc=False):
    """A URL that a program asks for."""

    url: str
    request: Request = Request()
    priority: int = 0  # the higher the sooner
    via: int = Via.link


class Discovery(Struct, frozen=True, gc=False):
    """A URL that a page revealed, and what the gate said."""

    url: str
    depth: int
    priority: int
    via: int = Via.link
    hops: int = 0
    parent: int | None = None  # the URL it was found on
    refused: Reason | None = None  # None is admitted
    detail: str = ""
    request: Request | None = None

    @property
    def place(self) -> str:
        """The URL, with its mark where there may be other requests to the same address."""
        request = self.request
        return f"{self.url}#{request.mark}" if request and request.mark else self.url


class Visit(Struct, frozen=True):
    """A fetched page as the ledger stores it."""

    at: float  # seconds since the epoch, when the answer was complete
    response: Response
    page: Page

    @property
    def url(self) -> str:
        return self.response.url

    @property
    def status(self) -> int:
        return self.response.status

    @property
    def body(self) -> bytes:
        return self.response.body

    @property
    def title(self) -> str | None:
        return self.page.title

    @property
    def links(self) -> list[Link]:
        return self.page.links


class Fate(IntEnum):
    """What became of an item. The numbers are stored."""

    kept = 0
    dropped = 1  # a pipeline said so, and why
    failed = 2  # a pipeline raised, or it could not be stored


class Item(Struct, frozen=True):
    """What a program took out of a page, as it is stored."""

    data: bytes  # JSON
    kind: str = ""  # the name of its type; a plain dict has none
    fate: Fate = Fate.kept
    detail: str = ""
    key: str | None = None  # a later item of the crawl with the same key is dropped


class Outcome(Struct, frozen=True):
    """What became of a claim: an end with its reason, or a date to try again."""

    claim: Claim
    state: State  # waiting means: try again at `due`
    reason: Reason
    detail: str = ""
    due: float = 0.0
    visit: Visit | None = None
    discoveries: list[Discovery] = []
    at: float = 0.0
    timings: Timings = Timings()
    items: list[Item] = []


class HostRest(Struct, frozen=True, gc=False):
    """How a host rests after what happened: stored, so that a resumed crawl keeps the promise."""

    host: int
    next_at: float
    delay: float | None = None
    failures: int = 0


class Batch(Struct, frozen=True):
    """What one commit makes durable, all of it or nothing."""

    at: float  # seconds since the epoch
    outcomes: list[Outcome] = []
    rests: list[HostRest] = []
    rules: list[HostRules] = []
    discoveries: list[Discovery] = []  # without a claim behind them: seeds, sitemaps
