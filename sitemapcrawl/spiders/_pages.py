"""Requests for the pages that documents list, and the hooks of a subclass: what Scrapy's SitemapSpider has, and a bound.

The spider beside it reads documents. Here their entries go through the hooks, and become requests only while there is
room for them.
"""

from __future__ import annotations

import asyncio
import gc
import inspect
import logging
import re
import weakref
from collections import Counter, deque
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeGuard

import msgspec
from scrapy import Request, Spider, signals
from scrapy.downloadermiddlewares.offsite import OffsiteMiddleware
from scrapy.exceptions import DontCloseSpider, IgnoreRequest
from scrapy.http import Response

from sitemapcrawl import default_settings
from sitemapcrawl.downloadermiddlewares.admission import ADMITTED
from sitemapcrawl.dupefilter import PAGE, PageDupeFilter
from sitemapcrawl.journal import JournalError, JournalInUseError, Lock
from sitemapcrawl.options import OPTIONS
from sitemapcrawl.protocol.records import Page, SitemapEntry, set_fields
from sitemapcrawl.signals import save_documents
from sitemapcrawl.spiders._reading import key_of
from sitemapcrawl.spiders._settings import forget_job_dir

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
    from typing import Self

    from scrapy.crawler import Crawler
    from scrapy.settings import BaseSettings

    from sitemapcrawl.options import Options
    from sitemapcrawl.protocol.errors import ConfigError
    from sitemapcrawl.spiders._call import Call
    from sitemapcrawl.spiders._reading import DocumentReading

logger = logging.getLogger(__name__)

RUN = "sitemapcrawl_run"  # the request meta key that tells the requests of this crawl from those of one before it
LOCK = "sitemapcrawl.lock"  # in JOBDIR
_NOTE_INTERVAL = 1.0  # seconds between two times that pages are written down as done, where JOBDIR is set

# Attributes of the spider itself, which a subclass would break unawares.
_RESERVED = {
    "abandon", "admit", "calls", "config_errors", "continues_files", "count", "deliver", "end_threads", "ends_well",
    "failed", "is_abandoned", "is_beside_another", "journal", "keeps_journal", "known", "leave_out_sitemaps", "note_end",
    "note_wrong", "options", "reach", "reach_max_urls", "record", "report", "requests_pages", "resumes_pages",
    "start_error", "start_read", "takes_starts", "warn_if_nothing_is_kept",
}  # fmt: skip
# The modules of the spiders that are the project's own, and of nobody who subclasses them.
_OURS = {"sitemapcrawl.spiders.sitemap", "sitemapcrawl.cluster.spiders"}
# What the request for a document has, and no other.
_DOCUMENT_META = {ADMITTED, RUN, "download_maxsize", "download_warnsize", "handle_httpstatus_all", "redirect_ttl"}
# Scrapy knows this one as an attribute of spiders, and warns of it.
_NO_ATTRIBUTES = {"user_agent"}


class Entry(dict[str, Any]):
    """An entry of a document as :meth:`PageRequests.sitemap_filter` gets it, with the record that it was made of."""

    record: Page | SitemapEntry | None = None


class PageRequests(Spider):
    """What a subclass of the spider may set and override; the names are those of Scrapy's ``SitemapSpider``."""

    #: Documents to begin with, each a start of its own, if neither the option ``url`` nor ``urls_file`` is given.
    sitemap_urls: Sequence[str] = ()
    #: ``(regular expression, callback)`` pairs: pages are requested for the first that matches. ``None``: all of them
    #: for ``parse``, where the spider has one; otherwise pages are not requested, they are the items.
    sitemap_rules: Sequence[tuple[re.Pattern[str] | str, str | Callable[..., Any]]] | None = None
    #: Regular expressions: which sitemaps of an index are followed.
    sitemap_follow: Sequence[re.Pattern[str] | str] = ("",)
    #: Whether the alternates of a page are requested as well.
    sitemap_alternate_links: bool = False

    requests_pages = False

    if TYPE_CHECKING:  # what the spider itself has
        options: Options
        config_errors: list[ConfigError]
        is_beside_another: bool
        _batch_size: int
        _parse_sitemap: Callable[..., Any]

        def note_wrong(self, problem: str) -> None: ...
        def _request(self, call: Call, key: str, url: str, depth: int, *, start: bool = False) -> Request: ...
        def _is_over(self, call: Call) -> bool: ...

        def _open(self, body: bytes, url: str, robots: bool) -> Iterator[Sequence[Any]]: ...
        async def reach_max_urls(self, call: Call, *, more: bool) -> None: ...
        def count(self, stat: str, count: int = 1) -> None: ...

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if cls.__module__ in _OURS:
            return
        if "name" not in cls.__dict__ and getattr(cls, "name", None) == "sitemap":
            cls.name = None  # type: ignore[assignment] # as in Scrapy: a spider has a name of its own, a base class none
        if taken := sorted(_RESERVED & cls.__dict__.keys()):
            raise TypeError(f"{cls.__name__} cannot have an attribute {taken[0]!r}: SitemapSpider uses that name itself")

    # Hooks

    def sitemap_filter(self, entries: Iterable[dict[str, Any]]) -> Iterable[dict[str, Any]]:
        """Yield those of *entries* that are to be used, changed if need be. It is called once a document.

        An entry is a dictionary with ``loc`` and, where the document gives them, ``lastmod``, ``changefreq``,
        ``priority`` (text) and ``alternate``, the list of the URLs of alternates; also ``sitemap``, the URL of the document,
        and ``images``, ``news``, ``videos`` and ``alternates`` as :doc:`records </records>` have them.
        """
        yield from entries

    def sitemap_request(
        self,
        loc: str,
        callback: Callable[..., Any],
        entry: dict[str, Any],
        *,
        source: Literal["robotstxt", "sitemapindex", "urlset"],
        response: Response,
    ) -> Request | None:
        """Return the request for *loc*, or ``None`` for none.

        *source* is ``"urlset"`` for a page. Then *loc* is that of *entry*, or one of its alternates, and *callback* is that
        of the rule that matches; the entry will be in the ``meta`` of the request, as ``sitemapcrawl_page``. It is
        ``"sitemapindex"`` or ``"robotstxt"`` for a sitemap that one of these names. *response* is that of the document.
        """
        # The name and the arguments are those that a change to Scrapy has, which is not in a release yet.
        return Request(loc, callback)

    # Setting up

    def _follows_pages(self) -> bool:
        """Whether pages are requested: there are rules, or a callback for pages."""
        cls = type(self)
        return (
            self.sitemap_rules is not None
            or cls.parse is not Spider.parse
            or cls.sitemap_request is not PageRequests.sitemap_request
        )

    @classmethod
    def create(cls, crawler: Crawler, args: Sequence[Any], kwargs: dict[str, Any]) -> tuple[Self, dict[str, Any]]:
        """Return the spider, and the options that its class and the spider arguments *kwargs* give."""
        names = {option.name for option in OPTIONS}
        options = {name: value for name, value in kwargs.items() if name in names}
        if cls.__module__ in _OURS:
            # Spider.__init__ would make attributes of the options, some of which Scrapy takes for deprecated settings.
            spider, options = cls(*args), kwargs
        else:
            taken = inspect.signature(cls.__init__).parameters
            spider = cls(*args, **{name: value for name, value in kwargs.items() if name not in names or name in taken})
        spider._set_crawler(crawler)
        spider.requests_pages = spider._follows_pages()
        for name in names - _NO_ATTRIBUTES:
            value = getattr(cls, name, None)
            if value is not None and not callable(value) and not isinstance(value, property):
                options.setdefault(name, value)
        if spider.sitemap_urls and not options.get("url") and not options.get("urls_file"):
            options["url"] = list(spider.sitemap_urls)
        return spider, options

    def prepare_pages(self) -> None:
        """Read the attributes of the subclass, once it has set them."""
        cls = type(self)
        self.reads_entries = (
            self.requests_pages
            or cls.sitemap_filter is not PageRequests.sitemap_filter
            or self.sitemap_follow is not PageRequests.sitemap_follow
        )
        rules = self.sitemap_rules if self.sitemap_rules is not None else [("", "parse")] if self.requests_pages else []
        self._page_rules = [made for rule in rules if (made := self._checked("sitemap_rules", self._page_rule, rule))]
        self._follow = [made for rule in self.sitemap_follow if (made := self._checked("sitemap_follow", re.compile, rule))]
        self.waiting_pages = WaitingRequests()
        self.waiting_documents: deque[tuple[Call, str, int, Request | None]] = deque()
        self._makes_requests = cls.sitemap_request is not PageRequests.sitemap_request
        self._sent: set[Request] = set()
        self._dupe_filter: PageDupeFilter | None = None
        self._noting: asyncio.Future[None] | None = None
        self._open_documents = self._held_bytes = self._largest = 0
        settings = self.settings
        name = "SITEMAPCRAWL_WAITING_PAGES"
        self._most_waiting = max(1, settings.getint(name, getattr(default_settings, name)))
        name = "SITEMAPCRAWL_MEMORY_TARGET"
        self._memory_target = settings.getint(name, getattr(default_settings, name))
        if self.requests_pages:
            self.crawler.signals.connect(self._page_scheduled, signals.request_scheduled)
            self.crawler.signals.connect(self.page_sent, signals.request_dropped)
            self.crawler.signals.connect(self._idle, signals.spider_idle)
            self.crawler.signals.connect(self._begin_notes, signals.spider_opened)
            self.crawler.signals.connect(self._end_notes, signals.spider_closed)

    def _checked(self, name: str, make: Callable[[Any], Any], rule: Any) -> Any:
        """Return what *make* makes of *rule*, one of those of the attribute *name*; ``None`` if it is wrong, as is told."""
        try:
            return make(rule)
        except re.error as error:
            problem = f"the regular expression cannot be read ({error})"
        except (TypeError, ValueError) as error:
            problem = str(error)
        message = f"{name} of {type(self).__name__}: {rule!r} is wrong, {problem}"
        self.note_wrong(message)
        return None

    def _page_rule(self, rule: Any) -> tuple[re.Pattern[str], Callable[..., Any] | None]:
        if isinstance(rule, str) or len(rule) != 2:
            raise ValueError("expected a regular expression and a callback")
        pattern, to = rule
        callback = getattr(self, to, None) if isinstance(to, str) else to
        if to is not None and not callable(callback):
            raise ValueError(f"the spider has no method {to!r}" if isinstance(to, str) else f"{to!r} is no callback")
        return re.compile(pattern), callback

    def _lock_pages(self, settings: BaseSettings) -> None:
        """Take the lock of JOBDIR, if there is one; if another process has it, there is no JOBDIR any more.

        That is before the components of Scrapy are made that read and write what is in it.
        """
        folder = settings.get("JOBDIR")
        if not folder:
            return
        try:
            lock = Lock(str(Path(folder, LOCK)))
        except JournalError as error:
            self.is_beside_another = isinstance(error, JournalInUseError)
            self.note_wrong(f"setting JOBDIR: {error}")
            forget_job_dir(settings)
        else:
            # The last word: at the end of the crawl there is something to write in JOBDIR still.
            self.crawler.signals.connect(lock.release, signals.engine_stopped, weak=False)

    # Requests for documents, where pages are requested. They wait here and not in the scheduler: it may have them before
    # pages in its order, and a document that waits to be read, while the one that is read waits for room, is memory.

    def document_request(self, request: Request) -> Request:
        """Return *request*, for a document, with what the options say: other settings are those of the pages."""
        options = self.options
        request.meta.update(
            download_maxsize=options.max_response_size, download_warnsize=0, handle_httpstatus_all=True, redirect_ttl=10
        )  # _DOCUMENT_META has these names
        if options.fetch_timeout:
            request.meta["download_timeout"] = options.fetch_timeout
        if "user_agent" in options.given:
            request.headers["User-Agent"] = options.user_agent
        for name, value in default_settings.SCRAPY_SETTINGS["DEFAULT_REQUEST_HEADERS"].items():
            request.headers.setdefault(name, value)
        return request

    def queue_documents(self, call: Call, keys: Iterable[str], depth: int, requests: Mapping[str, Request]) -> None:
        """Have the documents of *keys* wait; *requests* are those that a hook has made for some of them."""
        self.waiting_documents.extend((call, key, depth, requests.get(key)) for key in keys)

    def release_documents(self) -> None:
        """Request documents that wait, as many as there is room for."""
        while self.waiting_documents and self.has_room_for_document():
            call, key, depth, made = self.waiting_documents.popleft()
            self._open_documents += 1
            request = self._request(call, key, key, depth)
            self.crawler.engine.crawl(request if made is None else _as_made(request, made))

    def has_room_for_document(self) -> bool:
        if not self._open_documents:
            return True
        options = self.options
        at_most = 1 if not options.multi_thread else options.max_concurrency
        if at_most and self._open_documents >= at_most:
            return False
        if len(self.waiting_pages) >= 2 * self._most_waiting:
            return False
        return not self._memory_target or self._held_bytes + self._largest <= self._memory_target

    def document_begun(self) -> None:
        self._open_documents += 1

    def document_done(self) -> None:
        self._open_documents = max(0, self._open_documents - 1)
        if not self._is_closing():
            self.release_documents()

    def drain_documents(self, call: Call) -> int:
        """Forget the documents of *call* that wait, and return how many were of use until now."""
        keys = [key for of, key, _, _ in self.waiting_documents if of is call]
        self.waiting_documents = deque(document for document in self.waiting_documents if document[0] is not call)
        call.outstanding -= len(keys)
        return sum(self.options.multi_thread or not call.counters.is_known(key) for key in keys)

    def _idle(self) -> None:
        # A request that some component filtered out comes to no end that we hear of.
        if self.waiting_documents:
            self._open_documents = 0
            self.release_documents()
            raise DontCloseSpider

    def _is_closing(self) -> bool:
        slot = self.crawler.engine._slot  # the engine has no other word for it
        return slot is None or slot.closing is not None

    # Requests for pages

    def page_sent(self, request: Request) -> None:
        """Note that a request that is not for a document has left the scheduler, or has not got there."""
        if self.requests_pages and PAGE in request.meta:
            self.waiting_pages.discard(request)
            if self._dupe_filter is not None:
                self._sent.add(request)
            self.release_documents()

    def _page_scheduled(self, request: Request) -> None:
        # A spider middleware may have put another in place of the one that was made; a retry comes back here.
        entry = request.meta.get(PAGE)
        if entry is not None:
            self.waiting_pages.add(request, entry.get("sitemap"))
            if self._dupe_filter is not None:
                self._dupe_filter.begun(request)

    # Pages that are done, where JOBDIR is set

    def _begin_notes(self) -> None:
        dupe_filter = getattr(self.crawler.engine.scheduler, "df", None)
        if isinstance(dupe_filter, PageDupeFilter) and dupe_filter.keeps_pages:
            self._dupe_filter = dupe_filter
            self._noting = asyncio.ensure_future(self._note_now_and_then())

    @property
    def resumes_pages(self) -> bool:
        """Whether the crawl was begun before, and may have been killed."""
        return self._dupe_filter is not None and self._dupe_filter.resumed

    async def _note_now_and_then(self) -> None:
        while True:
            await asyncio.sleep(_NOTE_INTERVAL)
            await self._note_done()

    async def _note_done(self) -> None:
        """Write down the pages that are done, after what they gave."""
        slot = self.crawler.engine._slot  # a request is there until its items are through the pipelines
        assert self._dupe_filter is not None
        ended = [request for request in self._sent if slot is None or request not in slot.inprogress]
        self._sent.difference_update(ended)
        if pages := [page for request in ended if (page := self._dupe_filter.ended(request)) is not None]:
            try:
                await save_documents(self.crawler.signals)
            except OSError as error:
                logger.error("Pages that are done come again when the crawl is resumed: %s", error)
                return
            if not self._is_closing():
                self._dupe_filter.write(pages)

    def _end_notes(self) -> None:
        if self._noting is not None:
            self._noting.cancel()

    def _forget_dropped(self) -> None:
        """Let go of requests that some component dropped, if there are any: an exception may hold on to them."""
        scheduler: Any = self.crawler.engine.scheduler
        in_scheduler = len(scheduler) if hasattr(scheduler, "__len__") else 0
        if in_scheduler < len(self.waiting_pages):
            gc.collect()

    async def read_pages(
        self, call: Call, reading: DocumentReading, body: bytes, url: str, robots: bool, response: Response | None
    ) -> AsyncIterator[Request]:
        """Yield the requests for the pages of the document *body*, each when there is room for it."""
        slot = self.crawler.engine.scraper.slot
        assert slot is not None
        # A document is read for as long as its pages take. Its size is not to keep their requests from being sent.
        slot.max_active_size += len(body)
        self._held_bytes += len(body)
        self._largest = max(len(body), self._largest // 2)
        source = EntrySource(self, reading)
        shown = self._shown(response) if response is not None else Response(url, body=body, request=Request(url))
        try:
            async for entry in source.read(body, url, robots):
                if isinstance(entry, SitemapEntry):
                    if self._makes_requests and not self._make_request(entry, source, reading, robots, shown):
                        continue
                    await reading.take([entry])
                    continue
                for request in self._requests_for(entry, shown):
                    while self.waiting_pages.of(url) >= self._most_waiting and not self._is_closing():
                        if not await self.waiting_pages.wait():
                            self._forget_dropped()
                    if self._is_closing() or self._is_over(call):
                        return
                    granted, _ = await call.counters.take_pages(1)
                    if not granted:
                        await self.reach_max_urls(call, more=True)
                        return
                    self.count("pages")
                    self.waiting_pages.add(request, url)
                    yield request
        finally:
            source.close()
            slot.max_active_size -= len(body)
            self._held_bytes -= len(body)

    def _shown(self, response: Response) -> Response:
        """Return *response* without what only the request for a document has: a hook may copy ``response.meta``."""
        assert response.request is not None
        hidden = _DOCUMENT_META | ({"download_timeout"} if self.options.fetch_timeout else set())
        meta = {name: value for name, value in response.meta.items() if name not in hidden}
        return response.replace(request=response.request.replace(meta=meta, cb_kwargs={}))

    def _make_request(
        self, record: SitemapEntry, source: EntrySource, reading: DocumentReading, robots: bool, response: Response
    ) -> bool:
        """Keep the request that the hook makes for the sitemap of *record*; return whether it makes one."""
        made = self.sitemap_request(
            record.loc,
            self._parse_sitemap,
            source.entry,
            source="robotstxt" if robots else "sitemapindex",
            response=response,
        )
        if _is_request(made):
            reading.requests.setdefault(key_of(record.loc), made)
            return True
        return False

    def _requests_for(self, entry: dict[str, Any], response: Response) -> Iterator[Request]:
        urls = [entry["loc"]] if entry.get("loc") else []
        if self.sitemap_alternate_links:
            urls += entry.get("alternate") or ()
        rules = self.options.rules
        for url in urls:
            if rules and not any(rule.search(url) for rule in rules):
                continue
            callback = next((callback for rule, callback in self._page_rules if rule.search(url)), None)
            if callback is None:
                continue
            request = self.sitemap_request(url, callback, entry, source="urlset", response=response)
            if _is_request(request):
                page = request.meta.setdefault(PAGE, dict(entry))
                if _takes_page(request.callback or self.parse):
                    request.cb_kwargs.setdefault("page", page)
                if not self._is_offsite(request):
                    yield request

    def _is_offsite(self, request: Request) -> bool:
        # Asked beforehand, so that a sitemap full of them does not take up the room of others again and again.
        offsite = self.crawler.get_downloader_middleware(OffsiteMiddleware)
        try:
            if offsite is not None:
                offsite.process_request(request)
        except IgnoreRequest:
            return True
        return False

    async def read_filtered(self, call: Call, reading: DocumentReading, body: bytes, url: str, robots: bool) -> None:
        """Read the document *body* as the spider does otherwise, but for what the hooks leave out."""
        source = EntrySource(self, reading)
        found: list[Any] = []
        finished = ""
        try:
            async for entry in source.read(body, url, robots):
                if isinstance(entry, SitemapEntry):
                    found.append(entry)
                elif entry.get("loc"):
                    found.append(page_of(entry, url))
                if len(found) >= self._batch_size:
                    finished, found = await reading.take(found), []
                    if finished or self._is_over(call):
                        break
            if found:
                finished = await reading.take(found)
        finally:
            source.close()
        if finished:
            await self.reach_max_urls(call, more=finished == "more" or not source.ended)

    def follows(self, url: str) -> bool:
        """Whether the sitemap at *url*, of an index, is to be fetched."""
        if not any(pattern.search(url) for pattern in self._follow):
            return False
        if not self.requests_pages:
            return True
        offsite = self.crawler.get_downloader_middleware(OffsiteMiddleware)
        return offsite is None or offsite.should_follow(Request(url), self)


class EntrySource:
    """The entries of one document, read in a thread of its own, through the filter of the spider."""

    def __init__(self, spider: PageRequests, reading: DocumentReading) -> None:
        self._spider = spider
        self._reading = reading
        # A document stays in the thread that it was opened in (see the spider).
        self._thread = ThreadPoolExecutor(1, "sitemapcrawl-entries")
        self._errors: list[Any] = []
        self._in_index = False
        self.entry: dict[str, Any] = {}  # the one that was yielded last, as the filter gave it
        self.ended = False

    async def read(self, body: bytes, url: str, robots: bool) -> AsyncIterator[dict[str, Any] | SitemapEntry]:
        """Yield what the filter lets through: an entry of a page as it is, one of a sitemap as its record."""
        loop = asyncio.get_running_loop()
        batches = await loop.run_in_executor(self._thread, self._spider._open, body, url, robots)
        first = await loop.run_in_executor(self._thread, next, batches, None)
        entries: Iterable[dict[str, Any]] = self._iterate(batches, first)
        if not robots:  # of a robots.txt all are followed, as in Scrapy
            entries = self._spider.sitemap_filter(entries)
        for entry in entries:
            await self._report()
            self.entry = entry
            if not self._in_index:
                yield entry
            elif entry.get("loc") and (robots or self._spider.follows(entry["loc"])):
                yield sitemap_of(entry, url)
        await self._report()

    def _iterate(self, batches: Iterator[Sequence[Any]], batch: Sequence[Any] | None) -> Iterator[dict[str, Any]]:
        # The filter is a plain generator. It waits here for the next batch, which is read while this one is used.
        while batch:
            upcoming = self._thread.submit(next, batches, None)
            self._reading.mark(batch)
            for record in batch:
                kind = type(record)
                if kind is Page or kind is SitemapEntry:
                    self._in_index = kind is SitemapEntry
                    yield entry_of(record)
                else:
                    self._errors.append(record)
            batch = upcoming.result()
        self.ended = True

    async def _report(self) -> None:
        if self._errors:
            errors, self._errors = self._errors, []
            await self._reading.take(errors)

    def close(self) -> None:
        self._thread.shutdown(wait=False, cancel_futures=True)


def entry_of(record: Page | SitemapEntry) -> Entry:
    """Return *record* as the dictionary that Scrapy's SitemapSpider has for an entry, and what else there is."""
    entry = Entry(set_fields(record))
    entry.record = record
    if type(record) is Page:
        if record.priority is not None:
            entry["priority"] = str(record.priority)
        if record.alternates:
            entry["alternate"] = [alternate.href for alternate in record.alternates if alternate.href]
    return entry


def page_of(entry: dict[str, Any], sitemap: str) -> Page:
    """Return the record of *entry*, which a filter may have changed or made."""
    record = getattr(entry, "record", None)
    if type(record) is Page and entry == entry_of(record):
        return record
    values = {name: value for name, value in entry.items() if value not in (None, (), [])}
    return msgspec.convert({"sitemap": sitemap, **values}, Page, strict=False)


def sitemap_of(entry: dict[str, Any], sitemap: str) -> SitemapEntry:
    return SitemapEntry(entry["loc"], entry.get("lastmod"), sitemap)


class WaitingRequests:
    """Requests that are on their way through the scheduler, counted by the document that they come from.

    One that some component drops, or that goes to a queue on disk, comes to no end that we hear of; so they are known by
    weak references: what does not exist any more does not wait.
    """

    def __init__(self) -> None:
        self._references: dict[int, weakref.ref[Request]] = {}
        self._sources: dict[int, str | None] = {}
        self._counts: Counter[str | None] = Counter()
        self._changed = asyncio.Event()

    def __len__(self) -> int:
        return len(self._references)

    def of(self, source: str | None) -> int:
        return self._counts[source]

    def add(self, request: Request, source: str | None) -> None:
        key = id(request)
        if key not in self._references:
            self._references[key] = weakref.ref(request, lambda _: self._remove(key))
            self._sources[key] = source
            self._counts[source] += 1

    def discard(self, request: Request) -> None:
        self._remove(id(request))

    def _remove(self, key: int) -> None:
        if self._references.pop(key, None) is not None:
            source = self._sources.pop(key)
            self._counts[source] -= 1
            if not self._counts[source]:
                del self._counts[source]
            self._changed.set()

    async def wait(self) -> bool:
        """Wait until there are fewer, or for a moment, as a crawl may be closed meanwhile; return whether there are."""
        self._changed.clear()
        try:
            async with asyncio.timeout(0.25):
                return await self._changed.wait()
        except TimeoutError:
            return False


def _as_made(request: Request, made: Request) -> Request:
    """Return the request *made* by a hook, with what *request*, for the same document, has to tell the spider."""
    headers = {**request.headers, **made.headers}
    meta = {**made.meta, **request.meta}
    return made.replace(
        callback=request.callback, errback=request.errback, cb_kwargs=request.cb_kwargs, dont_filter=True,
        headers=headers, meta=meta,
    )  # fmt: skip


def _is_request(made: object) -> TypeGuard[Request]:
    """Tell a request that a hook has made from the ``None`` of one that makes none."""
    if made is not None and not isinstance(made, Request):
        raise TypeError(f"sitemap_request() returned {type(made).__name__}, expected a Request or None")
    return made is not None


def _takes_page(callback: Callable[..., Any]) -> bool:
    try:
        return "page" in inspect.signature(callback).parameters
    except (TypeError, ValueError):
        return False
