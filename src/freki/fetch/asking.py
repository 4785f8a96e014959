"""A request that is more than an address, told to libcurl: method, headers, body, proxy.

Handles are used again and again, so whatever is told here is taken back by `plain`.
"""

import re
from collections.abc import Sequence

import pycurl

from freki.messages import Claim, Failure, Reason, Request, Response

# RFC 9110 5.1 and 5.5; a line end in a value would be another header.
_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_BROKEN = re.compile(r"[\x00\r\n]")

# RFC 9110 15.5.8: it is the proxy that wants credentials.
_PROXY_ASKS = 407


def ask(curl: pycurl.Curl, claim: Claim, standard: Sequence[str]) -> None:
    """Tell a handle what this request is; `standard` are the headers of every request."""
    request = claim.request or Request()
    if request.method == "HEAD":
        curl.setopt(pycurl.NOBODY, 1)
    elif request.body or request.method != "GET":
        curl.setopt(pycurl.POSTFIELDS, request.body)
        curl.setopt(pycurl.CUSTOMREQUEST, request.method)
    curl.setopt(pycurl.HTTPHEADER, headers(request, standard))
    if claim.proxy:
        curl.setopt(pycurl.PROXY, claim.proxy)
    if claim.proxy.startswith("http") and claim.url.startswith("http:"):
        # RFC 9112 3.2.2: such a proxy is told the whole address; the others make a tunnel.
        curl.setopt(pycurl.REQUEST_TARGET, claim.url)


def plain(curl: pycurl.Curl, standard: Sequence[str]) -> None:
    """Make a handle fit for a plain GET again."""
    curl.unsetopt(pycurl.CUSTOMREQUEST)
    curl.setopt(pycurl.POSTFIELDS, b"")
    curl.setopt(pycurl.NOBODY, 0)
    curl.setopt(pycurl.HTTPGET, 1)
    curl.setopt(pycurl.HTTPHEADER, list(standard))
    curl.setopt(pycurl.PROXY, "")


def headers(request: Request, standard: Sequence[str]) -> list[str]:
    """The lines of a request: its own in place of the standard ones."""
    own = {name.lower() for name, _ in request.headers}
    lines = [line for line in standard if line.partition(":")[0].lower() not in own]
    # "name;" is libcurl's word for a header without a value; without a value it is left out.
    lines += [f"{name}: {value}" if value else f"{name};" for name, value in request.headers]
    # libcurl would ask first whether a large body is welcome, and call every body a form.
    lines.append("Expect:")
    if "content-type" not in own:
        lines.append("Content-Type:")
    return lines


def is_header(name: str, value: str) -> bool:
    """Whether a header can be sent as it is."""
    return bool(_NAME.fullmatch(name)) and not _BROKEN.search(value) and value.isascii()


def blamed(answer: Response | Failure, proxy: str) -> Response | Failure:
    """An answer that came through a proxy: what is the proxy's fault is not the host's."""
    if isinstance(answer, Response):
        if answer.status != _PROXY_ASKS:
            return answer
        return Failure(Reason.proxy, f"{shown(proxy)} asks for credentials", answer.timings)
    ours = answer.reason in (Reason.dns, Reason.connect) or "proxy" in answer.detail.lower()
    if not ours and "CONNECT tunnel" not in answer.detail:
        return answer
    return Failure(Reason.proxy, f"{shown(proxy)}: {answer.detail}", answer.timings)


def shown(proxy: str) -> str:
    """A proxy without its credentials."""
    scheme, mark, rest = proxy.rpartition("://")
    return f"{scheme}{mark}{rest.rpartition('@')[2]}"
