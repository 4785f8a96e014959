"""A worker and nothing else: `python work.py STORE LEASE`, on the crawl that was begun last.

It differs from `freki crawl` in what the tests need: it joins a crawl that another process
works on, its leases are as short as they say, and its main thread writes nothing.
"""

import asyncio
import sys
from contextlib import closing

from freki.engine.build import worker
from freki.ledger.crawls import newest
from freki.ledger.place import Place, place
from freki.ledger.store import read_store


async def work(store: Place, lease: float) -> None:
    with closing(read_store(store)) as db:
        crawl = newest(db)
    assert crawl is not None
    async with worker(crawl, store, crawl.seeds, crawl.settings, lease=lease) as (working, _):
        await working.run()


if __name__ == "__main__":
    asyncio.run(work(place(sys.argv[1]), float(sys.argv[2])))
