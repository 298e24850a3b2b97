"""Fetching a few addresses for a command, with Scrapy's downloader and without anything that makes a crawl of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from scrapy import Request, Spider
from scrapy.crawler import AsyncCrawlerProcess
from scrapy.settings import Settings

from sitemapcrawl.default_settings import SITEMAPCRAWL_USER_AGENT

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence
    from pathlib import Path

    from scrapy.http import Response
    from scrapy.settings import BaseSettings
    from twisted.python.failure import Failure

# What of the project's settings is about the network or the log. Its components are left out: they are made for crawls.
_KEPT = (
    "DNS_RESOLVER", "DNS_TIMEOUT", "DNSCACHE_ENABLED", "DOWNLOAD_BIND_ADDRESS", "DOWNLOAD_MAXSIZE", "DOWNLOAD_TIMEOUT",
    "DOWNLOADER_CLIENT_TLS_CIPHERS", "HTTPPROXY_AUTH_ENCODING", "HTTPPROXY_ENABLED", "LOG_DATEFORMAT", "LOG_ENABLED",
    "LOG_ENCODING", "LOG_FILE", "LOG_FILE_APPEND", "LOG_FORMAT", "LOG_LEVEL", "RETRY_ENABLED", "RETRY_HTTP_CODES",
    "RETRY_TIMES", "USER_AGENT",
)  # fmt: skip

_TIMEOUT = 30  # seconds for one of three tries: Scrapy's own 180 are for crawls that nobody waits for

_OURS: dict[str, Any] = {
    "BOT_NAME": "sitemapcrawl",
    "COOKIES_ENABLED": False,
    "DEFAULT_REQUEST_HEADERS": {"Accept": "application/xml,text/xml;q=0.9,*/*;q=0.8"},
    "DOWNLOAD_HANDLERS": {"data": None, "file": None, "ftp": None, "s3": None},
    "DOWNLOAD_WARNSIZE": 0,
    "EXTENSIONS_BASE": {},
    "METAREFRESH_ENABLED": False,
    "REMOTE_CONTROL_ENABLED": False,
    "RETRY_GIVE_UP_LOG_LEVEL": "DEBUG",
    "ROBOTSTXT_OBEY": False,
    "SPIDER_MIDDLEWARES_BASE": {},
    "STATS_DUMP": False,
    "TELNETCONSOLE_ENABLED": False,
}


class Fetched(NamedTuple):
    """What became of an address: where it was served from and the file that its content is in, or why there is none."""

    url: str
    path: Path | None
    problem: str = ""


class _Spider(Spider):
    name = "fetch"
    urls: Sequence[str]
    folder: Path
    fetched: dict[str, Fetched]

    async def start(self) -> AsyncIterator[Any]:
        for number, url in enumerate(self.urls):
            try:
                request = Request(url, self.parse, errback=self.failed, dont_filter=True, cb_kwargs={"number": number})
            except ValueError as error:
                self.fetched[url] = Fetched(url, None, str(error))
                continue
            yield request

    def parse(self, response: Response, number: int) -> None:
        if response.status != 200:
            problem = f"it is answered with the status {response.status}"
            self.fetched[self.urls[number]] = Fetched(response.url, None, problem)
            return
        path = self.folder / str(number)
        path.write_bytes(response.body)
        self.fetched[self.urls[number]] = Fetched(response.url, path)

    def failed(self, failure: Failure) -> None:
        url = self.urls[failure.request.cb_kwargs["number"]]  # type: ignore[attr-defined]
        problem = str(failure.value).strip() or type(failure.value).__name__
        self.fetched[url] = Fetched(url, None, problem)


def fetch(urls: Sequence[str], folder: Path, settings: BaseSettings) -> dict[str, Fetched]:
    """Fetch *urls* into files in *folder*, and return what became of each, by URL; one that was not tried is missing.

    Redirects are followed, and nothing else is requested. Of *settings*, those count that are about the network and the log.
    """
    own = Settings()
    for name in _KEPT:
        if settings.getpriority(name):
            own.set(name, settings[name], priority="project")
    for name, value in (("USER_AGENT", SITEMAPCRAWL_USER_AGENT), ("DOWNLOAD_TIMEOUT", _TIMEOUT)):
        if not settings.getpriority(name):
            own.set(name, value, priority="project")
    own.setdict(_OURS, priority="cmdline")
    fetched: dict[str, Fetched] = {}
    process = AsyncCrawlerProcess(own)
    process.crawl(_Spider, urls=urls, folder=folder, fetched=fetched)
    process.start()
    return fetched
