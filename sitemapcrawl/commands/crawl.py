"""``scrapy crawl``: Scrapy's own command, with an exit status that tells what became of the crawl."""

from __future__ import annotations

import logging
import sys
from typing import TYPE_CHECKING

from scrapy.commands import BaseRunSpiderCommand
from scrapy.exceptions import UsageError

from sitemapcrawl.extensions.outcome import EXIT_NOT_READ, Outcome

if TYPE_CHECKING:
    import argparse

    from scrapy.crawler import Crawler

# Loggers that say at INFO what was set up, which is of use to whoever looks for a fault (-L DEBUG) only.
_CHATTY = ("scrapy.addons", "scrapy.crawler", "scrapy.core.engine", "scrapy.middleware", "scrapy.utils.log")


def _is_news(record: logging.LogRecord) -> bool:
    # What the first Ctrl-C does, and a second one would do, is told at INFO by a logger that says little else of use.
    return record.levelno > logging.INFO or str(record.msg).startswith("Received %(signame)s")


def _start_hint(argument: str) -> str:
    """Return a hint for an argument that looks like a URL or a path, which is no name of a spider."""
    if "/" not in argument and "." not in argument:
        return ""
    return f"; the document to begin with is given as -a url={argument}"


class Command(BaseRunSpiderCommand):
    """Run a spider of the project.

    The exit status is that of the :class:`~sitemapcrawl.extensions.outcome.Outcome` extension: 0 if the document that
    the crawl began with was read, 1 if not or if it was cut short, 2 if an option is wrong.
    """

    requires_project = True

    def syntax(self) -> str:
        return "[options] <spider>"

    def short_desc(self) -> str:
        return "Run a spider of the current project, by name"

    def process_options(self, args: list[str], opts: argparse.Namespace) -> None:
        super().process_options(args, opts)
        assert self.settings is not None
        # A log file, which is what Scrapyd asks for, is there to look things up in: it gets all.
        if self.settings.get("LOG_LEVEL") == "INFO" and not opts.loglevel and not self.settings.get("LOG_FILE"):
            for name in _CHATTY:
                # A filter: Scrapy's logging.config.dictConfig() resets the levels of its loggers.
                logging.getLogger(name).addFilter(_is_news)

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        if len(args) < 1:
            raise UsageError
        if len(args) > 1:
            raise UsageError(f"expected one spider, and not {args[1]!r} as well{_start_hint(args[1])}", print_help=False)
        assert self.crawler_process
        try:
            crawler = self._create_crawler(args[0])
        except KeyError:
            hint = _start_hint(args[0]) or "; 'scrapy list' names those that there are"
            raise UsageError(f"there is no spider {args[0]!r}{hint}") from None
        self.crawler_process.crawl(crawler, **opts.spargs)
        self.crawler_process.start()
        self._print_wrong_options(crawler)
        if self.crawler_process.bootstrap_failed:
            self.exitcode = EXIT_NOT_READ
        elif (outcome := crawler.get_extension(Outcome)) is not None:
            self.exitcode = outcome.exit_status

    def _print_wrong_options(self, crawler: Crawler) -> None:
        """Say what is wrong on standard error, unless the log has said it there."""
        settings = crawler.settings
        in_a_file = not settings.getbool("LOG_ENABLED") or settings.get("LOG_FILE")
        # The summary, which names them, is logged as an error then.
        if in_a_file or settings.get("LOG_LEVEL") not in {"DEBUG", "INFO", "WARNING", "ERROR"}:
            for error in getattr(crawler.spider, "config_errors", ()):
                print(error.message, file=sys.stderr)
