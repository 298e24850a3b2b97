"""``scrapy build``: from files of records to a set of sitemaps."""

from __future__ import annotations

import os
import signal
import sys
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any

from scrapy.commands import ScrapyCommand
from scrapy.exceptions import UsageError

from sitemapcrawl.exporters.sitemap import field_names
from sitemapcrawl.inputs import FORMATS, UnreadableError, format_of, read_records
from sitemapcrawl.protocol.limits import MAX_ENTRIES, MAX_FILE_SIZE
from sitemapcrawl.protocol.writer import SetTooLargeError, SitemapWriter

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterator
    from io import BufferedReader

WRITTEN, REFUSED, FAILED, INTERRUPTED = 0, 1, 2, 130

_EVERY = 10_000  # records between two looks at the progress


class _NothingToWriteError(Exception):
    pass


class Command(ScrapyCommand):
    """Build a set of sitemaps of pages in files.

    The exit status is 0, 1 if something was refused, and 2, with nothing written, for wrong usage and for a file that
    cannot be read.
    """

    requires_project = False
    requires_crawler_process = False

    def syntax(self) -> str:
        return "INPUT... -d FOLDER --base-url URL [options]"

    def short_desc(self) -> str:
        return "Build sitemaps and their index from pages in files"

    def long_desc(self) -> str:
        return (
            "Write sitemaps of the pages in INPUT (JSON lines, CSV or a list of URLs; - is standard input), and an index of "
            "them, into FOLDER. An earlier set in FOLDER is replaced when the new one is whole. Exit status: 0, 1 if "
            "something was refused, 2 for wrong usage and for files that cannot be read."
        )

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        group = parser.add_argument_group(title="Building")
        group.add_argument("-d", "--directory", metavar="FOLDER", help="where the files go")
        group.add_argument("--base-url", metavar="URL", help="the address at which FOLDER is published")
        group.add_argument("--gzip", action="store_true", help="compress the sitemaps")
        group.add_argument("--max-urls", metavar="N", type=int, default=MAX_ENTRIES, help="pages of a file (default: 50000)")
        group.add_argument(
            "--max-bytes", metavar="N", type=int, default=MAX_FILE_SIZE, help="bytes of a file, uncompressed (default: 52428800)"
        )
        group.add_argument("--stylesheet", metavar="URL", help="XSL stylesheet that the files refer to")
        group.add_argument("--name", default="sitemap", help="what the files are called: NAME-1.xml, and NAME.xml, the index")
        group.add_argument("--format", choices=FORMATS, help="of the inputs (default: by their names, else their first lines)")
        group.add_argument("--complete-alternates", action="store_true", help="have the pages of a group link each other")
        group.add_argument("--any-location", action="store_true", help="take pages of other hosts and directories as well")
        group.add_argument("--no-encode", action="store_true", help="refuse addresses that are not percent-encoded")

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        unknown = [argument for argument in args if argument.startswith("-") and argument != "-"]
        if unknown:
            raise UsageError(f"unrecognized arguments: {' '.join(unknown)}", print_help=False)
        if not args or not opts.directory or not opts.base_url:
            raise UsageError("INPUT, -d FOLDER and --base-url URL are required", print_help=False)
        assert self.settings is not None
        try:
            names = field_names(self.settings.getdict("SITEMAPCRAWL_SITEMAP_FIELDS"))
            writer = SitemapWriter(
                opts.directory, opts.base_url, gzip=opts.gzip, max_urls=opts.max_urls, max_bytes=opts.max_bytes,
                stylesheet=opts.stylesheet, name=opts.name, complete_alternates=opts.complete_alternates,
                encode=not opts.no_encode, any_location=opts.any_location,
            )  # fmt: skip
        except ValueError as problem:
            raise UsageError(str(problem), print_help=False) from None
        self.exitcode = _Build(writer, names, opts.format).run(args)


class _Build:
    """One set on its way from *inputs* to its place."""

    def __init__(self, writer: SitemapWriter, names: dict[str, list[str]], form: str | None) -> None:
        self._writer = writer
        self._names = names
        self._form = form
        self._refused = self._values = 0
        self._print: Callable[[str], None] = _print

    def run(self, inputs: list[str]) -> int:
        """Build the set, say on standard error what became of it, and return the exit status."""
        try:
            with _terminable(), ExitStack() as files, self._writer as writer:
                # All are opened before anything is read: one that is not there costs no time.
                opened = [(name, _open(name, files)) for name in inputs]
                with self._progress() as advance:
                    for name, file in opened:
                        self._read("standard input" if name == "-" else name, file, advance)
                if not writer.count:
                    raise _NothingToWriteError
            written = f"{_many(writer.count, 'page')} in {_many(len(writer.files), 'file')}"
            self._say(f"{written}{self._what_was_refused()}: {writer.index_url}")
        except _NothingToWriteError:
            return self._fail(f"no pages{self._what_was_refused()}: nothing was written", REFUSED)
        except (OSError, ValueError, UnreadableError, SetTooLargeError) as problem:
            if isinstance(problem, BrokenPipeError):
                # Nobody reads what is said: be quiet, also when Python flushes what is left.
                os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())
                return REFUSED
            return self._fail(f"{_reason(problem)}; nothing was written", FAILED)
        except KeyboardInterrupt:
            return self._fail("interrupted; nothing was written", INTERRUPTED)
        return REFUSED if self._refused or self._values else WRITTEN

    def _read(self, name: str, file: BufferedReader, advance: Callable[[int], None]) -> None:
        writer = self._writer
        faults: list[str] = []
        try:
            for number, record in read_records(file, self._form or format_of(name), self._names):
                try:
                    if isinstance(record, ValueError):
                        raise record
                    writer.write(record, faults)
                except ValueError as problem:
                    self._refused += 1
                    self._say(f"{name}:{number}: {_line(str(problem))}")
                if faults:
                    self._values += len(faults)
                    for fault in faults:
                        self._say(f"{name}:{number}: left out: {_line(fault)}")
                    faults.clear()
                if not number % _EVERY:
                    advance(writer.count)
        except UnreadableError as problem:
            raise UnreadableError(f"{name}: {problem}") from None

    @contextmanager
    def _progress(self) -> Iterator[Callable[[int], None]]:
        """Show the number of pages and the rate where standard error is a terminal."""
        if not sys.stderr.isatty():
            yield lambda count: None
            return
        from rich.console import Console
        from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

        columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
        console = Console(stderr=True, markup=False, highlight=False, emoji=False)
        with Progress(*columns, console=console, transient=True, redirect_stdout=False, refresh_per_second=4) as bar:
            task = bar.add_task("")
            started = monotonic()

            def advance(count: int) -> None:
                rate = count / max(0.001, monotonic() - started)
                bar.update(task, description=f"{count:,} pages  {rate:,.0f} pages/s")

            # Above the display, and not broken into lines of the terminal's width.
            self._print = partial(console.print, soft_wrap=True)
            try:
                yield advance
            finally:
                self._print = _print

    def _what_was_refused(self) -> str:
        refused = f", {self._refused:,} refused" if self._refused else ""
        return f"{refused}, {_many(self._values, 'value')} left out" if self._values else refused

    def _say(self, message: str) -> None:
        self._print(message)

    def _fail(self, message: str, status: int) -> int:
        with suppress(BrokenPipeError):
            self._say(f"scrapy build: {message}")
        return status


def _open(name: str, files: ExitStack) -> BufferedReader:
    return sys.stdin.buffer if name == "-" else files.enter_context(Path(name).open("rb"))  # type: ignore[return-value]


def _reason(problem: Exception) -> str:
    if isinstance(problem, OSError) and problem.filename is not None and problem.strerror:
        return f"{problem.filename}: {problem.strerror}"
    return str(problem)


def _print(message: str) -> None:
    print(message, file=sys.stderr)


def _many(count: int, thing: str) -> str:
    return f"{count:,} {thing}{'' if count == 1 else 's'}"


def _line(message: str) -> str:
    return " ".join(message.encode("utf-8", "backslashreplace").decode().split())


@contextmanager
def _terminable() -> Iterator[None]:
    """Have SIGTERM end the run as Ctrl-C does, with what it began cleared away."""

    def interrupt(number: int, frame: Any) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
