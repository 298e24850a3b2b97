"""A downloader that bounds the documents that are worked on, and the memory that they take."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any, TypeVar

from scrapy import signals
from scrapy.core.downloader import Downloader
from twisted.python.failure import Failure

from sitemapcrawl import default_settings
from sitemapcrawl.downloadermiddlewares.admission import ADMITTED, NotSent
from sitemapcrawl.dupefilter import PAGE

if TYPE_CHECKING:
    from scrapy import Request, Spider
    from scrapy.core.downloader import Slot
    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from twisted.internet.defer import Deferred

_Result = TypeVar("_Result")

_SLOW_START = 4  # documents on their way at a time until as many have arrived and shown how large they are here
_RECENT = 8  # documents whose sizes are remembered


class PageDownloader(Downloader):
    """Scrapy's, but what waits for a ``DOWNLOAD_DELAY`` when a crawl is closed is not sent: that takes minutes.

    A document is left over then. The request for a page goes back to the scheduler, which puts it on disk where JOBDIR is
    set, and forgets it elsewhere; as with all that waits there, neither callback nor errback hears of it. What a callback
    requests besides is sent, as Scrapy does.
    """

    def fetch(self, request: Request, spider: Spider | None = None) -> Deferred[Response | Request]:
        return super().fetch(request).addErrback(self._give_back, request)

    def _give_back(self, failure: Failure, request: Request) -> Any:
        if PAGE in request.meta and isinstance(failure.value, NotSent):
            # As for a retry: it was seen when it was put into the scheduler first, and is not to be taken for its own double.
            return request.replace(dont_filter=True)
        return failure

    def _process_queue(self, slot: Slot) -> None:
        if self._is_closing():
            waiting, slot.queue = slot.queue, deque()
            for request, sent in waiting:
                if ADMITTED in request.meta or PAGE in request.meta:
                    sent.errback(Failure(NotSent("the crawl was closed")))  # type: ignore[no-untyped-call]
                else:
                    slot.queue.append((request, sent))
        super()._process_queue(slot)

    def _is_closing(self) -> bool:
        slot = self.crawler.engine._slot  # the engine has no other word for it
        return slot is not None and slot.closing is not None


class BoundedDownloader(PageDownloader):
    """Start a download only while fewer than :setting:`CONCURRENT_REQUESTS` documents are worked on.

    A document is worked on from the moment that its request is sent until it has been read to its end. What waits in the
    scheduler, a retry or a redirect included, holds nothing, so there is nothing to give back and nothing to deadlock.

    :setting:`SITEMAPCRAWL_MEMORY_TARGET` (bytes) bounds the documents that wait to be read together with those that are
    on their way, by the size that a document is expected to have. One is always let through.

    The engine asks again whenever a document is done: it schedules its next call when the scraper is through with one.
    """

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        self._memory_target: int = crawler.settings.getint(
            "SITEMAPCRAWL_MEMORY_TARGET", default_settings.SITEMAPCRAWL_MEMORY_TARGET
        )
        self._sizes: deque[int] = deque(maxlen=_RECENT)
        self._arrived = 0
        crawler.signals.connect(self._response_received, signals.response_received)

    def _response_received(self, response: Response, request: Request) -> None:
        # The document that the crawl began with is mostly an index or a robots.txt, and says nothing about the rest.
        if response.status == 200 and not _is_first(request):
            self._sizes.append(len(response.body))

    def fetch(self, request: Request, spider: Spider | None = None) -> Deferred[Response | Request]:
        # The signal request_left_downloader would be too early: a body is unpacked after it, and its size is not known yet.
        return super().fetch(request).addBoth(self._request_left, request)

    def _request_left(self, result: _Result, request: Request) -> _Result:
        if not _is_first(request):
            self._arrived += 1
        return result

    def needs_backout(self) -> bool:
        slot = self.crawler.engine.scraper.slot
        assert slot is not None
        on_their_way = len(self.active)
        waiting = len(slot.active) + len(slot.queue)
        if 0 < self.total_concurrency <= on_their_way + waiting:
            return True
        if not self._memory_target or on_their_way + waiting == 0:
            return False
        if self._arrived < _SLOW_START and on_their_way >= _SLOW_START:
            return True
        expected = max(self._sizes, default=0)
        return slot.active_size + (on_their_way + 1) * expected > self._memory_target


def _is_first(request: Request) -> bool:
    """Tell whether *request* is the one for the document that the crawl began with; of several starts, the first."""
    return bool(request.cb_kwargs.get("start")) and request.cb_kwargs.get("call", 1) == 1
