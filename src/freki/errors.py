"""What we, or our user, did wrong. What the web does is a value: see `messages.Failure`.

FrekiError
├── BadInput            the caller must change something
│   ├── BadUrl          not a URL we can crawl
│   ├── BadConfig       an option or a configuration file
│   ├── BadSpider       the user's program
│   │   └── BadSelector   CSS or XPath that is none
│   ├── BadQuery        a statement that the database does not understand
│   ├── ExportUnwritable  a place where nothing can be written
│   └── MissingExtra    a part of Freki that is not installed
├── FetchFailed         the one page that was asked for could not be fetched
├── StoreError          the ledger's database
│   ├── StoreUnreachable  cannot be opened, created or written
│   ├── NotAStore       a file that is something else
│   ├── StoreTooNew     written by a later version of Freki
│   ├── StoreDamaged    the database says so itself
│   ├── StoreFull       no room on the device
│   └── StoreBusy       held by another process for too long
├── ExportFull          no room where an export goes
├── BrowserMissing      there is no browser here that could be used
├── CrawlRunning        another process works on this crawl
└── LeaseLost           our session was taken over; its late commits change nothing
"""

import errno
from typing import Final

# What a system says where a disk is full, or where its user may take no more of it.
NO_ROOM: Final = frozenset({errno.ENOSPC, errno.EDQUOT})


class FrekiError(Exception):
    """The root of all errors Freki raises on purpose. Its text is for the user."""


class BadInput(FrekiError):
    """The caller must change something."""


class BadUrl(BadInput):
    """Not a URL Freki can crawl."""


class BadConfig(BadInput):
    """An option or a configuration file is wrong."""


class BadSpider(BadInput):
    """The user's program does what no spider can do."""


class BadSelector(BadSpider):
    """A CSS selector or an XPath expression that cannot be used."""


class FetchFailed(FrekiError):
    """The one page that was asked for could not be fetched."""


class BadQuery(BadInput):
    """The database does not understand the statement, or may not do what it says."""


class ExportUnwritable(BadInput):
    """Nothing can be written there."""


class MissingExtra(BadInput):
    """A part of Freki that is not installed."""


class ExportFull(FrekiError):
    """There is no room left where an export goes."""


class StoreError(FrekiError):
    """The database of the ledger."""


class StoreUnreachable(StoreError):
    """The store cannot be opened, created or written."""


class NotAStore(StoreError):
    """The file is something else than a store of Freki."""


class StoreTooNew(StoreError):
    """The store was written by a later version of Freki."""


class StoreDamaged(StoreError):
    """The database reports that it is damaged."""


class StoreFull(StoreError):
    """There is no room left on the device of the store."""


class StoreBusy(StoreError):
    """Another process held the store for longer than we wait."""


class BrowserMissing(FrekiError):
    """There is no browser here, or it does not start."""


class CrawlRunning(FrekiError):
    """Another process works on this crawl."""


class LeaseLost(FrekiError):
    """The session was taken over by another worker; nothing of the batch was stored."""
