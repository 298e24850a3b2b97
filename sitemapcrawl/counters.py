"""What is left of each limit, and what was requested, read and listed already. Pure: no requests are made here.

The limits are those of one start: each of several starts has counters of its own. What a document may add is asked for and
counted in one step, by the methods that are coroutines, so that counters that several processes share can stand in their
place.

A sitemap is known by its *key*: the URL that is requested, character by character, without its fragment.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from sitemapcrawl.protocol.dates import to_datetime
from sitemapcrawl.protocol.urls import request_url

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sitemapcrawl.protocol.records import SitemapEntry

NO_LIMIT = sys.maxsize


class DocumentLost(Exception):
    """The document is not read any further: counters that several share say that another one has it by now."""


def location_key(url: str) -> str:
    """Return what a sitemap at *url* is known by: the URL that is requested, without its fragment."""
    if not url.isascii():
        return request_url(url)
    return url.partition("#")[0] if "#" in url else url


@dataclass(slots=True)
class Added:
    """What became of sitemaps that a document lists."""

    listed: list[str] = field(default_factory=list)  # keys of those in the listing
    not_listed: int = 0  # for which the listing has no room
    left_out: int = 0  # that would be requested if there were room
    too_deep: int = 0  # that would be requested if they were not too deep
    requested: int = 0  # that are to be requested


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

    async def serve(self, key: str) -> bool:
        """Note that the document at *key* is read; return False if it has been read before."""
        if key in self.served:
            return False
        self.served.add(key)
        return True

    async def add_sitemaps(
        self, found: Iterable[tuple[str, SitemapEntry, bool]], children: dict[str, None], *, at_once: bool, too_deep: bool
    ) -> Added:
        """Add the sitemaps that a document lists to the listing, and to *children* those that are to be requested.

        *found* are key, entry, and whether the sitemap is wanted. With *at_once* they are counted here. Otherwise that is
        done when they are sent, by :meth:`request`: what one leads to comes before the next, which may then be left out.
        """
        added = Added()
        for key, entry, wanted in found:
            if self.list(key, entry):
                added.listed.append(key)
            else:
                added.not_listed += 1
            if not wanted or key in children or self.is_known(key):
                continue
            if too_deep:
                added.too_deep += 1
            elif (0 if at_once else len(children)) >= self.sitemaps_left():
                added.left_out += 1
            else:
                if at_once:
                    self.request(key)
                children[key] = None
                added.requested += 1
        return added

    def list(self, key: str, entry: SitemapEntry) -> bool:
        """Add *entry* to the sitemaps listed, once and with the latest of its dates; return False if there is no room."""
        known = self.listed.get(key)
        if known is not None:
            known.lastmod = latest(known.lastmod, entry.lastmod)
            return True
        if self.max_sitemaps and len(self.listed) >= self.max_sitemaps:
            return False
        self.listed[key] = entry
        return True

    # Pages and errors

    async def take_pages(self, count: int) -> tuple[int, bool]:
        """Count *count* pages that are about to be returned, or as many as may be.

        Return how many, and whether they are the last ones.
        """
        left = max(0, self.max_urls - self.pages) if self.max_urls else NO_LIMIT
        granted = min(count, left)
        self.pages += granted
        return granted, granted == left

    async def take_validation_errors(self, count: int) -> int:
        """Count *count* validation errors that are about to be recorded, or as many as may be; return how many."""
        left = max(0, self.max_validation_errors - self.validation_errors) if self.max_validation_errors else NO_LIMIT
        granted = min(count, left)
        self.validation_errors += granted
        return granted


def latest(one: str | None, other: str | None) -> str | None:
    """Return the later of two W3C Datetime texts; of the same point in time, and where one cannot be read, the first.

    >>> latest("2024-01-15", "2024-01-15T10:00:00Z")
    '2024-01-15T10:00:00Z'
    """
    if one is None or other is None or one == other:
        return one if other is None else other if one is None else one
    first, second = moment_of(one), moment_of(other)
    return other if first is not None and second is not None and second > first else one


def moment_of(text: str | None) -> float | None:
    """Return the point in time at which the W3C Datetime *text* begins, in seconds since 1970; ``None`` if it is none."""
    try:
        return to_datetime(text).timestamp() if text else None
    except (ValueError, OverflowError):
        return None
