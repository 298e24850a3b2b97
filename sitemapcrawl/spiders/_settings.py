"""From the options of a crawl to the settings of Scrapy; done before the settings are frozen."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scrapy.utils.misc import load_object
from scrapy.utils.python import without_none_values
from w3lib.url import file_uri_to_path

from sitemapcrawl import default_settings
from sitemapcrawl.default_settings import ADDON_PRIORITY, SITEMAPCRAWL_TIMEOUT_FIRST, leave_out_idle
from sitemapcrawl.extensions.feeds import BatchFeedExporter
from sitemapcrawl.itemprocessor import BatchItemProcessor
from sitemapcrawl.options import parse_settings
from sitemapcrawl.protocol.errors import ConfigError

if TYPE_CHECKING:
    from scrapy.settings import BaseSettings

    from sitemapcrawl.options import Options

_UNBOUNDED = 1_000_000  # a slot of the downloader has no word for "no limit"

_RECORDS = {
    "sitemaps": "sitemapcrawl.items.SitemapEntry",
    "errors": "sitemapcrawl.items.SitemapError",
}


def check_settings(settings: BaseSettings) -> list[ConfigError]:
    """Return what is wrong with our settings; each has a value of its type afterwards, on which components rely."""
    values, errors = parse_settings(settings)
    for name, value in values.items():
        settings.set(name, value, priority=settings.getpriority(name) or 0)
    return errors


def set_from_options(settings: BaseSettings, options: Options) -> None:
    """Set the settings that *options* stand for.

    What was given gets the priority of a spider; a default stays below what a project sets for itself.
    """

    def put(option: str, setting: str, value: Any) -> None:
        settings.set(setting, value, priority="spider" if option in options.given else ADDON_PRIORITY)

    put("user_agent", "USER_AGENT", options.user_agent)
    put("max_response_size", "DOWNLOAD_MAXSIZE", options.max_response_size)
    timeout = options.fetch_timeout or settings.getint("SITEMAPCRAWL_TIMEOUT_FIRST", SITEMAPCRAWL_TIMEOUT_FIRST)
    put("fetch_timeout", "DOWNLOAD_TIMEOUT", timeout)
    if options.multi_thread:
        put("max_concurrency", "CONCURRENT_REQUESTS", options.max_concurrency)
        put("max_concurrency", "CONCURRENT_REQUESTS_PER_DOMAIN", options.max_concurrency or _UNBOUNDED)
    else:
        settings.set("CONCURRENT_REQUESTS", 1, priority="spider")
        # Scrapy's default queue takes turns between hosts, which would be another order than the one listed.
        settings.set("SCHEDULER_PRIORITY_QUEUE", "scrapy.pqueues.ScrapyPriorityQueue", priority="spider")
    leave_out_idle(settings)


def forget_job_dir(settings: BaseSettings) -> None:
    """Have *settings* name no JOBDIR."""
    settings.set("JOBDIR", None, priority=settings.getpriority("JOBDIR") or 0)


def make_job_dir(settings: BaseSettings) -> str | None:
    """Make the folder that JOBDIR names. Return what is wrong with it, if anything is; then there is no JOBDIR any more."""
    folder = settings.get("JOBDIR")
    if not folder:
        return None
    try:
        Path(folder).mkdir(parents=True, exist_ok=True)
        reason = None if os.access(folder, os.W_OK | os.X_OK) else "permission denied"
    except FileExistsError:
        reason = "it is a file"
    except OSError as error:
        reason = error.strerror or str(error)
    if reason is None:
        state = Path(folder, "spider.state")  # Scrapy's; it was cut off where it is empty, and would be told as a fault
        if state.is_file() and not state.stat().st_size:
            state.unlink()
        return None
    # Components of Scrapy would write to it, and fail before anything was said.
    forget_job_dir(settings)
    return f"setting JOBDIR: the folder {folder!r} cannot be written: {reason}"


def batch_size(settings: BaseSettings) -> int:
    """Return how many pages take the item path together: one, where the project has components that know no batches."""
    size = settings.getint("SITEMAPCRAWL_BATCH_SIZE", default_settings.SITEMAPCRAWL_BATCH_SIZE)
    if not knows_batches(settings):
        return 1
    extensions = [load_object(path) for path, order in settings.getdict("EXTENSIONS").items() if order is not None]
    if not any(isinstance(extension, type) and issubclass(extension, BatchFeedExporter) for extension in extensions):
        return 1
    return max(1, size)


def knows_batches(settings: BaseSettings) -> bool:
    """Return whether the item processor is ours, or one of the project that is made of it."""
    return issubclass(load_object(settings["ITEM_PROCESSOR"]), BatchItemProcessor)


def add_feeds(settings: BaseSettings, options: Options) -> list[ConfigError]:
    """Add the feeds that the options ``sitemaps`` and ``errors`` name to FEEDS; return what is wrong with them."""
    feeds: dict[Any, Any] = dict(settings.getdict("FEEDS"))
    errors = []
    known = without_none_values(settings.getwithbase("FEED_EXPORTERS"))
    for name, item_class in _RECORDS.items():
        element = getattr(options, name)
        if element is None:
            continue
        uri, feed_format = _split(element, known)
        if feed_format not in known:
            problem = f"option {name}: {element!r} names no known format, expected one of {', '.join(sorted(known))}"
            errors.append(ConfigError(options.url or None, problem))
        elif uri in {str(feed) for feed in feeds}:
            errors.append(ConfigError(options.url or None, f"option {name}: {element!r} is the URI of another feed already"))
        else:
            # What the project sets for all feeds is meant for pages: other fields, and files of so many items.
            feeds[uri] = {
                "format": feed_format, "overwrite": uri != "stdout:", "item_classes": [item_class],
                "fields": None, "batch_item_count": 0, "store_empty": True,
            }  # fmt: skip
    if len(feeds) > len(settings.getdict("FEEDS")):
        _set_feeds(settings, feeds)
    for uri in feeds:
        if reason := _unwritable(str(uri)):
            errors.append(ConfigError(options.url or None, f"feed {str(uri)!r} cannot be written: {reason}"))
    return errors


def keep_error_feeds(settings: BaseSettings) -> None:
    """Take the feeds that are not for errors out of FEEDS: a wrong option must not cost the file of an earlier crawl."""
    feeds = settings.getdict("FEEDS")
    kept = {
        uri: options
        for uri, options in feeds.items()
        if _RECORDS["errors"] in options.get("item_classes", ()) and not _unwritable(str(uri))
    }
    if len(kept) < len(feeds):
        _set_feeds(settings, kept)


def _set_feeds(settings: BaseSettings, feeds: dict[Any, Any]) -> None:
    # FEEDS may come from the command line, and a lower priority would not be heard.
    settings.set("FEEDS", feeds, priority=max(settings.getpriority("FEEDS") or 0, ADDON_PRIORITY))


def local_path(uri: str) -> Path | None:
    """Return the path of the local file *uri*; none if it is no local file, or is named later (``%(time)s``)."""
    path = Path(file_uri_to_path(uri) if uri.startswith("file:") else uri)
    return None if "%(" in uri or (":" in uri and not uri.startswith("file:") and not path.drive) else path


def _unwritable(uri: str) -> str | None:
    """Return why the local file *uri* cannot be written; none if it can, or is none, or is named later (``%(time)s``)."""
    path = local_path(uri)
    if path is None:
        return None
    if path.is_dir():
        return "it is a folder"
    if path.exists():
        return None if os.access(path, os.W_OK) else "permission denied"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        return error.strerror or str(error)
    return None if os.access(path.parent, os.W_OK) else "permission denied"


def _split(element: str, known: Any) -> tuple[str, str]:
    """Return URI and format of *element* as ``-O`` has them: ``file.csv``, ``file:csv``, ``-:jsonl``."""
    uri, colon, feed_format = element.rpartition(":")
    if colon and feed_format in known:
        return ("stdout:" if uri == "-" else uri), feed_format
    return element, Path(element).suffix.removeprefix(".")
