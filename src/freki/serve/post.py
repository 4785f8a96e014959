"""Brings messages to webhooks: signed, again after a failure, never anywhere but where they go."""

import asyncio
import hmac
import time
from hashlib import sha256

from freki.fetch.egress import Egress
from freki.fetch.post import post
from freki.ledger.jobs import events, shift
from freki.ledger.jobs.events import Delivery
from freki.ledger.jobs.place import Desk
from freki.serve import logs
from freki.serve.terms import Terms
from freki.version import __version__

LOOK_EVERY = 0.5
AT_ONCE = 8


async def bring(desk: Desk, terms: Terms) -> None:
    """Bring what is due, for ever. What one worker has in hand, no other one takes."""
    egress = Egress(terms.allow_private)
    while True:
        due = await asyncio.to_thread(events.due, desk, desk.now(), AT_ONCE)
        async with asyncio.TaskGroup() as group:
            for delivery in due:
                group.create_task(_bring(desk, delivery, egress))
        if len(due) < AT_ONCE:
            await asyncio.sleep(LOOK_EVERY)


async def _bring(desk: Desk, delivery: Delivery, egress: Egress) -> None:
    body = delivery.body.encode()
    answer = await asyncio.to_thread(post, delivery.url, body, headers(delivery), egress)
    arrived = isinstance(answer, int) and 200 <= answer < 300
    told = events.brought if arrived else events.not_brought
    await asyncio.to_thread(told, desk, delivery, str(answer), desk.now())
    outcome = "arrived" if arrived else "failed"
    counts = {("deliveries", outcome): 1.0}
    await asyncio.to_thread(shift.count, desk, "", 0, counts, desk.now())
    logs.event("delivery", job=delivery.job, kind=delivery.kind, outcome=str(answer))


def headers(delivery: Delivery) -> dict[str, str]:
    """What comes with a message. Who knows the secret sees that it is from us, and of now."""
    at = str(int(time.time()))
    return {
        "Content-Type": "application/json",
        "User-Agent": f"Freki/{__version__}",
        "Expect": "",
        "Freki-Event": delivery.kind,
        "Freki-Delivery": str(delivery.id),
        "Freki-Signature": f"t={at},v1={signature(delivery.secret, at, delivery.body)}",
    }


def signature(secret: str, at: str, body: str) -> str:
    """HMAC-SHA256 of the time, a dot and the body."""
    return hmac.new(secret.encode(), f"{at}.{body}".encode(), sha256).hexdigest()
