"""Every ``SITEMAPCRAWL_…`` setting with its default, and the Scrapy settings that a crawl of sitemaps stands on.

To add a setting: one line here, in upper case, with its unit. The first group holds the defaults of the options of
:mod:`sitemapcrawl.options`: an option that is not given is looked up under its name in the project's settings, then
here. :func:`apply` puts the Scrapy settings below those of the project, so that what a project sets for itself holds.
"""

from __future__ import annotations

from typing import Any

from sitemapcrawl import __version__

# --- Defaults of the options -------------------------------------------------------------------------------------

SITEMAPCRAWL_URLS_FILE = None  # path of a file with a start a line
SITEMAPCRAWL_CONTENT = None  # path of a local file that is read in place of the URL
SITEMAPCRAWL_STRICT = False
SITEMAPCRAWL_FOLLOW = None  # regular expressions: which sitemaps are fetched; None: all
SITEMAPCRAWL_RULES = None  # regular expressions: which pages are returned; None: all
SITEMAPCRAWL_MAX_DEPTH = 10  # levels of sitemap index
SITEMAPCRAWL_MAX_SITEMAPS = 50_000  # sitemaps fetched, and sitemaps listed; 0: no limit
SITEMAPCRAWL_MAX_URLS = 10_000_000  # pages; 0: no limit
SITEMAPCRAWL_MAX_VALIDATION_ERRORS = 100_000  # errors; 0: no limit
SITEMAPCRAWL_MAX_RESPONSE_SIZE = 52_428_800  # bytes, also of what is unpacked
SITEMAPCRAWL_MAX_CONCURRENCY = 16  # sitemaps worked on at a time; 0: no limit
SITEMAPCRAWL_MULTI_THREAD = True  # False: one sitemap at a time, depth first, in the order listed
SITEMAPCRAWL_FETCH_TIMEOUT = None  # seconds; None: 3, and when that was too short 10 and 30
SITEMAPCRAWL_USER_AGENT = f"sitemapcrawl/{__version__}"
SITEMAPCRAWL_SITEMAPS = None  # feed URI for the sitemaps that the documents list
SITEMAPCRAWL_ERRORS = None  # feed URI for what went wrong
SITEMAPCRAWL_LINT = None  # path of a file for what the linter finds in the documents
SITEMAPCRAWL_SAMPLE = 0  # pages in a random sample, delivered in place of all; 0: all of them

# --- How the crawl works -----------------------------------------------------------------------------------------

SITEMAPCRAWL_BATCH_SIZE = 2_000  # pages that take the item path together; 1: each page is an item of its own
SITEMAPCRAWL_CONCURRENT_PAGES = 100  # pages of a batch that asynchronous pipelines work on at a time
SITEMAPCRAWL_WAITING_PAGES = 100  # requests for pages of a document that wait to be sent, in a spider that requests pages
SITEMAPCRAWL_MEMORY_TARGET = 40 * 1024 * 1024  # bytes of documents that are held or on their way; 0: no bound
SITEMAPCRAWL_TIMEOUT_FIRST = 3  # seconds for the first try where fetch_timeout is not given
SITEMAPCRAWL_TIMEOUT_RETRIES = [10, 30]  # seconds for the tries after a time-out where fetch_timeout is not given
SITEMAPCRAWL_PROGRESS_ENABLED = True  # show progress where standard error is a terminal
SITEMAPCRAWL_SUMMARY_ERRORS = 5  # errors of each type that the summary at the end shows

# --- Several workers ---------------------------------------------------------------------------------------------

SITEMAPCRAWL_WORKER = None  # name of the worker, %(worker)s in the URIs of feeds; None: host, process and a few characters
SITEMAPCRAWL_LEASE = 60  # seconds that a worker may not be heard of until others do what it was at
SITEMAPCRAWL_MAX_DEATHS = 3  # workers that may be killed while they read a document, until it is given up

# --- Writing -----------------------------------------------------------------------------------------------------

SITEMAPCRAWL_SITEMAP_FIELDS: dict[str, str] = {}  # of the feed format sitemap: name of the protocol → field of the item
SITEMAPCRAWL_SITEMAP_BASE_URL = None  # URL of the folder of a sitemap feed; with it, a feed in several files gets an index
SITEMAPCRAWL_SITEMAP_STYLESHEET = None  # URL of an XSL stylesheet that a sitemap feed refers to

# --- Settings of Scrapy that a crawl of sitemaps needs --------------------------------------------------------------

FEEDS_EXTENSION = "scrapy.extensions.feedexport.FeedExporter"
BATCH_FEEDS_EXTENSION = "sitemapcrawl.extensions.feeds.BatchFeedExporter"

RETRY_MIDDLEWARE = "scrapy.downloadermiddlewares.retry.RetryMiddleware"
PATIENT_RETRY_MIDDLEWARE = "sitemapcrawl.downloadermiddlewares.retry.PatientRetryMiddleware"

# A project that names one of Scrapy's components has its own idea of what is to do its work: ours would be a second one,
# which writes each file twice, or tries again what theirs has given up on.
_REPLACED = {FEEDS_EXTENSION: BATCH_FEEDS_EXTENSION, RETRY_MIDDLEWARE: PATIENT_RETRY_MIDDLEWARE}

SCRAPY_SETTINGS: dict[str, Any] = {
    "SCHEDULER": "sitemapcrawl.scheduler.JournalScheduler",
    "DOWNLOADER": "sitemapcrawl.downloader.BoundedDownloader",
    "ITEM_PROCESSOR": "sitemapcrawl.itemprocessor.BatchItemProcessor",
    "LOG_FORMATTER": "sitemapcrawl.itemprocessor.PageLogFormatter",
    "EXTENSIONS": {
        FEEDS_EXTENSION: None,
        BATCH_FEEDS_EXTENSION: 0,
        "sitemapcrawl.extensions.outcome.Outcome": 0,
        "sitemapcrawl.extensions.progress.Progress": -10,  # its display is gone before the summary is logged
    },
    "FEED_EXPORTERS": {
        "jsonlines": "sitemapcrawl.exporters.jsonlines.JsonLinesExporter",
        "jsonl": "sitemapcrawl.exporters.jsonlines.JsonLinesExporter",
        "jl": "sitemapcrawl.exporters.jsonlines.JsonLinesExporter",
        "sitemap": "sitemapcrawl.exporters.sitemap.SitemapItemExporter",
        "json": "sitemapcrawl.exporters.records.RecordJsonExporter",
        "csv": "sitemapcrawl.exporters.records.RecordCsvExporter",
        "xml": "sitemapcrawl.exporters.records.RecordXmlExporter",
    },
    "DOWNLOADER_MIDDLEWARES": {
        "sitemapcrawl.downloadermiddlewares.admission.AdmissionMiddleware": 50,
        RETRY_MIDDLEWARE: None,
        PATIENT_RETRY_MIDDLEWARE: 550,
        "sitemapcrawl.downloadermiddlewares.body.BodyMiddleware": 595,
    },
    # What a document or a redirect names is fetched over http and https, and over nothing else.
    "DOWNLOAD_HANDLERS": {"data": None, "file": None, "ftp": None, "s3": None},
    "DEFAULT_REQUEST_HEADERS": {
        "Accept": "application/xml,text/xml;q=0.9,text/plain;q=0.8,*/*;q=0.7",
        "Accept-Encoding": "gzip, deflate",  # of these BodyMiddleware knows whether a body is whole
    },
    "DOWNLOAD_WARNSIZE": 0,
    # A callback yields requests only, and these keep their order: a hundred workers a response would cost 1 ms each.
    "CONCURRENT_ITEMS": 1,
    # The responses that wait to be read are bounded by BoundedDownloader.
    "SCRAPER_SLOT_MAX_ACTIVE_SIZE": 1 << 62,
    "COOKIES_ENABLED": False,
    "HTTPERROR_ALLOW_ALL": True,  # the spider turns every status but 200 into an error record
    "METAREFRESH_ENABLED": False,
    # Names are looked up in these threads, by a call that cannot be cancelled: with Scrapy's 10, ten names whose server does
    # not answer keep all others waiting.
    "REACTOR_THREADPOOL_MAXSIZE": 64,
    "REDIRECT_MAX_TIMES": 10,
    "REFERRER_POLICY": "no-referrer",  # REFERER_ENABLED = False makes RedirectMiddleware warn
    "REMOTE_CONTROL_ENABLED": False,
    "RETRY_TIMES": 2,
    "RETRY_HTTP_CODES": [408, 429, *range(500, 600)],
    "RETRY_GIVE_UP_LOG_LEVEL": "DEBUG",  # the error record says so
    # Sitemaps have priority 0; one that is tried again or redirected comes before all that wait, or the order of a
    # crawl that goes one at a time would be lost.
    "RETRY_PRIORITY_ADJUST": 1,
    "REDIRECT_PRIORITY_ADJUST": 1,
    "TELNETCONSOLE_ENABLED": False,
    "URLLENGTH_LIMIT": 0,
}

# What is left of them for a spider that requests pages: all others would be about the pages, too.
PAGES_SETTINGS: dict[str, Any] = {
    "DOWNLOADER": "sitemapcrawl.downloader.PageDownloader",
    "DUPEFILTER_CLASS": "sitemapcrawl.dupefilter.PageDupeFilter",
    "EXTENSIONS": SCRAPY_SETTINGS["EXTENSIONS"],
    "DOWNLOADER_MIDDLEWARES": {
        name: value for name, value in SCRAPY_SETTINGS["DOWNLOADER_MIDDLEWARES"].items() if "retry" not in name.lower()
    },
}

# Above Scrapy's defaults, below what a project sets.
ADDON_PRIORITY = 15


# Components of Scrapy that do nothing where a setting is off, and take a tenth of a second to be imported all the same.
_IDLE = (
    ("REMOTE_CONTROL_ENABLED", "EXTENSIONS_BASE", "scrapy.extensions.remote_control.RemoteControl"),
    ("TELNETCONSOLE_ENABLED", "EXTENSIONS_BASE", "scrapy.extensions.telnet.TelnetConsole"),
    ("COOKIES_ENABLED", "DOWNLOADER_MIDDLEWARES_BASE", "scrapy.downloadermiddlewares.cookies.CookiesMiddleware"),
)


def apply(settings: Any, *, pages: bool = False) -> None:
    """Set :data:`SCRAPY_SETTINGS` in *settings* (a Scrapy ``Settings`` object) where nothing stronger is set.

    Entries of dictionaries are added one by one; those that are there already stay. With *pages* it is
    :data:`PAGES_SETTINGS`.
    """
    for name, value in (PAGES_SETTINGS if pages else SCRAPY_SETTINGS).items():
        priority = settings.getpriority(name) or 0
        if isinstance(value, dict):
            present = settings.getdict(name)
            names = {_path(component) for component in present}
            for theirs, ours in _REPLACED.items():
                if theirs in names and ours not in names:
                    value = {key: own for key, own in value.items() if key not in (theirs, ours)}
            # Above what is there already: a CrawlerProcess sets that again, at its own priority, when the crawl starts.
            settings.set(name, {**value, **present}, priority=max(priority, ADDON_PRIORITY) + 1)
        elif priority <= ADDON_PRIORITY:
            settings.set(name, value, priority=ADDON_PRIORITY)


def _path(component: Any) -> Any:
    """Return the import path of a *component*, which settings name by that or by the class itself."""
    return f"{component.__module__}.{component.__qualname__}" if isinstance(component, type) else component


def leave_out_idle(settings: Any) -> None:
    """Take out of *settings*, which are complete, the components of Scrapy that are switched off: they are imported else."""
    for switch, name, component in _IDLE:
        if not settings.getbool(switch) and component in settings[name]:
            settings[name][component] = None
