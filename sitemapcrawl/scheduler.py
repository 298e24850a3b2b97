"""A scheduler that leaves to the journal what is the journal's."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy.core.scheduler import Scheduler

if TYPE_CHECKING:
    from scrapy import Request

JOURNALLED = "sitemapcrawl_journalled"


class JournalScheduler(Scheduler):
    """Scrapy's, but what :mod:`sitemapcrawl.journal` keeps is not put on disk as well, and so is not brought back twice.

    Scrapy writes its disk queues out when a crawl is closed; they do not survive ``kill -9``. Other requests of a project
    go there as ever.
    """

    def _dqpush(self, request: Request) -> bool:
        return JOURNALLED not in request.meta and super()._dqpush(request)
