"""Crawls in a program of one's own: a function that returns all, and one that hands over the pages as they are read.

>>> import sitemapcrawl
>>> result = sitemapcrawl.crawl_sync("https://example.com/robots.txt", max_depth=3)  # doctest: +SKIP
>>> len(result.pages)  # doctest: +SKIP
41
"""

from __future__ import annotations

import asyncio
import logging
import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from itemadapter import ItemAdapter
from scrapy import signals
from scrapy.crawler import Crawler
from scrapy.settings import Settings
from scrapy.utils.reactor import is_asyncio_reactor_installed, is_reactor_installed

from sitemapcrawl.items import PageBatch
from sitemapcrawl.protocol.errors import ConfigError, NetworkError, SitemapError
from sitemapcrawl.protocol.records import Page, SitemapEntry, set_fields
from sitemapcrawl.signals import errors_found, sitemaps_listed
from sitemapcrawl.spiders.sitemap import SitemapSpider

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping, Sequence
    from types import TracebackType
    from typing import Self

    import pandas

_SETTINGS = {"SITEMAPCRAWL_PROGRESS_ENABLED": False, "STATS_DUMP": False, "LOGSTATS_INTERVAL": 0}
_LAST_STEPS = 1.0  # seconds for what an engine does when its crawl has ended
_KINDS: dict[str, Any] = {"pages": Page, "sitemaps": SitemapEntry, "errors": SitemapError}
_ERROR_FIELDS = ("type", "url", "limit", "message", "start", "attempt")


@dataclass(slots=True)
class Result:
    """What a crawl found: ``pages``, the ``sitemaps`` that were listed, and ``errors``; ``stats`` are Scrapy's.

    ``url`` is what was given: a URL, or several. ``pages`` holds :class:`~sitemapcrawl.items.Page` objects, or what the
    pipelines made of them.
    """

    url: str | Sequence[str]
    pages: list[Any] = field(default_factory=list)
    sitemaps: list[SitemapEntry] = field(default_factory=list)
    errors: list[SitemapError] = field(default_factory=list)
    stats: dict[str, Any] = field(default_factory=dict)

    def to_pandas(self, kind: str = "pages") -> pandas.DataFrame:
        """Return the ``"pages"``, ``"sitemaps"`` or ``"errors"`` as a data frame: a column a field, a row a record.

        What is unset is missing; images, news, videos and alternates are dictionaries and lists of them. Pages that
        pipelines have put others in place of have the columns of these. Raises :exc:`ImportError` where pandas is not
        installed.
        """
        if kind not in _KINDS:
            raise ValueError(f"{kind!r} is no kind of record, expected one of {', '.join(_KINDS)}")
        import pandas

        if kind == "errors":
            return pandas.DataFrame([error.record() for error in self.errors], columns=list(_ERROR_FIELDS))
        found, ours = getattr(self, kind), _KINDS[kind]
        records = [set_fields(record) if type(record) is ours else ItemAdapter(record).asdict() for record in found]
        are_ours = all(type(record) is ours for record in found)  # those that pipelines have made have fields of their own
        return pandas.DataFrame(records, columns=list(ours.__slots__) if are_ours else None)

    def __repr__(self) -> str:
        counts = ", ".join(f"{len(getattr(self, kind)):,} {kind}" for kind in _KINDS)
        of = self.url if isinstance(self.url, str) else f"{len(self.url):,} starts"
        return f"<Result of {of}: {counts}>"


async def crawl(
    url: str | Sequence[str] = (), *, settings: Mapping[str, Any] | None = None, raise_errors: bool = True, **options: Any
) -> Result:
    """Crawl from *url*, or from each of several, and return all that is found.

    *options* are those of the spider, *settings* Scrapy's.

    Raises :exc:`~sitemapcrawl.items.ConfigError`, which names every option that is wrong, and, unless *raise_errors* is
    false, the error for which the document at *url* could not be read: a :exc:`~sitemapcrawl.items.NetworkError`,
    :exc:`~sitemapcrawl.items.ParseError` or :exc:`~sitemapcrawl.items.ValidationError`. Of several starts it is the first
    that failed. What is wrong further down is in ``errors`` only.
    """
    run = _Run(url, settings, options)
    run.crawler.signals.connect(run.collect, signals.item_scraped)
    task = asyncio.create_task(run.run())
    try:
        await asyncio.shield(task)
    except asyncio.CancelledError:
        await run.stop(task)
        raise
    run.check(raise_errors=raise_errors)
    return run.result


def crawl_sync(
    url: str | Sequence[str] = (), *, settings: Mapping[str, Any] | None = None, raise_errors: bool = True, **options: Any
) -> Result:
    """Do what :func:`crawl` does, and return when it is done: for scripts, and for notebooks.

    Where an event loop runs in this thread already, the crawl has a thread with one of its own.
    """

    def run() -> Result:
        return asyncio.run(crawl(url, settings=settings, raise_errors=raise_errors, **options))

    if is_reactor_installed():
        raise RuntimeError("crawl_sync() does not work where a Twisted reactor is installed; use await crawl()")
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        has_loop = False
    else:
        has_loop = True
    # Not within the except: an error of the crawl would come with the RuntimeError as its context.
    return _in_thread(run) if has_loop else run()


def pages(
    url: str | Sequence[str] = (), *, settings: Mapping[str, Any] | None = None, raise_errors: bool = True, **options: Any
) -> PageStream:
    """Return an asynchronous iterator over the pages from *url*, which does not hold them.

    The crawl begins with the first page that is asked for, and goes no faster than pages are taken. Leaving the loop
    early stops it; ``async with`` waits until it has stopped. Arguments and errors are those of :func:`crawl`; errors are
    raised after the last page.
    """
    return PageStream(_Run(url, settings, options), raise_errors=raise_errors)


class PageStream:
    """The pages of a crawl that is under way, to be iterated over once; ``sitemaps`` and ``errors`` fill meanwhile."""

    def __init__(self, run: _Run, *, raise_errors: bool) -> None:
        self._run = run
        self._raise_errors = raise_errors
        self._task: asyncio.Task[None] | None = None
        self._begun = False

    @property
    def sitemaps(self) -> list[SitemapEntry]:
        """The sitemaps that were listed; they are known when the crawl has ended."""
        return self._run.result.sitemaps

    @property
    def errors(self) -> list[SitemapError]:
        """What went wrong until now."""
        return self._run.result.errors

    @property
    def stats(self) -> dict[str, Any]:
        """The stats of Scrapy, when the crawl has ended."""
        return self._run.result.stats

    def __aiter__(self) -> AsyncIterator[Any]:
        # A generator: Python closes one that nobody holds any more, as after a break. The crawl must not hold it.
        if self._begun:
            raise RuntimeError("the pages of a crawl can be iterated over once")
        self._begun = True
        return self._iterate()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Stop the crawl, and wait until it has stopped."""
        self._begun = self._run.left = True
        if self._task is not None:
            await self._run.stop(self._task)

    async def _iterate(self) -> AsyncIterator[Any]:
        run = self._run
        if run.left:
            return
        run.crawler.signals.connect(run.hand_over, signals.item_scraped)
        self._task = asyncio.create_task(run.run())
        self._task.add_done_callback(run.end)
        try:
            while (batch := await run.next_batch()) is not None:
                for page in batch:
                    yield page
        finally:
            await self.aclose()
        self._task.result()  # what went wrong with the crawl itself
        run.check(raise_errors=self._raise_errors)


class _Run:
    """One crawl: a crawler that is set up for it, and what it has found."""

    def __init__(self, url: str | Sequence[str], settings: Mapping[str, Any] | None, options: dict[str, Any]) -> None:
        self.result = Result(url)
        self._options = {"url": url, **options}
        project = Settings({**_SETTINGS, **(settings or {})})
        project.set("TWISTED_REACTOR_ENABLED", is_reactor_installed(), priority="cmdline")
        self.crawler = _Crawler(SitemapSpider, project)
        self.queue: asyncio.Queue[Any] = asyncio.Queue()
        self.left = False
        self._room = asyncio.Event()
        self.crawler.signals.connect(self._errors_found, errors_found)
        self.crawler.signals.connect(self._sitemaps_listed, sitemaps_listed)

    async def run(self) -> None:
        _check_loop()
        try:
            with _Quiet():
                await self.crawler.crawl_async(**self._options)
        finally:  # also where the loop comes to its end first, and the spider is not closed
            if self.crawler.spider is not None:
                self.crawler.spider.end_threads()  # type: ignore[attr-defined]
        self.result.stats = dict(self.crawler.stats.get_stats())

    def check(self, *, raise_errors: bool) -> None:
        """Raise what is wrong with the options, or the reason for which the start could not be read."""
        spider: Any = self.crawler.spider
        if spider.config_errors:
            raise ConfigError(spider.options.url or None, "; ".join(error.message for error in spider.config_errors))
        if not raise_errors:
            return
        if spider.start_error is not None:
            raise spider.start_error
        if not spider.start_read:
            call = next(iter(spider.calls.values()), None)
            raise NetworkError(call.url if call else spider.options.url, "the crawl ended before the document was read")

    async def stop(self, task: asyncio.Task[None]) -> None:
        """Stop the crawl that *task* runs, and wait until it has stopped."""
        self.left = True
        while not task.done():
            engine = self.crawler._engine
            if engine is not None and engine.running:
                self._room.set()
                spider: Any = self.crawler.spider
                spider.abandon()
                stopping = asyncio.ensure_future(self.crawler.stop_async())
                # A loop that comes to its end cancels all tasks, those of the engine too: there may be nothing to wait for.
                await asyncio.wait([task, stopping], return_when=asyncio.FIRST_COMPLETED)
                if task.done():
                    await asyncio.wait([stopping], timeout=0 if task.cancelled() else _LAST_STEPS)
                    stopping.cancel()
                await asyncio.wait([task, stopping])
                break
            await asyncio.sleep(0.01)  # it is being set up
        await asyncio.wait([task])
        if not task.cancelled():
            task.exception()  # nobody waits for it any more

    # Handlers. Scrapy holds them by weak references only, which the methods of this object do not outlive.

    def collect(self, item: Any) -> None:
        if isinstance(item, PageBatch):
            self.result.pages.extend(item)
        else:
            self.result.pages.append(item)

    async def hand_over(self, item: Any) -> None:
        # Scrapy waits for this, so that the reading does: one batch is being used, and one waits.
        while not (self.left or self.queue.empty()):
            self._room.clear()
            await self._room.wait()
        if not self.left:
            self.queue.put_nowait(item if isinstance(item, PageBatch) else [item])

    async def next_batch(self) -> Any:
        batch = await self.queue.get()
        self._room.set()
        return batch

    def end(self, _: object) -> None:
        self.queue.put_nowait(None)

    def _errors_found(self, errors: list[SitemapError]) -> None:
        self.result.errors.extend(errors)

    def _sitemaps_listed(self, sitemaps: list[SitemapEntry]) -> None:
        self.result.sitemaps.extend(sitemaps)


class _Crawler(Crawler):
    """A crawler that leaves the logging of the program alone, which may be that of a Scrapy process."""

    keeps_items = True  # so that the spider does not warn that nobody does

    def _update_root_log_handler(self) -> None:
        pass


def _check_loop() -> None:
    if not is_reactor_installed():
        return
    from twisted.internet import reactor

    loop = getattr(reactor, "_asyncioEventloop", None)
    if not is_asyncio_reactor_installed() or loop is not asyncio.get_running_loop():
        raise RuntimeError("a Twisted reactor is installed, and this is not its event loop: a crawl can run in that one only")


class _Quiet(logging.Filter):
    """While a crawl runs, leave out the warning that Scrapy's client for programs without a reactor is experimental."""

    _logger = logging.getLogger("scrapy.core.downloader.handlers._base_streaming")

    def filter(self, record: logging.LogRecord) -> bool:
        return "is experimental" not in record.getMessage()

    def __enter__(self) -> None:
        self._logger.addFilter(self)

    def __exit__(self, *_: object) -> None:
        self._logger.removeFilter(self)


def _in_thread(function: Callable[[], Result]) -> Result:
    outcome: list[Result | BaseException] = []

    def run() -> None:
        try:
            outcome.append(function())
        except BaseException as error:
            outcome.append(error)

    thread = threading.Thread(target=run, name="sitemapcrawl")
    thread.start()
    thread.join()
    if isinstance(outcome[0], BaseException):
        raise outcome[0]
    return outcome[0]
