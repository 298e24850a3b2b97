"""One document that is being read: what its records lead to. The spider beside it makes the requests."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sitemapcrawl.counters import location_key
from sitemapcrawl.protocol.errors import ParseError
from sitemapcrawl.protocol.records import Page, PlainPages, SitemapEntry

if TYPE_CHECKING:
    from collections.abc import Sequence

    from scrapy.http import Response

    from sitemapcrawl.protocol.errors import SitemapError
    from sitemapcrawl.spiders._call import Call
    from sitemapcrawl.spiders.sitemap import SitemapSpider


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
        self.fault: ParseError | None = None

    async def take(self, batch: Sequence[Any]) -> str:
        """Hand on the records of *batch*. Return ``"more"`` or ``"end"`` if the pages are as many as allowed, else ``""``."""
        spider, call = self._spider, self._call
        counters = call.counters
        rules = spider.options.rules
        room = counters.pages_left()
        if isinstance(batch, PlainPages) and not rules and len(batch) < room:
            await self._deliver(batch)  # nothing is to be looked at
            return ""
        pages: list[Page] = []
        errors: list[SitemapError] = []
        not_matched = 0
        finished = ""
        for index, record in enumerate(batch, 1):
            kind = type(record)
            if kind is Page:
                if rules and not any(rule.search(record.loc) for rule in rules):
                    not_matched += 1
                    continue
                pages.append(record)
                if len(pages) >= room:
                    finished = "more" if index < len(batch) else "end"
                    break
            elif kind is SitemapEntry:
                self._list(record)
            else:
                errors.append(record)
                if kind is ParseError:
                    self.fault = record
        if not_matched:
            spider.count("pages/not_matched", not_matched)
        if errors:
            spider.report(errors, call)
        if pages:
            await self._deliver(pages)
        return finished

    def mark(self, records: Sequence[Any]) -> None:
        """Have *records* carry the start that led to them, where there are several."""
        self._call.mark_records(records)

    async def _deliver(self, pages: Sequence[Page]) -> None:
        spider, call = self._spider, self._call
        call.counters.add_pages(len(pages))
        spider.count("pages", len(pages))
        call.mark_records(pages)
        if call.sample is not None:
            call.sample.add(pages)
        else:
            await spider.deliver(pages, self._url, self._response, call.mark)

    def _list(self, entry: SitemapEntry) -> None:
        spider, counters = self._spider, self._call.counters
        self._call.mark_records([entry])
        key = key_of(entry.loc)
        if counters.list(entry):
            self.listed[key] = None
        else:
            spider.reach("max_sitemaps", self._call)
        follow = spider.options.follow
        if follow and not any(pattern.search(entry.loc) for pattern in follow):
            spider.count("sitemaps/not_followed")
            return
        if key in self._children or counters.is_known(key):
            return
        if self._too_deep:
            self._left_at_depth = True
            return
        if spider.options.multi_thread:
            # Which sitemaps are fetched is open here, so they are counted at once: what waits is bounded by the limit.
            if not counters.sitemaps_left():
                self._left_out += 1
                return
            counters.request(key)
        elif len(self._children) >= counters.sitemaps_left():
            # One at a time, they are counted when they are sent: what this one leads to comes before the next.
            self._left_out += 1
            return
        self._children[key] = None

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
