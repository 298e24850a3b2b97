"""The parts of scrapy-redis, made to fit: where its own do not do with Scrapy 2.19, or would lose work.

Its connection settings, its list of starts and its names are kept, so that who knows it is at home. What is different:

- Its ``RedisSpider`` has ``start_requests()`` only, which Scrapy does not call any more. ``spiders`` next door takes work in
  ``start()``.
- Its queues pop: what a worker that is killed has popped is lost. :class:`LeasedQueue` keeps it in Redis until it is done.
- Its scheduler asks Redis in the event loop, for each request, and waits; a slow Redis would hold up every download.
  :class:`ClusterScheduler` is asked for work in a thread.
- Its dupe filter is one for all starts, forgets all when one worker closes, and takes ``?a=1&b=2`` and ``?b=2&a=1`` for the
  same. Documents have a filter for each start, in ``store.lua``, asked in the same step as the limit. :class:`KeptDupeFilter`
  is for the other requests of a project.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scrapy.core.scheduler import Scheduler
from scrapy.utils.asyncio import run_in_thread
from scrapy.utils.misc import load_object
from scrapy_redis import scheduler as scrapy_redis_scheduler
from scrapy_redis.dupefilter import RFPDupeFilter
from scrapy_redis.queue import Base

if TYPE_CHECKING:
    from typing import Self

    from scrapy import Request
    from scrapy.crawler import Crawler

    from sitemapcrawl.cluster.store import Claimed


class LeasedQueue(Base):  # type: ignore[misc] # scrapy-redis has no types
    """Documents that wait in Redis. One that is taken stays there until it is done; see :mod:`sitemapcrawl.cluster.store`."""

    def pop(self, count: int = 1) -> Claimed | None:
        """Take up to *count* documents; ``None`` if the worker is not in the cluster any more."""
        options = self.spider.options
        limits = (options.max_sitemaps, options.max_urls, options.max_validation_errors, options.max_concurrency)
        claimed: Claimed | None = self.spider.store.claim(count, limits, self.spider.held())
        return claimed


class ClusterScheduler(scrapy_redis_scheduler.Scheduler):  # type: ignore[misc]
    """Requests of this worker: for documents that it has taken from the queue, their retries and redirects, and others.

    They are in the memory of the worker, in Scrapy's own scheduler. The queue is behind :meth:`take`.
    """

    in_hand: Scheduler

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        # Its own makes a connection of its own, and ends with a traceback where Redis is gone in this moment.
        spider: Any = crawler.spider
        scheduler = cls(spider.store.redis, persist=True, queue_cls=crawler.settings["SCHEDULER_QUEUE_CLASS"])
        scheduler.in_hand = Scheduler.from_crawler(crawler)
        scheduler.df = scheduler.in_hand.df
        return scheduler

    def open(self, spider: Any) -> Any:
        # As its own does, which says how much there is to do in a way that Scrapy warns of.
        self.spider = spider
        queue = load_object(self.queue_cls)
        self.queue = queue(self.server, spider, self.queue_key % {"spider": spider.name}, self.serializer)
        return self.in_hand.open(spider)

    def close(self, reason: str) -> Any:
        return self.in_hand.close(reason)

    def __len__(self) -> int:
        return len(self.in_hand)

    def has_pending_requests(self) -> bool:
        return self.in_hand.has_pending_requests()

    def enqueue_request(self, request: Request) -> bool:
        return self.in_hand.enqueue_request(request)

    def next_request(self) -> Request | None:
        return self.in_hand.next_request()

    async def take(self, count: int) -> Claimed | None:
        """Take up to *count* documents from the queue."""
        claimed: Claimed | None = await run_in_thread(self.queue.pop, count)
        return claimed


class KeptDupeFilter(RFPDupeFilter):  # type: ignore[misc]
    """scrapy-redis's, under one key for all workers also where Scrapy makes it, and not emptied by the first that closes."""

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        dupefilter: Self = cls.from_spider(crawler.spider)
        return dupefilter

    def close(self, reason: str = "") -> None:
        """Leave it to the other workers."""
