"""Signals of a crawl of sitemaps, in addition to those of Scrapy. They are sent in lists, not one by one.

``errors_found(errors, spider)``
    What went wrong: a list of :class:`~sitemapcrawl.protocol.errors.SitemapError`.

``sitemaps_listed(sitemaps, spider)``
    The sitemaps that the documents list, each once: a list of :class:`~sitemapcrawl.protocol.records.SitemapEntry`.
    It is sent at the end of the crawl, before the feeds are closed.

``pipelines_closing()``
    Item pipelines are about to be closed, and still take items. Handlers may be coroutines.
"""

from __future__ import annotations

errors_found = object()
sitemaps_listed = object()
pipelines_closing = object()
