"""What is answered instead of what was asked for: problem+json (RFC 9457), with a reason."""

from collections.abc import Sequence
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct
from starlette.responses import Response

# Every reason that an answer can give: its status, and what it says in general.
REASONS: dict[str, tuple[int, str]] = {
    "bad_request": (400, "The request cannot be understood"),
    "bad_json": (400, "The body is not valid JSON"),
    "no_key": (401, "An API key is needed"),
    "bad_key": (401, "This API key lets nobody in"),
    "scope": (403, "This API key may not do that"),
    "blocked_address": (403, "This address is not reached from here"),
    "foreign_host": (403, "The service is not called by this name"),
    "cross_site": (403, "Pages of other sites may not do that"),
    "not_found": (404, "There is no such thing, or it is not yours"),
    "method": (405, "This cannot be done with it"),
    "slow_body": (408, "The body did not arrive in time"),
    "has_ended": (409, "It has ended"),
    "nothing_to_retry": (409, "No URL has ended so"),
    "secrets_dropped": (409, "Its secrets were deleted when it ended"),
    "not_ready": (409, "It is not there yet"),
    "too_large": (413, "The body is too large"),
    "not_json": (415, "The body must be JSON"),
    "invalid": (422, "A field is wrong"),
    "bad_url": (422, "This is no URL that can be crawled"),
    "idempotency_mismatch": (409, "The Idempotency-Key belongs to another request"),
    "quota_pages": (422, "The job is larger than you may have"),
    "quota_queued": (429, "Too many of your jobs are waiting"),
    "quota_day": (429, "You have used what you may have in a day"),
    "too_many_streams": (429, "Too many event streams are open"),
    "too_many_exports": (429, "Too many exports are being written"),
    "head_too_large": (431, "The head of the request is too large"),
    "bug": (500, "Something went wrong here"),
    "busy": (503, "Too many requests are being answered"),
    "queue_full": (503, "The service has as much to do as it can"),
    "storage": (503, "The store cannot be read or written now"),
    "not_fetched": (502, "The page could not be fetched"),
    "deadline": (504, "It took longer than you wanted to wait"),
}

MEDIA_TYPE = "application/problem+json"


class FieldError(Struct, frozen=True, omit_defaults=True):
    """What is wrong with a field of a request."""

    field: str
    message: str
    nearest: str | None = None  # what was probably meant


class ProblemAnswer(Struct, frozen=True, omit_defaults=True):
    """What is said of a request that failed."""

    type: str
    title: str
    status: int
    reason: Annotated[str, Meta(description="one word, stable, for programs")]
    detail: str = ""
    errors: list[FieldError] = []
    request_id: str = ""


class Problem(Exception):
    """Ends the handling of a request with an answer that tells why."""

    def __init__(
        self,
        reason: str,
        detail: str = "",
        errors: Sequence[FieldError] = (),
        retry_after: int | None = None,
    ) -> None:
        super().__init__(reason, detail)
        self.reason = reason
        self.detail = detail
        self.errors = errors
        self.retry_after = retry_after

    @property
    def status(self) -> int:
        return REASONS[self.reason][0]

    def response(self, request_id: str = "") -> Response:
        status, title = REASONS[self.reason]
        answer = ProblemAnswer(
            "about:blank", title, status, self.reason, self.detail, list(self.errors), request_id
        )
        headers: dict[str, str] = {}
        if self.retry_after is not None:
            headers["Retry-After"] = str(self.retry_after)
        if status == 401:
            headers["WWW-Authenticate"] = 'Bearer realm="freki"'
        return Response(msgspec.json.encode(answer), status, headers, MEDIA_TYPE)


def documented(*reasons: str) -> dict[int | str, dict[str, Any]]:
    """The answers of a route that are problems, for the OpenAPI document."""
    found: dict[int | str, dict[str, Any]] = {}
    for reason in reasons:
        status, title = REASONS[reason]
        told = f"`{reason}`: {title}."
        if status in found:
            found[status]["description"] += f" {told}"
        else:
            schema = {"$ref": "#/components/schemas/Problem"}
            found[status] = {"description": told, "content": {MEDIA_TYPE: {"schema": schema}}}
    return found
