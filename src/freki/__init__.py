"""Freki crawls web sites, loses nothing and explains every URL.

    admit -> ledger -> fetch -> extract -> ledger

A URL is admitted or refused, waits in the ledger until its host may be asked again, is fetched,
and what its page says goes back into the ledger with the outcome, in one transaction. Each step
is a folder; `engine` runs them, `steps` holds their contracts and `messages` what they exchange.
"""

import sys
from types import ModuleType
from typing import TYPE_CHECKING

from freki.version import __version__ as __version__

__all__ = [
    "Drop",
    "Page",
    "Request",
    "Selection",
    "Spider",
    "Stored",
    "Summary",
    "basic_auth",
    "batch",
    "bearer",
    "collect",
    "cookies",
    "crawl",
    "dedupe",
    "fetch",
    "headers",
    "proxies",
    "rate_limit",
    "run",
    "validate",
]

if TYPE_CHECKING:
    from freki.api import Drop as Drop
    from freki.api import Page as Page
    from freki.api import Request as Request
    from freki.api import Selection as Selection
    from freki.api import Spider as Spider
    from freki.api import Stored as Stored
    from freki.api import Summary as Summary
    from freki.api import basic_auth as basic_auth
    from freki.api import batch as batch
    from freki.api import bearer as bearer
    from freki.api import collect as collect
    from freki.api import cookies as cookies
    from freki.api import crawl as crawl
    from freki.api import dedupe as dedupe
    from freki.api import fetch as fetch
    from freki.api import headers as headers
    from freki.api import proxies as proxies
    from freki.api import rate_limit as rate_limit
    from freki.api import run as run
    from freki.api import validate as validate


class _Freki(ModuleType):
    """`freki.fetch` is the function of the API, not the folder with the same name."""

    def __setattr__(self, name: str, value: object) -> None:
        if not (name == "fetch" and isinstance(value, ModuleType)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Freki


def __getattr__(name: str) -> object:
    """The API is imported when it is used: the command line's help does without it."""
    if name in __all__:
        from importlib import import_module  # noqa: PLC0415 - see above

        return getattr(import_module("freki.api"), name)
    raise AttributeError(f"module 'freki' has no attribute {name!r}")
