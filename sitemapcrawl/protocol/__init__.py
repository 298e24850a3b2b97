"""The protocol of sitemaps as a plain library, without Scrapy and without a network.

:func:`read` turns bytes into records, :class:`Sitemap` is a document to read, change and write, :class:`SitemapWriter`
writes any number of records into files and an index, and :func:`sitemapcrawl.protocol.lint.lint` names what is wrong with a
file, and where.
"""

from sitemapcrawl.protocol.errors import ConfigError, NetworkError, ParseError, SitemapError, ValidationError
from sitemapcrawl.protocol.reader import Document, read
from sitemapcrawl.protocol.records import Alternate, Image, News, Page, SitemapEntry, Video
from sitemapcrawl.protocol.sitemap import Sitemap
from sitemapcrawl.protocol.writer import SetTooLargeError, SitemapWriter

__all__ = [
    "Alternate",
    "ConfigError",
    "Document",
    "Image",
    "NetworkError",
    "News",
    "Page",
    "ParseError",
    "SetTooLargeError",
    "Sitemap",
    "SitemapEntry",
    "SitemapError",
    "SitemapWriter",
    "ValidationError",
    "Video",
    "read",
]
