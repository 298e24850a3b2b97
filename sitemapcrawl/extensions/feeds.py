"""Feed exports for batches of pages, for the sitemaps that are listed, and for errors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scrapy.extensions.feedexport import FeedExporter, FeedSlot, ItemFilter, apply_uri_params

from sitemapcrawl.exporters.records import export_each
from sitemapcrawl.items import ErrorRecord, Page, PageBatch
from sitemapcrawl.protocol.records import PlainPages
from sitemapcrawl.signals import errors_found, sitemaps_listed

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Self

    from scrapy import Spider
    from scrapy.crawler import Crawler

    from sitemapcrawl.protocol.errors import SitemapError
    from sitemapcrawl.protocol.records import SitemapEntry


class BatchFeedExporter(FeedExporter):
    """Scrapy's feed exports; what comes in batches or lists is exported as if it had come one by one.

    A feed without ``item_classes`` gets the items of spiders: pages. One with them gets what they name: pages,
    :class:`~sitemapcrawl.items.SitemapEntry` or :class:`~sitemapcrawl.items.SitemapError` records.
    An exporter with ``export_batch(items)`` writes a batch in one go.
    """

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        exporter = super().from_crawler(crawler)
        crawler.signals.connect(exporter.errors_found, errors_found)
        crawler.signals.connect(exporter.sitemaps_listed, sitemaps_listed)
        return exporter

    def item_scraped(self, item: Any, spider: Spider) -> None:
        if not isinstance(item, PageBatch):
            super().item_scraped(item, spider)
            return
        self.slots = [self._export(slot, _accepted(slot.filter, item.pages), spider) for slot in self.slots]

    def sitemaps_listed(self, sitemaps: list[SitemapEntry], spider: Spider) -> None:
        self._export_records(sitemaps, sitemaps, spider)

    def errors_found(self, errors: list[SitemapError], spider: Spider) -> None:
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
            slot.start_exporting()
            assert slot.exporter
            export_batch = getattr(slot.exporter, "export_batch", None)
            if export_batch is not None:
                export_batch(part)
            else:
                export_each(slot.exporter, part)
            slot.itemcount += len(part)
            if at_most and slot.itemcount >= at_most:
                slot = self._next_slot(slot, spider)
        return slot

    def _next_slot(self, slot: FeedSlot, spider: Spider) -> FeedSlot:
        """Close the file of *slot* and return a slot for the next one, as FeedExporter.item_scraped() does."""
        options = self.feeds[slot.uri_template]
        parameters = self._get_uri_params(spider, options["uri_params"], slot)
        self._schedule_slot_close(slot, spider)
        return self._start_new_batch(
            batch_id=slot.batch_id + 1,
            uri=apply_uri_params(slot.uri_template, parameters),
            feed_options=options,
            spider=spider,
            uri_template=slot.uri_template,
        )


def _accepted(item_filter: ItemFilter, pages: Sequence[Any]) -> Sequence[Any]:
    if type(item_filter) is not ItemFilter:
        return [page for page in pages if item_filter.accepts(page)]
    classes = item_filter.item_classes
    if not classes or (isinstance(pages, PlainPages) and issubclass(Page, classes)):
        return pages
    return [page for page in pages if isinstance(page, classes)]
