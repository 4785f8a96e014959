"""Crawls over HTTP: begun, looked up, paused, changed, deleted."""

from hashlib import sha256
from typing import Annotated, Any

import msgspec
from fastapi import APIRouter, Header, Query
from starlette.responses import Response

from freki.ledger.crawls import default_name
from freki.ledger.jobs.keys import Key
from freki.ledger.jobs.orders import Job, Order, Repeat
from freki.ledger.jobs.retries import Anew
from freki.serve.answers import (
    CrawlAnswer,
    CrawlList,
    DeliveryList,
    RetryAnswer,
    crawl_answer,
    delivery_answer,
    json,
    part,
)
from freki.serve.callers import Books, Reader, Submitter
from freki.serve.gate import refuse_private
from freki.serve.office import Office, changed
from freki.serve.problems import documented
from freki.serve.requests import (
    CrawlChange,
    CrawlRequest,
    JobListing,
    Listing,
    RetryRequest,
    class_of,
    hook_of,
    seeds_of,
    settings_of,
    shown,
)
from freki.serve.shapes import model_of

routes = APIRouter(prefix="/crawls", tags=["crawls"])

IdempotencyKey = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        min_length=1,
        max_length=255,
        pattern=r"^[\x21-\x7e]+$",
        description="the same key and body again get the same answer, and begin nothing twice",
    ),
]

A_CRAWL = {"model": model_of(CrawlAnswer)}
TAKING = documented(
    "bad_json", "too_large", "not_json", "invalid", "bad_url", "blocked_address",
    "idempotency_mismatch", "quota_pages", "quota_queued", "quota_day", "queue_full", "slow_body",
)  # fmt: skip
RETRYING = documented(
    "bad_json", "not_found", "slow_body", "nothing_to_retry", "secrets_dropped", "too_large",
    "not_json", "invalid", "bad_url", "blocked_address", "quota_queued", "quota_day", "queue_full",
)  # fmt: skip
MISSING = documented("not_found", "invalid")
GOING = documented("not_found", "has_ended")


@routes.post("", status_code=202, responses={202: A_CRAWL, **TAKING})
def begin_a_crawl(
    asked: CrawlRequest,  # type: ignore[valid-type]  # made from the options
    office: Books,
    caller: Submitter,
    idempotency_key: IdempotencyKey = None,
) -> Response:
    """Begin a crawl. It waits until its turn has come, and goes on until nothing is left."""
    order = crawl_order(asked, caller, office)
    accepted = office.accept(order, caller, repeat_of(idempotency_key, asked))
    return started(accepted.job, office, repeated=accepted.repeated)


@routes.get("", responses={200: {"model": model_of(CrawlList)}, **documented("invalid")})
def list_crawls(wanted: Annotated[JobListing, Query()], office: Books, caller: Reader) -> Response:
    """Your crawls, newest first."""
    before = int(wanted.cursor) if wanted.cursor else None
    jobs = office.jobs(caller, "crawl", wanted.state, before, wanted.limit + 1)
    public = office.terms.public_url
    rows = [(job.seq, crawl_answer(job, public)) for job in jobs]
    query = {"state": wanted.state} if wanted.state else {}
    return json(part(f"{public}/crawls", rows, wanted.limit, query))


@routes.get("/{id}", responses={200: A_CRAWL, **MISSING})
def read_a_crawl(id: str, office: Books, caller: Reader) -> Response:
    """A crawl, with its sums as they were told last."""
    return answered(office.job(caller, id, "crawl"), office)


@routes.post("/{id}/pause", responses={200: A_CRAWL, **GOING})
def pause_a_crawl(id: str, office: Books, caller: Submitter) -> Response:
    """Let it rest. Requests under way end first."""
    return answered(office.pause(office.job(caller, id, "crawl")), office)


@routes.post("/{id}/resume", responses={200: A_CRAWL, **GOING})
def resume_a_crawl(id: str, office: Books, caller: Submitter) -> Response:
    """Let a paused one go on, where it stopped."""
    return answered(office.resume(office.job(caller, id, "crawl")), office)


@routes.post("/{id}/cancel", responses={200: A_CRAWL, **GOING})
def cancel_a_crawl(id: str, office: Books, caller: Submitter) -> Response:
    """End it. What it has found stays."""
    return answered(office.cancel(office.job(caller, id, "crawl")), office)


@routes.post(
    "/{id}/retry",
    responses={200: {"model": model_of(RetryAnswer)}, **RETRYING},
)
def retry_a_class(
    id: str,
    asked: RetryRequest,
    office: Books,
    caller: Submitter,
) -> Response:
    """Have URLs that ended alike tried again; a crawl that has ended goes on with them.

    What was stored of them is dropped when it does. A paused crawl stays paused.
    """
    hook = hook_of(asked.webhook)
    if hook is not None:
        refuse_private([hook.url], office.terms)
    job = office.job(caller, id, "crawl")
    job, urls = office.retry(job, class_of(asked), caller, Anew(hook))
    return json(RetryAnswer(urls, crawl_answer(job, office.terms.public_url)))


@routes.patch("/{id}", responses={200: A_CRAWL, **GOING, **TAKING})
def change_a_crawl(
    id: str,
    asked: CrawlChange,  # type: ignore[valid-type]  # made from the options
    office: Books,
    caller: Submitter,
) -> Response:
    """Other limits. A crawl under way takes them over within seconds, and loses nothing."""
    job = office.job(caller, id, "crawl")
    given = settings_of(asked, caller)
    request = {**job.request, **shown(asked)}
    return answered(office.change(job, changed(job, given), request), office)


@routes.delete("/{id}", status_code=204, responses=MISSING)
def delete_a_crawl(id: str, office: Books, caller: Submitter) -> Response:
    """End it if need be, and delete everything it has found."""
    office.delete(office.job(caller, id, "crawl"))
    return Response(status_code=204)


@routes.get("/{id}/deliveries", responses={200: {"model": model_of(DeliveryList)}, **MISSING})
def list_deliveries(
    id: str,
    wanted: Annotated[Listing, Query()],
    office: Books,
    caller: Reader,
) -> Response:
    """The messages to the crawl's webhook, and what became of them."""
    job = office.job(caller, id)
    lines = office.deliveries(job, int(wanted.cursor or 0), wanted.limit + 1)
    rows = [(line.id, delivery_answer(line)) for line in lines]
    path = f"{office.terms.public_url}/crawls/{id}/deliveries"
    return json(part(path, rows, wanted.limit, {}))


def crawl_order(asked: Any, caller: Key, office: Office) -> Order:  # of a model made at run time
    """A request for a crawl as it stands in the books."""
    seeds = seeds_of(asked.urls)
    hook = hook_of(asked.webhook)
    refuse_private([*seeds, *([hook.url] if hook else [])], office.terms)
    settings = settings_of(asked, caller)
    if asked.max_pages is None:
        settings.setdefault("scope", {})["max_pages"] = caller.quotas.pages_per_job
    return Order(
        kind="crawl",
        name=asked.name or default_name(seeds[0]),
        request=shown(asked),
        seeds=seeds,
        settings=settings,
        hook=hook,
        pages=asked.max_pages,
    )


def repeat_of(key: str | None, asked: Any) -> Repeat | None:
    """How a caller says that this is the same request again."""
    if key is None:
        return None
    return Repeat(key, sha256(msgspec.json.encode(asked.model_dump())).digest())


def started(job: Job, office: Office, *, repeated: bool) -> Response:
    """The answer to a request for a crawl."""
    headers = {"Location": f"{office.terms.public_url}/crawls/{job.id}"}
    if repeated:
        headers["Idempotency-Replayed"] = "true"
    return json(crawl_answer(job, office.terms.public_url), 202, headers)


def answered(job: Job, office: Office) -> Response:
    return json(crawl_answer(job, office.terms.public_url))
