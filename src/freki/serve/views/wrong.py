"""What is wrong with a site: failures by reason, broken links, redirects, what is slow or twice."""

from fastapi import APIRouter, Request
from msgspec import Struct
from pydantic import ValidationError
from starlette.responses import Response

from freki.ledger import read, site
from freki.ledger import retry as retrying
from freki.ledger.jobs.keys import Key
from freki.ledger.jobs.orders import Job
from freki.ledger.retry import Alike
from freki.ledger.story import MAX_MOTHERS
from freki.messages import Reason
from freki.serve.callers import Books
from freki.serve.office import Office, Results
from freki.serve.problems import Problem
from freki.serve.requests import RetryRequest, class_of
from freki.serve.views.shell import go_to, page
from freki.serve.views.visitors import Doer, Form, Visitor

routes = APIRouter(prefix="/app/crawls/{id}", include_in_schema=False)

# Of each kind so many are shown, and so many rows are looked at: a page is answered in a second.
SHOWN = 50
OF_PAGES = 20


class Family(Struct):
    """URLs that failed for one reason: how many in all, and the largest groups of them."""

    reason: str
    count: int
    groups: list[Alike]


class Findings(Struct):
    """What was found; lists are cut, sums are not."""

    families: list[Family]
    broken: list[tuple[str, int, str | None]]  # URL, status, a page that links to it
    redirects: list[tuple[str, str]]
    slow: list[site.Slow]
    twins: list[site.Twins]
    traps: dict[str, int]


@routes.get("/wrong")
def wrong(request: Request, id: str, office: Books, visitor: Visitor) -> Response:
    """Everything a site's owner would mend."""
    return shown(request, office, visitor, office.job(visitor, id))


@routes.post("/retry")
def retry(request: Request, id: str, office: Books, visitor: Doer, form: Form) -> Response:
    """Have what failed alike tried again."""
    job = office.job(visitor, id, "crawl")
    try:
        asked = RetryRequest.model_validate(_as_sent(form))
        _, urls = office.retry(job, class_of(asked), visitor)
    except ValidationError as error:
        told = "; ".join(f"{each['loc'][0]}: {each['msg']}" for each in error.errors()[:3])
        return shown(request, office, visitor, job, told)
    except Problem as problem:
        told = problem.detail or problem.reason
        return shown(request, office, visitor, job, told, problem.status)
    return go_to(f"/app/crawls/{id}?retried={urls}")


def _as_sent(form: dict[str, str]) -> dict[str, str]:
    """Browsers end every line of a form by CR LF, however it was ended."""
    return {name: text.replace("\r\n", "\n") for name, text in form.items()}


def shown(
    request: Request, office: Office, visitor: Key, job: Job, told: str = "", code: int = 422
) -> Response:
    """What was found, and what went wrong with what was asked."""
    with office.results(job) as found:
        findings = _look(found) if found else Findings([], [], [], [], [], {})
    may_retry = job.kind == "crawl" and visitor.may("submit")
    return page(
        request, "wrong.html", code if told else 200,
        job=job, here="wrong", findings=findings, most=MAX_MOTHERS, may_retry=may_retry, wrong=told,
    )  # fmt: skip


def _look(found: Results) -> Findings:
    db, crawl = found.db, found.crawl.id
    errors = read.Filter(reason=Reason.http_error, limit=SHOWN)
    moved = read.Filter(reason=Reason.redirect, limit=SHOWN)
    broken = [row for _, row in read.numbered_urls(db, crawl, errors)]
    return Findings(
        families(retrying.failures(db, crawl, SHOWN), read.status(db, crawl).reasons),
        [(row.url, row.status or 0, row.parent) for row in broken],
        [(row.url, row.detail or "") for _, row in read.numbered_urls(db, crawl, moved)],
        site.slowest(db, crawl, OF_PAGES),
        site.twins(db, crawl, OF_PAGES),
        read.traps(db, crawl),
    )


def families(alike: list[Alike], reasons: dict[str, dict[str, int]]) -> list[Family]:
    """Failures by reason, the most frequent first; sums are whole where groups are cut."""
    sums = {reason: count for found in reasons.values() for reason, count in found.items()}
    by_reason: dict[str, Family] = {}
    for group in alike:
        family = Family(group.reason, sums.get(group.reason, 0), [])
        by_reason.setdefault(group.reason, family).groups.append(group)
    return sorted(by_reason.values(), key=lambda family: -family.count)
