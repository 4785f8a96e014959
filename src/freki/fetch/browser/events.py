"""What is heard of a page, as far as we look at it: DevTools' events, and what they mean."""

from msgspec import Raw, Struct, json

from freki.messages import Reason


class Frame(Struct, rename="camel", frozen=True):
    """A frame that has a new document."""

    id: str = ""
    loader_id: str = ""
    parent_id: str = ""
    url: str = ""


class FrameNavigated(Struct, frozen=True):
    """Page.frameNavigated."""

    frame: Frame = Frame()


class Lifecycle(Struct, rename="camel", frozen=True):
    """Page.lifecycleEvent."""

    frame_id: str = ""
    loader_id: str = ""
    name: str = ""


class Asked(Struct, frozen=True):
    """A request."""

    url: str = ""


class Answered(Struct, frozen=True):
    """An answer."""

    url: str = ""
    status: int = 0


class WillBeSent(Struct, rename="camel", frozen=True):
    """Network.requestWillBeSent."""

    request_id: str = ""
    frame_id: str = ""
    type: str = ""
    request: Asked = Asked()


class Headed(Struct, frozen=True):
    """A request with its headers."""

    url: str = ""
    headers: dict[str, str] = {}


class Paused(Struct, rename="camel", frozen=True):
    """Fetch.requestPaused."""

    request_id: str = ""
    request: Headed = Headed()
    resource_type: str = ""
    frame_id: str = ""


class ResponseReceived(Struct, rename="camel", frozen=True):
    """Network.responseReceived."""

    request_id: str = ""
    loader_id: str = ""
    frame_id: str = ""
    type: str = ""
    response: Answered = Answered()


class Finished(Struct, rename="camel", frozen=True):
    """Network.loadingFinished, and with more fields loadingFailed."""

    request_id: str = ""
    error_text: str = ""
    blocked_reason: str = ""
    canceled: bool = False


class DataReceived(Struct, rename="camel", frozen=True):
    """Network.dataReceived."""

    data_length: int = 0
    encoded_data_length: int = 0


class Said(Struct, frozen=True):
    """An argument of a call of the console."""

    value: object = None
    description: str = ""


class Console(Struct, frozen=True):
    """Runtime.consoleAPICalled."""

    type: str = ""
    args: list[Said] = []


class Thrown(Struct, frozen=True):
    """The details of an exception."""

    text: str = ""
    exception: Said = Said()


class ExceptionThrown(Struct, rename="camel", frozen=True):
    """Runtime.exceptionThrown."""

    exception_details: Thrown = Thrown()


class TargetInfo(Struct, rename="camel", frozen=True):
    """A page, a frame or a worker."""

    target_id: str = ""
    type: str = ""
    browser_context_id: str = ""


class TargetCreated(Struct, rename="camel", frozen=True):
    """Target.targetCreated."""

    target_info: TargetInfo = TargetInfo()


class TargetEnded(Struct, rename="camel", frozen=True):
    """Target.targetCrashed and targetDestroyed."""

    target_id: str = ""
    status: str = ""


class Download(Struct, rename="camel", frozen=True):
    """Browser.downloadWillBegin."""

    frame_id: str = ""
    suggested_filename: str = ""


def message_of(raw: Raw, thrown: bool) -> str:
    """What the console was told, or what was thrown, in one line; "" where it is no error."""
    if thrown:
        details = json.decode(raw, type=ExceptionThrown).exception_details
        return f"{details.text} {details.exception.description}".strip()
    told = json.decode(raw, type=Console)
    if told.type not in ("error", "assert"):
        return ""
    return " ".join(str(said.value or said.description) for said in told.args)


# Words of Chromium's network stack (net_error_list.h), the first that begins so.
_MEANING = (
    ("ERR_NAME_", Reason.dns),
    ("ERR_DNS_", Reason.dns),
    ("ERR_CONNECTION_TIMED_OUT", Reason.timeout),
    ("ERR_TIMED_OUT", Reason.timeout),
    ("ERR_CERT_", Reason.tls),
    ("ERR_SSL_", Reason.tls),
    ("ERR_BAD_SSL", Reason.tls),
    ("ERR_BLOCKED_BY", Reason.blocked_address),
    ("ERR_UNSAFE_PORT", Reason.blocked_address),
    ("ERR_ACCESS_DENIED", Reason.blocked_address),
    ("ERR_DISALLOWED_URL_SCHEME", Reason.blocked_address),
    ("ERR_UNKNOWN_URL_SCHEME", Reason.blocked_address),
    ("ERR_INVALID_URL", Reason.bad_redirect),
    ("ERR_UNSAFE_REDIRECT", Reason.bad_redirect),
    ("ERR_TOO_MANY_REDIRECTS", Reason.bad_redirect),
    ("ERR_INVALID_REDIRECT", Reason.bad_redirect),
    ("ERR_EMPTY_RESPONSE", Reason.incomplete),
    ("ERR_INCOMPLETE", Reason.incomplete),
    ("ERR_CONTENT_LENGTH_MISMATCH", Reason.incomplete),
    ("ERR_CONTENT_DECODING", Reason.decode),
    ("ERR_INVALID_", Reason.protocol),
    ("ERR_HTTP", Reason.protocol),
    ("ERR_QUIC", Reason.protocol),
    ("ERR_RESPONSE_HEADERS_", Reason.protocol),
    ("ERR_ABORTED", Reason.protocol),
    ("ERR_INSUFFICIENT_RESOURCES", Reason.oom),
    ("ERR_OUT_OF_MEMORY", Reason.oom),
)


def reason_of(error: str) -> Reason:
    """What Chromium's word for a failed navigation means; what is not listed is `connect`."""
    word = error.removeprefix("net::")
    return next((reason for begins, reason in _MEANING if word.startswith(begins)), Reason.connect)
