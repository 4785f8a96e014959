"""What becomes of an answer: done, tried again at a date, or failed because. Pure."""

from datetime import UTC
from email.utils import parsedate_to_datetime

from freki.messages import Claim, Failure, Reason, Response
from freki.steps import Verdict
from freki.url import join

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
        Reason.proxy,
    }
)

# The host was not reached at all: its other URLs would fare no better.
UNREACHED = frozenset({Reason.dns, Reason.connect, Reason.tls})

# RFC 9110 15.5.9, 15.6.1, 15.6.3-5 and RFC 6585 4: the server says that it may go better later.
PASSING_STATUS = frozenset({408, 429, 500, 502, 503, 504})

# The server says that it is we who are too much for it. It gets more time, and more tries: the
# page is there.
STRAINED_STATUS = frozenset({429, 503})
STRAINED_ATTEMPTS = 8
FIRST_PAUSE = 5.0

# A host that asks for more than an hour means tomorrow; it is asked again after an hour.
LONGEST_PAUSE = 3600.0

# What a URL may have to wait for: the pause of its host, and a retry with its jitter.
LONGEST_WAIT = LONGEST_PAUSE + 2 * LONGEST_RETRY

# Characters of a Location that leads nowhere; it may be megabytes of anything.
MAX_DETAIL = 200

REDIRECTS = frozenset({301, 302, 303, 307, 308})


def judge(
    claim: Claim, answer: Response | Failure, now: float, attempts: int, chance: float
) -> Verdict:
    """`chance` is a random number from 0 to 1: it spreads retries that would come together."""
    if isinstance(answer, Failure):
        return _of_failure(claim, answer, now, attempts, chance)
    if answer.status in STRAINED_STATUS:
        return _of_strain(claim, answer, now, attempts, chance)
    if answer.status in PASSING_STATUS and claim.attempt < attempts:
        detail = f"status {answer.status}"
        return Verdict(Reason.http_error, detail, retry_at=now + _backoff(claim, chance))
    if answer.status in REDIRECTS:
        return _of_redirect(claim, answer, now, attempts)
    if answer.status >= 400:
        return Verdict(Reason.http_error, f"status {answer.status}")
    return Verdict(Reason.ok)


def _of_failure(
    claim: Claim, failure: Failure, now: float, attempts: int, chance: float
) -> Verdict:
    unreached = failure.reason in UNREACHED
    if failure.reason in PASSING and claim.attempt < attempts:
        retry_at = now + _backoff(claim, chance)
        return Verdict(failure.reason, failure.detail, retry_at=retry_at, unreached=unreached)
    return Verdict(failure.reason, failure.detail, failed=True, unreached=unreached)


def _of_strain(claim: Claim, answer: Response, now: float, attempts: int, chance: float) -> Verdict:
    """The whole host pauses, for as long as it asks, within reason."""
    detail = f"status {answer.status}"
    pause = retry_after(answer.header("retry-after"), now)
    if pause is None:
        pause = FIRST_PAUSE * _doubled(claim)
    until = now + min(pause, LONGEST_PAUSE)
    if claim.attempt >= max(attempts, STRAINED_ATTEMPTS):
        return Verdict(Reason.http_error, detail, pause_until=until)
    retry_at = until + _backoff(claim, chance) / 10
    return Verdict(Reason.http_error, detail, retry_at=retry_at, pause_until=until)


def _of_redirect(claim: Claim, answer: Response, now: float, attempts: int) -> Verdict:
    told = answer.location
    target = join(answer.url, told) if told else None
    if target is None:
        detail = f"status {answer.status} leads to {told[:MAX_DETAIL] or 'nowhere'}"
        return Verdict(Reason.bad_redirect, detail, failed=True)
    if target == answer.url and answer.header("set-cookie") and claim.attempt < attempts:
        # To send a visitor back with a cookie is how many sites find out who keeps them.
        return Verdict(Reason.redirect, "to itself, with a cookie", retry_at=now)
    return Verdict(Reason.redirect, told)


def retry_after(value: str | None, now: float) -> float | None:
    """Seconds that a Retry-After header asks for (RFC 9110 10.2.3); None where it says nothing."""
    if not value:
        return None
    value = value.strip()
    if value.isascii() and value.isdigit():
        return float(value[:12])
    try:
        date = parsedate_to_datetime(value)
        if date.tzinfo is None:  # the zone "-0000"; our own is not meant
            date = date.replace(tzinfo=UTC)
        return max(0.0, date.timestamp() - now)
    except (ValueError, TypeError, IndexError, OverflowError):
        return None


def _backoff(claim: Claim, chance: float) -> float:
    return min(FIRST_RETRY * _doubled(claim), LONGEST_RETRY) * (0.75 + chance / 2)


def _doubled(claim: Claim) -> float:
    """1, 2, 4 and so on by attempt. Thousands of attempts may be set; more than a month is none."""
    return 2.0 ** min(claim.attempt - 1, 20)
