"""What is told of a failure: which messages are alike, and how SQL finds them.

Messages of failures tell sizes and times; those that differ in numbers only are one class. Of an
answer that is an error the number is its status, and says all.
"""

import re
from typing import Final

# Characters by which a message is known.
LENGTH: Final = 120

_NUMBER = re.compile(r"[0-9]+")
_SPECIAL = re.compile(r"[%_!]")


def key(message: str) -> str:
    """The same for messages that are alike."""
    return _NUMBER.sub("#", message)


def as_it_is(message: str | None) -> str | None:
    """For LIKE with `!` as its escape: details that begin so."""
    if message is None:
        return None
    return _SPECIAL.sub(r"!\g<0>", message) + ("%" if len(message) >= LENGTH else "")


def but_for_numbers(message: str | None) -> str | None:
    """The same with any numbers."""
    like = as_it_is(message)
    return None if like is None else _NUMBER.sub("%", like)
