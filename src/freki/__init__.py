"""Freki crawls web sites, loses nothing and explains every URL.

    admit -> ledger -> fetch -> extract -> ledger

A URL is admitted or refused, waits in the ledger until its host may be asked again, is fetched,
and what its page says goes back into the ledger with the outcome, in one transaction. Each step
is a folder; `engine` runs them, `steps` holds their contracts and `messages` what they exchange.
"""

from typing import TYPE_CHECKING

from freki.version import __version__ as __version__

__all__ = ["crawl", "run"]

if TYPE_CHECKING:
    from freki.api import crawl as crawl
    from freki.api import run as run


def __getattr__(name: str) -> object:
    """The API is imported when it is used: the command line's help does without it."""
    if name in __all__:
        from importlib import import_module  # noqa: PLC0415 - see above

        return getattr(import_module("freki.api"), name)
    raise AttributeError(f"module 'freki' has no attribute {name!r}")
