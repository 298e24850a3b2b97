"""``scrapy enqueue``: push starts for the workers of a cluster."""

from __future__ import annotations

import asyncio
import sys
from typing import TYPE_CHECKING

from scrapy.commands import ScrapyCommand
from scrapy.exceptions import UsageError

from sitemapcrawl.spiders._starts import check, lines, url_of

if TYPE_CHECKING:
    import argparse

    from sitemapcrawl.cluster.store import Store

ENQUEUED, LEFT_OUT, FAILED = 0, 1, 2

AT_A_TIME = 1_000  # starts that are pushed in one step


class Command(ScrapyCommand):
    """Push start URLs to the list that the workers of a cluster take them from.

    The exit status is 0, 1 if a line is no URL (the others are pushed), and 2 if the file or Redis cannot be used.
    """

    _pushed = _until = 0  # starts, and the line that the last of them stood in

    requires_project = True
    requires_crawler_process = False

    def syntax(self) -> str:
        return "[FILE]"

    def short_desc(self) -> str:
        return "Give the workers of a cluster start URLs, and say how far they are"

    def long_desc(self) -> str:
        return (
            "Push the start URLs in FILE (one a line; - is standard input) to the list in Redis that the workers of a "
            "cluster take them from, and say how far these are; without FILE only that. Exit status: 0, 1 if a line is no "
            "URL, 2 if the file or Redis cannot be used."
        )

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        parser.add_argument("--spider", default="sitemap", help="whose workers (default: sitemap)")

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        if len(args) > 1:
            raise UsageError("expected one FILE at most", print_help=False)
        try:
            from redis.exceptions import RedisError

            from sitemapcrawl.cluster.store import connect
        except ImportError:
            self._fail("scrapy-redis is missing: pip install 'sitemapcrawl[cluster]'")
            return
        assert self.settings is not None
        self.exitcode = ENQUEUED
        try:
            store = connect(self.settings, opts.spider)
            if args:
                print(f"{asyncio.run(self._push(store, args[0])):,} starts enqueued")
            status = store.status()
        except RedisError as error:
            self._fail(f"Redis cannot be used: {error}{self._what_was_done()}")
        except ValueError as error:
            self._fail(str(error))
        except OSError as error:
            self._fail(f"{args[0]!r} cannot be read: {error.strerror}")
        else:
            print(
                f"{status.starts:,} starts wait, {status.open_calls:,} are under way, {status.read:,} read, "
                f"{status.failed:,} failed; {status.workers:,} workers"
            )

    async def _push(self, store: Store, path: str) -> int:
        """Push the URLs in the file, and return how many these were."""
        number, urls = 0, []
        async for line in lines(path):
            number += 1
            url = url_of(line)
            try:
                if url:
                    check(url)
                    urls.append(url)
            except ValueError as error:
                print(f"line {number}: {url[:200]!r} is left out: {error}", file=sys.stderr)
                self.exitcode = LEFT_OUT
            if len(urls) >= AT_A_TIME:
                self._pushed += store.enqueue(urls)
                self._until, urls = number, []
        self._pushed += store.enqueue(urls)
        return self._pushed

    def _what_was_done(self) -> str:
        if not self._until:
            return ""
        return (
            f"; {self._pushed:,} starts were enqueued, those up to line {self._until:,}, and maybe the {AT_A_TIME:,} behind them"
        )

    def _fail(self, problem: str) -> None:
        print(problem, file=sys.stderr)
        self.exitcode = FAILED
