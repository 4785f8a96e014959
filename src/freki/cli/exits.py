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
    match error:
        case errors.StoreFull() | errors.ExportFull():
            return Exit.storage_full
        case errors.StoreError():
            return Exit.store_unreachable
        case errors.BrowserMissing():
            return Exit.browser_missing
        case errors.CrawlRunning():
            return Exit.crawl_running
        case errors.BadInput():
            return Exit.bad_input
        case _:
            return Exit.bug
