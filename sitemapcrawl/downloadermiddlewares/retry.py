"""Try again what failed in a way that may pass, with more patience where time was what lacked."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy.downloadermiddlewares.retry import RetryMiddleware
from scrapy.exceptions import DownloadTimeoutError

from sitemapcrawl import default_settings

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Self

    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response

TIMEOUTS = "sitemapcrawl_timeouts"


class PatientRetryMiddleware(RetryMiddleware):
    """Scrapy's, but a request that timed out gets :setting:`SITEMAPCRAWL_TIMEOUT_RETRIES` (seconds) when it is tried again.

    The first try is short, so that a dead server costs little; the next are long, so that a slow one is read. Where the
    option ``fetch_timeout`` is given, it holds for every try.
    """

    timeouts: Sequence[float] = ()

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        middleware = super().from_crawler(crawler)
        options = getattr(crawler.spider, "options", None)
        given = options is None or "fetch_timeout" in options.given
        # A project that sets DOWNLOAD_TIMEOUT itself means it, too.
        if not given and (crawler.settings.getpriority("DOWNLOAD_TIMEOUT") or 0) <= default_settings.ADDON_PRIORITY:
            retries = crawler.settings.getlist("SITEMAPCRAWL_TIMEOUT_RETRIES", default_settings.SITEMAPCRAWL_TIMEOUT_RETRIES)
            middleware.timeouts = [float(seconds) for seconds in retries]
        return middleware

    def process_exception(self, request: Request, exception: Exception) -> Request | Response | None:  # type: ignore[override]
        retry = super().process_exception(request, exception)
        if self.timeouts and isinstance(exception, DownloadTimeoutError) and retry is not None:
            timeouts = request.meta.get(TIMEOUTS, 0)
            retry.meta[TIMEOUTS] = timeouts + 1
            retry.meta["download_timeout"] = self.timeouts[min(timeouts, len(self.timeouts) - 1)]
        return retry
