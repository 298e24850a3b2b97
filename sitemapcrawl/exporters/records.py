"""Scrapy's exporters for JSON, CSV and XML, which know the records of sitemaps: what is unset of one is left out.

JSON lines, the format for many pages, are next door in ``jsonlines``. To add a format: a class here with
:class:`RecordFields` before Scrapy's, and a line in ``FEED_EXPORTERS`` of :mod:`sitemapcrawl.default_settings`.
"""

from __future__ import annotations

import json
import logging
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from itemadapter import ItemAdapter
from scrapy.exporters import BaseItemExporter, CsvItemExporter, JsonItemExporter, XmlItemExporter

from sitemapcrawl.items import ErrorRecord, Page, SitemapEntry
from sitemapcrawl.protocol.records import set_fields

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

logger = logging.getLogger(__name__)

RECORDS = (Page, SitemapEntry)


def export_each(exporter: BaseItemExporter, items: Iterable[Any]) -> None:
    """Write *items* one by one; one that the exporter cannot write costs itself, and not those that come after it.

    A file that cannot be written raises :exc:`OSError`.
    """
    for item in items:
        try:
            exporter.export_item(item)
        except OSError:
            raise
        except Exception:
            logger.error("Error exporting %(item)s", {"item": item}, exc_info=True)


def cut_to_line(path: str) -> None:
    """Cut the file back to its last whole line: what follows must not be glued to half a record."""
    if not os.path.isfile(path):
        return
    with Path(path).open("rb+") as file:
        end = file.seek(0, os.SEEK_END)
        while end:
            start = max(0, end - 65_536)
            file.seek(start)
            newline = file.read(end - start).rfind(b"\n")
            if newline >= 0:
                end = start + newline + 1
                break
            end = start
        file.truncate(end)


class RecordFields(BaseItemExporter):
    """Give records to the exporter as plain dictionaries of what is set."""

    def get_serialized_fields(
        self, item: Any, default_value: Any = None, include_empty: bool | None = None
    ) -> Iterable[tuple[str, Any]]:
        if isinstance(item, RECORDS):
            item = set_fields(item)
        return super().get_serialized_fields(item, default_value, include_empty)


class RecordJsonExporter(RecordFields, JsonItemExporter):
    """Scrapy's exporter for JSON, for records."""


class RecordXmlExporter(RecordFields, XmlItemExporter):
    """Scrapy's exporter for XML, for records. What is unset of an error is left out: XML has no null."""

    def export_item(self, item: Any) -> None:
        if isinstance(item, ErrorRecord):
            item = {name: value for name, value in item.items() if value is not None}
        super().export_item(item)


class RecordCsvExporter(RecordFields, CsvItemExporter):
    """Scrapy's exporter for CSV, for records.

    The header holds every field of the kind of record, whatever the first one has; ``start`` in a crawl of several starts
    only, and ``attempt`` in one that several workers share: there, all have it. Values that are records or lists themselves
    are JSON in their cell: ``[{"loc": "https://example.com/a.png"}]``.
    """

    def export_item(self, item: Any) -> None:
        if self.fields_to_export is None:
            if isinstance(item, RECORDS):
                rare = {name for name in ("start", "attempt") if getattr(item, name) is None}
                self.fields_to_export = [name for name in type(item).__slots__ if name not in rare]
            elif not self.include_headers_line:  # the file is continued: Scrapy's finds the fields with the header
                self.fields_to_export = ItemAdapter(item).field_names()
        super().export_item(item)

    def serialize_field(self, field: Mapping[str, Any], name: str, value: Any) -> Any:
        if isinstance(value, dict) or (isinstance(value, list) and "serializer" not in field):
            return json.dumps(value, ensure_ascii=False)
        return super().serialize_field(field, name, value)
