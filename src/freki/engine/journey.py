"""One URL through every step."""

from collections.abc import Awaitable, Callable

from msgspec import Struct

from freki.engine.pulse import Pulse
from freki.ledger.buffered import Buffered
from freki.ledger.policy import Agenda
from freki.messages import Claim, Failure, Outcome, Response, State, Visit
from freki.steps import Extract, Fetch, Gate, Verdict

Deliver = Callable[[Visit], Awaitable[None]]
"""Gets each page while the crawl runs; a slow one slows the crawl."""

Judge = Callable[[Claim, Response | Failure, float], Verdict]


class Steps(Struct, frozen=True):
    """What a journey goes through; `build.py` puts it together."""

    fetch: Fetch
    extract: Extract
    gate: Gate
    judge: Judge
    agenda: Agenda
    ledger: Buffered
    pulse: Pulse
    clock: Callable[[], float]
    deliver: Deliver | None = None


async def journey(claim: Claim, steps: Steps) -> None:
    """Carry one URL through every step, to exactly one outcome or a date to try again.

    The page, the links it reveals and the outcome go into one batch, so there is no moment at
    which one is stored without the others.
    """
    answer = await steps.fetch(claim)
    await steps.ledger.room()
    # Nothing awaits from here on: the gate skips links it has judged lately, so the page that
    # revealed them must be in the buffer before the next page is judged.
    now = steps.clock()
    verdict = steps.judge(claim, answer, now)
    outcome = settled(claim, answer, verdict, now, steps)
    heard = isinstance(answer, Response)
    rest = steps.agenda.settle(claim, now, answer.timings.total if heard else -1.0)
    steps.ledger.put(outcome, None if heard else rest)
    steps.pulse.note(claim, answer, outcome)
    if steps.deliver is not None and outcome.visit is not None:
        await steps.deliver(outcome.visit)


def settled(
    claim: Claim, answer: Response | Failure, verdict: Verdict, now: float, steps: Steps
) -> Outcome:
    """The outcome a verdict asks for, with what the page says where there is one."""
    timings = answer.timings
    if verdict.retry_at is not None:
        return Outcome(
            claim, State.waiting, verdict.reason, verdict.detail, verdict.retry_at,
            at=now, timings=timings,
        )  # fmt: skip
    if verdict.failed or isinstance(answer, Failure):
        return Outcome(claim, State.failed, verdict.reason, verdict.detail, at=now, timings=timings)
    page = steps.extract(answer)
    return Outcome(
        claim, State.done, verdict.reason, verdict.detail,
        visit=Visit(now, answer, page),
        discoveries=steps.gate.admit(page.links, claim),
        at=now, timings=timings,
    )  # fmt: skip
