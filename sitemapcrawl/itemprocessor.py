"""The item path for batches of pages: whole to pipelines that take batches, page by page to all others."""

from __future__ import annotations

import asyncio
import logging
from functools import partial
from inspect import isawaitable
from typing import TYPE_CHECKING, Any

from scrapy import signals
from scrapy.exceptions import DropItem
from scrapy.logformatter import LogFormatter
from scrapy.pipelines import ItemPipelineManager
from scrapy.utils.defer import ensure_awaitable
from scrapy.utils.log import logformatter_adapter
from scrapy.utils.python import global_object_name
from twisted.internet.defer import Deferred
from twisted.python.failure import Failure

from sitemapcrawl import default_settings
from sitemapcrawl.items import PageBatch
from sitemapcrawl.signals import pipelines_closing

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from scrapy.logformatter import LogFormatterResult
    from scrapy.spiders import Spider

# The logger of Scrapy's item path: what was filtered or raised there stays so.
logger = logging.getLogger("scrapy.core.scraper")

_GONE = object()

# The process_item of a pipeline, and whether it is of the old style that takes the spider.
Step = tuple["Callable[..., Any]", bool]


class PageLogFormatter(LogFormatter):
    """Scrapy's, without the line about a batch: its pages have theirs."""

    def scraped(self, item: Any, response: Response | Failure | None, spider: Spider) -> LogFormatterResult:
        if isinstance(item, PageBatch):
            return None  # type: ignore[return-value] # "do not log", says LogFormatter
        return super().scraped(item, response, spider)


class BatchItemProcessor(ItemPipelineManager):
    """Scrapy's item pipelines, which take a :class:`~sitemapcrawl.items.PageBatch` as well.

    A pipeline with ``process_batch(batch)``, which may be a coroutine and returns the batch, gets it whole. All others
    get its pages by ``process_item``: a pipeline of any style, which may drop a page, replace it or fail on it, and
    which sees the pages in their order. An asynchronous one works on up to :setting:`SITEMAPCRAWL_CONCURRENT_PAGES` pages
    at a time; what comes out is in the order of what went in.

    Every other item goes the way that it goes in Scrapy. Scrapy logs, signals and counts a batch as one item:
    :class:`~sitemapcrawl.extensions.outcome.Outcome` sets the count of items right, but CLOSESPIDER_ITEMCOUNT counts
    batches.
    """

    def __init__(self, *middlewares: Any, crawler: Crawler) -> None:
        super().__init__(*middlewares, crawler=crawler)
        self._crawler = crawler
        self._concurrency = max(
            1, crawler.settings.getint("SITEMAPCRAWL_CONCURRENT_PAGES", default_settings.SITEMAPCRAWL_CONCURRENT_PAGES)
        )
        # Pipelines in their order: one that takes batches, or a run of those that take items.
        self._stages: list[Callable[[PageBatch], Any] | list[Step]] = []
        for middleware in middlewares:
            if hasattr(middleware, "process_batch"):
                self._stages.append(middleware.process_batch)
            elif hasattr(middleware, "process_item"):
                step = (middleware.process_item, middleware.process_item in self._mw_methods_requiring_spider)
                if self._stages and isinstance(self._stages[-1], list):
                    self._stages[-1].append(step)
                else:
                    self._stages.append([step])

    async def process_item_async(self, item: Any) -> Any:
        if not isinstance(item, PageBatch):
            return await super().process_item_async(item)
        batch = item
        for stage in self._stages:
            if isinstance(stage, list):
                batch.pages = await _Chain(self._crawler, stage, batch.response, self._concurrency).run(batch.pages)
                continue
            result = stage(batch)
            if isawaitable(result):
                result = await result
            if not isinstance(result, PageBatch):
                raise TypeError(f"{global_object_name(stage)} returned {type(result).__name__}, expected the batch")
            batch = result
        if _is_heard(logging.DEBUG):
            self._log_scraped(batch)
        return batch

    def _log_scraped(self, batch: PageBatch) -> None:
        spider = self._crawler.spider
        for page in batch.pages:
            arguments = self._crawler.logformatter.scraped(page, batch.response, spider)  # type: ignore[arg-type]
            if arguments is not None:
                logger.log(*logformatter_adapter(arguments), extra={"spider": spider, "item": page})

    async def close_spider_async(self) -> None:
        # What is delivered at the end of a crawl, however it ends, still finds the pipelines open.
        await self._crawler.signals.send_catch_log_async(pipelines_closing)
        await super().close_spider_async()


class _Chain:
    """A run of pipelines that take items, over the pages of one batch."""

    def __init__(self, crawler: Crawler, steps: Sequence[Step], response: Response | None, concurrency: int) -> None:
        self._crawler = crawler
        self._spider = crawler.spider
        self._calls = [partial(_with_spider, method, self._spider) if needs_spider else method for method, needs_spider in steps]
        self._methods = [method for method, _ in steps]
        self._response = response
        self._concurrency = concurrency

    async def run(self, pages: Sequence[Any]) -> list[Any]:
        """Return what the pipelines make of *pages*, without those that are dropped or failed on."""
        calls = self._calls
        results: list[Any] = []
        running: set[asyncio.Task[None]] = set()
        # No task, no log call and no signal for a page that goes straight through: this loop runs for every one of them.
        for page in pages:
            item = page
            try:
                for index, call in enumerate(calls):
                    result = call(item)
                    # A coroutine and the like; the types of items are told from these by their being no awaitables.
                    if type(result) is not type(item) and isawaitable(result):
                        results.append(_GONE)
                        running.add(asyncio.create_task(self._finish(result, index, item, results, len(results) - 1)))
                        break
                    item = result
                else:
                    results.append(item)
            except DropItem as drop:
                await self._drop(item, drop)
            except Exception as error:
                await self._fail(item, error)
            if len(running) >= self._concurrency:
                running = (await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED))[1]
        if running:
            await asyncio.wait(running)
            return [item for item in results if item is not _GONE]
        return results

    async def _finish(self, pending: Any, index: int, item: Any, results: list[Any], position: int) -> None:
        """Go on from the pipeline at *index*, which gave something to wait for, and put the outcome at *position*."""
        try:
            item = await _wait_for(pending, self._methods[index])
            for call, method in zip(self._calls[index + 1 :], self._methods[index + 1 :], strict=True):
                result = call(item)
                item = await _wait_for(result, method) if isawaitable(result) else result
        except DropItem as drop:
            await self._drop(item, drop)
        except Exception as error:
            await self._fail(item, error)
        else:
            results[position] = item

    # As in scrapy.core.scraper.Scraper.start_itemproc_async, for a page of a batch.

    async def _drop(self, item: Any, drop: DropItem) -> None:
        arguments = self._crawler.logformatter.dropped(item, drop, self._response, self._spider)  # type: ignore[arg-type]
        if arguments is not None:
            logger.log(*logformatter_adapter(arguments), extra={"spider": self._spider, "item": item})
        await self._crawler.signals.send_catch_log_async(
            signal=signals.item_dropped, item=item, response=self._response, spider=self._spider, exception=drop
        )

    async def _fail(self, item: Any, error: Exception) -> None:
        arguments = self._crawler.logformatter.item_error(item, error, self._response, self._spider)  # type: ignore[arg-type]
        if arguments is not None:
            logger.log(*logformatter_adapter(arguments), extra={"spider": self._spider, "item": item}, exc_info=error)
        await self._crawler.signals.send_catch_log_async(
            signal=signals.item_error,
            item=item,
            response=self._response,
            spider=self._spider,
            failure=Failure(error),  # type: ignore[no-untyped-call]
        )


def _is_heard(level: int) -> bool:
    """Tell whether a log record of this level would reach any handler.

    Scrapy filters by level at its handlers, not at the loggers: a million records that nobody sees would be made.
    """
    source: logging.Logger | None = logger
    if not logger.isEnabledFor(level):
        return False
    while source is not None:
        if any(handler.level <= level for handler in source.handlers):
            return True
        source = source.parent if source.propagate else None
    return False


def _with_spider(method: Callable[..., Any], spider: Any, item: Any) -> Any:
    return method(item, spider)


async def _wait_for(result: Any, method: Callable[..., Any]) -> Any:
    if isinstance(result, Deferred):
        return await ensure_awaitable(result, _warn=global_object_name(method))  # warns that these are no longer wanted
    return await result
