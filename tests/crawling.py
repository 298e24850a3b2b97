"""Run a whole crawl in this process, without a reactor: some 30 ms each."""

from __future__ import annotations

import asyncio
import json
import os
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from scrapy.crawler import Crawler
from scrapy.settings import Settings

from sitemapcrawl.extensions.outcome import Outcome
from sitemapcrawl.spiders.sitemap import SitemapSpider

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.mockweb import MockWeb

PROXIES = ("http_proxy", "https_proxy", "no_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY")


@dataclass
class Result:
    """What a crawl left behind."""

    pages: list[dict[str, Any]]
    sitemaps: list[dict[str, Any]]
    errors: list[dict[str, Any]]
    stats: dict[str, Any]
    exit_status: int

    @property
    def locations(self) -> list[str]:
        return [page["loc"] for page in self.pages]

    @property
    def problems(self) -> list[tuple[str, str, str | None]]:
        return [(error["type"], error["url"], error["limit"]) for error in self.errors]


@contextmanager
def proxy(address: str | None) -> Iterator[None]:
    """Have http requests of this process go to the proxy at *address*."""
    saved = {name: os.environ.pop(name) for name in PROXIES if name in os.environ}
    if address:
        os.environ["http_proxy"] = address
    try:
        yield
    finally:
        os.environ.pop("http_proxy", None)
        os.environ.update(saved)


def crawl(
    web: MockWeb | None,
    url: str | None = None,
    settings: dict[str, Any] | None = None,
    prepare: Callable[[Crawler], None] | None = None,
    spider: type[SitemapSpider] = SitemapSpider,
    **options: Any,
) -> Result:
    """Crawl *web* from *url* with *options*; *prepare* gets the crawler before it starts."""
    with TemporaryDirectory() as name, proxy(web.address if web else None):
        folder = Path(name)
        project = Settings({"LOG_LEVEL": "ERROR", "TWISTED_REACTOR_ENABLED": False})
        project.update({"FEEDS": {str(folder / "pages.jsonl"): {"format": "jsonl"}}, **(settings or {})})
        crawler = Crawler(spider, project)
        if prepare:
            prepare(crawler)
        arguments = {"url": url, "sitemaps": str(folder / "sitemaps.jsonl"), "errors": str(folder / "errors.jsonl"), **options}
        asyncio.run(crawler.crawl_async(**{key: value for key, value in arguments.items() if value is not None}))
        pages, sitemaps, errors = (read_records(folder / f"{kind}.jsonl") for kind in ("pages", "sitemaps", "errors"))
    outcome = crawler.get_extension(Outcome)
    assert outcome is not None
    return Result(pages, sitemaps, errors, crawler.stats.get_stats(), outcome.exit_status)


def read_records(path: Path) -> list[dict[str, Any]]:
    """Return the records of a feed in JSON lines; none where there is no file."""
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()] if path.exists() else []
