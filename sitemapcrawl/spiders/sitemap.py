"""The spider that reads sitemaps: ``scrapy crawl sitemap -a url=https://example.com/robots.txt -O urls.jsonl``."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from scrapy import Request, signals
from scrapy.exceptions import DontCloseSpider
from scrapy.utils.asyncio import is_asyncio_available, run_in_thread
from scrapy.utils.job import job_dir

from sitemapcrawl import default_settings
from sitemapcrawl.counters import Counters
from sitemapcrawl.downloadermiddlewares.admission import ADMITTED, NotAdmitted, NotSent
from sitemapcrawl.failures import REASONS, explain, explain_status
from sitemapcrawl.hints import about_start
from sitemapcrawl.items import PageBatch
from sitemapcrawl.journal import Done
from sitemapcrawl.options import Options, parse_options
from sitemapcrawl.protocol.errors import ConfigError, NetworkError, ParseError, SitemapError, ValidationError
from sitemapcrawl.protocol.reader import read
from sitemapcrawl.protocol.urls import is_robots, request_url
from sitemapcrawl.sampling import Reservoir
from sitemapcrawl.scheduler import JOURNALLED
from sitemapcrawl.signals import errors_found, pipelines_closing, sitemaps_listed
from sitemapcrawl.spiders._call import Call
from sitemapcrawl.spiders._journalled import JournalledCalls
from sitemapcrawl.spiders._pages import RUN, PageRequests
from sitemapcrawl.spiders._reading import DocumentReading, key_of, run
from sitemapcrawl.spiders._settings import (
    add_feeds,
    batch_size,
    check_settings,
    keep_error_feeds,
    knows_batches,
    make_job_dir,
    set_from_options,
)
from sitemapcrawl.spiders._starts import check, starts

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator, Sequence
    from typing import Self

    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from scrapy.settings import BaseSettings
    from twisted.python.failure import Failure

    from sitemapcrawl.exporters.findings import FindingsFile
    from sitemapcrawl.protocol.records import Page

logger = logging.getLogger(__name__)

_OPEN_CALLS = 16  # that are taken at once where max_concurrency is lifted
_READERS = 2  # documents that are open at a time: one is read, the next is made ready
_LIMIT_MESSAGES = {
    "max_sitemaps": "limit of {} sitemaps reached",
    "max_urls": "limit of {} URLs reached",
    "max_validation_errors": "limit of {} validation errors reached",
}


class SitemapSpider(JournalledCalls, PageRequests):
    """Fetch the sitemaps that the document at ``url`` leads to, and deliver the pages that they list.

    A subclass that has ``sitemap_rules`` or ``parse`` requests the pages instead, as one of Scrapy's ``SitemapSpider``
    does: see :class:`~sitemapcrawl.spiders._pages.PageRequests` for what else it may set and override.

    The spider arguments are the options of :mod:`sitemapcrawl.options`. Bytes are understood in
    :mod:`sitemapcrawl.protocol.reader`; here requests are made, limits kept, and records handed on. What is known of one
    start, of which there may be many, is a :class:`~sitemapcrawl.spiders._call.Call`, and is gone when it has ended.
    """

    name = "sitemap"
    options: Options
    config_errors: list[ConfigError]

    _job: str | None = None  # what Scrapyd calls it
    # Whether the options name what to begin with.
    takes_starts = True
    # Why the document of a start was not read: of those that have ended, the first that has failed.
    start_error: SitemapError | None = None
    is_abandoned: bool = False  # whether nobody wants what is left

    @classmethod
    def from_crawler(cls, crawler: Crawler, *args: Any, **kwargs: Any) -> Self:
        spider, given = cls.create(crawler, args, kwargs)
        spider._job = given.get("_job")
        settings = crawler.settings
        if settings.frozen:  # scrapy shell makes a crawler before it makes the spider, which only says how to fetch then
            settings = settings.copy()
            settings.frozen = False
        # Not in update_settings(), as the rules of a subclass may be those of an instance.
        default_settings.apply(settings, pages=spider.requests_pages)
        wrong_settings = check_settings(settings)
        spider.options, spider.config_errors = parse_options(given, settings, starts=cls.takes_starts)
        spider.config_errors += wrong_settings
        spider.config_errors += add_feeds(settings, spider.options)
        spider.prepare_pages()
        if not spider.requests_pages:
            set_from_options(settings, spider.options)
        spider._prepare(settings)
        spider._check_findings()
        if spider.config_errors:
            keep_error_feeds(settings)
        crawler.signals.connect(spider._room.set, signals.scheduler_empty)
        crawler.signals.connect(spider._last_items, pipelines_closing)
        crawler.signals.connect(spider._finish, signals.spider_closed)
        if not knows_batches(settings):
            crawler.signals.connect(spider._deliver_late, signals.spider_idle)
        return spider

    def _prepare(self, settings: BaseSettings) -> None:
        self._batch_size = batch_size(settings)
        # The journal knows nothing of requests for pages: where there are any, JOBDIR does what it does in Scrapy.
        self._job_dir = None
        if problem := make_job_dir(settings):
            self.note_wrong(problem)
        elif self.requests_pages:
            self._lock_pages(settings)
        else:
            self._job_dir = job_dir(settings)
        self._run = uuid4().hex
        if self._job_dir and self.options.sample:
            message = f"option sample: {self.options.sample} is wrong, there is no sample with JOBDIR, expected 0"
            self.note_wrong(message)
        self.calls: dict[int, Call] = {}  # those that have begun and not ended
        self.known = 0  # sitemaps that were asked for, of all calls
        self._started = self._ended = self._failed = 0  # calls
        self._asked = 0  # calls that requests of a subclass began
        self._exhausted = False  # whether all starts were taken
        self._unread = ""  # why no more starts can be read
        self._room = asyncio.Event()  # set when there may be room for another start
        # One document is read at a time: reading is bound by the CPU, and what is exported keeps the pages of a document
        # together. Downloads go on meanwhile. Whatever else ends a document waits its turn as well, so that the journal
        # is written between documents.
        self._reading = asyncio.Lock()
        self._is_half_done = False
        # The next one is opened meanwhile (unpacked, and checked by libxml2, which lets go of the GIL). Each stays in the
        # thread that it was opened in: one that lxml reads partly in one and partly in another has names from the
        # dictionaries of both, and the process dies when it is freed.
        self._readers: asyncio.Queue[ThreadPoolExecutor] = asyncio.Queue()
        self._threads = [ThreadPoolExecutor(1, "sitemapcrawl-reader") for _ in range(_READERS)]
        for thread in self._threads:
            self._readers.put_nowait(thread)
        self._findings: FindingsFile | None = None

    def _check_findings(self) -> None:
        if self.options.lint is None or self.config_errors:
            return
        try:
            Path(self.options.lint).open("a").close()
        except OSError as error:
            problem = f"option lint: {self.options.lint!r} cannot be written ({error.strerror})"
            self.note_wrong(problem)

    def _open_findings(self) -> None:
        """Open the file of the option ``lint``. A crawl that requests nothing must not cost that of an earlier one."""
        if self.options.lint is None or self._findings is not None:
            return
        from sitemapcrawl.exporters.findings import FindingsFile  # the linter costs nothing where it is not asked for

        self._findings = FindingsFile(self.options.lint, append=self.continues_files)

    def note_wrong(self, problem: str) -> None:
        """Note that an option or a setting is wrong: nothing is requested then."""
        url = self.options.url if self.takes_starts else None
        self.config_errors.append(ConfigError(url or None, problem))

    @staticmethod
    def ends_well(reason: str | None) -> bool:
        """Whether a crawl that was closed for *reason* was not cut short."""
        return reason == "finished"

    @property
    def continues_files(self) -> bool:
        """Whether there are files of an earlier run that are to go on."""
        return self.journal is not None and self.journal.started > 0

    @property
    def keeps_journal(self) -> bool:
        """Whether the crawl can be resumed from a journal."""
        return self._job_dir is not None

    @property
    def start_read(self) -> bool:
        """Whether the documents of all starts were read to their end."""
        return self._ended > 0 and not self._failed and not self.calls

    # Requests

    async def start(self) -> AsyncIterator[Any]:
        options = self.options
        logger.info("Options: %s", options.describe())
        if not self.requests_pages and not self.config_errors:
            self.warn_if_nothing_is_kept("-O urls.jsonl")
        if not is_asyncio_available():
            reactor = self.crawler.settings["TWISTED_REACTOR"]
            problem = f"setting TWISTED_REACTOR: {reactor!r} is wrong, expected that of asyncio, the default"
            self.config_errors.append(ConfigError(None, problem))
        remaining = starts(options)
        if not self.config_errors and self._job_dir:
            await self._open_journal(remaining)
        if self.config_errors:
            self.report(self.config_errors)
            return
        # The engine takes what this yields as fast as it can, so this bounds what waits and what is worked on.
        async for request in self._resume():
            yield request
        while not self.is_abandoned and (url := await self._next_start(remaining)) is not None:
            call = self._begin(url)
            async for request in self._first_requests(call):
                yield request
            if options.several:
                await self._until_there_is_room()
        if not self._started and not self.is_abandoned:
            problem = f"cannot be read ({self._unread})" if self._unread else "holds no URL, expected one a line"
            self.note_wrong(f"option urls_file: {options.urls_file!r} {problem}")
            self.report(self.config_errors)
        elif self._unread:
            message = f"the file of starts cannot be read any further ({self._unread}), {self._started:,} were taken"
            error = ParseError(options.urls_file or "", message)
            self.start_error = self.start_error or error
            self._failed += 1
            self.report([error])
        self._exhausted = not self.is_abandoned and not self._unread

    def warn_if_nothing_is_kept(self, feed: str) -> None:
        settings = self.crawler.settings
        if not (settings.getdict("FEEDS") or settings.getdict("ITEM_PIPELINES") or getattr(self.crawler, "keeps_items", False)):
            logger.warning("There is neither a feed nor a pipeline: pages are counted, not kept. %s keeps them.", feed)

    async def _next_start(self, remaining: AsyncIterator[str]) -> str | None:
        try:
            return await anext(remaining, None)
        except OSError as error:
            self._unread = error.strerror or str(error)
            return None

    async def _until_there_is_room(self) -> None:
        """Wait until another start may be taken.

        That is when fewer calls are open than documents may be worked on, so that a slow site does not hold up the rest,
        or when there is nothing to send. One at a time, a call has to come to its end first.
        """
        await asyncio.sleep(0)  # of starts that are no URLs there may be many in a row
        while not self.is_abandoned and self._is_busy():
            self._room.clear()
            await self._room.wait()

    def _is_busy(self) -> bool:
        engine, options = self.crawler.engine, self.options
        assert engine is not None
        most = (options.max_concurrency or _OPEN_CALLS) if options.multi_thread else 1
        if len(self.calls) < most:
            return False
        return engine.needs_backout() or (engine.scheduler is not None and engine.scheduler.has_pending_requests())

    def _begin(self, url: str) -> Call:
        self._started += 1
        call = self._call(self._started, url)
        key = self._start_key(call)
        call.counters.begin(key)
        self.known += 1
        if self.journal is not None:
            self.journal.begin(call.state(), key, call.depth)
        return call

    def _call(self, number: int, url: str) -> Call:
        self._open_findings()
        options = self.options
        counters = Counters(options.max_sitemaps, options.max_urls, options.max_validation_errors)
        sample: Reservoir[Page] | None = Reservoir(options.sample) if options.sample else None
        call = self.calls[number] = Call(number, url, counters, url if options.several else None, sample=sample)
        return call

    def _start_key(self, call: Call) -> str:
        try:
            return request_url(call.url) if self.options.content is None else key_of(call.url)
        except ValueError:  # no URL that could be requested, as will be told
            return call.url

    async def _first_requests(self, call: Call) -> AsyncIterator[Request]:
        """Yield what *call* begins with: the request for its document, or those that the file in its place leads to."""
        options, depth, key = self.options, call.depth, self._start_key(call)
        if options.content is not None:
            body = await run_in_thread(_read_file, options.content, options.max_response_size)
            # What start() yields is sent in the order in which it is yielded.
            if self.requests_pages:
                async for request in self._read_for_pages(call, key, body, call.url, depth, None, start=True):
                    yield request
                return
            for child in await self._read(call, key, body, call.url, depth, None, start=True):
                if (made := await self._request_or_lose(call, child, depth + 1)) is not None:
                    yield made
            return
        try:
            check(call.url)
            request = self._request(call, key, call.url, depth, start=True)
        except ValueError as error:
            message = str(error) + about_start(call.url)
            async with self._turn():
                call.done = True
                call.error = ValidationError(call.url, message)
                await self.record([call.error], call)
                await self._settle(call, Done(key, depth=depth))
            return
        request.meta[ADMITTED] = True
        if self.requests_pages:
            self.document_begun()
        yield request

    def _request(self, call: Call, key: str, url: str, depth: int, *, start: bool = False) -> Request:
        # Callbacks by name and plain values only, so that a scheduler can store the request. Whether a sitemap was
        # requested before is for the counters to say: Scrapy's fingerprint takes ?a&b and ?b&a for the same.
        kwargs: dict[str, Any] = {"url": url, "depth": depth, "call": call.id}
        if start:
            kwargs["start"] = True
        meta = {JOURNALLED: True} if self.journal is not None else None
        request = Request(key, self._parse_sitemap, errback=self.failed, cb_kwargs=kwargs, dont_filter=True, meta=meta)
        if self.requests_pages:
            request.meta[RUN] = self._run
            self.document_request(request)
        return request

    async def _request_or_lose(self, call: Call, key: str, depth: int) -> Request | None:
        """Return the request for the sitemap *key*; if Scrapy takes it for no URL, record that and return none."""
        try:
            return self._request(call, key, key, depth)
        except ValueError as error:
            await self._lose(call, NetworkError(key, f"it cannot be requested: {error}"), depth, start=False)
            return None

    def _call_of(self, request: Request) -> Call | None:
        """Return the call of *request*; none if it has ended, or if the request is not for one of our documents."""
        if request.callback != self._parse_sitemap:
            return None
        # Where pages are requested, JOBDIR brings back requests for documents. These are not needed: the starts, which
        # lead to them, are read again.
        if self.requests_pages and request.meta.get(RUN) != self._run:
            return None
        return self.calls.get(request.cb_kwargs.get("call", 0))

    def admit(self, request: Request) -> bool | None:
        """Return whether *request*, one of this spider's that is about to be sent first, is still of use.

        ``None``: it is not for a document.
        """
        if request.callback != self._parse_sitemap:
            self.page_sent(request)
            return None
        if "call" not in request.cb_kwargs:
            return not self.is_abandoned  # a request that a subclass has made
        key, call = request.cb_kwargs["url"], self._call_of(request)
        if call is None or self._is_over(call) or key in call.counters.served:
            return False
        if self.options.multi_thread:
            return True  # counted when it was scheduled
        if key in call.counters.requested:
            return False
        if not call.counters.sitemaps_left():
            self.leave_out_sitemaps(1 + self._drain(call), call)
            return False
        call.counters.request(key)
        self.known += 1
        return True

    def _drain(self, call: Call) -> int:
        """Take the requests of *call* out of the scheduler, and return how many were of use until now.

        One by one through the downloader, fifty thousand requests that are not sent would take many seconds.
        """
        if self.requests_pages:
            return self.drain_documents(call)
        assert self.crawler.engine is not None
        scheduler, counters = self.crawler.engine.scheduler, call.counters
        found = 0
        queued: list[Request] = []  # of other calls: starts, which come out in the order in which they went in,
        stacked: list[Request] = []  # and all others, of which the last in was the first out
        while scheduler is not None and (request := scheduler.next_request()) is not None:
            if self._call_of(request) is not call:
                (queued if request.meta.get("is_start_request") else stacked).append(request)
                continue
            call.outstanding -= 1
            if ADMITTED in request.meta or self.options.multi_thread or not counters.is_known(request.cb_kwargs["url"]):
                found += 1
        for request in [*queued, *reversed(stacked)]:
            assert scheduler is not None
            # It was seen when it was put there first, and is not to be taken for its own double.
            dont_filter, request.dont_filter = request.dont_filter, True
            scheduler.enqueue_request(request)
            request.dont_filter = dont_filter
        return found

    # Responses

    async def _parse_sitemap(
        self, response: Response, url: str | None = None, depth: int = 0, call: int | None = None, start: bool = False
    ) -> AsyncIterator[Any]:
        """Read a document that was fetched from *url*; *depth* is the level of index that it stands at.

        *call* is the number of the call that it was fetched for. A request that a subclass has made has none: it is a
        start of its own.
        """
        try:
            assert response.request is not None
            of = self._call_of(response.request)
            if call is None and not self.is_abandoned:
                self._asked += 1
                # Below zero: those of the journal are the starts of the options, which it counts.
                of = self._call(-self._asked, url or response.url)
                of.counters.begin(self._start_key(of))
                self.known += 1
                start, depth = True, of.depth
                if self.requests_pages:
                    self.document_begun()
            if of is None or self.is_abandoned:
                return
            url = url or of.url
            if response.status != 200:
                await self._lose(of, NetworkError(url, explain_status(response)), depth, start=start)
                return
            served = (response.url if response.meta.get("redirect_urls") else url).partition("#")[0]
            key = self._start_key(of) if start else url
            if self.requests_pages:
                async for request in self._read_for_pages(of, key, response.body, served, depth, response, start=start):
                    yield request
                return
            keys = await self._read(of, key, response.body, served, depth, response, start=start)
            # The queue is last in, first out. What is first in it may have stopped the crawl before the last is.
            while keys and not self._is_over(of):
                if (made := await self._request_or_lose(of, keys.pop(), depth + 1)) is not None:
                    yield made
            if keys and not self.is_abandoned:
                await self._forget(of, len(keys))
        finally:
            if self.requests_pages:
                self.document_done()

    async def failed(self, failure: Failure) -> None:
        """Record why a document could not be fetched."""
        request: Request = failure.request  # type: ignore[attr-defined]
        try:
            call = self._call_of(request)
            if call is None or self.is_abandoned or isinstance(failure.value, NotSent):
                return  # one that was not sent is left over when the crawl is closed, as those in the scheduler are
            arguments = request.cb_kwargs
            error = None
            if not isinstance(failure.value, NotAdmitted):
                assert failure.value is not None
                explanation = explain(failure.value, request)
                error = NetworkError(arguments["url"], explanation.message, explanation.limit)
            await self._lose(call, error, arguments["depth"], start=arguments.get("start", False), url=arguments["url"])
        finally:
            if self.requests_pages:
                self.document_done()

    async def _lose(self, call: Call, error: NetworkError | None, depth: int, *, start: bool, url: str | None = None) -> None:
        """Record that a document could not be fetched, or (without *error*) that there is no need for it any more."""
        url = url or (error.url if error else None)
        assert url is not None
        async with self._turn():
            if start:
                call.done = True
                if error is not None:
                    error.message += about_start(call.url)
                call.error = call.error or error
            if error is not None and not call.stopped:
                self.count("sitemaps/failed")
                self.report([error], call)
            await self._settle(call, Done(self._start_key(call) if start else url, depth=depth))

    # Documents

    async def _begin_reading(
        self, call: Call, key: str, url: str, depth: int, response: Response | None, *, start: bool
    ) -> DocumentReading | None:
        """Return what reads the document, served from *url*; none if there is no need for it any more."""
        if start:
            call.done = True
        if call.stopped or not await call.counters.serve(key_of(url)):
            await self._lose(call, None, depth, start=start, url=key)
            return None
        return DocumentReading(self, call, url, depth, response)

    async def _read(
        self, call: Call, key: str, body: bytes, url: str, depth: int, response: Response | None, *, start: bool
    ) -> list[str]:
        """Read the document *body*, served from *url*, deliver what is in it and return the keys of what it leads to.

        *key* is the one that it was requested by.
        """
        thread = await self._readers.get()
        try:
            reading = await self._begin_reading(call, key, url, depth, response, start=start)
            if reading is None:
                return []
            done = Done(key, key_of(url), depth, counted=self.options.multi_thread)
            problem: Exception | None = None
            batches: Iterator[Sequence[Any]] = iter(())
            robots = start and is_robots(call.url)
            try:
                if not self.reads_entries:
                    batches = await run(thread, self._open, body, url, robots)
            except Exception as error:
                problem = error
            async with self._turn():
                children: list[str] = []
                if not self._is_over(call):
                    if self.reads_entries:
                        await reading.read_filtered(body, robots)
                    else:
                        await reading.read(thread, batches, problem)
                    children = reading.end()
                    problem = None  # its traceback has this frame, and so would keep the document
                    if start:
                        call.read, call.error = reading.fault is None, reading.fault
                if self.is_abandoned:
                    return []  # it was not read to its end, and so is not done
                done.children = children[::-1]
                if self.journal is not None:
                    listed = call.counters.listed
                    done.listed = [(name, (entry := listed[name]).loc, entry.lastmod, entry.sitemap) for name in reading.listed]
                await self._settle(call, done)
                return children
        finally:
            self._readers.put_nowait(thread)

    async def _read_for_pages(
        self, call: Call, key: str, body: bytes, url: str, depth: int, response: Response | None, *, start: bool
    ) -> AsyncIterator[Request]:
        """Read the document *body* and yield the requests for its pages; those for the sitemaps that it lists wait."""
        reading = await self._begin_reading(call, key, url, depth, response, start=start)
        if reading is None:
            return
        try:
            async for request in self.read_pages(call, reading, body, url, start and is_robots(call.url), response):
                yield request
        except Exception as error:
            reading.note(error)
        if start:
            call.read, call.error = reading.fault is None, reading.fault
        keys = reading.end()
        async with self._turn():
            if self._is_over(call):
                keys = []
            self.queue_documents(call, keys, depth + 1, reading.requests)
            await self._settle(call, Done(key, key_of(url), depth, keys, counted=self.options.multi_thread))

    @asynccontextmanager
    async def _turn(self) -> AsyncIterator[None]:
        """Wait for the turn to end a document, and note whether that was done."""
        async with self._reading:
            self._is_half_done = True
            yield
            self._is_half_done = False

    async def _settle(self, call: Call, done: Done) -> None:
        """Note that a document of *call* is done, whose turn it is."""
        self.known += len(done.children) if done.counted else 0
        call.outstanding += len(done.children) - 1
        await self._end_or_save(call, done)

    async def _forget(self, call: Call, count: int) -> None:
        """Note that *count* documents of *call* are not asked for any more."""
        async with self._turn():
            call.outstanding -= count
            await self._end_or_save(call, None)

    async def _end_or_save(self, call: Call, done: Done | None) -> None:
        if call.id not in self.calls:
            return
        # A call that comes to its end while the crawl is closed counts as cut short, unless it would be resumed.
        ended = call.outstanding <= 0 and (self.journal is not None or not self._is_closing())
        if ended:
            await self._end(call)
        if self.journal is not None:
            if call.id > 0:
                await self._save(call, done, ended=ended)
            else:
                await self._save(None, None)

    async def _end(self, call: Call) -> None:
        """Deliver what was kept for the end of *call*, and let go of it."""
        await self._deliver_sample(call)
        self._let_go(call)

    def _let_go(self, call: Call) -> None:
        del self.calls[call.id]
        self._room.set()
        self.note_end(read=call.read)
        if not call.read:
            self.start_error = self.start_error or call.error
        if call.counters.listed:
            entries = list(call.counters.listed.values())
            self.crawler.signals.send_catch_log(sitemaps_listed, sitemaps=entries, spider=self)

    def note_end(self, *, read: bool) -> None:
        """Count a call that has ended, and whether the document of its start was *read*."""
        self._ended += 1
        self._failed += not read
        self.count("starts/read" if read else "starts/failed")

    def _open(self, body: bytes, url: str, robots: bool) -> Iterator[Sequence[Any]]:
        options = self.options
        kind = None
        try:
            document = read(body, url, strict=options.strict, max_size=options.max_response_size, robots=robots)
            kind = document.kind
        finally:
            if self._findings is not None and kind not in {"robots", "text"}:  # the linter's rules are those of XML
                self._findings.add(body, url)
        if kind == "text" and document.resembles_robots:
            logger.warning(
                "%s was read as a text sitemap, although it has lines of a robots.txt: "
                "only the document at url is read as one, and that URL has to end in /robots.txt",
                url,
            )
        return document.batches(self._batch_size)

    async def deliver(self, pages: Sequence[Page], sitemap: str | None, response: Response | None, call: Call) -> None:
        """Send *pages* down the item path and wait until they are through."""
        # Not yielded: Scrapy takes what a callback yields into a queue and works on it in parallel, so that the order
        # would be lost and reading would run ahead of the pipelines.
        scrape = self.crawler.engine.scraper.start_itemproc_async
        if self._batch_size == 1:
            for page in pages:
                await scrape(page, response=response)
        elif pages:
            await scrape(PageBatch(pages, sitemap, response, call.mark), response=response)

    async def reach_max_urls(self, call: Call, *, more: bool) -> None:
        """Stop *call* if the pages are as many as allowed and anything is left to be read."""
        waiting = self._drain(call)
        others = max(0, call.outstanding - 1)  # under way, besides the document that is being read
        call.stopped = True
        if more or waiting or others:
            self.count("sitemaps/left_out", waiting + others)
            self.reach("max_urls", call)

    def _is_over(self, call: Call) -> bool:
        """Return whether nothing more of *call* is requested or read."""
        return call.stopped or self.is_abandoned

    def abandon(self) -> None:
        """Read no further, and request nothing more: nobody wants what is left.

        A journal does not hear of it: what is left can be read when the crawl is resumed.
        """
        self.is_abandoned = True
        self._room.set()
        self.waiting_documents.clear()
        assert self.crawler.engine is not None
        scheduler = self.crawler.engine.scheduler
        while not self.requests_pages and scheduler is not None and scheduler.next_request() is not None:
            pass

    def stop_for(self, reason: str) -> None:
        """Abandon what is left, and close the spider for *reason*."""
        self.abandon()
        assert self.crawler.engine is not None
        self._stopping = asyncio.ensure_future(self.crawler.engine.close_spider_async(reason=reason))

    def leave_out_sitemaps(self, count: int, call: Call) -> None:
        self.count("sitemaps/left_out", count)
        self.reach("max_sitemaps", call)

    def reach(self, limit: str, call: Call) -> None:
        if call.counters.reach(limit):
            self.report([limit_error(call.url, limit, getattr(self.options, limit))], call)

    # Records

    async def record(self, errors: list[SitemapError], call: Call) -> None:
        """Record the *errors* of a document; of the validation errors as many as there is room for."""
        invalid = sum(type(error) is ValidationError for error in errors)
        room = await call.counters.take_validation_errors(invalid) if invalid else 0
        kept = errors
        if room < invalid:
            kept = []
            for error in errors:
                if type(error) is ValidationError:
                    room -= 1
                    if room < 0:
                        continue
                kept.append(error)
        self.report(kept, call)
        if len(kept) < len(errors):
            self.reach("max_validation_errors", call)

    def report(self, errors: Sequence[SitemapError], call: Call | None = None) -> None:
        """Record *errors*, those of *call* where they belong to one."""
        found = Counter(f"errors/{error.type}" for error in errors)
        found.update(f"limits/{error.limit}" for error in errors if error.limit)
        for stat, count in found.items():
            self.count(stat, count)
        if errors:
            if call:
                call.mark_records(errors)
            self.crawler.signals.send_catch_log(errors_found, errors=list(errors), spider=self)

    def count(self, stat: str, count: int = 1) -> None:
        self.crawler.stats.inc_value(f"sitemapcrawl/{stat}", count)

    async def _last_items(self) -> None:
        """Deliver the samples of calls that have not ended; note how long the files are when all items are there."""
        for call in list(self.calls.values()):
            await self._deliver_sample(call)
        if self.journal is not None and not self._is_half_done and not self.is_abandoned:
            await self._save(None, None)

    async def _deliver_sample(self, call: Call) -> None:
        if call.sample is not None:
            pages, call.sample = call.sample.take(), None
            size = max(2, self._batch_size)
            for index in range(0, len(pages), size):
                await self.deliver(pages[index : index + size], None, None, call)

    def _deliver_late(self) -> None:
        """Deliver samples when nothing else is left: the item processor of the project does not say when it closes."""
        calls = [call for call in self.calls.values() if call.sample is not None]
        if calls:
            self._late = asyncio.ensure_future(self._deliver_samples(calls))
            raise DontCloseSpider

    async def _deliver_samples(self, calls: list[Call]) -> None:
        for call in calls:
            await self._deliver_sample(call)

    def _finish(self, reason: str) -> None:
        """Record what is known only now: that the crawl was cut short, and the sitemaps that were listed."""
        self.end_threads()
        if self._findings is not None:
            self._findings.close()
        if self.journal is not None:
            self.journal.close()
        if not self.config_errors:
            self._conclude(reason)

    def _conclude(self, reason: str) -> None:
        if self.journal is not None and reason != "finished":
            logger.info("The crawl can be resumed: start it again with the same options and the same JOBDIR")
            return
        under_way = self._under_way() if reason != "finished" and self.calls else {}
        for call in list(self.calls.values()):
            if reason != "finished":
                self._cut_short(call, f"the crawl was cut short: {REASONS.get(reason, reason)}", under_way.get(call.id, []))
            self._let_go(call)
        if reason != "finished" and self.options.several and not self._exhausted:
            logger.warning("The crawl was cut short after %s starts; the others were not begun", f"{self._started:,}")

    def end_threads(self) -> None:
        """Let go of the threads that read."""
        for thread in self._threads:
            thread.shutdown(wait=False)

    def _under_way(self) -> dict[int, list[str]]:
        """Return, by call, the URLs of the documents that were to be tried again or redirected, but for those of starts."""
        if self.requests_pages:
            return {}  # what is in the scheduler is pages, and with JOBDIR its queues are closed already
        assert self.crawler.engine is not None
        scheduler = self.crawler.engine.scheduler
        found: dict[int, list[str]] = {}
        while scheduler is not None and (request := scheduler.next_request()) is not None:
            call = self._call_of(request)
            if call is not None and ADMITTED in request.meta and not request.cb_kwargs.get("start"):
                found.setdefault(call.id, []).append(request.cb_kwargs["url"])
        return found

    def _cut_short(self, call: Call, message: str, under_way: list[str]) -> None:
        """Record that *call* has not come to its end, nor the documents *under_way*."""
        if call.stopped:
            under_way = []
        lost = [*under_way, *([] if call.done else [call.url])]
        if lost:
            self.count("sitemaps/failed", len(lost))
            errors = [NetworkError(url, message) for url in lost]
            if not call.done:
                call.error = errors[-1]
            self.report(errors, call)
        if call.done and (call.read or call.counters.requests):  # also below an index that was cut off itself
            self.report([ParseError(call.url, message)], call)
        if not call.stopped and call.outstanding > len(lost):
            self.count("sitemaps/left_out", call.outstanding - len(lost))


def limit_error(url: str, limit: str, most: int) -> ParseError:
    """Return the error that tells that the call for *url* has left something out, since it had *most* already."""
    return ParseError(url, _LIMIT_MESSAGES[limit].format(most), limit)


def _read_file(path: str, max_size: int) -> bytes:
    """Return the content of the file; of a larger one a byte more than *max_size*, so that the reader refuses it."""
    with open(path, "rb") as file:
        return file.read(min(max_size + 1, 1 << 62))
