"""Colours and sizes only multiply, topics and products are many: which parameters are facets?

    /shop?brand=3&colour=7&size=2&page=4    96,000 pages of some hundred products
    /viewtopic.php?f=3&t=48211&start=20     as many pages, and each is another

What tells them apart is how many values the richest parameter has, beside how many combinations.
"""

from zlib import crc32

from freki.admit.shapes import shape

# Combinations that any path may have, and how many more for each value of its richest parameter.
COMBINATIONS = 1000
PER_VALUE = 20

# Values are told apart by a bit each. With so many set, it is an identifier and no facet.
_BITS = 256
_MANY = 240

# Parameters that are counted. A hostile site may invent any number.
_MAX_PARAMETERS = 16


class Facets:
    """The parameters of one path, in whatever sets they come. At most 3 KB."""

    __slots__ = ("_values", "combinations")

    def __init__(self) -> None:
        self._values: dict[str, int] = {}
        self.combinations = 0

    @property
    def richest(self) -> int:
        """How many values the parameter with most of them has, nearly."""
        return max(values.bit_count() for values in self._values.values())

    def combine(self, query: str) -> bool:
        """Count this combination, or say that there are enough."""
        for pair in query.split("&")[:_MAX_PARAMETERS]:
            name, _, value = pair.partition("=")
            name = shape(name)
            if name in self._values or len(self._values) < _MAX_PARAMETERS:
                bit = 1 << crc32(value.encode()) % _BITS
                self._values[name] = self._values.get(name, 0) | bit
        if self.combinations >= COMBINATIONS:
            richest = self.richest
            if richest < _MANY and self.combinations >= COMBINATIONS + PER_VALUE * richest:
                return False
        self.combinations += 1
        return True
