"""What was agreed on for a crawl, as far as its ledger keeps it."""

from msgspec import Struct


class Terms(Struct, frozen=True):
    """What of a crawl's settings the ledger needs."""

    max_pages: int | None = None
    max_pages_per_host: int | None = None
    max_depth: int | None = None
    exclusive: bool = True  # a host belongs to one worker at a time
    rest: float = 1.0  # seconds a host rests when its worker died
    per_host: int = 16  # claims of one host at once
    lease: float = 30.0
    keep: str = "all"
    longest: float = 90_000.0  # seconds that a host or a URL may have to wait for its date
