from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from scrapy import Request, Spider
from scrapy.exceptions import DownloadConnectionRefusedError, DownloadTimeoutError
from scrapy.utils.test import get_crawler

from sitemapcrawl.downloadermiddlewares.retry import PatientRetryMiddleware


def tries(*exceptions: type[Exception], given: bool = False, **settings: Any) -> list[float]:
    """Return the seconds that each try gets when the ones before it fail with *exceptions*."""
    crawler = get_crawler(Spider, {"RETRY_TIMES": 2, **settings})
    crawler.spider = crawler._create_spider("any")
    crawler.spider.options = SimpleNamespace(given={"fetch_timeout"} if given else set())  # type: ignore[attr-defined]
    middleware = PatientRetryMiddleware.from_crawler(crawler)
    request: Any = Request("http://example.com/", meta={"download_timeout": 3.0})
    seconds = []
    for exception in (*exceptions, None):
        seconds.append(request.meta["download_timeout"])
        if exception is not None:
            request = middleware.process_exception(request, exception())
            if request is None:
                break
    return seconds


def test_tries_after_a_time_out_have_more_time() -> None:
    assert tries(DownloadTimeoutError, DownloadTimeoutError, DownloadTimeoutError) == [3, 10, 30]


def test_other_failures_do_not_ask_for_more_time() -> None:
    assert tries(DownloadConnectionRefusedError, DownloadTimeoutError) == [3, 3, 10]


def test_given_timeout_holds_for_every_try() -> None:
    assert tries(DownloadTimeoutError, DownloadTimeoutError, given=True) == [3, 3, 3]


def test_timeout_of_the_project_holds_for_every_try() -> None:
    assert tries(DownloadTimeoutError, DownloadTimeoutError, DOWNLOAD_TIMEOUT=3) == [3, 3, 3]
