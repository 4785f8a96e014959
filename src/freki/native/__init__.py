"""What is written in C, where the machine that Freki was installed on has a compiler.

Without it all works the same, and slower: whoever calls has another way.
"""

import ctypes
import threading
from array import array
from pathlib import Path

LIBRARY = Path(__file__).with_name("reader.so")

# A page of this many bytes is rare; the room for what is found in a longer one is not kept.
_KEPT = 1_000_000


class Native:
    """A library, as `scripts/native.py` makes it. Raises `OSError` for anything else."""

    def __init__(self, library: Path) -> None:
        # A PyDLL keeps the interpreter for itself: a page takes less time than to ask for it again.
        loaded = ctypes.PyDLL(str(library))
        text, room, size = ctypes.c_char_p, ctypes.c_void_p, ctypes.c_size_t
        self._read_page = loaded.freki_read_page
        self._read_page.argtypes = (text, size, room, room, size, room)
        self._read_words = loaded.freki_read_words
        self._read_words.argtypes = (text, size, room, size)
        self._read_words.restype = ctypes.c_long
        self._phrases = loaded.freki_phrases
        self._phrases.argtypes = (text, size, room, size, room, size)
        self._phrases.restype = ctypes.c_long
        self._fingerprint = loaded.freki_fingerprint
        self._fingerprint.argtypes = (room, size, ctypes.c_uint64)
        self._fingerprint.restype = ctypes.c_uint64
        self._kept = threading.local()

    def read_page(self, body: bytes) -> tuple[list[str], list[str]] | None:
        """What a page of UTF-8 names, and its anchors, as `found.h` has them.

        None where only the tree of the page can tell.
        """
        rooms = self._rooms(len(body))
        if not self._read_page(
            body, len(body), rooms.names, rooms.anchors, rooms.size, rooms.lengths
        ):
            return None
        start = rooms.size
        names, anchors = rooms.used
        return _fields(rooms.view[:names]), _fields(rooms.view[start : start + anchors])

    def read_words(self, body: bytes) -> str | None:
        """The words of a page of UTF-8, each text on its line; None as above."""
        rooms = self._rooms(len(body))
        length = self._read_words(body, len(body), rooms.names, rooms.size)
        return None if length < 0 else str(rooms.view[:length], "utf-8")

    def phrases(self, text: str, left_out: "array[int]", most: int) -> frozenset[int] | None:
        """`likeness.phrases`; None for a text that is made to take long this way."""
        raw = text.encode("utf-8", "replace")
        found = array("I", bytes(4 * most))
        count = self._phrases(
            raw, len(raw), left_out.buffer_info()[0], len(left_out),
            found.buffer_info()[0], most,
        )  # fmt: skip
        return frozenset(found[:count]) if count >= 0 else None

    def fingerprint(self, hashes: "array[int]", spread: int) -> int:
        """`likeness.fingerprint`."""
        return int(self._fingerprint(hashes.buffer_info()[0], len(hashes), spread))

    def _rooms(self, length: int) -> "_Rooms":
        if length > _KEPT:
            return _Rooms(length)
        rooms: _Rooms | None = getattr(self._kept, "rooms", None)
        if rooms is None:
            rooms = self._kept.rooms = _Rooms(_KEPT)
        return rooms


class _Rooms:
    """Where what is found is written to. A reference of five bytes may mean six."""

    __slots__ = ("_held", "anchors", "lengths", "names", "size", "used", "view")

    def __init__(self, length: int) -> None:
        self.size = size = 2 * length
        held = ctypes.create_string_buffer(2 * size)
        self.used = (ctypes.c_size_t * 2)()
        self.view = memoryview(held).cast("B")
        self._held = held
        # Addresses, which are handed over faster than what they are of.
        self.names = ctypes.addressof(held)
        self.anchors = self.names + size
        self.lengths = ctypes.addressof(self.used)


def _fields(room: memoryview) -> list[str]:
    fields = str(room, "utf-8").split("\0")
    fields.pop()
    return fields


def _load() -> Native | None:
    try:
        return Native(LIBRARY)
    except OSError:
        return None


HERE = _load()
