"""Memory with a bound: what was not asked for lately is forgotten."""

from collections.abc import Iterator
from hashlib import blake2b
from typing import Generic, TypeVar

from rbloom import Bloom

# Each costs 2.4 bytes at one false "seen" in ten thousand.
_ERROR = 1e-4

_Value = TypeVar("_Value")


class Lately(Generic[_Value]):
    """A dictionary of at most twice `room` entries: two generations, of which the older goes."""

    __slots__ = ("_new", "_old", "_room")

    def __init__(self, room: int) -> None:
        self._room = room
        self._new: dict[str, _Value] = {}
        self._old: dict[str, _Value] = {}

    def __len__(self) -> int:
        return len(self._new) + len(self._old)

    def get(self, key: str) -> _Value | None:
        value = self._new.get(key)
        if value is None and (value := self._old.pop(key, None)) is not None:
            self.put(key, value)
        return value

    def put(self, key: str, value: _Value) -> None:
        if len(self._new) >= self._room:
            self._old, self._new = self._new, {}
        self._new[key] = value


class Seen:
    """A set of at least the last `room` texts, by their hashes. It errs once in ten thousand."""

    __slots__ = ("_left", "_new", "_old", "_room")

    def __init__(self, room: int) -> None:
        self._room = self._left = room
        self._new = Bloom(room, _ERROR)
        self._old = Bloom(1, _ERROR)

    def __contains__(self, text: str | bytes) -> bool:
        number = _number(text)
        return number in self._new or number in self._old

    def add(self, text: str | bytes) -> None:
        if self._left == 0:
            self._old, self._new = self._new, Bloom(self._room, _ERROR)
            self._left = self._room
        self._new.add(_number(text))
        self._left -= 1


def _number(text: str | bytes) -> int:
    """The same in every process, as Python's own hash of a text is not."""
    data = text.encode("utf-8", "replace") if isinstance(text, str) else text
    return int.from_bytes(blake2b(data, digest_size=8).digest(), "big")
