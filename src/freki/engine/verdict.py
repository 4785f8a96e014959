"""What becomes of an answer: done, tried again at a date, or failed because. Pure."""

from freki.messages import Claim, Failure, Reason, Response
from freki.steps import Verdict

# The first pause before a retry, doubled each time. A URL that failed twice in three seconds
# rarely comes back in ten, and a host in trouble is paused as a whole.
FIRST_RETRY = 1.0
LONGEST_RETRY = 300.0

# What a second attempt may heal.
PASSING = frozenset(
    {
        Reason.dns,
        Reason.connect,
        Reason.timeout,
        Reason.too_slow,
        Reason.incomplete,
        Reason.protocol,
    }
)

# RFC 9110 15.5.9, 15.6.1, 15.6.3-5 and RFC 6585 4: the server says that it may go better later.
PASSING_STATUS = frozenset({408, 429, 500, 502, 503, 504})

REDIRECTS = frozenset({301, 302, 303, 307, 308})


def judge(
    claim: Claim, answer: Response | Failure, now: float, attempts: int, chance: float
) -> Verdict:
    """`chance` is a random number from 0 to 1: it spreads retries that would come together."""
    last = claim.attempt >= attempts
    if isinstance(answer, Failure):
        if answer.reason in PASSING and not last:
            return Verdict(answer.reason, answer.detail, retry_at=_later(claim, now, chance))
        return Verdict(answer.reason, answer.detail, failed=True)
    if answer.status in PASSING_STATUS and not last:
        detail = f"status {answer.status}"
        return Verdict(Reason.http_error, detail, retry_at=_later(claim, now, chance))
    if answer.status in REDIRECTS:
        target = answer.header("location")
        if not target:
            return Verdict(Reason.bad_redirect, f"status {answer.status} without a Location", failed=True)
        return Verdict(Reason.redirect, target)
    if answer.status >= 400:
        return Verdict(Reason.http_error, f"status {answer.status}")
    return Verdict(Reason.ok)


def _later(claim: Claim, now: float, chance: float) -> float:
    pause = min(FIRST_RETRY * 2.0 ** (claim.attempt - 1), LONGEST_RETRY)
    return now + pause * (0.75 + chance / 2)
