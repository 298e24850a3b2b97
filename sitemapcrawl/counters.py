"""What is left of each limit, and what was requested, read and listed already. Pure: no requests are made here.

The limits are those of one start: each of several starts has counters of its own. Others change them through the methods
only, so that counters that several processes share can stand in their place.

A sitemap is known by its *key*: the URL that is requested, character by character, without its fragment.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from sitemapcrawl.protocol.dates import to_datetime
from sitemapcrawl.protocol.urls import request_url

if TYPE_CHECKING:
    from datetime import datetime

    from sitemapcrawl.protocol.records import SitemapEntry

NO_LIMIT = sys.maxsize


def location_key(url: str) -> str:
    """Return what a sitemap at *url* is known by: the URL that is requested, without its fragment."""
    if not url.isascii():
        return request_url(url)
    return url.partition("#")[0] if "#" in url else url


@dataclass(slots=True)
class Counters:
    """The limits of a start (0: none) and how far it is."""

    max_sitemaps: int = 0
    max_urls: int = 0
    max_validation_errors: int = 0

    requests: int = 0  # sitemaps requested, the document that the crawl began with apart
    pages: int = 0
    validation_errors: int = 0
    requested: set[str] = field(default_factory=set, repr=False)
    served: set[str] = field(default_factory=set, repr=False)
    listed: dict[str, SitemapEntry] = field(default_factory=dict, repr=False)
    reached: set[str] = field(default_factory=set)

    def reach(self, limit: str) -> bool:
        """Note that *limit* had to leave something out; return whether it is the first time."""
        if limit in self.reached:
            return False
        self.reached.add(limit)
        return True

    # Sitemaps

    def is_known(self, key: str) -> bool:
        """Return whether the sitemap was requested, or read after a redirect led to it."""
        return key in self.requested or key in self.served

    def sitemaps_left(self) -> int:
        """Return how many more sitemaps may be requested."""
        return max(0, self.max_sitemaps - self.requests) if self.max_sitemaps else NO_LIMIT

    def begin(self, key: str) -> None:
        """Note the document that the start names, which counts against no limit."""
        self.requested.add(key)

    def request(self, key: str) -> None:
        """Count a sitemap that is requested, whether or not the request succeeds."""
        self.requested.add(key)
        self.requests += 1

    def unrequest(self, key: str) -> None:
        """Take back :meth:`request`: the sitemap is to be counted when its request is sent."""
        self.requested.discard(key)
        self.requests -= 1

    def serve(self, key: str) -> bool:
        """Note that the document at *key* is read; return False if it has been read before."""
        if key in self.served:
            return False
        self.served.add(key)
        return True

    def list(self, entry: SitemapEntry) -> bool:
        """Add *entry* to the sitemaps listed, once and with the latest of its dates; return False if there is no room."""
        key = location_key(entry.loc)
        known = self.listed.get(key)
        if known is not None:
            known.lastmod = latest(known.lastmod, entry.lastmod)
            return True
        if self.max_sitemaps and len(self.listed) >= self.max_sitemaps:
            return False
        self.listed[key] = entry
        return True

    # Pages and errors

    def pages_left(self) -> int:
        """Return how many more pages may be returned."""
        return max(0, self.max_urls - self.pages) if self.max_urls else NO_LIMIT

    def add_pages(self, count: int) -> None:
        """Count pages that are returned; :meth:`pages_left` has said how many may be."""
        self.pages += count

    def add_validation_errors(self, count: int) -> None:
        """Count validation errors that are recorded."""
        self.validation_errors += count

    def validation_errors_left(self) -> int:
        """Return how many more validation errors may be recorded."""
        return max(0, self.max_validation_errors - self.validation_errors) if self.max_validation_errors else NO_LIMIT


def latest(one: str | None, other: str | None) -> str | None:
    """Return the later of two W3C Datetime texts; of the same point in time, and where one cannot be read, the first.

    >>> latest("2024-01-15", "2024-01-15T10:00:00Z")
    '2024-01-15T10:00:00Z'
    """
    if one is None or other is None or one == other:
        return one if other is None else other if one is None else one
    try:
        return other if _moment(other) > _moment(one) else one
    except (TypeError, ValueError):
        return one


def _moment(text: str) -> datetime:
    from datetime import UTC

    moment = to_datetime(text)
    if moment is None:
        raise ValueError(text)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
