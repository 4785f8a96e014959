"""Exit codes: part of the interface, on a page of the documentation, one test each."""

from enum import IntEnum

from freki import errors


class Exit(IntEnum):
    """How a command ended, for scripts."""

    finished = 0
    bug = 1
    bad_input = 2
    store_unreachable = 3
    storage_full = 4
    browser_missing = 5
    crawl_running = 6
    nothing_fetched = 7
    limit_reached = 8
    interrupted = 130  # drained; the shell's code for Ctrl-C
    interrupted_at_once = 131


def of_error(error: errors.FrekiError) -> Exit:
    """The code of an error that ends a command."""
    return next((code for kind, code in _CODES if isinstance(error, kind)), Exit.bug)


# The first that fits: a full store is a store as well.
_CODES: tuple[tuple[type[errors.FrekiError], Exit], ...] = (
    (errors.StoreFull, Exit.storage_full),
    (errors.ExportFull, Exit.storage_full),
    (errors.StoreError, Exit.store_unreachable),
    (errors.BrowserMissing, Exit.browser_missing),
    (errors.CrawlRunning, Exit.crawl_running),
    (errors.FetchFailed, Exit.nothing_fetched),
    (errors.BadInput, Exit.bad_input),
)
