"""Exit codes are part of the interface."""

import pytest

from freki import errors
from freki.cli.exits import Exit, of_error


def test_the_codes_are_those_of_the_documentation() -> None:
    assert {code.name: code.value for code in Exit} == {
        "finished": 0,
        "bug": 1,
        "bad_input": 2,
        "store_unreachable": 3,
        "storage_full": 4,
        "browser_missing": 5,
        "crawl_running": 6,
        "nothing_fetched": 7,
        "limit_reached": 8,
        "interrupted": 130,
        "interrupted_at_once": 131,
    }


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (errors.BadUrl(), Exit.bad_input),
        (errors.BadConfig(), Exit.bad_input),
        (errors.NotAStore(), Exit.store_unreachable),
        (errors.StoreBusy(), Exit.store_unreachable),
        (errors.StoreDamaged(), Exit.store_unreachable),
        (errors.StoreTooNew(), Exit.store_unreachable),
        (errors.StoreUnreachable(), Exit.store_unreachable),
        (errors.StoreFull(), Exit.storage_full),
        (errors.BrowserMissing(), Exit.browser_missing),
        (errors.CrawlRunning(), Exit.crawl_running),
        (errors.LeaseLost(), Exit.bug),
    ],
)
def test_every_error_has_its_code(error: errors.FrekiError, code: Exit) -> None:
    assert of_error(error) == code
