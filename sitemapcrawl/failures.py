"""What to say about a request that failed: one sentence in English, and the limit if one was reached."""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING, NamedTuple

from scrapy.exceptions import (
    CannotResolveHostError,
    DownloadCancelledError,
    DownloadConnectionRefusedError,
    DownloadFailedError,
    DownloadTimeoutError,
    IgnoreRequest,
    ResponseDataLossError,
    UnsupportedURLSchemeError,
)

from sitemapcrawl.downloadermiddlewares.body import DamagedResponseError, ResponseTooLargeError

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.http import Response

# Why a crawl was cut short, by the name that Scrapy has for it.
REASONS = {
    "shutdown": "it was interrupted",
    "closespider_timeout": "the time of CLOSESPIDER_TIMEOUT was up",
    "closespider_itemcount": "CLOSESPIDER_ITEMCOUNT was reached",
    "closespider_pagecount": "CLOSESPIDER_PAGECOUNT was reached",
    "closespider_errorcount": "CLOSESPIDER_ERRORCOUNT was reached",
    "memusage_exceeded": "the memory of MEMUSAGE_LIMIT_MB was used up",
    "start_error": "its start failed",
    "not_saved": "its state could not be saved in JOBDIR",
    "not_written": "what it delivered could not be written",
    "replaced": "another worker has taken its name",
}


class Explanation(NamedTuple):
    """The message of an error, and the option whose limit was reached."""

    message: str
    limit: str | None = None


def explain(exception: BaseException, request: Request) -> Explanation:
    """Return why *request* failed with *exception*."""
    tries = request.meta.get("retry_times", 0) + 1
    after = f" ({tries} tries)" if tries > 1 else ""
    if isinstance(exception, ResponseTooLargeError):
        return Explanation(str(exception), "max_response_size")
    if isinstance(exception, DownloadCancelledError) and "max size" in str(exception):
        return Explanation("the response is larger than max_response_size allows", "max_response_size")
    if isinstance(exception, IgnoreRequest):
        return _ignored(exception)
    if isinstance(exception, DownloadTimeoutError):
        seconds = request.meta.get("download_timeout", 0)
        return Explanation(f"no complete response within {seconds:g} s{after}; the option fetch_timeout gives it more")
    if isinstance(exception, DamagedResponseError):
        return Explanation(str(exception))
    for kind, message in _MESSAGES:
        if isinstance(exception, kind):
            return Explanation(message + _detail(exception) + after)
    return Explanation(f"the request failed: {type(exception).__name__}{_detail(exception)}{after}")


_MESSAGES: tuple[tuple[type[BaseException], str], ...] = (
    (CannotResolveHostError, "the name of the host could not be resolved"),
    (DownloadConnectionRefusedError, "the connection was refused"),
    (ResponseDataLossError, "the connection was closed before the whole response had arrived"),
    (UnsupportedURLSchemeError, "only http and https URLs are requested"),
    (DownloadFailedError, "the connection failed"),
    (DownloadCancelledError, "the download was cancelled"),
)


def _ignored(exception: IgnoreRequest) -> Explanation:
    text = str(exception)
    if text == "max redirections reached":
        return Explanation("too many redirects, 10 in a row are followed")
    if "DOWNLOAD_MAXSIZE" in text:  # of HttpCompressionMiddleware, for other encodings than gzip
        return Explanation("the response is larger than max_response_size allows once it is unpacked", "max_response_size")
    return Explanation(f"the request was not sent: {text}" if text else "the request was not sent")


def _detail(exception: BaseException) -> str:
    """Return what Twisted or the operating system has to say, in a line, after a colon."""
    reasons = getattr(exception.__cause__, "reasons", None) or getattr(exception, "reasons", None)
    if reasons:
        texts = dict.fromkeys(_text(getattr(reason, "value", reason)) for reason in reasons)
    else:
        texts = dict.fromkeys([_text(exception)])
    detail = "; ".join(text for text in texts if text)
    return f": {detail[:300]}" if detail else ""


def _text(exception: BaseException) -> str:
    arguments = exception.args[0] if exception.args else ""
    if isinstance(arguments, list) and arguments and isinstance(arguments[0], tuple):  # pyOpenSSL: [(library, function, reason)]
        return "TLS: " + ", ".join(str(entry[-1]) for entry in arguments)
    text = " ".join(str(exception).split()).rstrip(".")
    return "" if text in {"()", "[]"} else text


def explain_status(response: Response) -> str:
    """Return why *response*, whose status is not 200, is no document."""
    status = response.status
    try:
        message = f"status {status} {HTTPStatus(status).phrase}"
    except ValueError:
        message = f"status {status}"
    location = response.headers.get("Location")
    if 300 <= status < 400 and location:
        message += f": the redirect to {location.decode('latin-1')!r} is not followed"
    return message
