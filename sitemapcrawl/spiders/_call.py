"""One call: all that a start leads to, with limits, listing and errors of its own."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from sitemapcrawl.journal import CallState
from sitemapcrawl.protocol.records import Page, PlainPages, SitemapEntry
from sitemapcrawl.protocol.urls import is_robots

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sitemapcrawl.counters import Counters
    from sitemapcrawl.journal import Journal
    from sitemapcrawl.protocol.errors import SitemapError
    from sitemapcrawl.sampling import Reservoir


@dataclass(slots=True)
class Call:
    """What a crawl does for one start, from its request until the last document that it leads to is done.

    Requests carry its ``id``, a plain value. ``mark`` is what records carry as their ``start``: the URL where there are
    several starts, else nothing. ``attempt`` is that of the records, too, where a crawl is shared.
    """

    id: int
    url: str
    counters: Counters = field(repr=False)
    mark: str | None = None
    attempt: int | None = None
    sample: Reservoir[Page] | None = None
    outstanding: int = 1  # documents that are asked for and not done; the first one is that of the start
    read: bool = False  # whether the document of the start was read to its end
    error: SitemapError | None = None  # why not, once its request has come to an end
    done: bool = False  # whether its request has come to an end
    stopped: bool = False  # max_urls left something out: nothing is requested or read any more

    @property
    def depth(self) -> int:
        """The level of the document of the start: a robots.txt is none, what it names is level 0."""
        return -1 if is_robots(self.url) else 0

    def mark_records(self, records: Sequence[Any]) -> None:
        """Have *records* carry the start, where there are several."""
        if self.mark is None:
            return
        if isinstance(records, PlainPages):
            records.start, records.attempt = self.mark, self.attempt
            return
        for record in records:
            record.start, record.attempt = self.mark, self.attempt

    def state(self) -> CallState:
        """Return what the journal keeps of the call, apart from its documents."""
        counters = self.counters
        return CallState(
            self.id, self.url, counters.requests, counters.pages, counters.validation_errors, frozenset(counters.reached),
            self.read, self.done, self.stopped,
        )  # fmt: skip

    def restore(self, state: CallState, journal: Journal, waiting: int) -> None:
        """Go on from *state*, with *waiting* documents asked for."""
        counters = self.counters
        counters.requests, counters.pages, counters.validation_errors = state.requests, state.pages, state.validation_errors
        counters.reached = set(state.reached)
        counters.requested, counters.served = journal.requested(self.id), journal.served(self.id)
        counters.listed = {
            key: SitemapEntry(loc, lastmod, sitemap, self.mark) for key, loc, lastmod, sitemap in journal.listed(self.id)
        }
        self.read, self.done, self.stopped = state.read, state.done, state.stopped
        self.outstanding = waiting
