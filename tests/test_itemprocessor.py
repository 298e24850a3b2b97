from __future__ import annotations

import asyncio
import logging
import time
from typing import Any

import pytest
from scrapy import Spider, signals
from scrapy.exceptions import DropItem
from scrapy.utils.test import get_crawler
from twisted.internet.defer import succeed

from sitemapcrawl.itemprocessor import BatchItemProcessor, PageLogFormatter
from sitemapcrawl.items import Page, PageBatch


def pages(count: int) -> list[Any]:
    return [Page(f"https://example.com/{number}") for number in range(count)]


def names(batch: PageBatch) -> list[str]:
    return [page["loc"] if isinstance(page, dict) else page.loc.rpartition("/")[2] for page in batch.pages]


class Recorder:
    def __init__(self) -> None:
        self.dropped: list[Any] = []
        self.failed: list[Any] = []


def process(item: Any, *pipelines: type, settings: dict[str, Any] | None = None) -> tuple[Any, Recorder]:
    """Send *item* through *pipelines*; return what comes out, and the items that were dropped and failed on."""
    recorder = Recorder()

    async def run() -> Any:
        crawler = get_crawler(
            Spider,
            {
                "TWISTED_REACTOR_ENABLED": False,
                "ITEM_PIPELINES": {pipeline: order for order, pipeline in enumerate(pipelines)},
                **(settings or {}),
            },
        )
        crawler.spider = crawler._create_spider("any")
        crawler.signals.connect(lambda item: recorder.dropped.append(item), signals.item_dropped, weak=False)
        crawler.signals.connect(lambda item: recorder.failed.append(item), signals.item_error, weak=False)
        processor = BatchItemProcessor.from_crawler(crawler)
        await processor.open_spider_async()
        try:
            return await processor.process_item_async(item)
        finally:
            await processor.close_spider_async()

    return asyncio.run(run()), recorder


class Sync:
    def process_item(self, item: Any) -> Any:
        item.changefreq = "daily"
        return item


class Async:
    async def process_item(self, item: Any) -> Any:
        await asyncio.sleep(0)
        item.priority = 0.5
        return item


class OldStyle:
    def process_item(self, item: Any, spider: Spider) -> Any:
        item.lastmod = spider.name
        return item


class ReturnsDict:
    def process_item(self, item: Any) -> Any:
        return {"loc": item.loc}


class DropsOdd:
    def process_item(self, item: Any) -> Any:
        if int(item.loc.rpartition("/")[2]) % 2:
            raise DropItem("odd")
        return item


class DropsOddLater:
    async def process_item(self, item: Any) -> Any:
        await asyncio.sleep(0)
        return DropsOdd().process_item(item)


class Fails:
    def process_item(self, item: Any) -> Any:
        if item.loc.endswith("/1"):
            raise RuntimeError("no")
        return item


class Whole:
    def process_batch(self, batch: PageBatch) -> PageBatch:
        batch.pages = batch.pages[::-1]
        return batch

    def process_item(self, item: Any) -> Any:
        raise AssertionError("takes batches")


class WholeLater:
    async def process_batch(self, batch: PageBatch) -> PageBatch:
        await asyncio.sleep(0)
        return PageBatch(batch.pages[:2], batch.sitemap)


def test_pipelines_get_one_page_at_a_time_in_order() -> None:
    batch, _ = process(PageBatch(pages(3)), Sync, Async)
    assert names(batch) == ["0", "1", "2"]
    assert {(page.changefreq, page.priority) for page in batch.pages} == {("daily", 0.5)}


def test_old_style_pipeline_gets_the_spider() -> None:
    with pytest.warns(match="requires a spider argument"):
        batch, _ = process(PageBatch(pages(2)), OldStyle)
    assert [page.lastmod for page in batch.pages] == ["any", "any"]


def test_pipeline_that_returns_a_deferred_is_waited_for() -> None:
    class Legacy:
        def process_item(self, item: Any) -> Any:
            return succeed({"loc": "x"})

    with pytest.warns(match="Deferred"):
        batch, _ = process(PageBatch(pages(2)), Legacy)
    assert batch.pages == [{"loc": "x"}] * 2


def test_what_a_pipeline_returns_goes_on() -> None:
    class TakesDict:
        def process_item(self, item: Any) -> Any:
            assert isinstance(item, dict)
            return item

    batch, _ = process(PageBatch(pages(2)), ReturnsDict, TakesDict)
    assert names(batch) == ["https://example.com/0", "https://example.com/1"]


@pytest.mark.parametrize("pipeline", [DropsOdd, DropsOddLater])
def test_dropped_page_costs_itself(pipeline: type, caplog: pytest.LogCaptureFixture) -> None:
    batch, recorder = process(PageBatch(pages(5)), pipeline, Sync)
    assert names(batch) == ["0", "2", "4"]
    assert sorted(item.loc[-1] for item in recorder.dropped) == ["1", "3"]
    assert sum(record.getMessage().startswith("Dropped: odd") for record in caplog.records) == 2


def test_failure_costs_its_page_and_is_logged_with_traceback(caplog: pytest.LogCaptureFixture) -> None:
    batch, recorder = process(PageBatch(pages(3)), Async, Fails, Sync)
    assert names(batch) == ["0", "2"]
    assert [item.loc[-1] for item in recorder.failed] == ["1"]
    record = next(record for record in caplog.records if record.levelno == logging.ERROR)
    assert record.exc_info
    assert record.exc_info[0] is RuntimeError


def test_pipelines_that_take_batches_get_them_whole_in_their_place() -> None:
    batch, _ = process(PageBatch(pages(3)), Sync, Whole, Async, WholeLater, ReturnsDict)
    assert names(batch) == ["https://example.com/2", "https://example.com/1"]


def test_pipeline_that_loses_the_batch_is_told() -> None:
    class Forgets:
        def process_batch(self, batch: PageBatch) -> None:
            pass

    with pytest.raises(TypeError, match="Forgets"):
        process(PageBatch(pages(1)), Forgets)


def test_asynchronous_pipeline_works_on_so_many_pages_at_a_time_and_keeps_the_order() -> None:
    running = most = 0

    class Slow:
        async def process_item(self, item: Any) -> Any:
            nonlocal running, most
            running += 1
            most = max(most, running)
            await asyncio.sleep(0.02 if item.loc.endswith("0") else 0.001)
            running -= 1
            return item

    batch, _ = process(PageBatch(pages(50)), Slow, settings={"SITEMAPCRAWL_CONCURRENT_PAGES": 7})
    assert names(batch) == [str(number) for number in range(50)]
    assert most == 7


def test_other_items_go_their_own_way() -> None:
    class Marks:
        def process_item(self, item: Any) -> Any:
            return {**item, "seen": True}

    assert process({"a": 1}, Marks)[0] == {"a": 1, "seen": True}


def test_batch_of_which_nothing_is_left_is_empty() -> None:
    class DropsAll:
        def process_item(self, item: Any) -> Any:
            raise DropItem("all")

    batch, recorder = process(PageBatch(pages(3)), DropsAll)
    assert (len(batch), len(recorder.dropped)) == (0, 3)


def test_pages_are_logged_one_by_one_and_the_batch_is_not(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG, "scrapy.core.scraper"):
        process(PageBatch(pages(3)), Sync)
    assert sum(record.getMessage().startswith("Scraped from") for record in caplog.records) == 3
    assert PageLogFormatter().scraped(PageBatch([]), None, Spider("any")) is None


def test_repr_of_a_batch_is_short() -> None:
    assert len(repr(PageBatch(pages(1_000), "https://example.com/sitemap.xml"))) < 100


def test_trivial_pipeline_costs_little() -> None:
    class Trivial:
        def process_item(self, item: Any) -> Any:
            return item

    batch = PageBatch(pages(100_000))
    started = time.process_time()
    process(batch, Trivial)
    assert (time.process_time() - started) / 100_000 < 6e-6
