"""Feeds of whole crawls: which records go where, and into how many files."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from scrapy.extensions.feedexport import ItemFilter

from tests.crawling import crawl
from tests.mockweb import MockWeb, index, urlset

if TYPE_CHECKING:
    from pathlib import Path

ROOT = "http://example.com/"
WEB = {
    ROOT + "i.xml": index("/a.xml", "ftp://example.com/"),
    ROOT + "a.xml": urlset(*(f"/{number}" for number in range(25))),
}


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_feeds_get_the_records_that_they_name(tmp_path: Path) -> None:
    feeds = {
        tmp_path / "all.jsonl": {"format": "jsonl"},
        tmp_path / "pages.jsonl": {"format": "jsonl", "item_classes": ["sitemapcrawl.items.Page"]},
        tmp_path / "errors.jsonl": {"format": "jsonl", "item_classes": ["sitemapcrawl.items.ValidationError"]},
        tmp_path / "others.jsonl": {"format": "jsonl", "item_classes": ["sitemapcrawl.items.NetworkError"]},
        tmp_path / "both.jsonl": {
            "format": "jsonl", "item_classes": ["sitemapcrawl.items.SitemapEntry", "sitemapcrawl.items.SitemapError"],
        },
    }  # fmt: skip
    with MockWeb(WEB) as web:
        crawl(web, ROOT + "i.xml", {"FEEDS": feeds})
    assert [len(lines(path)) for path in feeds] == [25, 25, 1, 0, 2]
    assert list(lines(tmp_path / "errors.jsonl")[0]) == ["type", "url", "limit", "message"]


@pytest.mark.parametrize("size", [1, 10, 1_000])
def test_files_of_so_many_items_hold_exactly_so_many(tmp_path: Path, size: int) -> None:
    feeds = {str(tmp_path / "p-%(batch_id)d.jsonl"): {"format": "jsonl", "batch_item_count": 10}}
    with MockWeb(WEB) as web:
        crawl(web, ROOT + "i.xml", {"FEEDS": feeds, "SITEMAPCRAWL_BATCH_SIZE": size})
    assert [len(lines(tmp_path / f"p-{number}.jsonl")) for number in (1, 2, 3)] == [10, 10, 5]


def test_settings_for_all_feeds_leave_sitemaps_and_errors_whole(tmp_path: Path) -> None:
    settings = {
        "FEEDS": {str(tmp_path / "p-%(batch_id)d.jsonl"): {"format": "jsonl"}},
        "FEED_EXPORT_FIELDS": ["loc"], "FEED_EXPORT_BATCH_ITEM_COUNT": 20,
    }  # fmt: skip
    with MockWeb(WEB) as web:
        result = crawl(web, ROOT + "i.xml", settings)
    assert lines(tmp_path / "p-2.jsonl")[0] == {"loc": ROOT + "20"}
    assert set(result.errors[0]) == {"type", "url", "limit", "message"}


class EvenPages(ItemFilter):
    def accepts(self, item: Any) -> bool:
        return int(item.loc.rpartition("/")[2]) % 2 == 0


def test_filter_decides_page_by_page(tmp_path: Path) -> None:
    feeds = {str(tmp_path / "even.jsonl"): {"format": "jsonl", "item_filter": EvenPages}}
    with MockWeb(WEB) as web:
        crawl(web, ROOT + "i.xml", {"FEEDS": feeds})
    assert len(lines(tmp_path / "even.jsonl")) == 13


@pytest.mark.parametrize("name", ["json", "csv", "xml", "jl"])
def test_every_format_works_for_every_kind_of_record(tmp_path: Path, name: str) -> None:
    files = {kind: tmp_path / f"{kind}.{name}" for kind in ("pages", "sitemaps", "errors")}
    with MockWeb(WEB) as web:
        result = crawl(
            web, ROOT + "i.xml", {"FEEDS": {str(files["pages"]): {"format": name}}},
            sitemaps=str(files["sitemaps"]), errors=f"{files['errors']}:{name}",
        )  # fmt: skip
    assert result.exit_status == 0
    assert ROOT + "24" in files["pages"].read_text()
    assert ROOT + "a.xml" in files["sitemaps"].read_text()
    assert "validation" in files["errors"].read_text()


def test_postprocessing_and_fields_apply_to_batches(tmp_path: Path) -> None:
    import gzip

    feeds = {
        str(tmp_path / "p.gz"): {
            "format": "csv", "fields": ["loc"], "postprocessing": ["scrapy.extensions.postprocessing.GzipPlugin"],
        }
    }  # fmt: skip
    with MockWeb(WEB) as web:
        crawl(web, ROOT + "i.xml", {"FEEDS": feeds})
    assert gzip.decompress((tmp_path / "p.gz").read_bytes()).decode().split()[:2] == ["loc", ROOT + "0"]


def test_dropped_pages_are_not_exported_and_counted() -> None:
    with MockWeb(WEB) as web:
        result = crawl(web, ROOT + "i.xml", {"ITEM_PIPELINES": {DropsMost: 1}, "LOG_LEVEL": "CRITICAL"})
    assert result.locations == [ROOT + "0"]
    assert (result.stats["item_scraped_count"], result.stats["item_dropped_count"]) == (1, 24)


class DropsMost:
    def process_item(self, item: Any) -> Any:
        from scrapy.exceptions import DropItem

        if item.loc != ROOT + "0":
            raise DropItem("most")
        return item


@pytest.mark.parametrize("option", ["sitemaps", "errors"])
@pytest.mark.parametrize("value", ["file.txt", "file", "-"])
def test_feed_without_a_known_format_is_a_wrong_option(option: str, value: str) -> None:
    with MockWeb(WEB) as web:
        result = crawl(web, ROOT + "i.xml", **{option: value})
    assert (result.exit_status, web.requested) == (2, [])


class OddPipeline:
    """Put something into a page that no exporter of JSON can write."""

    def process_item(self, item: Any) -> Any:
        if item.loc.endswith("/3"):
            item.lastmod = object()
        return item


@pytest.mark.parametrize("size", [1, 10])
@pytest.mark.parametrize("kind", ["jsonl", "json"])
def test_page_that_cannot_be_written_costs_itself_alone(tmp_path: Path, kind: str, size: int) -> None:
    feeds = {tmp_path / "odd": {"format": kind}, tmp_path / "pages.csv": {"format": "csv"}}
    settings = {"FEEDS": feeds, "ITEM_PIPELINES": {OddPipeline: 1}, "SITEMAPCRAWL_BATCH_SIZE": size, "LOG_LEVEL": "CRITICAL"}
    with MockWeb(WEB) as web:
        crawl(web, ROOT + "a.xml", settings)
    found = lines(tmp_path / "odd") if kind == "jsonl" else json.loads((tmp_path / "odd").read_text())
    assert [page["loc"] for page in found] == [f"{ROOT}{number}" for number in range(25) if number != 3]
