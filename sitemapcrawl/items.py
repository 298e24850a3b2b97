"""What goes from the spider to the pipelines and feeds: :class:`PageBatch`, and the records by the names that FEEDS uses.

``item_classes`` of a feed may name ``sitemapcrawl.items.Page``, ``sitemapcrawl.items.SitemapEntry``,
``sitemapcrawl.items.SitemapError`` or one of its subclasses.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sitemapcrawl.protocol.errors import ConfigError, NetworkError, ParseError, SitemapError, ValidationError
from sitemapcrawl.protocol.records import Page, SitemapEntry

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from scrapy.http import Response

__all__ = [
    "ConfigError", "ErrorRecord", "NetworkError", "Page", "PageBatch", "ParseError", "SitemapEntry", "SitemapError",
    "ValidationError",
]  # fmt: skip


class ErrorRecord(dict[str, Any]):
    """An error as it is exported: its ``type``, ``url``, ``limit`` and ``message``, and ``start`` and ``attempt`` if set."""


class PageBatch:
    """Pages of one document, in its order, that take the item path as one item.

    ``pages`` is a sequence of :class:`~sitemapcrawl.protocol.records.Page` objects (or of what pipelines made of them),
    ``sitemap`` is the URL of the document, ``response`` the one that it came with, if any. In a crawl of several starts,
    ``start`` is the one that led to it.
    """

    __slots__ = ("pages", "response", "sitemap", "start")

    def __init__(
        self, pages: Sequence[Any], sitemap: str | None = None, response: Response | None = None, start: str | None = None
    ) -> None:
        self.pages = pages
        self.sitemap = sitemap
        self.response = response
        self.start = start

    def __len__(self) -> int:
        return len(self.pages)

    def __bool__(self) -> bool:
        return True

    def __iter__(self) -> Iterator[Any]:
        return iter(self.pages)

    def __repr__(self) -> str:  # short: Scrapy logs items
        return f"<PageBatch of {len(self.pages)} pages of {self.sitemap}>"
