"""The options of a crawl: one table of names, values, units and what each stands for.

Options arrive as text (``-a max_depth=3``) or, from a program, as Python values. :func:`parse_options` reads them all
and collects every one that is wrong. To add one: a line in :data:`OPTIONS`, a field of :class:`Options` and a default
in :mod:`sitemapcrawl.default_settings`. Settings that are no options are in :data:`SETTINGS`.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import stat
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, NamedTuple

from sitemapcrawl import default_settings
from sitemapcrawl.hints import close_name
from sitemapcrawl.protocol.errors import ConfigError

PREFIX = "SITEMAPCRAWL_"
MAX_PATTERN_LENGTH = 1_000  # characters of a regular expression


@dataclass(slots=True)
class Options:
    """What a crawl is told to do; the fields are the options of :data:`OPTIONS`, each of its type.

    ``given`` names those that were given, as an option or in the project's settings. ``url`` is the start where there is
    one; ``urls`` are those that the option ``url`` gives, one or several.
    """

    url: str = ""
    urls: tuple[str, ...] = ()
    urls_file: str | None = None
    content: str | None = None
    strict: bool = False
    follow: tuple[re.Pattern[str], ...] = ()
    rules: tuple[re.Pattern[str], ...] = ()
    max_depth: int = 0
    max_sitemaps: int = 0
    max_urls: int = 0
    max_validation_errors: int = 0
    max_response_size: int = 0
    max_concurrency: int = 0
    multi_thread: bool = True
    fetch_timeout: int | None = None
    user_agent: str = ""
    sitemaps: str | None = None
    errors: str | None = None
    lint: str | None = None
    sample: int = 0
    given: set[str] = field(default_factory=set, repr=False)

    def describe(self) -> str:
        """Return the options as they were understood, in a line: ``url='…' strict=False …``; unset ones are left out."""
        described = []
        for option in fields(self):
            value = getattr(self, option.name)
            if option.name == "given" or value in (None, (), "") or (option.name == "urls" and self.url):
                continue
            if option.name == "urls":
                described.append(f"url={_short(list(value))}")
                continue
            if option.name in {"follow", "rules"}:
                value = [pattern.pattern for pattern in value]
            described.append(f"{option.name}={value!r}")
        return " ".join(described)

    @property
    def several(self) -> bool:
        """Whether there may be several starts, so that records say which one they belong to."""
        return len(self.urls) > 1 or self.urls_file is not None


class Option(NamedTuple):
    """A line of the table; ``parse`` raises :exc:`ValueError` with what was expected."""

    name: str
    parse: Callable[[Any], Any]
    help: str
    setting: str | None = None  # the setting of Scrapy that it ends up in


def _text(value: Any) -> str | None:
    return str(value) if value not in (None, "") else None


def _urls(value: Any) -> tuple[str, ...]:
    """Return the URL, or those of a list or a JSON array."""
    if isinstance(value, str) and value.lstrip().startswith("["):
        with contextlib.suppress(ValueError, RecursionError):
            value = json.loads(value)
    if not isinstance(value, (list, tuple)):
        return (str(value),) if value not in (None, "") else ()
    if not all(isinstance(text, str) and text for text in value):
        raise ValueError("expected a URL, or a JSON array of them")
    return tuple(value)


def _header(value: Any) -> str | None:
    text = _text(value)
    if text is not None and not text.isprintable():
        raise ValueError("expected text without control characters")
    return text


_TRUE, _FALSE = {"true", "1", "yes", "on"}, {"false", "0", "no", "off"}


def _boolean(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    text = str(value).strip().lower()
    if text in _TRUE or text in _FALSE:
        return text in _TRUE
    raise ValueError("expected true or false")


def _whole(least: int, most: int | None = None) -> Callable[[Any], int]:
    expected = "expected a whole number " + (f"of {least} or more" if most is None else f"from {least} to {most}")

    def parse(value: Any) -> int:
        # int() would also take 1_000 and digits that are not in ASCII.
        if isinstance(value, bool) or not re.fullmatch(r"\s*[+-]?[0-9]{1,30}\s*", str(value)):
            raise ValueError(expected)
        number = int(value)
        if number < least or (most is not None and number > most):
            raise ValueError(expected)
        return number

    return parse


def _timeout(value: Any) -> int | None:
    return None if value is None else _whole(1, 65_535)(value)


def _patterns(value: Any) -> tuple[re.Pattern[str], ...]:
    patterns = []
    for text in _pattern_texts(value):
        if len(text) > MAX_PATTERN_LENGTH:
            raise ValueError(f"the expression has {len(text)} characters, expected at most {MAX_PATTERN_LENGTH}")
        try:
            patterns.append(re.compile(text))
        except (re.error, RecursionError, OverflowError) as error:
            raise ValueError(f"{text!r} is no regular expression ({error})") from None
    return tuple(patterns)


def _pattern_texts(value: Any) -> list[str]:
    """Return the expressions of a list, of a JSON array, or the one that the text is: ``[0-9]`` is no JSON array of text."""
    if value is None or value == "":
        return []
    if isinstance(value, str):
        if not value.lstrip().startswith("["):
            return [value]
        try:
            decoded = json.loads(value)
        except (ValueError, RecursionError):
            return [value]
        kinds = {type(text) for text in decoded}
        if kinds <= {str}:
            return list(decoded)
        if str in kinds:
            raise ValueError("expected a JSON array of regular expressions and nothing else")
        return [value]  # [0] is an expression, too
    if isinstance(value, (list, tuple)) and all(isinstance(text, str) for text in value):
        return list(value)
    raise ValueError("expected a regular expression, or a JSON array of them")


OPTIONS: tuple[Option, ...] = (
    Option("url", _urls, "URL of a sitemap, a sitemap index, a feed, a text sitemap or a robots.txt, or a JSON array of them"),
    Option("urls_file", _text, "path of a file of such URLs, one a line; - is standard input"),
    Option("content", _text, "path of a local file that holds the content of url, which is then not requested"),
    Option("strict", _boolean, "true: hold documents to the letter of the protocol; false: read what can be read"),
    Option("follow", _patterns, "regular expression, or a JSON array of them: which sitemaps are fetched"),
    Option("rules", _patterns, "regular expression, or a JSON array of them: which pages are returned"),
    Option("max_depth", _whole(1), "levels of sitemap index that are followed; 1 or more"),
    Option("max_sitemaps", _whole(0), "sitemaps fetched and, counted apart, sitemaps listed; 0 lifts it"),
    Option("max_urls", _whole(0), "pages returned; 0 lifts it"),
    Option("max_validation_errors", _whole(0), "validation errors recorded; 0 lifts it"),
    Option("max_response_size", _whole(1), "bytes of a response, and of its decompressed content; 1 or more", "DOWNLOAD_MAXSIZE"),
    Option("max_concurrency", _whole(0), "sitemaps worked on at a time; 0 lifts it", "CONCURRENT_REQUESTS"),
    Option("multi_thread", _boolean, "false: one sitemap at a time, depth first, in the order listed"),
    Option("fetch_timeout", _timeout, "seconds for each try, 1 to 65535; not given: 3, then 10 and 30", "DOWNLOAD_TIMEOUT"),
    Option("user_agent", _header, "the User-Agent header of the requests", "USER_AGENT"),
    Option("sitemaps", _text, "feed URI for the sitemaps that the documents list, by extension or URI:format"),
    Option("errors", _text, "feed URI for what went wrong, by extension or URI:format"),
    Option("lint", _text, "path of a file for what the linter finds in each document that was fetched"),
    Option("sample", _whole(0), "deliver a random sample of so many pages in place of all; 0: all"),
)


def number(least: float) -> Callable[[Any], float]:
    """Return what reads a number of *least* or more; it raises :exc:`ValueError` with what was expected."""

    def parse(value: Any) -> float:
        try:
            found = float(value)
        except (TypeError, ValueError):
            found = -1
        if isinstance(value, bool) or not least <= found < float("inf"):
            raise ValueError(f"expected a number of {least:g} or more")
        return found

    return parse


def _seconds(value: Any) -> list[float]:
    """Return the numbers of a list, or of a text with commas between them."""
    found = value.split(",") if isinstance(value, str) else value
    if not isinstance(found, (list, tuple)) or not all(re.fullmatch(r"\s*[0-9]{1,9}(\.[0-9]+)?\s*", str(part)) for part in found):
        raise ValueError("expected numbers of seconds, as in 10,30")
    return [float(part) for part in found]


def _fields(value: Any) -> dict[str, str]:
    if isinstance(value, str):
        with contextlib.suppress(ValueError, RecursionError):
            value = json.loads(value)
    if not isinstance(value, Mapping) or not all(isinstance(text, str) for pair in value.items() for text in pair):
        raise ValueError("expected a dictionary of text, or a JSON object")
    if unknown := [name for name in value if name not in SITEMAP_FIELDS]:
        raise ValueError(f"{unknown[0]!r} is none of {', '.join(SITEMAP_FIELDS)}")
    return dict(value)


def _base_url(value: Any) -> str | None:
    from sitemapcrawl.protocol.writer import check_base  # who sets it writes sitemaps; others do without the writer

    text = _text(value)
    return None if text is None else check_base(text)


def _stylesheet(value: Any) -> str | None:
    from sitemapcrawl.protocol.writer import check_stylesheet

    text = _text(value)
    return None if text is None else check_stylesheet(text)


SITEMAP_FIELDS = ("loc", "lastmod", "changefreq", "priority", "images", "news", "videos", "alternates")

# The settings that are no options, and what reads their values.
SETTINGS: dict[str, Callable[[Any], Any]] = {
    "SITEMAPCRAWL_BATCH_SIZE": _whole(1),
    "SITEMAPCRAWL_CONCURRENT_PAGES": _whole(1),
    "SITEMAPCRAWL_WAITING_PAGES": _whole(1),
    "SITEMAPCRAWL_MEMORY_TARGET": _whole(0),
    "SITEMAPCRAWL_TIMEOUT_FIRST": _whole(1, 65_535),
    "SITEMAPCRAWL_TIMEOUT_RETRIES": _seconds,
    "SITEMAPCRAWL_PROGRESS_ENABLED": _boolean,
    "SITEMAPCRAWL_SUMMARY_ERRORS": _whole(0),
    "SITEMAPCRAWL_WORKER": _text,  # the spider of a cluster looks at it closer
    "SITEMAPCRAWL_LEASE": number(0.1),
    "SITEMAPCRAWL_MAX_DEATHS": _whole(1),
    "SITEMAPCRAWL_SITEMAP_FIELDS": _fields,
    "SITEMAPCRAWL_SITEMAP_BASE_URL": _base_url,
    "SITEMAPCRAWL_SITEMAP_STYLESHEET": _stylesheet,
}

_BY_NAME = {option.name: option for option in OPTIONS}


def parse_options(
    arguments: Mapping[str, Any], settings: Mapping[str, Any] | None = None, *, starts: bool = True
) -> tuple[Options, list[ConfigError]]:
    """Return the options that *arguments* give, and an error for each that is wrong (which then has its default).

    *settings* may hold other defaults (``SITEMAPCRAWL_MAX_DEPTH``). A name that begins with an underscore is not looked
    at: Scrapyd sends ``_job``. Without *starts*, those come from elsewhere.

    >>> options, errors = parse_options({"url": "https://example.com/sitemap.xml", "max_depth": "0"})
    >>> options.max_depth
    10
    >>> errors[0].message
    "option max_depth: '0' is wrong, expected a whole number of 1 or more"
    """
    options, problems = Options(), []
    wrong = set()
    for name in arguments:
        if name not in _BY_NAME and not name.startswith("_"):
            problems.append(f"option {name}: there is no such option (value {_short(arguments[name])}){_meant(name)}")
    for option in OPTIONS:
        setting = PREFIX + option.name.upper()
        default = getattr(default_settings, setting, None)
        value, origin = default, None
        if arguments.get(option.name) is not None:
            value, origin = arguments[option.name], f"option {option.name}"
        elif settings is not None and settings.get(setting) is not None:
            value, origin = settings[setting], f"setting {setting} (option {option.name})"
        try:
            parsed = option.parse(value)
        except ValueError as error:
            problems.append(f"{origin}: {_short(value)} is wrong, {error}")
            parsed = option.parse(default)
            wrong.add(option.name)
        else:
            if origin and parsed is not None:
                options.given.add(option.name)
        if parsed is not None:
            setattr(options, "urls" if option.name == "url" else option.name, parsed)
    if not options.user_agent:
        options.user_agent = default_settings.SITEMAPCRAWL_USER_AGENT
    if not options.several:
        options.url = options.urls[0] if options.urls else ""
    problems += _check_starts(options, wrong="url" in wrong) if starts else []
    if options.content is not None and (problem := _unreadable(options.content)):
        problems.append(f"option content: {options.content!r} cannot be read ({problem})")
    return options, [ConfigError(options.url or None, problem) for problem in problems]


def parse_settings(settings: Mapping[str, Any]) -> tuple[dict[str, Any], list[ConfigError]]:
    """Return the values of :data:`SETTINGS` that *settings* give, and an error for each that is wrong.

    One that is wrong has its default. What begins like one of ours and is none is wrong, too.

    >>> values, errors = parse_settings({"SITEMAPCRAWL_BATCH_SIZE": "abc", "SITEMAPCRAWL_SUMMARY_ERRORS": "3"})
    >>> values
    {'SITEMAPCRAWL_BATCH_SIZE': 2000, 'SITEMAPCRAWL_SUMMARY_ERRORS': 3}
    >>> errors[0].message
    "setting SITEMAPCRAWL_BATCH_SIZE: 'abc' is wrong, expected a whole number of 1 or more"
    """
    values, errors = {}, []
    for name in settings:
        if not name.startswith(PREFIX) or name.removeprefix(PREFIX).lower() in _BY_NAME:
            continue
        if name not in SETTINGS:
            problem = f"setting {name}: there is no such setting (value {_short(settings[name])})"
            problem += close_name(name, [*SETTINGS, *(PREFIX + option.upper() for option in _BY_NAME)])
            errors.append(ConfigError(None, problem))
            continue
        try:
            values[name] = SETTINGS[name](settings[name])
        except ValueError as error:
            errors.append(ConfigError(None, f"setting {name}: {_short(settings[name])} is wrong, {error}"))
            values[name] = getattr(default_settings, name)
    return values, errors


def _check_starts(options: Options, *, wrong: bool) -> list[str]:
    problems = []
    if not options.urls and options.urls_file is None and not wrong:
        problems.append("option url: it is missing, expected the URL of a sitemap or of a robots.txt")
    if options.urls_file not in (None, "-") and (problem := _unreadable(options.urls_file)):
        problems.append(f"option urls_file: {options.urls_file!r} cannot be read ({problem})")
    if options.content is not None and options.several:
        problems.append(f"option content: {options.content!r} is the content of one url, expected no others beside it")
    return problems


def _meant(name: str) -> str:
    if name.isupper() and name.lower() not in _BY_NAME:
        return f"; a setting is given as -s {name}=…"
    return close_name(name.lower(), _BY_NAME)


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 200 else text[:190] + "…" + text[-1]


def _unreadable(path: Any) -> str | None:
    try:
        if stat.S_ISFIFO(os.stat(path).st_mode):
            return None  # whoever writes to it would find nobody reading once it is closed
        with open(path, "rb"):
            return None
    except (OSError, ValueError) as error:
        return getattr(error, "strerror", None) or str(error)
