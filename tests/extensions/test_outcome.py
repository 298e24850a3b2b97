from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from scrapy import Spider
from scrapy.utils.test import get_crawler

from sitemapcrawl.extensions.outcome import Outcome
from sitemapcrawl.items import PageBatch
from sitemapcrawl.protocol.errors import ConfigError, NetworkError
from sitemapcrawl.spiders.sitemap import SitemapSpider


def outcome(**spider: Any) -> Outcome:
    crawler = get_crawler(Spider)
    crawler.spider = SimpleNamespace(ends_well=SitemapSpider.ends_well, **spider)  # type: ignore[assignment]
    return Outcome.from_crawler(crawler)


@pytest.mark.parametrize(
    ("start_read", "reason", "wrong", "status"),
    [
        (True, "finished", False, 0),
        (False, "finished", False, 1),
        (True, "shutdown", False, 1),
        (True, "closespider_timeout", False, 1),
        (False, "finished", True, 2),
        (False, None, False, 1),  # it never came to its end
    ],
)
def test_exit_status(start_read: bool, reason: str | None, wrong: bool, status: int) -> None:
    extension = outcome(start_read=start_read, config_errors=[ConfigError(None, "x")] * wrong)
    extension._reason = reason
    assert extension.exit_status == status


def test_other_spiders_have_the_exit_status_of_scrapy() -> None:
    assert outcome().exit_status == 0


@pytest.mark.parametrize(("size", "expected"), [(5, 5), (1, 1), (0, 0)])
def test_pages_of_a_batch_are_counted_as_items(size: int, expected: int) -> None:
    extension = outcome()
    stats = extension._crawler.stats
    stats.inc_value("item_scraped_count")  # as CoreStats does for the signal
    extension._item_scraped(PageBatch([None] * size))
    assert stats.get_value("item_scraped_count") == expected


def test_summary_shows_the_first_errors_of_each_type() -> None:
    extension = outcome()
    extension._errors_found([NetworkError(f"http://example.com/{number}", "status 404") for number in range(7)])
    extension._crawler.stats.set_value("sitemapcrawl/errors/network", 7)
    extension._crawler.stats.set_value("sitemapcrawl/limits/max_urls", 1)
    lines = extension._summary("finished")
    assert sum("status 404" in line for line in lines) == 5
    assert "    and 2 more" in lines
    assert "  limits reached    max_urls" in lines


def test_summary_shows_every_option_that_is_wrong() -> None:
    extension = outcome()
    extension._errors_found([ConfigError(None, f"option number-{number}") for number in range(9)])
    extension._crawler.stats.set_value("sitemapcrawl/errors/config", 9)
    assert sum("option number-" in line for line in extension._summary("finished")) == 9
