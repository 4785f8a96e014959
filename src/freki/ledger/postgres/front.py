"""Where the line of hosts that are due begins, for who claims from it again and again. Pure."""

# Seconds for which a host that is new, and so the first in line, may be passed over.
AFRESH = 1.0


class Front:
    """The date from which on hosts are looked at.

    What was taken lately stays in the index of the line, as dead entries before all others, until
    nobody may see it any more. Who took all hosts up to a date begins behind it the next time.
    """

    def __init__(self) -> None:
        self._looked_at = self._begins = float("-inf")

    def at(self, now: float) -> float:
        """Hosts from this date on are looked at; now and then it is all, for those that are new."""
        if not 0.0 <= now - self._looked_at < AFRESH:
            self._looked_at, self._begins = now, float("-inf")
        return self._begins

    def move(self, last: float | None) -> None:
        """The date of the last host that was found, or None where there were fewer than wanted."""
        if last is None:
            self._looked_at = float("-inf")
        else:
            self._begins = last
