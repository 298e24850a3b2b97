"""Progress of a long crawl, for a person who watches it in a terminal."""

from __future__ import annotations

import logging
import os
import sys
from time import monotonic
from typing import TYPE_CHECKING, Any

from scrapy import signals
from scrapy.exceptions import NotConfigured
from scrapy.utils.asyncio import create_looping_call

from sitemapcrawl import default_settings

if TYPE_CHECKING:
    from typing import Self

    from rich.progress import Progress as Bar
    from scrapy.crawler import Crawler

_INTERVAL = 0.5  # seconds between two looks at the counters
_PATIENCE = 1.0  # seconds that a crawl may take without a display


class Progress:
    """Show the sitemaps done of those known, the pages, the errors and the rate on standard error.

    Only where that is a terminal, the log does not go to a file, and the crawl does not run under Scrapyd. Log lines
    appear above the display. :setting:`SITEMAPCRAWL_PROGRESS_ENABLED` turns it off.
    """

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self._bar: Bar | None = None
        self._task: Any = None
        self._loop = create_looping_call(self._show)
        self._started = monotonic()
        self._moved: list[logging.StreamHandler[Any]] = []

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        settings = crawler.settings
        if not settings.getbool("SITEMAPCRAWL_PROGRESS_ENABLED", default_settings.SITEMAPCRAWL_PROGRESS_ENABLED):
            raise NotConfigured
        # Scrapyd tells its crawls their job in the environment.
        if not sys.stderr.isatty() or settings.get("LOG_FILE") or "SCRAPY_JOB" in os.environ:
            raise NotConfigured
        if not hasattr(crawler.spider, "known"):
            raise NotConfigured
        progress = cls(crawler)
        crawler.signals.connect(progress._opened, signals.spider_opened)
        crawler.signals.connect(progress._closed, signals.spider_closed)
        return progress

    def _opened(self) -> None:
        self._started = monotonic()
        self._loop.start(_INTERVAL, now=False)

    def _closed(self) -> None:
        if self._loop.running:
            self._loop.stop()
        if self._bar is not None:
            self._show()
            self._bar.stop()
        for handler in self._moved:
            handler.setStream(sys.stderr)

    def _open(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

        self._bar = Progress(
            TextColumn("{task.fields[sitemaps]}"), BarColumn(bar_width=24), TextColumn("{task.fields[rest]}"),
            TimeElapsedColumn(), console=Console(stderr=True), redirect_stdout=False, transient=True, refresh_per_second=2,
        )  # fmt: skip
        self._task = self._bar.add_task("", total=None, sitemaps="", rest="")
        self._bar.start()
        # While the display is up, rich stands in for sys.stderr and puts what is written above it.
        for handler in logging.root.handlers:
            if isinstance(handler, logging.StreamHandler) and handler.stream is sys.__stderr__:
                handler.setStream(sys.stderr)
                self._moved.append(handler)

    def _show(self) -> None:
        if self._bar is None:
            if monotonic() - self._started < _PATIENCE:
                return
            self._open()
        assert self._bar is not None
        stats: dict[str, Any] = self._crawler.stats.get_stats()

        def count(name: str) -> int:
            return int(stats.get(f"sitemapcrawl/{name}", 0))

        done = count("sitemaps/read") + count("sitemaps/failed")
        known = max(done, self._crawler.spider.known)  # type: ignore[union-attr]
        pages = count("pages")
        errors = sum(value for name, value in stats.items() if name.startswith("sitemapcrawl/errors/"))
        rate = pages / max(0.001, monotonic() - self._started)
        self._bar.update(
            self._task, completed=done, total=known,
            sitemaps=f"{done:,} of {known:,} sitemaps", rest=f"{pages:,} pages  {errors:,} errors  {rate:,.0f} pages/s",
        )  # fmt: skip
