"""One page, without a crawl and without a store."""

from collections.abc import Sequence
from contextlib import closing

from freki.config import Settings
from freki.engine.build import GRACE, cache
from freki.engine.verdict import REDIRECTS
from freki.fetch.http import Http
from freki.fetch.middleware import compose, with_deadline
from freki.messages import Claim, Failure, Reason, Request, Response
from freki.steps import Middleware
from freki.url import join


async def fetch_one(
    url: str, request: Request | None, settings: Settings, around: Sequence[Middleware] = ()
) -> Response | Failure:
    """What answers at a URL, redirects followed. Nobody is asked whether robots may."""
    polite = settings.politeness
    http = Http(settings.fetching, polite.full_agent, polite.requests_per_host)
    deadline = with_deadline(settings.fetching.timeout + GRACE)
    fetch = compose(http.fetch, *around, *cache(settings), deadline)
    with closing(http):
        claim = Claim(0, 0, url, 0, request=request)
        for _ in range(settings.fetching.max_redirects + 1):
            answer = await fetch(claim)
            target = _target(answer)
            if target is None:
                return answer
            claim = Claim(0, 0, target, 0, request=_onward(claim.request, answer))
        return Failure(Reason.too_many_redirects, f"more than {settings.fetching.max_redirects}")


def _target(answer: Response | Failure) -> str | None:
    if isinstance(answer, Failure) or answer.status not in REDIRECTS:
        return None
    return join(answer.url, answer.header("location") or "") if answer.header("location") else None


def _onward(request: Request | None, answer: Response | Failure) -> Request | None:
    """RFC 9110 15.4: only 307 and 308 send a body again; credentials go nowhere else."""
    if request is None or (isinstance(answer, Response) and answer.status in (307, 308)):
        return request
    return None
