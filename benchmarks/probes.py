"""What is added to a crawl in order to measure it: a pipeline as other people write them, and a clock on the event loop."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Self

from scrapy import signals

if TYPE_CHECKING:
    from scrapy.crawler import Crawler


class TrivialPipeline:
    """The least that a pipeline can do: what it costs is the way to it."""

    def process_item(self, item: object) -> object:
        return item


class LoopLag:
    """Print by how many seconds, at most, the event loop was late for a call that was due every 10 ms."""

    def __init__(self) -> None:
        self._worst = 0.0

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        extension = cls()
        crawler.signals.connect(extension.spider_opened, signals.spider_opened)
        crawler.signals.connect(extension.spider_closed, signals.spider_closed)
        return extension

    def spider_opened(self) -> None:
        self._task = asyncio.get_running_loop().create_task(self._watch())

    async def _watch(self) -> None:
        loop, interval = asyncio.get_running_loop(), 0.01
        while True:
            due = loop.time() + interval
            await asyncio.sleep(interval)
            self._worst = max(self._worst, loop.time() - due)

    def spider_closed(self) -> None:
        self._task.cancel()
        print(f"loop lag {self._worst:.3f}", flush=True)
