"""JSON lines, whole batches at a time."""

from __future__ import annotations

import codecs
from dataclasses import fields
from itertools import starmap
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import msgspec
from scrapy.exporters import JsonLinesItemExporter

from sitemapcrawl.exporters.records import RecordFields, export_each
from sitemapcrawl.items import ErrorRecord, Page, SitemapEntry
from sitemapcrawl.protocol import records

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from io import BytesIO

_encode_lines = msgspec.json.Encoder().encode_lines


def _mirror(record: type) -> tuple[Callable[..., Any], Callable[[Any], tuple[Any, ...]]]:
    """Return a class with the fields of *record* that msgspec encodes without those at their defaults, and what reads them.

    msgspec encodes dataclasses as well, but with every ``null`` in them: more bytes, and 1.5 times as long.
    """
    names = [field.name for field in fields(record)]
    struct = msgspec.defstruct(f"{record.__name__}Line", [(name, Any, None) for name in names], omit_defaults=True, gc=False)
    return struct, attrgetter(*names)


_LINE, _ = _mirror(Page)
_ENTRY, _entry_fields = _mirror(SitemapEntry)
_PLAIN = ("lastmod", "changefreq", "priority", "sitemap", "start", "attempt")
_PlainLine = msgspec.defstruct("PlainLine", [("loc", str), *((name, Any, None) for name in _PLAIN)], omit_defaults=True, gc=False)
_IMAGE, _image_fields = _mirror(records.Image)
_ALTERNATE, _alternate_fields = _mirror(records.Alternate)
_NEWS, _news_fields = _mirror(records.News)
_PUBLICATION, _publication_fields = _mirror(records.Publication)


def _line(page: Page) -> Any:
    images: Any = page.images
    if images:
        images = [_IMAGE(*_image_fields(image)) for image in images]
    alternates: Any = page.alternates
    if alternates:
        alternates = [_ALTERNATE(*_alternate_fields(link)) for link in alternates]
    news: Any = page.news
    if news is not None:
        publication, date, title = _news_fields(news)
        news = _NEWS(publication and _PUBLICATION(*_publication_fields(publication)), date, title)
    videos: Any = page.videos
    if videos:  # rare, and with records in them
        videos = [records.set_fields(video) for video in videos]
    return _LINE(
        page.loc, page.lastmod, page.changefreq, page.priority,
        images or None, news, videos or None, alternates or None, page.sitemap, page.start, page.attempt,
    )  # fmt: skip


# What makes a line of a record of each kind. An error has all of its keys, whatever they hold.
_LINES: dict[type, Callable[[Any], Any]] = {
    Page: _line,
    SitemapEntry: lambda entry: _ENTRY(*_entry_fields(entry)),
    ErrorRecord: lambda record: record,
}


class JsonLinesExporter(RecordFields, JsonLinesItemExporter):
    """Scrapy's exporter for JSON lines; UTF-8 unless an encoding is set, and quick with batches of pages.

    Whatever is no record, and records of which only some fields are exported, go the way of Scrapy's exporter.
    """

    def __init__(self, file: BytesIO, **kwargs: Any) -> None:
        kwargs["encoding"] = kwargs.get("encoding") or "utf-8"
        super().__init__(file, **kwargs)
        options = set(kwargs) - {"encoding", "fields_to_export", "indent", "export_empty_fields", "ensure_ascii"}
        self._is_plain = (
            codecs.lookup(kwargs["encoding"]).name == "utf-8"
            and not options
            and not kwargs.get("ensure_ascii")
            and not self.export_empty_fields
            and not self.fields_to_export
        )

    def export_batch(self, pages: Sequence[Any]) -> None:
        """Write *pages*, or records of another kind, each as a line."""
        if self._is_plain and isinstance(pages, records.PlainPages):
            if pages.start is None:
                lines = list(starmap(_PlainLine, pages.rows))
            else:
                lines = [_PlainLine(*row, pages.start, pages.attempt) for row in pages.rows]
            self.file.write(_encode_lines(lines))
            return
        kinds = {type(page) for page in pages}
        to_line = _LINES.get(kinds.pop()) if len(kinds) == 1 else None
        if self._is_plain and to_line is not None:
            try:
                self.file.write(_encode_lines([to_line(page) for page in pages]))
            except (TypeError, ValueError, msgspec.MsgspecError, AttributeError):
                pass  # a pipeline has put something into a field that only Scrapy's encoder knows; nothing was written yet
            else:
                return
        export_each(self, pages)
