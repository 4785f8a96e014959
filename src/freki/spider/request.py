"""A request as a spider writes it, and as the ledger keeps it.

The ledger keeps requests over restarts and hands them to other processes, so everything in one
must be a value: a callback is kept by the name of its method, a state as MessagePack.
"""

from collections.abc import Callable, Mapping
from dataclasses import is_dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING, Generic, TypedDict, TypeVar

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from freki import messages
from freki.errors import BadSpider
from freki.fetch.asking import is_header
from freki.messages import Asked, Via
from freki.url import encode_form, join

if TYPE_CHECKING:
    from freki.spider.page import Page

S = TypeVar("S")

METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")

# RFC 9110 15.4: these two repeat the request as it was, all others go on with GET.
_REPEATED = (307, 308)

# The largest body or state that a request may carry: it is a row in the ledger.
MOST_BYTES = 1_000_000


class Request(Struct, Generic[S], frozen=True):
    """What a spider wants to be fetched, and which of its methods reads the answer.

    `form` and `json` make a body, and POST of GET. Two requests with the same address, method
    and body are one, and made once; a `key` tells them apart.
    """

    url: str
    callback: "Callable[[Page], object] | Callable[[Page, S], object] | str | None" = None
    state: S | None = None
    method: str = ""
    headers: Mapping[str, str] = {}
    body: bytes = b""
    json: object = None
    form: Mapping[str, str] | list[tuple[str, str]] | None = None
    priority: int = 0  # the higher the sooner
    render: bool = False
    key: str = ""


class Options(TypedDict, total=False):
    """What `page.follow` and `page.request` take beside address, callback and state."""

    method: str
    headers: Mapping[str, str]
    body: bytes
    json: object
    form: Mapping[str, str] | list[tuple[str, str]] | None
    priority: int
    render: bool
    key: str


def asked(request: "Request[object]", base: str, spider: object) -> Asked:
    """A request as the ledger keeps it; raises `BadSpider` for one that cannot be kept."""
    url = join(base, request.url) if base else join(request.url, request.url)
    if url is None:
        raise BadSpider(f"{request.url!r} is no address that can be crawled; it must be http(s)")
    method, kind, body = _body(request)
    kept = messages.Request(
        method,
        _headers(request.headers, kind),
        body,
        request.render,
        _name(request.callback, spider),
        packed(request.state),
    )
    return Asked(url, replace(kept, mark=_mark(kept, request.key)), request.priority)


def after_redirect(request: messages.Request, target: str, status: int) -> Asked:
    """The request that a redirect makes of another: with the same callback and state.

    What follows a form is a page of its own, whoever fetched that address before.
    """
    mark = f"after-{_digest(request.mark.encode())}" if request.mark else ""
    if status not in _REPEATED and request.method != "HEAD":
        headers = tuple(pair for pair in request.headers if not pair[0].startswith("content-"))
        request = replace(request, method="GET", body=b"", headers=headers)
    return Asked(target, replace(request, mark=mark), via=Via.redirect)


def _body(request: "Request[object]") -> tuple[str, str, bytes]:
    """Method, content type and body."""
    given = [name for name in ("body", "json", "form") if getattr(request, name)]
    if len(given) > 1:
        raise BadSpider(f"a request has one body; this one to {request.url!r} has {given}")
    kind, body = "", request.body
    if request.json is not None:
        kind, body = "application/json", msgspec.json.encode(request.json)
    elif request.form is not None:
        pairs = request.form.items() if isinstance(request.form, Mapping) else request.form
        kind, body = "application/x-www-form-urlencoded", encode_form(pairs).encode()
    method = request.method.upper() or ("POST" if kind or body else "GET")
    if method not in METHODS:
        raise BadSpider(f"the method {method!r} is none of {', '.join(METHODS)}")
    if body and method in ("GET", "HEAD"):
        raise BadSpider(f"a {method} has no body; give it another method, or leave the body out")
    if len(body) > MOST_BYTES:
        raise BadSpider(f"the body of a request may have {MOST_BYTES:,} bytes, not {len(body):,}")
    return method, kind, body


def _headers(given: Mapping[str, str], kind: str) -> tuple[tuple[str, str], ...]:
    for name, value in given.items():
        if not (isinstance(name, str) and isinstance(value, str) and is_header(name, value)):
            raise BadSpider(f"the header {name!r}: {value!r} cannot be sent: one line of ASCII")
    headers = {name.lower(): value for name, value in given.items()}
    if kind:
        headers.setdefault("content-type", kind)
    return tuple(headers.items())


def _name(callback: object, spider: object) -> str:
    """The name of a callback; only a method of the spider is found again after a restart."""
    if callback is None:
        return ""
    name = callback if isinstance(callback, str) else getattr(callback, "__name__", "")
    if callable(getattr(spider, name, None)):
        owner = getattr(callback, "__self__", spider)
        if isinstance(callback, str) or isinstance(spider, type(owner)):
            return str(name)
    raise BadSpider(
        f"a callback is a method of the spider, because the ledger keeps its name: "
        f"{type(spider).__name__} has no method {name or repr(callback)}; write callback=self.NAME"
    )


def packed(state: object) -> bytes:
    """A state as the ledger keeps it; raises `BadSpider` for one that cannot be kept."""
    if state is None:
        return b""
    try:
        packed = msgspec.msgpack.encode(state, enc_hook=_as_builtin)
    except (TypeError, ValueError, OverflowError) as error:
        raise BadSpider(
            f"the state of a request is kept in the ledger, and {type(state).__name__} cannot be: "
            f"{error}; use a dataclass, a msgspec or pydantic model, or plain values"
        ) from None
    if len(packed) > MOST_BYTES:
        raise BadSpider(f"the state of a request may have {MOST_BYTES:,} bytes once it is packed")
    return packed


def _as_builtin(value: object) -> object:
    """A pydantic model, without importing pydantic."""
    dump = getattr(value, "model_dump", None)
    if dump is None or is_dataclass(value):
        raise TypeError(f"{type(value).__name__} is no plain value")
    return dump(mode="json")


def unpacked(packed: bytes, kind: object) -> object:
    """A state as the callback wants it."""
    validate = getattr(kind, "model_validate", None)
    if validate is not None:
        return validate(msgspec.msgpack.decode(packed))
    return msgspec.msgpack.decode(packed, type=kind)


def _mark(request: messages.Request, key: str) -> str:
    if request.method == "GET" and not key:
        return ""
    told = msgspec.msgpack.encode((request.method, request.body, key))
    return f"{request.method.lower()}-{_digest(told)}"


def _digest(told: bytes) -> str:
    return blake2b(told, digest_size=8).hexdigest()
