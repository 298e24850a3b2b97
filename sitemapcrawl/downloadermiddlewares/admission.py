"""Decide, the moment that a request is to be sent, whether the crawl still has a use for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy.exceptions import IgnoreRequest, NotConfigured

if TYPE_CHECKING:
    from typing import Self

    from scrapy import Request
    from scrapy.crawler import Crawler

ADMITTED = "sitemapcrawl_admitted"


class NotAdmitted(IgnoreRequest):
    """The request is left out, and nothing is to be said about it any more."""


class NotSent(IgnoreRequest):
    """The request waited for its turn in the downloader when the crawl was closed. It is neither done nor failed."""


class AdmissionMiddleware:
    """Ask the spider's ``admit(request)`` once for each of its requests; one that it refuses is not sent.

    One of which it says ``None`` is not for a document, and is none of our business.

    A retry or a redirect of a request that was admitted carries its mark and is not asked about again. This is the first
    middleware: nothing is spent on what is not sent.
    """

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        if not hasattr(crawler.spider, "admit"):
            raise NotConfigured
        return cls(crawler)

    async def process_request(self, request: Request) -> None:
        if ADMITTED in request.meta:
            return
        admitted = self._crawler.spider.admit(request)  # type: ignore[union-attr]
        if admitted is None:
            return
        if not admitted:
            raise NotAdmitted("not needed any more")
        request.meta[ADMITTED] = True
