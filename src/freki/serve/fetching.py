"""One page now: a crawl of a single page, and perhaps a look at it."""

from collections.abc import Mapping
from contextlib import closing
from typing import Any

import msgspec
from msgspec import structs

from freki.ledger import captures, crawls
from freki.ledger.jobs.orders import Result
from freki.ledger.store import open_store
from freki.pictures import Shot
from freki.serve import errands
from freki.serve.browsers import Browsers
from freki.serve.errands import Errand

# The options that make a crawl one of a single page.
ONE_PAGE: Mapping[str, dict[str, object]] = {
    "scope": {"scope": "site", "max_pages": 1, "sitemap": "no", "depth": 0, "trap_budgets": False},
    "fetching": {"attempts": 1},
}


async def fetch(browsers: Browsers, errand: Errand) -> Result:
    """The page, and where it was wished for a picture of it."""
    plan = errand.job.settings.get("plan")
    crawl = {part: fields for part, fields in errand.job.settings.items() if part != "plan"}
    errand.job = structs.replace(errand.job, settings=crawl)
    result = await errands.crawl(browsers, errand)
    if result.state == "done" and plan is not None:
        await _look(browsers, errand, plan)
    return result


async def _look(browsers: Browsers, errand: Errand, plan: Mapping[str, Any]) -> None:
    shot = msgspec.convert({**plan, "url": errand.job.seeds[0]}, Shot, strict=False)
    # The crawl has asked the host already.
    seen = await browsers.look(shot, ask=False)
    store = errand.terms.place.store_of(errand.job.crawl)
    with closing(open_store(store, durability="power")) as db:
        crawl = crawls.find(db, errand.job.crawl)
        assert crawl is not None
        captures.store(db, errand.desk.now(), seen, crawl.id)
