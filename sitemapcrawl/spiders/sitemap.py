"""The spider that reads sitemaps: ``scrapy crawl sitemap -a url=https://example.com/robots.txt -O urls.jsonl``."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from scrapy import Request, signals
from scrapy.exceptions import DontCloseSpider
from scrapy.utils.asyncio import run_in_thread

from sitemapcrawl import default_settings
from sitemapcrawl.counters import Counters
from sitemapcrawl.downloadermiddlewares.admission import ADMITTED, NotAdmitted
from sitemapcrawl.failures import explain, explain_status
from sitemapcrawl.items import PageBatch
from sitemapcrawl.options import Options, parse_options
from sitemapcrawl.protocol.errors import ConfigError, NetworkError, ParseError, SitemapError, ValidationError
from sitemapcrawl.protocol.reader import read
from sitemapcrawl.protocol.urls import check_start, is_robots, request_url
from sitemapcrawl.sampling import Reservoir
from sitemapcrawl.signals import errors_found, pipelines_closing, sitemaps_listed
from sitemapcrawl.spiders._pages import PageRequests
from sitemapcrawl.spiders._reading import DocumentReading, key_of
from sitemapcrawl.spiders._settings import add_feeds, batch_size, knows_batches, set_from_options

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator, Sequence
    from typing import Self

    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from scrapy.settings import BaseSettings
    from twisted.python.failure import Failure

    from sitemapcrawl.exporters.findings import FindingsFile
    from sitemapcrawl.protocol.records import Page

logger = logging.getLogger(__name__)

_READERS = 2  # documents that are open at a time: one is read, the next is made ready
_LIMIT_MESSAGES = {
    "max_sitemaps": "limit of {} sitemaps reached",
    "max_urls": "limit of {} URLs reached",
    "max_validation_errors": "limit of {} validation errors reached",
}


class SitemapSpider(PageRequests):
    """Fetch the sitemaps that the document at ``url`` leads to, and deliver the pages that they list.

    A subclass that has ``sitemap_rules`` or ``parse`` requests the pages instead, as one of Scrapy's ``SitemapSpider``
    does: see :class:`~sitemapcrawl.spiders._pages.PageRequests` for what else it may set and override.

    The spider arguments are the options of :mod:`sitemapcrawl.options`. Bytes are understood in
    :mod:`sitemapcrawl.protocol.reader`; here requests are made, limits kept, and records handed on.
    """

    name = "sitemap"
    options: Options
    config_errors: list[ConfigError]

    # Whether the document that the crawl began with was read to its end, and whether its request has come to an end.
    start_read = False
    start_done = False
    # Why not: what is wrong with the first of them that was not read.
    start_error: SitemapError | None = None

    @classmethod
    def update_settings(cls, settings: BaseSettings) -> None:
        super().update_settings(settings)
        default_settings.apply(settings, pages=cls.follows_pages())

    @classmethod
    def from_crawler(cls, crawler: Crawler, *args: Any, **kwargs: Any) -> Self:
        spider, given = cls.create(crawler, args, kwargs)
        spider.options, spider.config_errors = parse_options(given, crawler.settings)
        spider.config_errors += add_feeds(crawler.settings, spider.options)
        spider.prepare_pages()
        if not spider.requests_pages:
            set_from_options(crawler.settings, spider.options)
        spider._prepare(crawler.settings)
        spider._open_findings()
        crawler.signals.connect(spider._deliver_sample, pipelines_closing)
        crawler.signals.connect(spider._finish, signals.spider_closed)
        if not knows_batches(crawler.settings):
            crawler.signals.connect(spider._deliver_late, signals.spider_idle)
        return spider

    def _prepare(self, settings: BaseSettings) -> None:
        options = self.options
        self.counters = Counters(options.max_sitemaps, options.max_urls, options.max_validation_errors)
        self._batch_size = batch_size(settings)
        self.sample: Reservoir[Page] | None = Reservoir(options.sample) if options.sample else None
        # One document is read at a time: reading is bound by the CPU, and what is exported keeps the pages of a document
        # together. Downloads go on meanwhile.
        self._reading = asyncio.Lock()
        # The next one is opened meanwhile (unpacked, and checked by libxml2, which lets go of the GIL). Each stays in the
        # thread that it was opened in: one that lxml reads partly in one and partly in another has names from the
        # dictionaries of both, and the process dies when it is freed.
        self._readers: asyncio.Queue[ThreadPoolExecutor] = asyncio.Queue()
        for _ in range(_READERS):
            self._readers.put_nowait(ThreadPoolExecutor(1, "sitemapcrawl-reader"))
        self._findings: FindingsFile | None = None
        self._abandoned = False
        self._stopped = False  # max_urls left something out: nothing is requested or read any more

    def _open_findings(self) -> None:
        if self.options.lint is None or self.config_errors:
            return
        from sitemapcrawl.exporters.findings import FindingsFile  # the linter costs nothing where it is not asked for

        try:
            self._findings = FindingsFile(self.options.lint)
        except OSError as error:
            problem = f"option lint: {self.options.lint!r} cannot be written ({error.strerror})"
            self.config_errors.append(ConfigError(self.options.url, problem))

    # Requests

    async def start(self) -> AsyncIterator[Any]:
        options = self.options
        logger.info("Options: %s", options.describe())
        if self.config_errors:
            self.report(self.config_errors)
            return
        if options.content is not None:
            body = await run_in_thread(_read_file, options.content, options.max_response_size)
            self.counters.requested.add(key_of(options.url))
            # What start() yields is sent in the order in which it is yielded.
            async for request in self._read_requests(body, options.url, _start_depth(options.url), None, start=True):
                yield request
            return
        urls = [options.url, *(url for url in self.sitemap_urls[1:] if options.url == self.sitemap_urls[0])]
        for url in urls:
            try:
                check_start(url)
            except ValueError as error:
                self._fail_start(ValidationError(url, str(error)))
                self.report([self.start_error])
                continue
            key = request_url(url)
            self.counters.requested.add(key)
            request = self._request(key, url, _start_depth(url), start=True)
            request.meta[ADMITTED] = True
            if self.requests_pages:
                self.document_begun()
            yield request

    def _fail_start(self, error: SitemapError) -> None:
        """Note that a document that the crawl began with could not be read."""
        self.start_done = True
        self.start_read = False
        self.start_error = self.start_error or error

    def _request(self, key: str, url: str, depth: int, *, start: bool = False) -> Request:
        # Callbacks by name and plain values only, so that a scheduler can store the request. Whether a sitemap was
        # requested before is for the counters to say: Scrapy's fingerprint takes ?a&b and ?b&a for the same.
        kwargs: dict[str, Any] = {"url": url, "depth": depth}
        if start:
            kwargs["start"] = True
        request = Request(key, self._parse_sitemap, errback=self.failed, cb_kwargs=kwargs, dont_filter=True)
        return self.document_request(request) if self.requests_pages else request

    def admit(self, request: Request) -> bool | None:
        """Return whether *request*, one of this spider's that is about to be sent first, is still of use.

        ``None``: it is not for a document.
        """
        if request.callback != self._parse_sitemap:
            self.page_sent(request)
            return None
        counters, key = self.counters, request.cb_kwargs.get("url")
        if key is None:
            return True
        if self._stopped or key in counters.served:
            return False
        if self.options.multi_thread:
            return True  # counted when it was scheduled
        if key in counters.requested:
            return False
        if not counters.sitemaps_left():
            self.leave_out_sitemaps(1 + len(self._drain()))
            return False
        counters.request(key)
        return True

    def _drain(self) -> list[Request]:
        """Take everything out of the scheduler, and return what was of use until now.

        One by one through the downloader, fifty thousand requests that are not sent would take many seconds.
        """
        if self.requests_pages:
            return self.drain_documents()
        scheduler, counters = self.crawler.engine.scheduler, self.counters
        found = []
        while scheduler is not None and (request := scheduler.next_request()) is not None:
            key = request.cb_kwargs.get("url")
            if ADMITTED in request.meta or self.options.multi_thread or not (key and counters.is_known(key)):
                found.append(request)
        return found

    # Responses

    async def _parse_sitemap(
        self, response: Response, url: str | None = None, depth: int = 0, start: bool = False
    ) -> AsyncIterator[Any]:
        """Read a document that was fetched from *url*; *depth* is the level of index that it stands at."""
        try:
            url = url or response.url  # a request that a subclass has made
            if start:
                self.start_done = True
            if self._stopped:
                return
            if response.status != 200:
                self._lose(NetworkError(url, explain_status(response)), start=start)
                return
            served = (response.url if response.meta.get("redirect_urls") else url).partition("#")[0]
            robots = start and is_robots(url)
            async for request in self._read_requests(response.body, served, depth, response, start=start, robots=robots):
                yield request
        finally:
            if self.requests_pages:
                self.document_done()

    async def _read_requests(
        self, body: bytes, url: str, depth: int, response: Response | None, *, start: bool, robots: bool | None = None
    ) -> AsyncIterator[Any]:
        """Read the document *body*, served from *url*, and yield the requests that it leads to."""
        robots = start and is_robots(url) if robots is None else robots
        if self.requests_pages:
            async for request in self._read_for_pages(body, url, depth, response, start=start, robots=robots):
                yield request
            return
        keys = await self._read(body, url, depth, response, start=start, robots=robots)
        if response is None:
            # What start() yields is sent in the order in which it is yielded.
            keys.reverse()
        # The queue is last in, first out. What is first in it may have stopped the crawl before the last is.
        while keys and not self._stopped:
            key = keys.pop()
            yield self._request(key, key, depth + 1)
        if keys:
            self.count("sitemaps/left_out", len(keys))

    def failed(self, failure: Failure) -> None:
        """Record why a document could not be fetched."""
        request: Request = failure.request  # type: ignore[attr-defined]
        start = bool(request.cb_kwargs.get("start"))
        if start:
            self.start_done = True
        if not self._stopped and not isinstance(failure.value, NotAdmitted):
            assert failure.value is not None
            explanation = explain(failure.value, request)
            url = request.cb_kwargs.get("url", request.url)
            self._lose(NetworkError(url, explanation.message, explanation.limit), start=start)
        if self.requests_pages:
            self.document_done()

    def _lose(self, error: SitemapError, *, start: bool = False) -> None:
        if start:
            self._fail_start(error)
        self.count("sitemaps/failed")
        self.report([error])

    # Documents

    async def _read(
        self, body: bytes, url: str, depth: int, response: Response | None, *, start: bool, robots: bool
    ) -> list[str]:
        """Read the document *body*, served from *url*, deliver what is in it and return the keys of what it leads to."""
        if not self.counters.serve(key_of(url)):
            return []
        reading = DocumentReading(self, url, depth, response)
        thread = await self._readers.get()
        try:
            if self.reads_entries:
                async with self._reading:
                    if not self._stopped:
                        await self.read_filtered(reading, body, url, robots)
                return reading.end(start=start)
            batches = await _run(thread, self._open, body, url, robots)
            async with self._reading:
                if self._stopped:
                    return []
                batch = await _run(thread, next, batches, None)
                finished = ""
                while batch and not self._abandoned:
                    # The next batch is read while this one is delivered.
                    upcoming = _run(thread, next, batches, None)
                    try:
                        finished = await reading.take(batch)
                    finally:
                        try:
                            batch = await upcoming
                        except Exception:
                            if not finished:
                                raise
                            batch = []  # what is left is left out, whatever is wrong with it
                    if finished:
                        self._reach_max_urls(more=finished == "more" or batch is not None)
                        break
        except Exception as error:
            if self._stopped and isinstance(error, ParseError):
                return []
            self._note_fault(reading, url, error)
        finally:
            self._readers.put_nowait(thread)
        return reading.end(start=start)

    async def _read_for_pages(
        self, body: bytes, url: str, depth: int, response: Response | None, *, start: bool, robots: bool
    ) -> AsyncIterator[Request]:
        """Read the document *body* and yield the requests for its pages; those for the sitemaps that it lists wait."""
        if not self.counters.serve(key_of(url)):
            return
        reading = DocumentReading(self, url, depth, response)
        try:
            async for request in self.read_pages(reading, body, url, robots):
                yield request
        except Exception as error:
            self._note_fault(reading, url, error)
        keys = reading.end(start=start)
        if not self._stopped:
            self.queue_documents(keys, depth + 1)

    def _note_fault(self, reading: DocumentReading, url: str, error: Exception) -> None:
        if isinstance(error, ParseError):
            # Who keeps the error, as the summary does, must not keep what the reader had in its hands when it raised it.
            error.__traceback__ = error.__context__ = None
            reading.fault = error
        else:
            # A mistake of ours, or of a hook, must cost one document, and be told.
            logger.error("Error reading %s", url, exc_info=error)
            reading.fault = ParseError(url, f"the document could not be read: {type(error).__name__}: {error}")
        self.report([reading.fault])

    def _open(self, body: bytes, url: str, robots: bool) -> Iterator[Sequence[Any]]:
        options = self.options
        kind = None
        try:
            document = read(body, url, strict=options.strict, max_size=options.max_response_size, robots=robots)
            kind = document.kind
        finally:
            if self._findings is not None and kind not in {"robots", "text"}:  # the linter's rules are those of XML
                self._findings.add(body, url)
        return document.batches(self._batch_size)

    async def deliver(self, pages: Sequence[Page], sitemap: str | None, response: Response | None) -> None:
        """Send *pages* down the item path and wait until they are through."""
        # Not yielded: Scrapy takes what a callback yields into a queue and works on it in parallel, so that the order
        # would be lost and reading would run ahead of the pipelines.
        scrape = self.crawler.engine.scraper.start_itemproc_async
        if self._batch_size == 1:
            for page in pages:
                await scrape(page, response=response)
        elif pages:
            await scrape(PageBatch(pages, sitemap, response), response=response)

    def _reach_max_urls(self, *, more: bool) -> None:
        """Stop the crawl if the pages are as many as allowed and anything is left to be read."""
        waiting = self._drain()
        engine = self.crawler.engine
        slot = engine.scraper.slot
        assert slot is not None
        others = len(engine.downloader.active) + len(slot.active) + len(slot.queue) - 1
        self._stopped = True
        if more or waiting or others > 0:
            self.count("sitemaps/left_out", len(waiting) + max(0, others))
            self.reach("max_urls")

    def abandon(self) -> None:
        """Read no further, and request nothing more: nobody wants what is left."""
        self._stopped = self._abandoned = True
        self._drain()

    def leave_out_sitemaps(self, count: int) -> None:
        self.count("sitemaps/left_out", count)
        self.reach("max_sitemaps")

    def reach(self, limit: str) -> None:
        if self.counters.reach(limit):
            message = _LIMIT_MESSAGES[limit].format(getattr(self.options, limit))
            self.report([ParseError(self.options.url, message, limit)])

    # Records

    def report(self, errors: list[Any]) -> None:
        """Record *errors*; of the validation errors as many as there is room for."""
        room = self.counters.validation_errors_left()
        kept: list[SitemapError] = []
        for error in errors:
            if type(error) is ValidationError:
                if room <= 0:
                    continue
                room -= 1
                self.counters.validation_errors += 1
            kept.append(error)
        found = Counter(f"errors/{error.type}" for error in kept)
        found.update(f"limits/{error.limit}" for error in kept if error.limit)
        for stat, count in found.items():
            self.count(stat, count)
        if kept:
            self.crawler.signals.send_catch_log(errors_found, errors=kept, spider=self)
        if len(kept) < len(errors):
            self.reach("max_validation_errors")

    def count(self, stat: str, count: int = 1) -> None:
        self.crawler.stats.inc_value(f"sitemapcrawl/{stat}", count)

    async def _deliver_sample(self) -> None:
        if self.sample is not None:
            pages = self.sample.take()
            size = max(2, self._batch_size)
            for index in range(0, len(pages), size):
                await self.deliver(pages[index : index + size], None, None)

    def _deliver_late(self) -> None:
        """Deliver the sample when nothing else is left: the item processor of the project does not say when it closes."""
        if self.sample is not None and (pages := self.sample.take()):
            self.sample = None
            self._late = asyncio.ensure_future(self.deliver(pages, None, None))
            raise DontCloseSpider

    def _finish(self, reason: str) -> None:
        """Record what is known only now: that the crawl was cut short, and the sitemaps that were listed."""
        if reason != "finished" and not self.config_errors:
            message = f"the crawl was cut short: {_REASONS.get(reason, reason)}"
            for request in [] if self.crawler.settings.get("JOBDIR") else self._drain():  # a queue on disk is closed already
                if ADMITTED in request.meta and not request.cb_kwargs.get("start"):
                    # Under way: it was to be tried again, or redirected.
                    self._lose(NetworkError(request.cb_kwargs["url"], message))
            ended = sum(self.crawler.stats.get_value(f"sitemapcrawl/sitemaps/{end}", 0) for end in ("read", "failed"))
            if (unread := len(self.counters.requested) - ended) > 0:
                self.count("sitemaps/left_out", unread)
            if not self.start_done:
                self._lose(NetworkError(self.options.url, message), start=True)
            elif self.start_read or self.counters.requests:  # also below an index that was cut off itself
                self.report([ParseError(self.options.url, message)])
        while not self._readers.empty():
            self._readers.get_nowait().shutdown(wait=False)
        if self._findings is not None:
            self._findings.close()
        if self.counters.listed:
            entries = list(self.counters.listed.values())
            self.crawler.signals.send_catch_log(sitemaps_listed, sitemaps=entries, spider=self)


_REASONS = {
    "shutdown": "it was interrupted",
    "closespider_timeout": "the time of CLOSESPIDER_TIMEOUT was up",
    "closespider_itemcount": "CLOSESPIDER_ITEMCOUNT was reached",
    "closespider_pagecount": "CLOSESPIDER_PAGECOUNT was reached",
    "closespider_errorcount": "CLOSESPIDER_ERRORCOUNT was reached",
    "memusage_exceeded": "the memory of MEMUSAGE_LIMIT_MB was used up",
    "start_error": "its start failed",
}


def _start_depth(url: str) -> int:
    """Return the level of a document that the crawl begins with: a robots.txt is none, what it names is level 0."""
    return -1 if is_robots(url) else 0


def _run(thread: ThreadPoolExecutor, function: Callable[..., Any], *arguments: Any) -> asyncio.Future[Any]:
    return asyncio.get_running_loop().run_in_executor(thread, function, *arguments)


def _read_file(path: str, max_size: int) -> bytes:
    """Return the content of the file; of a larger one a byte more than *max_size*, so that the reader refuses it."""
    with open(path, "rb") as file:
        return file.read(min(max_size + 1, 1 << 62))
