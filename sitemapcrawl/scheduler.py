"""A scheduler that leaves to the journal what is the journal's."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scrapy.core.scheduler import Scheduler

if TYPE_CHECKING:
    from scrapy import Request

logger = logging.getLogger(__name__)

JOURNALLED = "sitemapcrawl_journalled"


class JournalScheduler(Scheduler):
    """Scrapy's, but what :mod:`sitemapcrawl.journal` keeps is not put on disk as well, and so is not brought back twice.

    Scrapy writes its disk queues out when a crawl is closed; they do not survive ``kill -9``. Other requests of a project
    go there as ever.
    """

    def _dqpush(self, request: Request) -> bool:
        return JOURNALLED not in request.meta and super()._dqpush(request)

    # Scrapy overwrites the file in place. Where that is cut off, by a kill or for want of space, it must not keep a crawl
    # from going on whose journal is whole. Of most crawls there is nothing to write.

    def _write_dqs_state(self, dqdir: str, state: Any) -> None:
        if state:
            super()._write_dqs_state(dqdir, state)
        else:
            Path(dqdir, "active.json").unlink(missing_ok=True)

    def _read_dqs_state(self, dqdir: str) -> Any:
        try:
            return super()._read_dqs_state(dqdir)
        except ValueError:
            logger.warning("%s cannot be read: requests that are not for sitemaps are lost", Path(dqdir, "active.json"))
            return ()
