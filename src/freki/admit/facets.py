"""Colours and sizes only multiply, topics and products are many: which parameters are facets?

    /shop?brand=3&colour=7&size=2&page=4    96,000 pages of some hundred products
    /viewtopic.php?f=3&t=48211&start=20     as many pages, and each is another

What tells them apart is how many values the richest parameter has, beside how many combinations.
"""

import math
from zlib import crc32

from freki.admit.shapes import shape

# Combinations that are always allowed, how many more for each value of the richest parameter, and
# for each path that looks the same: the listing of a category has pages, and an order or two.
COMBINATIONS = 1000
PER_VALUE = 20
PER_PATH = 50

# Values are told apart by a bit each. With so many set, it is an identifier and no facet.
_BITS = 256
_MANY = 240

# Parameters that are counted. A hostile site may invent any number.
_MAX_PARAMETERS = 16


class Facets:
    """The parameters of paths that look the same, in whatever sets they come. At most 3 KB."""

    __slots__ = ("_values", "combinations", "paths")

    def __init__(self) -> None:
        self._values: dict[str, int] = {}
        self.combinations = 0
        self.paths = 0

    def combine(self, query: str) -> bool:
        """Count this combination, or say that there are enough."""
        for pair in query.split("&")[:_MAX_PARAMETERS]:
            name, _, value = pair.partition("=")
            name = shape(name)
            if name in self._values or len(self._values) < _MAX_PARAMETERS:
                bit = 1 << crc32(value.encode()) % _BITS
                self._values[name] = self._values.get(name, 0) | bit
        if self.combinations >= COMBINATIONS and self.combinations >= self._limit():
            return False
        self.combinations += 1
        return True

    def _limit(self) -> float:
        richest = max(values.bit_count() for values in self._values.values())
        if richest >= _MANY:
            return math.inf
        return COMBINATIONS + PER_VALUE * richest + PER_PATH * self.paths
