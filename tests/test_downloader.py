from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest
from scrapy import Request, Spider
from scrapy.core.scraper import Slot
from scrapy.http import Response
from scrapy.utils.test import get_crawler

from sitemapcrawl.downloader import BoundedDownloader

MIB = 1024 * 1024


@pytest.fixture
def make():
    def build(**settings: Any) -> BoundedDownloader:
        async def create() -> BoundedDownloader:
            handlers = {"http": None, "https": None}
            crawler = get_crawler(Spider, {"TWISTED_REACTOR_ENABLED": False, "DOWNLOAD_HANDLERS": handlers, **settings})
            crawler.spider = crawler._create_spider("any")
            crawler.engine = SimpleNamespace(scraper=SimpleNamespace(slot=Slot()))  # type: ignore[assignment]
            return BoundedDownloader(crawler)

        return asyncio.run(create())

    return build


def fetch(downloader: BoundedDownloader, count: int) -> None:
    downloader.active = {Request(f"http://example.com/{number}") for number in range(count)}


def wait(downloader: BoundedDownloader, *sizes: int) -> None:
    slot = downloader.crawler.engine.scraper.slot
    for size in sizes:
        slot.add_response_request(Response("http://example.com/", body=b" " * size), Request("http://example.com/"))


def arrive(downloader: BoundedDownloader, size: int, times: int = 4) -> None:
    request = Request("http://example.com/")
    for _ in range(times):
        downloader._request_left(None, request)
        downloader._response_received(Response("http://example.com/", body=b" " * size), request)


def test_documents_count_from_their_request_until_they_are_read(make) -> None:
    downloader = make(CONCURRENT_REQUESTS=5)
    arrive(downloader, 100)
    fetch(downloader, 3)
    wait(downloader, 10)
    assert not downloader.needs_backout()
    wait(downloader, 10)
    assert downloader.needs_backout()


def test_zero_is_no_limit(make) -> None:
    downloader = make(CONCURRENT_REQUESTS=0)
    arrive(downloader, 100)
    fetch(downloader, 500)
    assert not downloader.needs_backout()


def test_few_are_on_their_way_until_sizes_are_known(make) -> None:
    downloader = make(CONCURRENT_REQUESTS=16)
    fetch(downloader, 4)
    assert downloader.needs_backout()
    arrive(downloader, 100)
    assert not downloader.needs_backout()


def test_memory_of_what_is_held_and_on_its_way_is_bounded(make) -> None:
    downloader = make(CONCURRENT_REQUESTS=16, SITEMAPCRAWL_MEMORY_TARGET=48 * MIB)
    arrive(downloader, 10 * MIB)
    fetch(downloader, 2)
    wait(downloader, 10 * MIB)
    assert not downloader.needs_backout()
    fetch(downloader, 4)
    assert downloader.needs_backout()


def test_one_document_is_always_let_through(make) -> None:
    downloader = make(SITEMAPCRAWL_MEMORY_TARGET=1)
    arrive(downloader, 10 * MIB)
    assert not downloader.needs_backout()
    fetch(downloader, 1)
    assert downloader.needs_backout()


def test_memory_bound_can_be_lifted(make) -> None:
    downloader = make(SITEMAPCRAWL_MEMORY_TARGET=0)
    arrive(downloader, 50 * MIB)
    fetch(downloader, 15)
    assert not downloader.needs_backout()


def test_first_document_says_nothing_about_the_rest(make) -> None:
    downloader = make(SITEMAPCRAWL_MEMORY_TARGET=MIB)
    request = Request("http://example.com/", cb_kwargs={"start": True})
    downloader._request_left(None, request)
    downloader._response_received(Response("http://example.com/", body=b" " * 10 * MIB), request)
    fetch(downloader, 3)
    assert not downloader.needs_backout()
