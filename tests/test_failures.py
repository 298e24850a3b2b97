from __future__ import annotations

import pytest
from scrapy import Request
from scrapy.exceptions import (
    CannotResolveHostError,
    DownloadCancelledError,
    DownloadConnectionRefusedError,
    DownloadFailedError,
    DownloadTimeoutError,
    IgnoreRequest,
    ResponseDataLossError,
)

from sitemapcrawl.downloadermiddlewares.body import ResponseTooLargeError
from sitemapcrawl.failures import explain


@pytest.mark.parametrize(
    ("exception", "words", "limit"),
    [
        (DownloadTimeoutError("x"), "within 30 s (3 tries); the option fetch_timeout", None),
        (CannotResolveHostError("no results"), "could not be resolved: no results (3 tries)", None),
        (DownloadConnectionRefusedError("111: Connection refused."), "refused: 111: Connection refused (3 tries)", None),
        (DownloadFailedError("[SSL: WRONG_VERSION_NUMBER]"), "failed: [SSL: WRONG_VERSION_NUMBER]", None),
        (ResponseDataLossError(), "before the whole response had arrived (3 tries)", None),
        (ResponseTooLargeError("the response is larger than 5 bytes"), "larger than 5 bytes", "max_response_size"),
        (DownloadCancelledError("download max size (5)"), "max_response_size", "max_response_size"),
        (IgnoreRequest("exceeded DOWNLOAD_MAXSIZE (5 B)"), "unpacked", "max_response_size"),
        (IgnoreRequest("max redirections reached"), "too many redirects", None),
        (IgnoreRequest("Forbidden by robots.txt"), "Forbidden by robots.txt", None),
        (ValueError("odd\nthing"), "ValueError: odd thing", None),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else "",
)
def test_failure_is_told_in_a_sentence(exception: Exception, words: str, limit: str | None) -> None:
    request = Request("http://example.com/", meta={"retry_times": 2, "download_timeout": 30.0})
    explanation = explain(exception, request)
    assert words in explanation.message
    assert explanation.limit == limit
    assert "\n" not in explanation.message


def test_reasons_of_twisted_and_openssl_are_readable() -> None:
    class FailedError(Exception):
        reasons = (Exception([("SSL routines", "", "certificate verify failed")]),)

    error = DownloadFailedError("[<twisted.python.failure.Failure ...>]")
    error.__cause__ = FailedError()
    message = explain(error, Request("https://example.com/")).message
    assert message == "the connection failed: TLS: certificate verify failed"
