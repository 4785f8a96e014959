"""Keeps the folder of a service from growing for ever."""

import asyncio

from freki.ledger.jobs import shift, upkeep
from freki.ledger.jobs.place import Desk
from freki.serve import logs
from freki.serve.terms import Terms

ROUND_EVERY = 30.0
SWEEP_EVERY = 20  # rounds

DAY = 86_400.0


async def clean(desk: Desk, terms: Terms) -> None:
    """Go round, for ever. Several may: what one has deleted, the other does not find."""
    number = 0
    while True:
        await asyncio.to_thread(round_, desk, terms, sweeping=number % SWEEP_EVERY == 0)
        number += 1
        await asyncio.sleep(ROUND_EVERY)


def round_(desk: Desk, terms: Terms, *, sweeping: bool) -> None:
    """Delete what is too old and what is too much."""
    now = desk.now()
    upkeep.delete_abandoned(desk)
    deleted = {
        "age": upkeep.delete_old(desk, now - terms.keep_days * DAY),
        "size": upkeep.delete_beyond(desk, terms.keep_gb * 2**30),
    }
    if sweeping:
        upkeep.forget_requests(desk, now)
        upkeep.trim_events(desk)
        deleted["orphan"] = upkeep.sweep(desk, now)
        desk.forget_texts(now - DAY)
    desk.settle()
    if any(deleted.values()):
        logs.event("deleted", **deleted)
        counts = {("deleted", why): float(count) for why, count in deleted.items()}
        shift.count(desk, "", 0, counts, now)
