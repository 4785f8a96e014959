"""One URL through every step."""

from collections.abc import Awaitable, Callable

from msgspec import Struct

from freki.engine.pulse import Pulse
from freki.engine.rulebook import Answer, NoRulebook, Rulebook, Welcome
from freki.engine.sitemap import is_sitemap
from freki.ledger.buffered import Buffered
from freki.ledger.policy import Agenda
from freki.messages import PAGES, Claim, Failure, Outcome, Reason, Response, State, Via, Visit
from freki.steps import Exploration, Explore, Extract, Fetch, Gate, Verdict

Judge = Callable[[Claim, Response | Failure, float], Verdict]

Deliver = Callable[[Visit], Awaitable[None]]
"""Gets each page while the crawl runs; a slow one slows the crawl."""


class Steps(Struct, frozen=True):
    """What a journey goes through; `build.py` puts it together."""

    rulebook: NoRulebook | Rulebook
    fetch: Fetch
    extract: Extract
    read_sitemap: Extract
    gate: Gate
    judge: Judge
    agenda: Agenda
    ledger: Buffered
    pulse: Pulse
    clock: Callable[[], float]
    deliver: Deliver | None = None
    turn: Callable[[], Awaitable[None]] | None = None  # waits where the loop has others to serve
    explore: Explore | None = None


async def journey(claim: Claim, steps: Steps) -> None:
    """Carry one URL through every step, to exactly one outcome or a date to try again.

    The page, the links it reveals and the outcome go into one batch, so there is no moment at
    which one is stored without the others.
    """
    welcome = greet(claim, steps)
    match welcome.welcome:
        case Welcome.come_in:
            if (missing := steps.gate.probe(claim)) is not None:
                await ask_for_missing(missing, claim, steps)
                return
            answer = await steps.fetch(claim)
        case Welcome.ask_first:
            unreached = await ask_first(claim, steps)
            if unreached is None:
                return
            answer = unreached
        case _:
            await steps.ledger.room()
            stay_away(claim, welcome, steps)
            return
    now = steps.clock()
    verdict = steps.judge(claim, answer, now)
    explored = await explore(claim, answer, verdict, steps)
    await steps.ledger.room()
    if steps.turn is not None:
        await steps.turn()
    # Nothing awaits from here on: the gate skips links it has judged lately, so the page that
    # revealed them must be in the buffer before the next page is judged.
    visit = settle(claim, answer, Judged(now, verdict, explored), steps)
    if steps.deliver is not None and visit is not None:
        await steps.deliver(visit)


class Judged(Struct, frozen=True):
    """What there is to say about an answer."""

    at: float
    verdict: Verdict
    explored: Exploration | None = None


async def explore(
    claim: Claim, answer: Response | Failure, verdict: Verdict, steps: Steps
) -> Exploration | None:
    """What the user's program makes of an answer, if there is a program and this is the last."""
    if steps.explore is None or isinstance(answer, Failure) or verdict.failed:
        return None
    if verdict.retry_at is not None or claim.via in (Via.sitemap_file, Via.external):
        return None
    return await steps.explore(claim, answer)


def greet(claim: Claim, steps: Steps) -> Answer:
    """What the host says to a visit; one that could not be reached so often says nothing more."""
    if (trouble := steps.agenda.trouble(claim.host)) is not None:
        return Answer(Welcome.go_away, Reason.host_down, trouble)
    return steps.rulebook.welcome(claim, steps.clock())


async def ask_first(claim: Claim, steps: Steps) -> Failure | None:
    """Ask the host for its rules, while the claim waits; answers with what went wrong."""
    asked_at = steps.clock()
    rules = await steps.rulebook.ask(claim, steps.agenda.pause(claim.host))
    if isinstance(rules, Failure):
        return rules
    now = steps.clock()
    if (delay := steps.rulebook.crawl_delay(rules.origin)) is not None:
        steps.agenda.ask(claim.host, delay)
    sitemaps = [] if rules.tries else steps.rulebook.sitemaps(rules.origin)
    steps.ledger.put_rules(rules, steps.gate.sitemaps(sitemaps, claim))
    steps.agenda.put_back(claim, now, now - asked_at)
    return None


async def ask_for_missing(url: str, claim: Claim, steps: Steps) -> None:
    """See what the host says of a page that is not there; the claim waits for its next turn."""
    asked_at = steps.clock()
    probe = Claim(0, claim.host, url, claim.depth)
    if steps.rulebook.welcome(probe, asked_at).welcome is not Welcome.come_in:
        steps.agenda.put_back(claim, asked_at, 0.0)
        return
    answer = await steps.fetch(probe)
    if isinstance(answer, Response):
        steps.gate.learn_missing(answer)
    now = steps.clock()
    verdict = steps.judge(probe, answer, now)
    elapsed = None if verdict.unreached else now - asked_at
    steps.agenda.put_back(claim, now, elapsed, verdict.pause_until)


def stay_away(claim: Claim, welcome: Answer, steps: Steps) -> None:
    """The host does not want this visit, or not now."""
    now = steps.clock()
    later = welcome.welcome is Welcome.later
    state = State.waiting if later else State.refused
    steps.agenda.give_up(claim, welcome.until)
    outcome = Outcome(claim, state, welcome.reason, welcome.detail, welcome.until, at=now)
    steps.ledger.put(outcome, steps.agenda.rest(claim.host) if later else None)
    steps.pulse.note(claim, None, outcome)


def settle(claim: Claim, answer: Response | Failure, judged: Judged, steps: Steps) -> Visit | None:
    """Let the host rest, hand the outcome on; answers with the page, if any."""
    now, verdict = judged.at, judged.verdict
    elapsed = None if verdict.unreached else answer.timings.total
    address = answer.address if isinstance(answer, Response) else ""
    if isinstance(answer, Response) and answer.cached:
        steps.agenda.give_up(claim)  # nobody was asked, so nobody has to rest
        rest = steps.agenda.rest(claim.host)
    else:
        rest = steps.agenda.settle(claim, now, elapsed, verdict.pause_until, address)
    outcome = conclude(claim, answer, judged, steps)
    paused = verdict.unreached or verdict.pause_until
    steps.ledger.put(outcome, rest if paused else None)
    steps.pulse.note(claim, answer, outcome)
    return outcome.visit if outcome.reason in PAGES else None


def conclude(claim: Claim, answer: Response | Failure, judged: Judged, steps: Steps) -> Outcome:
    """The outcome a verdict asks for, with what the page says where there is one."""
    timings, now, verdict = answer.timings, judged.at, judged.verdict
    if verdict.retry_at is not None:
        return Outcome(
            claim, State.waiting, verdict.reason, verdict.detail, verdict.retry_at,
            at=now, timings=timings,
        )  # fmt: skip
    if verdict.failed or isinstance(answer, Failure):
        return Outcome(claim, State.failed, verdict.reason, verdict.detail, at=now, timings=timings)
    explored = judged.explored
    if explored is not None:
        return found(claim, answer, judged, explored, steps)
    reason, read = verdict.reason, steps.extract
    if is_list(claim, answer):
        reason, read = Reason.sitemap, steps.read_sitemap
    elif claim.via != Via.external:
        steps.gate.learn(answer, claim)
    else:
        reason = Reason.checked
    page = read(answer)
    detail = verdict.detail or (page.title or "" if reason is Reason.sitemap else "")
    return Outcome(
        claim, State.done, reason, detail,
        visit=Visit(now, answer, page),
        discoveries=[*steps.gate.admit(page, claim), *steps.gate.returned(answer, page, claim)],
        at=now, timings=timings,
    )  # fmt: skip


def is_list(claim: Claim, answer: Response) -> bool:
    """Whether the answer is read for the URLs it lists. A start URL may be a sitemap or feed."""
    if claim.via == Via.sitemap_file:
        return True
    return claim.depth == 0 and claim.via in (Via.seed, Via.redirect) and is_sitemap(answer)


def found(
    claim: Claim, answer: Response, judged: Judged, explored: Exploration, steps: Steps
) -> Outcome:
    """The outcome of a page that a program has read. Where it failed, nothing of it is stored."""
    now, timings = judged.at, answer.timings
    if explored.error:
        return Outcome(claim, State.failed, Reason.crash, explored.error, at=now, timings=timings)
    steps.gate.learn(answer, claim)
    page = explored.page
    discoveries = steps.gate.ask(explored.asked, page, claim)
    discoveries += steps.gate.returned(answer, page, claim)
    if explored.follows:
        discoveries += steps.gate.admit(page, claim)
    return Outcome(
        claim, State.done, judged.verdict.reason, judged.verdict.detail,
        visit=Visit(now, answer, page), discoveries=discoveries,
        at=now, timings=timings, items=explored.items,
    )  # fmt: skip
