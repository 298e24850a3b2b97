"""Feed exports for batches of pages, for the sitemaps that are listed, and for errors."""

from __future__ import annotations

import logging
import os
from typing import TYPE_CHECKING, Any

from scrapy import signals
from scrapy.extensions.feedexport import FeedExporter, FeedSlot, FileFeedStorage, ItemFilter, apply_uri_params

from sitemapcrawl.exporters.records import cut_to_line, export_each
from sitemapcrawl.items import ErrorRecord, Page, PageBatch
from sitemapcrawl.protocol.records import PlainPages
from sitemapcrawl.signals import crawl_resumed, documents_saving, errors_found, sitemaps_listed

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Self

    from scrapy import Spider
    from scrapy.crawler import Crawler

    from sitemapcrawl.protocol.errors import SitemapError
    from sitemapcrawl.protocol.records import SitemapEntry


logger = logging.getLogger(__name__)

_LINES = {"jsonlines", "jsonl", "jl"}
_CAN_GO_ON = _LINES | {"csv"}  # formats of which a file can be continued


class BatchFeedExporter(FeedExporter):
    """Scrapy's feed exports; what comes in batches or lists is exported as if it had come one by one.

    A feed without ``item_classes`` gets the items of spiders: pages. One with them gets what they name: pages,
    :class:`~sitemapcrawl.items.SitemapEntry` or :class:`~sitemapcrawl.items.SitemapError` records.
    An exporter with ``export_batch(items)`` writes a batch in one go.

    In a crawl that can be resumed, local files are written out when a document is done, and continued later.
    """

    _has_others = False  # whether there were items besides the pages of sitemaps
    _fault: OSError | None = None  # what kept items from being written

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        self._full: dict[str, int] = {}  # sizes of the files that were filled since flush() was asked

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        exporter = super().from_crawler(crawler)
        crawler.signals.connect(exporter.errors_found, errors_found)
        crawler.signals.connect(exporter.sitemaps_listed, sitemaps_listed)
        crawler.signals.connect(exporter.flush, documents_saving)
        crawler.signals.connect(exporter.resume, crawl_resumed)
        crawler.signals.connect(exporter._opened, signals.spider_opened)
        return exporter

    def item_scraped(self, item: Any, spider: Spider) -> None:
        if not isinstance(item, PageBatch):
            self._has_others = self._has_others or not isinstance(item, Page)
            self.slots = [self._export(slot, [item] if slot.filter.accepts(item) else [], spider) for slot in self.slots]
            return
        self.slots = [self._export(slot, _accepted(slot.filter, item.pages), spider) for slot in self.slots]

    def sitemaps_listed(self, sitemaps: list[SitemapEntry], spider: Spider) -> None:
        self._export_records(sitemaps, sitemaps, spider)

    def errors_found(self, errors: list[SitemapError], spider: Spider) -> None:
        if getattr(spider, "is_beside_another", False):
            return
        if getattr(spider, "config_errors", None) and self.settings.get("JOBDIR"):
            # The errors of a crawl that is to go on are in the file. What is added is cut off when it does.
            for slot in self.slots:
                if slot.file is None and isinstance(slot.storage, FileFeedStorage):
                    slot.storage.write_mode = "ab"
        self._export_records(errors, [ErrorRecord(error.record()) for error in errors], spider)

    def _export_records(self, records: Sequence[Any], items: Sequence[Any], spider: Spider) -> None:
        slots = []
        for slot in self.slots:
            if slot.feed_options.get("item_classes"):
                accepted = [item for record, item in zip(records, items, strict=True) if slot.filter.accepts(record)]
                slots.append(self._export(slot, accepted, spider))
            else:
                slots.append(slot)
        self.slots = slots

    def _export(self, slot: FeedSlot, items: Sequence[Any], spider: Spider) -> FeedSlot:
        """Write *items* to *slot*, and to those that follow it where a file takes only so many; return the last."""
        at_most = self.feeds[slot.uri_template]["batch_item_count"]
        while items:
            room = at_most - slot.itemcount if at_most else len(items)
            part, items = items[:room], items[room:]
            try:
                _write(slot, part)
            except OSError as error:
                self._fault = error
                raise
            slot.itemcount += len(part)
            if at_most and slot.itemcount >= at_most:
                slot = self._next_slot(slot, spider)
        return slot

    def _next_slot(self, slot: FeedSlot, spider: Spider) -> FeedSlot:
        """Close the file of *slot* and return a slot for the next one, as FeedExporter.item_scraped() does."""
        self._full.update(self._written(slot))  # it is closed in a moment, and until then a document may be done
        following = self._following(slot, spider)
        self._schedule_slot_close(slot, spider)
        return following

    def _following(self, slot: FeedSlot, spider: Spider) -> FeedSlot:
        options = self.feeds[slot.uri_template]
        parameters = self._get_uri_params(spider, options["uri_params"], slot)
        return self._start_new_batch(
            batch_id=slot.batch_id + 1,
            uri=apply_uri_params(slot.uri_template, parameters),
            feed_options=options,
            spider=spider,
            uri_template=slot.uri_template,
        )

    async def close_spider(self, spider: Spider) -> None:
        if getattr(spider, "config_errors", None):
            # What is wrong may turn up late. It must not cost the files of an earlier crawl, which closing would overwrite.
            self.slots = [slot for slot in self.slots if slot.file is not None]
        await super().close_spider(spider)

    # Crawls that are interrupted and resumed

    def flush(self) -> dict[str, int]:
        """Write out what is held back for local files, and return their sizes: absolute path → bytes.

        The size is -1 where items come from elsewhere too: these do not come once more and must not be cut off. Raises what
        kept items from being written: a disk that is full, for one.
        """
        if self._fault is not None:
            raise self._fault
        sizes, self._full = self._full, {}
        for slot in self.slots:
            sizes.update(self._written(slot))
        return sizes

    def _written(self, slot: FeedSlot) -> dict[str, int]:
        """Write out what is held back for the file of *slot*, and return its size by its path."""
        _flush(slot)
        path = _path(slot)
        if path is None:
            return {}
        keeps = slot.file is not None or getattr(slot.storage, "write_mode", "ab") == "ab"
        size = os.path.getsize(path) if keeps and os.path.exists(path) else 0
        return {path: -1 if self._has_others and size else size}

    def resume(self, sizes: Mapping[str, int] | None, spider: Spider | None = None) -> None:
        """Continue the files of an interrupted crawl, cut back to *sizes*: what is behind comes once more.

        Without *sizes* all that is there is kept, but for half a line at the end.
        """
        if sizes is None:
            # Also of what is empty or not there: who wrote it may not have written it out.
            paths = [path for slot in self.slots if (path := _path(slot)) is not None]
            sizes = {path: -1 if os.path.isfile(path) and os.path.getsize(path) else 0 for path in paths}
        else:
            for path, size in sizes.items():
                _cut(path, size)
        self.slots = [self._continued(slot, sizes) for slot in self.slots]

    def _continued(self, slot: FeedSlot, sizes: Mapping[str, int]) -> FeedSlot:
        while (path := _path(slot)) in sizes:
            assert path is not None
            slot.storage.write_mode = "ab"  # type: ignore[attr-defined]
            if not sizes[path]:
                break
            if self.feeds[slot.uri_template]["batch_item_count"]:
                slot = self._following(slot, slot.spider)  # a file is not filled up: how much it holds is not known
                continue
            if slot.format == "csv":
                keywords = {**slot.feed_options["item_export_kwargs"], "include_headers_line": False}
                slot.feed_options = {**slot.feed_options, "item_export_kwargs": keywords}
            break
        # A file that is not known is somebody else's, but for one of so many pages, of which none was done.
        ours = path in sizes or self.feeds[slot.uri_template]["batch_item_count"]
        if path is not None and ours and slot.format in _LINES:
            cut_to_line(path)
        return slot

    def _cut_half_lines(self) -> None:
        """Remove half a line that a kill has left in a file that is appended to, or the next one would be glued to it."""
        for slot in self.slots:
            path = _path(slot)
            if path is not None and slot.format in _LINES and getattr(slot.storage, "write_mode", "") == "ab":
                cut_to_line(path)

    def _opened(self, spider: Spider) -> None:
        if getattr(spider, "resumes_pages", False):
            self._cut_half_lines()
        if not getattr(spider, "keeps_journal", False):
            return  # feeds are not continued: they are what they are in Scrapy
        for slot in self.slots:
            if not isinstance(slot.storage, FileFeedStorage):
                problem = "it is stored when the crawl is closed"
            elif "postprocessing" in slot.feed_options:
                problem = "what is processed cannot be written out in the middle"
            elif slot.format not in _CAN_GO_ON:
                problem = f"a file of the format {slot.format} cannot be continued"
            else:
                continue
            logger.warning("The feed %s is not whole if the crawl is interrupted: %s", slot.uri, problem)


def _write(slot: FeedSlot, items: Sequence[Any]) -> None:
    slot.start_exporting()
    assert slot.exporter
    export_batch = getattr(slot.exporter, "export_batch", None)
    if export_batch is not None:
        export_batch(items)
    else:
        export_each(slot.exporter, items)


def _flush(slot: FeedSlot) -> None:
    # What is postprocessed is written out at the end only.
    if slot.file is not None and "postprocessing" not in slot.feed_options and not slot.file.closed:
        slot.file.flush()


def _path(slot: FeedSlot) -> str | None:
    """Return the absolute path of the file that *slot* writes to, if it is one of which the size means something."""
    if not isinstance(slot.storage, FileFeedStorage) or "postprocessing" in slot.feed_options:
        return None
    path = os.path.abspath(slot.storage.path)
    return path if os.path.isfile(path) or not os.path.exists(path) else None


def _cut(path: str, size: int) -> None:
    """Cut the file back to *size* bytes; not if that is negative."""
    there = os.path.getsize(path) if os.path.isfile(path) else 0
    if there > size >= 0:
        os.truncate(path, size)
    elif there < size:
        logger.warning("The file %s has %s bytes, it had %s when the crawl was interrupted", path, f"{there:,}", f"{size:,}")


def _accepted(item_filter: ItemFilter, pages: Sequence[Any]) -> Sequence[Any]:
    if type(item_filter) is not ItemFilter:
        return [page for page in pages if item_filter.accepts(page)]
    classes = item_filter.item_classes
    if not classes or (isinstance(pages, PlainPages) and issubclass(Page, classes)):
        return pages
    return [page for page in pages if isinstance(page, classes)]
