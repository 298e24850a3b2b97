"""The feed format ``sitemap``: the items of any spider as a sitemap.

The fields of an item are found by the names of the protocol (:data:`FIELDS`, and ``url`` for ``loc``), or by those that
:setting:`SITEMAPCRAWL_SITEMAP_FIELDS` maps them to.
"""

from __future__ import annotations

import logging
import re
from collections import defaultdict
from collections.abc import Mapping
from io import BufferedWriter
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urljoin, urlsplit
from weakref import WeakKeyDictionary, ref

from itemadapter import ItemAdapter
from scrapy import signals
from scrapy.exporters import BaseItemExporter
from scrapy.extensions.feedexport import FeedExporter, apply_uri_params
from scrapy.extensions.postprocessing import PostProcessingManager
from scrapy.utils.defer import ensure_awaitable

from sitemapcrawl.options import SITEMAP_FIELDS
from sitemapcrawl.protocol.records import Page, SitemapEntry
from sitemapcrawl.protocol.rules.records import RecordRules
from sitemapcrawl.protocol.writer import Body, EntryWriter, check_base, check_stylesheet

if TYPE_CHECKING:
    from collections.abc import Sequence
    from io import BytesIO
    from typing import Self

    from scrapy.crawler import Crawler
    from scrapy.extensions.feedexport import FeedSlot
    from scrapy.statscollectors import StatsCollector

logger = logging.getLogger(__name__)

FIELDS = SITEMAP_FIELDS

_STAT = "sitemapcrawl/sitemap_export"
_BATCH = re.compile(r"[-_.]?%\(batch_(?:id|time)\)[-+ #0]*\d*[ds]")


class SitemapItemExporter(BaseItemExporter):
    """Writes items as the entries of a sitemap, in UTF-8, gzipped if the URI of the feed ends in ``.gz``.

    An item without an address that a sitemap can hold is left out and counted; so is one for which the file has no room, and
    one on another host than the first (or than *base_url*), unless pages may be at *any_location*. Any other value that
    is wrong is left out by itself. With *encode*, as is the default, what an address may not hold is percent-encoded.

    *fields* maps names of the protocol to those of the item's fields. Nothing reaches the file before the feed ends: which
    namespaces the root declares is known then.
    """

    def __init__(
        self,
        file: BytesIO,
        *,
        fields: Mapping[str, str] | None = None,
        base_url: str | None = None,
        stylesheet: str | None = None,
        encode: bool = True,
        any_location: bool = False,
        gzip: bool = False,
        stats: StatsCollector | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.file = file
        self.lastmod: str | None = None
        self.count = self.left_out = self.values_left_out = 0
        self.first_problem = ""
        self._names = field_names(fields, self.fields_to_export)
        self._encode = encode
        self._any_location = any_location
        self._gzip = gzip
        self._stats = stats
        self._body = Body(stylesheet=check_stylesheet(stylesheet) if stylesheet else None)
        self._is_known = bool(base_url) or any_location
        base = check_base(base_url) if base_url and not any_location else None
        self._entries = EntryWriter(RecordRules(base, encode=encode))

    @classmethod
    def from_crawler(cls, crawler: Crawler, file: BytesIO, **kwargs: Any) -> Self:
        settings = crawler.settings
        kwargs.setdefault("fields", settings.getdict("SITEMAPCRAWL_SITEMAP_FIELDS"))
        kwargs.setdefault("base_url", settings.get("SITEMAPCRAWL_SITEMAP_BASE_URL"))
        kwargs.setdefault("stylesheet", settings.get("SITEMAPCRAWL_SITEMAP_STYLESHEET"))
        if not isinstance(file, PostProcessingManager):  # which compresses, if anything is to be
            kwargs.setdefault("gzip", _uri_of(crawler, file).endswith(".gz"))
        _Feeds.of(crawler)
        return cls(file, stats=crawler.stats, **kwargs)

    def export_item(self, item: Any) -> None:
        faults: list[str] = []
        record = item if type(item) is Page and self.fields_to_export is None else self._record(item)
        try:
            entry = self._entries.entry(record, faults)
            if not self._body.add(entry):
                raise ValueError("the file is full: FEED_EXPORT_BATCH_ITEM_COUNT splits a feed")
        except ValueError as problem:
            self._count("left_out", str(problem))
            return
        self.count += 1
        if not self._is_known:
            self._is_known = True
            loc = record.loc if isinstance(record, Page) else self._entries.rules.location(record["loc"])
            site = urlsplit(loc)
            self._entries = EntryWriter(RecordRules(f"{site.scheme}://{site.netloc}/", encode=self._encode))
        for fault in faults:
            self._count("values_left_out", fault)

    def export_batch(self, pages: Sequence[Any]) -> None:
        """Write *pages*, a batch."""
        for page in pages:
            self.export_item(page)

    def finish_exporting(self) -> None:
        self.lastmod = self._body.lastmod
        if self._stats is not None:
            self._stats.inc_value(f"{_STAT}/written", self.count)
        try:
            if _is_appended_to(self.file):
                logger.error(
                    "%s was there already, and a sitemap cannot be appended to: nothing is written (use -O)", self.file.name
                )
            else:
                (self._body.write_gzip_to if self._gzip else self._body.write_to)(self.file)
        finally:
            self._body.close()

    def _record(self, item: Any) -> dict[str, Any]:
        adapter = ItemAdapter(item)
        record: dict[str, Any] = {}
        for name, fields in self._names.items():
            for field in fields:
                value = adapter.get(field)
                if value is not None:
                    record[name] = self.serialize_field(adapter.get_field_meta(field), field, value)
                    break
        return record

    def _count(self, what: str, message: str) -> None:
        setattr(self, what, getattr(self, what) + 1)
        self.first_problem = self.first_problem or message
        if self._stats is not None:
            self._stats.inc_value(f"{_STAT}/{what}")


def field_names(fields: Mapping[str, str] | None, to_export: Any = None) -> dict[str, list[str]]:
    """Return the fields in which each value of the protocol is looked for, in this order.

    *to_export* is what FEED_EXPORT_FIELDS or the option ``fields`` of the feed says: names, or a mapping to other names.
    """
    names = {name: [name, "url"] if name == "loc" else [name] for name in FIELDS}
    for name, field in (fields or {}).items():
        if name not in names:
            raise ValueError(f"SITEMAPCRAWL_SITEMAP_FIELDS maps {name!r}, which is none of {', '.join(FIELDS)}")
        names[name].insert(0, field)
    if isinstance(to_export, Mapping):
        for field, name in to_export.items():
            if name in names:
                names[name].insert(0, field)
    if to_export is not None:
        names = {name: [field for field in found if field in to_export] for name, found in names.items()}
    return names


def _is_appended_to(file: Any) -> bool:
    return str(getattr(file, "mode", "")).startswith("a") and file.tell() > 0


def _uri_of(crawler: Crawler, file: Any) -> str:
    """Return the URI of the feed that is written to *file*, as far as it is known: its ending tells what is wanted."""
    feeds = crawler.get_extension(FeedExporter)
    slots = feeds.slots if feeds else []
    for slot in slots:
        if slot.file is file:
            return slot.uri
    # The file of a next batch, which has no slot yet. A local one has its own name, others have that of a temporary file.
    if isinstance(file, BufferedWriter):
        return str(file.name)
    return next((slot.uri for slot in slots if isinstance(slot.exporter, SitemapItemExporter)), "")


class _Feeds:
    """The sitemap feeds of a crawl: says at its end what was left out, and writes an index of a feed that is split."""

    _known: WeakKeyDictionary[Crawler, _Feeds] = WeakKeyDictionary()

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = ref(crawler)
        self._slots: dict[str, list[FeedSlot]] = defaultdict(list)
        crawler.signals.connect(self._slot_closed, signals.feed_slot_closed)
        crawler.signals.connect(self._closed, signals.feed_exporter_closed)

    @classmethod
    def of(cls, crawler: Crawler) -> _Feeds:
        if crawler not in cls._known:
            cls._known[crawler] = cls(crawler)
        return cls._known[crawler]

    def _slot_closed(self, slot: FeedSlot) -> None:
        if isinstance(slot.exporter, SitemapItemExporter):
            self._slots[slot.uri_template].append(slot)

    async def _closed(self) -> None:
        for template, slots in self._slots.items():
            exporters = [slot.exporter for slot in slots if isinstance(slot.exporter, SitemapItemExporter)]
            left_out = sum(exporter.left_out for exporter in exporters)
            values = sum(exporter.values_left_out for exporter in exporters)
            if left_out or values:
                first = next(exporter.first_problem for exporter in exporters if exporter.first_problem)
                logger.warning(
                    "Of the items for %s, %s were left out, and %s values of others; the first: %s",
                    template, f"{left_out:,}", f"{values:,}", first,
                )  # fmt: skip
            if _BATCH.search(template):
                await self._write_index(template, slots)
        self._slots.clear()

    async def _write_index(self, template: str, slots: list[FeedSlot]) -> None:
        crawler = self._crawler()
        assert crawler is not None
        feeds = crawler.get_extension(FeedExporter)
        assert feeds is not None
        options = {**feeds.feeds[template], "overwrite": True}
        base_url = options["item_export_kwargs"].get("base_url") or crawler.settings.get("SITEMAPCRAWL_SITEMAP_BASE_URL")
        folder, slash, name = template.rpartition("/")
        if not base_url or _BATCH.search(folder):
            reason = "SITEMAPCRAWL_SITEMAP_BASE_URL is not set" if not base_url else "the files are in several folders"
            logger.warning("No index of the files of %s: %s", template, reason)
            return
        if crawler.stats.get_value(f"feedexport/failed_count/{type(slots[0].storage).__name__}"):
            logger.error("No index of the files of %s: not all of them could be stored", template)
            return
        name = _BATCH.sub("", name).removesuffix(".gz")
        name = "sitemap.xml" if name in ("", ".xml") else name
        parameters = feeds._get_uri_params(slots[0].spider, options["uri_params"])
        uri = apply_uri_params(folder + slash + name, parameters)
        storage = feeds._get_storage(uri, options)
        file = storage.open(slots[0].spider)
        _index(slots, check_base(base_url)).write_to(file)  # type: ignore[arg-type]
        await ensure_awaitable(storage.store(file))
        logger.info("Stored the index of %s files in: %s", len(slots), uri)


def _index(slots: list[FeedSlot], base_url: str) -> Body:
    """Return the index of the files of *slots* that have an entry, in their order."""
    index = Body("sitemapindex")
    entries = EntryWriter(RecordRules(base_url), "sitemapindex")
    for slot in sorted(slots, key=lambda slot: slot.batch_id):
        exporter = slot.exporter
        if isinstance(exporter, SitemapItemExporter) and exporter.count:
            name = quote(slot.uri.rpartition("/")[2])
            if not index.add(entries.entry(SitemapEntry(urljoin(base_url, name), exporter.lastmod))):
                raise ValueError("more files than an index holds")
    return index
