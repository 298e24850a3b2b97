"""What became of a crawl: its exit status, and a summary for people."""

from __future__ import annotations

import logging
from collections import Counter, defaultdict
from time import monotonic
from typing import TYPE_CHECKING, Any

from scrapy import signals

from sitemapcrawl import default_settings
from sitemapcrawl.failures import REASONS
from sitemapcrawl.items import PageBatch
from sitemapcrawl.signals import errors_found

if TYPE_CHECKING:
    from typing import Self

    from scrapy import Spider
    from scrapy.crawler import Crawler

    from sitemapcrawl.protocol.errors import SitemapError

logger = logging.getLogger(__name__)

EXIT_READ, EXIT_NOT_READ, EXIT_WRONG_OPTIONS = 0, 1, 2

_MOST_CHARACTERS = 300  # of a URL or a message in the summary; the errors feed has all of it
_STATUS = "downloader/response_status_count/"  # what such stats of Scrapy begin with
_TYPES = ("config", "network", "parse", "validation")


class Outcome:
    """Keep the exit status, and log a summary at the end: sitemaps, pages, the first errors of each type, limits, time.

    Its summary shows :setting:`SITEMAPCRAWL_SUMMARY_ERRORS` errors of each type. It also counts the pages of a batch as
    items in the stats, which Scrapy counts as one.
    """

    def __init__(self, crawler: Crawler, examples: int) -> None:
        self._crawler = crawler
        self._at_most = examples
        self._examples: dict[str, list[SitemapError]] = defaultdict(list)
        self._started = monotonic()
        self._reason: str | None = None

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        outcome = cls(
            crawler, crawler.settings.getint("SITEMAPCRAWL_SUMMARY_ERRORS", default_settings.SITEMAPCRAWL_SUMMARY_ERRORS)
        )
        crawler.signals.connect(outcome._opened, signals.spider_opened)
        crawler.signals.connect(outcome._item_scraped, signals.item_scraped)
        crawler.signals.connect(outcome._errors_found, errors_found)
        crawler.signals.connect(outcome._closed, signals.spider_closed)
        return outcome

    @property
    def exit_status(self) -> int:
        """0 if the document that the crawl began with was read, 1 if not or if it was cut short, 2 if an option is wrong.

        Of several starts, each has to be read.
        """
        spider: Any = self._crawler.spider
        if not hasattr(spider, "start_read"):
            return EXIT_READ  # of another spider of the project: 0, as Scrapy has it
        if spider.config_errors:
            return EXIT_WRONG_OPTIONS
        return EXIT_READ if spider.start_read and spider.ends_well(self._reason) else EXIT_NOT_READ

    def _opened(self) -> None:
        self._started = monotonic()

    def _item_scraped(self, item: Any) -> None:
        if isinstance(item, PageBatch):
            # Scrapy's CoreStats counts this signal as one item.
            self._crawler.stats.inc_value("item_scraped_count", len(item) - 1)

    def _errors_found(self, errors: list[SitemapError]) -> None:
        for error in errors:
            examples = self._examples[error.type]
            # Of wrong options all: standard error is where a person looks for them, and these are few.
            if len(examples) < self._at_most or error.type == "config":
                examples.append(error)

    def _closed(self, spider: Spider, reason: str) -> None:
        self._reason = reason
        if hasattr(spider, "calls"):
            # What is wrong has to be seen in a project whose LOG_LEVEL is WARNING, too. A program gets an exception.
            told = getattr(self._crawler, "keeps_items", False)
            level = logging.ERROR if getattr(spider, "config_errors", None) and not told else logging.INFO
            logger.log(level, "%s", "\n".join(self._summary(reason)))

    def _summary(self, reason: str) -> list[str]:
        def stat(name: str) -> int:
            return int(self._crawler.stats.get_value(f"sitemapcrawl/{name}", 0))

        seconds = monotonic() - self._started
        pages = stat("pages")
        read, failed, left_out = (stat(f"sitemaps/{what}") for what in ("read", "failed", "left_out"))
        not_followed, not_matched = stat("sitemaps/not_followed"), stat("pages/not_matched")
        dropped = int(self._crawler.stats.get_value("item_dropped_count", 0))

        def also(count: int, what: str) -> str:
            return f", {count:,} {what}" if count else ""

        cut_short = "Stopped" if self._crawler.spider.ends_well(reason) else "Cut short"  # type: ignore[union-attr]
        if stat("errors/config"):
            lines = ["Nothing was requested, an option is wrong"]
        else:
            lines = [
                "Finished" if reason == "finished" else f"{cut_short}: {REASONS.get(reason, reason)}",
                f"  sitemaps    {read:,} read, {failed:,} failed, {left_out:,} left out{also(not_followed, 'not followed')}",
                f"  pages       {pages:,}{also(not_matched, 'not matched by rules')}{also(dropped, 'dropped by pipelines')}",
            ]
            if getattr(self._crawler.spider, "requests_pages", False):
                lines[2:] = self._requested(pages)
            starts_read, starts_failed = stat("starts/read"), stat("starts/failed")
            if starts_read + starts_failed > 1:
                lines.insert(1, f"  starts      {starts_read:,} read, {starts_failed:,} failed")
            if read and not pages and not failed and not self._examples and not (left_out or not_followed or not_matched):
                lines.append("              what was read lists no sitemap and no page")
        for kind in _TYPES:
            if count := stat(f"errors/{kind}"):
                lines.append(f"  {kind + ' errors':<17} {count:,}")
                for error in self._examples[kind]:
                    about = f"{_cut(error.url)}: " if error.url and kind != "config" else ""
                    lines.append(f"    {about}{_cut(error.message)}")
                if count > len(self._examples[kind]) > 0:
                    lines.append(f"    and {count - len(self._examples[kind]):,} more")
        limits = [name for name in self._crawler.stats.get_stats() if name.startswith("sitemapcrawl/limits/")]
        if limits:
            lines.append(f"  limits reached    {', '.join(sorted(name.rpartition('/')[2] for name in limits))}")
        lines.append(f"  time        {seconds:.1f} s, {pages / seconds if seconds else 0:,.0f} pages/s")
        return lines

    def _requested(self, pages: int) -> list[str]:
        """Return what became of *pages* that were requested, as far as Scrapy counts it."""
        stats = self._crawler.stats.get_stats()
        responses: Counter[str] = Counter()
        for name, count in stats.items():
            if name.startswith(_STATUS):
                responses[f"{name.removeprefix(_STATUS)[:1]}xx"] += count
        told = [f"{count:,} with status {status}" for status, count in sorted(responses.items())]

        def also(what: str, name: str) -> str:
            return f", {what}: {count:,}" if (count := int(stats.get(name, 0))) else ""

        duplicates = also("filtered out as duplicates", "dupefilter/filtered")
        without = also("requests without one", "downloader/exception_count")
        dropped = also("dropped by pipelines", "item_dropped_count")
        ignored = also("responses ignored for their status", "httperror/response_ignored_count")
        raised = also("exceptions in callbacks", "spider_exceptions/count")
        return [
            f"  pages       {pages:,} to be requested{duplicates}",
            f"  responses   {', '.join(told) or '0'}{without} (those of sitemaps, redirects and retries, too)",
            f"  items       {int(stats.get('item_scraped_count', 0)):,}{dropped}{ignored}{raised}",
        ]


def _cut(text: str) -> str:
    return text if len(text) <= _MOST_CHARACTERS else f"{text[:_MOST_CHARACTERS]}…"
