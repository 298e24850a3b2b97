"""One document that is being read: what its records lead to. The spider beside it makes the requests."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any

from sitemapcrawl.counters import DocumentLost, location_key
from sitemapcrawl.hints import about_page, about_start
from sitemapcrawl.protocol.errors import ParseError
from sitemapcrawl.protocol.records import Page, PlainPages, SitemapEntry

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from concurrent.futures import ThreadPoolExecutor

    from scrapy.http import Request, Response

    from sitemapcrawl.protocol.errors import SitemapError
    from sitemapcrawl.spiders._call import Call
    from sitemapcrawl.spiders.sitemap import SitemapSpider


logger = logging.getLogger(__name__)


class DocumentReading:
    """One document that is being read: what its records lead to."""

    def __init__(self, spider: SitemapSpider, call: Call, url: str, depth: int, response: Response | None) -> None:
        self._spider = spider
        self._call = call
        self._url = url
        self._response = response
        self._depth = depth
        self._too_deep = depth >= spider.options.max_depth
        self._left_at_depth = False
        self._left_out = 0
        self._children: dict[str, None] = {}
        self.listed: dict[str, None] = {}  # keys of the sitemaps that it lists
        self.requests: dict[str, Request] = {}  # by key, of sitemaps for which a hook makes them
        self.fault: ParseError | None = None

    async def read(self, thread: ThreadPoolExecutor, batches: Iterator[Sequence[Any]], problem: Exception | None) -> None:
        """Take *batches*, which are read in *thread*; or *problem*, if the document could not be opened."""
        try:
            if problem is not None:
                raise problem
            batch = await run(thread, next, batches, None)
            finished = ""
            while batch and not self._spider.is_abandoned:
                # The next batch is read while this one is delivered.
                upcoming = run(thread, next, batches, None)
                try:
                    finished = await self.take(batch)
                finally:
                    try:
                        batch = await upcoming
                    except Exception:
                        if not finished:
                            raise
                        batch = []  # what is left is left out, whatever is wrong with it
                if finished:
                    await self._spider.reach_max_urls(self._call, more=finished == "more" or batch is not None)
                    break
        except DocumentLost:
            raise
        except Exception as error:
            self.note(error)

    async def read_filtered(self, body: bytes, robots: bool) -> None:
        """Do what :meth:`read` does with what the hooks of a subclass let through of *body*."""
        try:
            await self._spider.read_filtered(self._call, self, body, self._url, robots)
        except DocumentLost:
            raise
        except Exception as error:
            self.note(error)

    def note(self, error: Exception) -> None:
        """Record *error*, which has ended the reading."""
        if isinstance(error, ParseError):
            # Who keeps the error, as the summary does, must not keep what the reader had in its hands when it raised it.
            error.__traceback__ = error.__context__ = None
            self.fault = error
            if self._depth == self._call.depth:  # it is the start
                error.message += about_start(self._call.url) or about_page(self._url, error.message)
        else:
            # A mistake of ours, or of a hook, must cost one document, and be told.
            logger.error("Error reading %s", self._url, exc_info=error)
            self.fault = ParseError(self._url, f"the document could not be read: {type(error).__name__}: {error}")
        self._spider.report([self.fault], self._call)

    async def take(self, batch: Sequence[Any]) -> str:
        """Hand on the records of *batch*. Return ``"more"`` or ``"end"`` if the pages are as many as allowed, else ``""``."""
        rules = self._spider.options.rules
        if isinstance(batch, PlainPages) and not rules:  # nothing is to be looked at
            granted, last = await self._call.counters.take_pages(len(batch))
            await self._deliver(batch if granted == len(batch) else batch[:granted])
            return "" if not last else "end" if granted == len(batch) else "more"
        pages: list[Page] = []
        places: list[int] = []
        not_matched: list[int] = []
        for place, record in enumerate(batch):
            if type(record) is Page:
                if rules and not any(rule.search(record.loc) for rule in rules):
                    not_matched.append(place)
                else:
                    pages.append(record)
                    places.append(place)
        finished = ""
        if pages:
            granted, last = await self._call.counters.take_pages(len(pages))
            if last:  # what comes behind the last page is left out, whatever it is
                end = places[granted - 1] + 1 if granted else 0
                finished = "more" if end < len(batch) else "end"
                pages, batch = pages[:granted], batch[:end]
                not_matched = [place for place in not_matched if place < end]
        if not_matched:
            self._spider.count("pages/not_matched", len(not_matched))
        await self._take_others([record for record in batch if type(record) is not Page])
        await self._deliver(pages)
        return finished

    async def _take_others(self, records: Sequence[Any]) -> None:
        entries: list[SitemapEntry] = []
        errors: list[SitemapError] = []
        for record in records:
            if type(record) is SitemapEntry:
                entries.append(record)
            else:
                errors.append(record)
                if type(record) is ParseError:
                    self.fault = record
        if entries:
            await self._list(entries)
        if errors:
            await self._spider.record(errors, self._call)

    def mark(self, records: Sequence[Any]) -> None:
        """Have *records* carry the start that led to them, where there are several."""
        self._call.mark_records(records)

    async def _deliver(self, pages: Sequence[Page]) -> None:
        if not pages:
            return
        spider, call = self._spider, self._call
        spider.count("pages", len(pages))
        call.mark_records(pages)
        if call.sample is not None:
            call.sample.add(pages)
        else:
            await spider.deliver(pages, self._url, self._response, call)

    async def _list(self, entries: list[SitemapEntry]) -> None:
        spider, call = self._spider, self._call
        call.mark_records(entries)
        follow = spider.options.follow
        found = []
        for entry in entries:
            wanted = not follow or any(pattern.search(entry.loc) for pattern in follow)
            if not wanted:
                spider.count("sitemaps/not_followed")
            found.append((key_of(entry.loc), entry, wanted))
        # At once, where sitemaps are fetched side by side: which ones is open, and so what waits is bounded by the limit.
        added = await call.counters.add_sitemaps(
            found, self._children, at_once=spider.options.multi_thread, too_deep=self._too_deep
        )
        self.listed.update(dict.fromkeys(added.listed))
        self._left_out += added.left_out
        self._left_at_depth = self._left_at_depth or added.too_deep > 0
        if added.not_listed:
            spider.reach("max_sitemaps", call)

    def end(self) -> list[str]:
        """Record how the reading ended, and return the keys of the sitemaps to fetch, in the order of the document."""
        spider = self._spider
        spider.count("sitemaps/failed" if self.fault else "sitemaps/read")
        if self._left_at_depth:
            depth = spider.options.max_depth
            error = ParseError(self._url, f"max recursion depth of {depth} reached", "max_depth")
            spider.report([error], self._call)
        if self._left_out:
            spider.leave_out_sitemaps(self._left_out, self._call)
        return list(self._children)


def key_of(url: str) -> str:
    """Return the key of the document at *url*, whatever that is."""
    try:
        return location_key(url)
    except ValueError:  # the location of content that is given may be anything
        return url


def run(thread: ThreadPoolExecutor, function: Callable[..., Any], *arguments: Any) -> asyncio.Future[Any]:
    """Call *function* in *thread*."""
    return asyncio.get_running_loop().run_in_executor(thread, function, *arguments)
