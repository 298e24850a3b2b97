"""``scrapy lint``: check sitemaps and sitemap indexes, and list every rule that they break, with line and column."""

from __future__ import annotations

import os
import shutil
import signal
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from scrapy.commands import ScrapyCommand
from scrapy.exceptions import UsageError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator
    from datetime import datetime

    from sitemapcrawl.commands._fetch import Fetched
    from sitemapcrawl.protocol.lint.formats import Writer

_EXIT_ERRORS = 1
_EXIT_NOT_READ = 2
_EXIT_INTERRUPTED = 128 + 2  # as shells have it: 128 and the number of the signal
_EXIT_BROKEN_PIPE = 128 + 13
_FORMATS = ("text", "json", "sarif", "github")
_SEVERITIES = ("error", "warning", "note")  # those of protocol.lint, which is imported when it is needed


class _Options(NamedTuple):
    """What the command line asks for, checked."""

    url: str | None
    now: datetime | None
    format: str
    severities: frozenset[str]


class Command(ScrapyCommand):
    """Lint files and addresses. The exit status is 0 without errors, 1 with some, 2 for what could not be read."""

    requires_project = False
    requires_crawler_process = False

    def syntax(self) -> str:
        return "[options] FILE_OR_URL..."

    def short_desc(self) -> str:
        return "Check sitemaps: every rule that they break, with line and column"

    def long_desc(self) -> str:
        return (
            "Check sitemaps and sitemap indexes, and list every rule that they break, with line and column. What begins with "
            "http:// or https:// is fetched; anything else is a file, which may be compressed with gzip. The exit status is 0 "
            "if no error was found, 1 if one was, and 2 for wrong usage or if something could not be read."
        )

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        group = parser.add_argument_group(title="Lint")
        group.add_argument("--url", help="where the sitemap is published; its protocol, host, port and directory matter")
        group.add_argument("--now", metavar="TIME", help="the time that counts as the present, such as 2026-01-31T00:00:00Z")
        group.add_argument("--format", choices=_FORMATS, default="text", help="the format of the findings (default: text)")
        least = "the least severity that is listed (default: note)"
        group.add_argument("--min-severity", choices=_SEVERITIES, default="note", help=least)
        group.add_argument("--explain", metavar="RULE", help="tell what a rule is about, and exit")
        group.add_argument("--list-rules", action="store_true", help="list all rules, and exit")

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        try:
            if opts.list_rules or opts.explain is not None:
                self._tell(opts.explain)
            else:
                options, files = _checked(args, opts)
                self._lint(files, options, opts)
            sys.stdout.flush()
        except BrokenPipeError:
            # Whoever reads has seen enough. What is left in the buffer goes nowhere, or Python would fail over it again.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            self.exitcode = _EXIT_BROKEN_PIPE
        except KeyboardInterrupt:
            self.exitcode = _EXIT_INTERRUPTED

    def _tell(self, rule: str | None) -> None:
        from sitemapcrawl.protocol.lint.formats import explanation, list_of_rules
        from sitemapcrawl.protocol.lint.rules import RULES

        if rule is None:
            print(list_of_rules())
            return
        if rule not in RULES:
            from difflib import get_close_matches

            close = get_close_matches(rule, RULES, 3)
            hint = f"; is it {' or '.join(close)}?" if close else ""
            raise UsageError(f"there is no rule {rule!r}{hint} (--list-rules lists all)", print_help=False)
        print(explanation(rule))

    def _lint(self, files: list[str], options: _Options, opts: argparse.Namespace) -> None:
        from sitemapcrawl.hints import with_protocol
        from sitemapcrawl.protocol.lint.formats import is_url

        urls = list(dict.fromkeys(filter(is_url, files)))
        with tempfile.TemporaryDirectory(prefix="lint-") if urls else _NoFolder() as folder:
            fetched = self._fetch(urls, Path(folder), opts) if urls else {}
            writer = _writer(options.format)
            writer.begin()
            counts: Counter[str] = Counter()
            unread_count = 0
            for file in files:
                try:
                    body, url = _read(file, fetched)
                except (OSError, ValueError) as error:
                    self.exitcode = _EXIT_NOT_READ
                    unread_count += 1
                    sys.stdout.flush()
                    hint = with_protocol(file) if isinstance(error, OSError) else ""
                    print(f"{file}: cannot be read: {_reason(error)}{hint}", file=sys.stderr)
                    continue
                self._lint_one(file, body, url, options, writer, counts)
            writer.end()
            sys.stdout.flush()
        if options.format == "text":
            _summarise(counts, len(files) - unread_count, options)

    def _lint_one(self, file: str, body: bytes, url: str | None, options: _Options, writer: Writer, counts: Counter[str]) -> None:
        from sitemapcrawl.protocol.lint.document import Document

        document = Document(body, options.url or url, options.now)
        del body
        for finding in document.findings():
            counts[finding.rule] += 1
            if finding.severity == "error" and not self.exitcode:
                self.exitcode = _EXIT_ERRORS
            if finding.severity in options.severities:
                writer.finding(file, finding, document)

    def _fetch(self, urls: list[str], folder: Path, opts: argparse.Namespace) -> dict[str, Fetched]:
        from sitemapcrawl.commands._fetch import fetch

        assert self.settings is not None
        if not opts.loglevel and (self.settings.getpriority("LOG_LEVEL") or 0) < 40:
            # What goes wrong is told in a line of our own.
            self.settings.set("LOG_LEVEL", "CRITICAL", priority="cmdline")
        on_interrupt = signal.getsignal(signal.SIGINT)
        try:
            return fetch(urls, folder, self.settings)
        finally:
            signal.signal(signal.SIGINT, on_interrupt)


class _NoFolder:
    """Stands in for a temporary folder where nothing needs one."""

    def __enter__(self) -> str:
        return ""

    def __exit__(self, *_: object) -> None:
        pass


def _checked(args: list[str], opts: argparse.Namespace) -> tuple[_Options, list[str]]:
    """Return the options and the files; raise UsageError for what is wrong with them, before anything is linted."""
    from sitemapcrawl.protocol.dates import fault_w3c, to_datetime
    from sitemapcrawl.protocol.urls import check_start

    files = list(_files(args))
    if not files:
        raise UsageError("nothing to lint: name files or addresses", print_help=False)
    if opts.url is not None:
        try:
            check_start(opts.url)
        except ValueError as error:
            raise UsageError(f"--url has to be an absolute http or https address: {error}", print_help=False) from None
    now = None
    if opts.now is not None:
        if "T" not in opts.now or fault_w3c(opts.now):
            message = f"--now is {opts.now!r}, expected a time with a zone such as 2026-01-31T00:00:00Z"
            raise UsageError(message, print_help=False)
        now = to_datetime(opts.now)
    severities = _SEVERITIES[: _SEVERITIES.index(opts.min_severity) + 1]
    return _Options(opts.url, now, opts.format, frozenset(severities)), files


def _files(args: list[str]) -> Iterator[str]:
    """Yield the files among *args*, of which argparse leaves those to us that it does not know."""
    only_files = False
    for argument in args:
        if argument == "--" and not only_files:
            only_files = True
        elif argument.startswith("-") and not only_files:
            raise UsageError(f"there is no option {argument}", print_help=False)
        else:
            yield argument


def _read(file: str, fetched: dict[str, Fetched]) -> tuple[bytes, str | None]:
    """Return the content of *file* and where it was served from; raise OSError or ValueError if it cannot be read."""
    from sitemapcrawl.protocol.lint.formats import is_url

    if not is_url(file):
        return Path(file).read_bytes(), None
    if file not in fetched:
        raise ValueError("it was not fetched")
    url, path, problem = fetched[file]
    if path is None:
        raise ValueError(problem)
    return path.read_bytes(), url


def _reason(error: OSError | ValueError) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or " ".join(str(error).split())


def _writer(name: str) -> Writer:
    from sitemapcrawl.protocol.lint import formats

    out = sys.stdout
    if name == "text":
        # The encoding of the terminal; what that does not have is escaped.
        out.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
        if not out.isatty():
            return formats.TextWriter(out.write)
        has_colours = not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
        return formats.TextWriter(out.write, width=shutil.get_terminal_size().columns, colours=has_colours)
    out.reconfigure(encoding="utf-8", errors="backslashreplace", newline="\n")  # type: ignore[union-attr]
    return {"json": formats.JsonWriter, "sarif": formats.SarifWriter, "github": formats.GithubWriter}[name](out.write)


def _summarise(counts: Counter[str], file_count: int, options: _Options) -> None:
    """Say on standard error which rules were broken, how often."""
    from sitemapcrawl.protocol.lint.rules import RULES, SEVERITIES

    by_severity = Counter(dict.fromkeys(SEVERITIES, 0))
    for rule, count in counts.items():
        by_severity[RULES[rule].severity] += count
    lines = []
    if counts:
        lines.append("")
        ordered = sorted(counts.items(), key=lambda item: (SEVERITIES.index(RULES[item[0]].severity), -item[1], item[0]))
        for rule, count in ordered:
            lines.append(f"{count:>8,}  {RULES[rule].severity:<7}  {rule:<27}  {RULES[rule].summary}")
    numbers = ", ".join(_number(by_severity[severity], severity) for severity in SEVERITIES)
    hidden = sum(by_severity[severity] for severity in SEVERITIES if severity not in options.severities)
    lines.append(f"{_number(file_count, 'file')}: {numbers}" + (f" ({hidden:,} not listed)" if hidden else ""))
    print("\n".join(lines), file=sys.stderr)


def _number(count: int, noun: str) -> str:
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"
