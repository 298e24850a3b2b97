"""``scrapy enqueue``: push starts for the workers of a cluster."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from typing import TYPE_CHECKING

from scrapy.commands import ScrapyCommand
from scrapy.exceptions import UsageError

from sitemapcrawl.protocol.urls import check_start
from sitemapcrawl.spiders._starts import url_of

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Iterator

ENQUEUED, LEFT_OUT, FAILED = 0, 1, 2


class Command(ScrapyCommand):
    """Push start URLs to the list that the workers of a cluster take them from.

    The exit status is 0, 1 if a line is no URL (the others are pushed), and 2 if the file or Redis cannot be used.
    """

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
                with nullcontext(sys.stdin.buffer) if args[0] == "-" else open(args[0], "rb") as file:
                    print(f"{store.enqueue(self._urls(file)):,} starts enqueued")
            status = store.status()
        except (RedisError, ValueError) as error:
            self._fail(f"Redis cannot be used: {error}")
        except OSError as error:
            self._fail(f"{args[0]!r} cannot be read: {error.strerror}")
        else:
            print(
                f"{status.starts:,} starts wait, {status.open_calls:,} are under way, {status.read:,} read, "
                f"{status.failed:,} failed; {status.workers:,} workers"
            )

    def _urls(self, lines: Iterable[bytes]) -> Iterator[str]:
        for number, line in enumerate(lines, 1):
            url = url_of(line)
            if not url:
                continue
            try:
                check_start(url)
            except ValueError as error:
                print(f"line {number}: {url[:200]!r} is left out: {error}", file=sys.stderr)
                self.exitcode = LEFT_OUT
            else:
                yield url

    def _fail(self, problem: str) -> None:
        print(problem, file=sys.stderr)
        self.exitcode = FAILED
