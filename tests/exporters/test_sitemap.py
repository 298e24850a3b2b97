"""The feed format ``sitemap``, in crawls of spiders that know nothing of sitemaps."""

from __future__ import annotations

import asyncio
import gzip
import logging
import subprocess
import sys
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from textwrap import dedent
from typing import TYPE_CHECKING, Any, ClassVar

import pytest
import scrapy
from scrapy.crawler import Crawler
from scrapy.extensions.feedexport import BlockingFeedStorage
from scrapy.settings import Settings

from sitemapcrawl import default_settings
from sitemapcrawl.exporters.sitemap import SitemapItemExporter
from sitemapcrawl.items import PageBatch
from sitemapcrawl.protocol.errors import SitemapError
from sitemapcrawl.protocol.lint import lint
from sitemapcrawl.protocol.reader import read
from sitemapcrawl.protocol.records import Image, Page

if TYPE_CHECKING:
    from collections.abc import Iterable

BASE = "https://shop.example/"
EXPORTERS = {"sitemap": "sitemapcrawl.exporters.sitemap.SitemapItemExporter"}
INDEXED = {"SITEMAPCRAWL_SITEMAP_BASE_URL": BASE, "FEED_EXPORT_BATCH_ITEM_COUNT": 2}


class Product(scrapy.Item):  # type: ignore[misc]
    url = scrapy.Field()
    updated = scrapy.Field(serializer=lambda value: value.replace("/", "-"))
    name = scrapy.Field()


@dataclass
class Story:
    url: str
    lastmod: str | None = None
    images: Any = None


class ShopSpider(scrapy.Spider):
    name = "shop"
    items: Iterable[Any] = ()

    async def start(self) -> Any:
        for item in self.items:
            yield item


def crawl(items: Iterable[Any], feeds: dict[str, Any], settings: dict[str, Any] | None = None) -> Crawler:
    project = {
        "TWISTED_REACTOR_ENABLED": False, "LOG_LEVEL": "INFO", "TELNETCONSOLE_ENABLED": False, "FEED_EXPORTERS": EXPORTERS,
        "FEEDS": {uri: {"format": "sitemap", "overwrite": True, **options} for uri, options in feeds.items()}, **(settings or {}),
    }  # fmt: skip
    crawler = Crawler(ShopSpider, Settings(project))
    asyncio.run(crawler.crawl_async(items=items))
    return crawler


def parsed(body: bytes, url: str = f"{BASE}sitemap.xml") -> list[Any]:
    """Return the records of *body*, in which neither strict reading nor the linter may find an error."""
    found = list(read(body, url, strict=True))
    assert not [record for record in found if isinstance(record, SitemapError)]
    assert not [finding for finding in lint(body, url) if finding.severity == "error"]
    for record in found:
        record.sitemap = None  # type: ignore[union-attr]
    return found


def locations(path: Path) -> list[str]:
    body = path.read_bytes()
    return [record.loc.removeprefix(BASE) for record in parsed(body)]


def left_out(crawler: Crawler, what: str = "left_out") -> int:
    return crawler.stats.get_value(f"sitemapcrawl/sitemap_export/{what}", 0)  # type: ignore[no-any-return]


# -- Items


def test_fields_are_found_by_the_names_of_the_protocol(tmp_path: Path) -> None:
    items = [
        {"loc": f"{BASE}1", "lastmod": "2024-02-29", "changefreq": "daily", "priority": "0.5", "price": 10},
        Product(url=f"{BASE}2", name="Two"),
        Story(f"{BASE}3", images=[{"url": f"{BASE}3.png", "path": "full/3.png", "checksum": "c"}]),
        Page(f"{BASE}4", priority=0.1),
    ]
    crawler = crawl(items, {str(tmp_path / "sitemap.xml"): {}})
    assert parsed((tmp_path / "sitemap.xml").read_bytes()) == [
        Page(f"{BASE}1", lastmod="2024-02-29", changefreq="daily", priority=0.5),
        Page(f"{BASE}2"),
        Page(f"{BASE}3", images=[Image(f"{BASE}3.png")]),
        Page(f"{BASE}4", priority=0.1),
    ]
    assert left_out(crawler, "written") == 4


@pytest.mark.parametrize(
    ("options", "settings"),
    [
        ({}, {"SITEMAPCRAWL_SITEMAP_FIELDS": {"lastmod": "updated"}}),
        ({}, {"SITEMAPCRAWL_SITEMAP_FIELDS": '{"loc": "url", "lastmod": "updated"}'}),
        ({"item_export_kwargs": {"fields": {"lastmod": "updated"}}}, {}),
        ({"fields": {"url": "loc", "updated": "lastmod"}}, {}),
    ],
    ids=["setting", "setting as JSON", "feed", "fields of Scrapy"],
)
def test_fields_are_mapped(tmp_path: Path, options: dict[str, Any], settings: dict[str, Any]) -> None:
    crawl([Product(url=f"{BASE}1", updated="2024/02/29")], {str(tmp_path / "sitemap.xml"): options}, settings)
    assert parsed((tmp_path / "sitemap.xml").read_bytes()) == [Page(f"{BASE}1", lastmod="2024-02-29")]


def test_items_without_a_usable_address_are_counted_and_left_out(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    items = [
        {"url": f"{BASE}1", "priority": 7},
        {"name": "nothing"}, {"url": ""}, {"url": "/relative"}, {"url": 5}, {"url": "https://other.example/"},
        {"url": f"{BASE}a b/é"},
    ]  # fmt: skip
    with caplog.at_level(logging.WARNING):
        crawler = crawl(items, {str(tmp_path / "sitemap.xml"): {}})
    assert locations(tmp_path / "sitemap.xml") == ["1", "a%20b/%C3%A9"]
    assert (left_out(crawler), left_out(crawler, "values_left_out")) == (5, 1)
    (line,) = [record.getMessage() for record in caplog.records if record.name == "sitemapcrawl.exporters.sitemap"]
    assert "5 were left out" in line


def test_pages_of_any_host_are_taken_on_request(tmp_path: Path) -> None:
    options = {"item_export_kwargs": {"any_location": True}}
    crawl([{"url": BASE}, {"url": "https://other.example/"}], {str(tmp_path / "sitemap.xml"): options})
    assert (tmp_path / "sitemap.xml").read_text().count("<url>") == 2


def test_what_has_no_room_in_the_file_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = BytesIO()
    exporter = SitemapItemExporter(file)
    exporter._body._max_entries = 3
    exporter.export_batch([Page(f"{BASE}{number}") for number in range(5)])
    exporter.finish_exporting()
    assert len(parsed(file.getvalue())) == 3
    assert (exporter.count, exporter.left_out) == (3, 2)
    assert "FEED_EXPORT_BATCH_ITEM_COUNT" in exporter.first_problem


def test_a_crawl_without_items_leaves_an_empty_sitemap(tmp_path: Path) -> None:
    crawl([], {str(tmp_path / "sitemap.xml"): {}})
    assert (tmp_path / "sitemap.xml").read_text().endswith('<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"/>\n')


# -- Files


def test_a_file_whose_name_ends_in_gz_is_gzipped_once(tmp_path: Path) -> None:
    compressed = {"postprocessing": ["scrapy.extensions.postprocessing.GzipPlugin"]}
    crawl([{"url": BASE}], {str(tmp_path / "a.xml.gz"): {}, str(tmp_path / "b.xml.gz"): compressed, str(tmp_path / "c.xml"): {}})
    for name in ("a.xml.gz", "b.xml.gz"):
        assert gzip.decompress((tmp_path / name).read_bytes()).startswith(b"<?xml")
    assert (tmp_path / "c.xml").read_bytes().startswith(b"<?xml")


def test_a_sitemap_is_never_appended_to_another(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "sitemap.xml"
    for _ in range(2):
        crawl([{"url": BASE}], {str(path): {"overwrite": False}})
    assert locations(path) == [""]
    assert "cannot be appended to" in caplog.text


def test_a_feed_that_is_split_gets_an_index(tmp_path: Path) -> None:
    items = [{"url": f"{BASE}{number}", "lastmod": f"2024-01-0{number + 1}"} for number in range(5)]
    crawl(items, {str(tmp_path / "sitemap-%(batch_id)d.xml.gz"): {}}, INDEXED)
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "sitemap-1.xml.gz", "sitemap-2.xml.gz", "sitemap-3.xml.gz", "sitemap.xml",
    ]  # fmt: skip
    index = parsed((tmp_path / "sitemap.xml").read_bytes())
    assert [(entry.loc, entry.lastmod) for entry in index] == [
        (f"{BASE}sitemap-1.xml.gz", "2024-01-02"),
        (f"{BASE}sitemap-2.xml.gz", "2024-01-04"),
        (f"{BASE}sitemap-3.xml.gz", "2024-01-05"),
    ]  # fmt: skip
    assert [name for number in (1, 2, 3) for name in locations(tmp_path / f"sitemap-{number}.xml.gz")] == list("01234")


def test_without_a_base_url_there_is_no_index(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    crawl([{"url": BASE}], {str(tmp_path / "%(batch_id)d.xml"): {}}, {"FEED_EXPORT_BATCH_ITEM_COUNT": 2})
    assert [path.name for path in tmp_path.iterdir()] == ["1.xml"]
    assert "SITEMAPCRAWL_SITEMAP_BASE_URL is not set" in caplog.text


class MemoryStorage(BlockingFeedStorage):
    """Stands in for S3, Google Cloud Storage and FTP: a temporary file that is uploaded in a thread."""

    stored: ClassVar[dict[str, bytes]] = {}
    failing = ""

    def __init__(self, uri: str, *, feed_options: Any = None) -> None:
        self.uri = uri

    def _store_in_thread(self, file: Any) -> None:
        with file:
            if self.failing and self.failing in self.uri:
                raise OSError("no connection")
            file.seek(0)
            self.stored[self.uri] = file.read()


@pytest.fixture
def storage(monkeypatch: pytest.MonkeyPatch) -> dict[str, bytes]:
    monkeypatch.setattr(MemoryStorage, "stored", {})
    return MemoryStorage.stored


@pytest.mark.parametrize("batches", [False, True], ids=["foreign project", "this project"])
def test_other_storages_get_files_and_index(storage: dict[str, bytes], batches: bool) -> None:
    settings: dict[str, Any] = {"FEED_STORAGES": {"memory": MemoryStorage}, **INDEXED}
    items: list[Any] = [Page(f"{BASE}{number}") for number in range(5)]
    if batches:
        settings |= {name: default_settings.SCRAPY_SETTINGS[name] for name in ("EXTENSIONS", "ITEM_PROCESSOR", "LOG_FORMATTER")}
        items = [PageBatch(items)]
    crawl(items, {"memory://bucket/%(name)s-%(batch_id)d.xml.gz": {}}, settings)
    folder = "memory://bucket/shop"
    assert sorted(storage) == [f"{folder}-1.xml.gz", f"{folder}-2.xml.gz", f"{folder}-3.xml.gz", f"{folder}.xml"]
    assert [record.loc for record in parsed(storage[f"{folder}.xml"])] == [f"{BASE}shop-{number}.xml.gz" for number in (1, 2, 3)]
    assert sum(len(parsed(gzip.decompress(storage[f"{folder}-{number}.xml.gz"]))) for number in (1, 2, 3)) == 5


def test_there_is_no_index_of_files_that_could_not_be_stored(storage: dict[str, bytes], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(MemoryStorage, "failing", "-2.xml")
    items = [{"url": f"{BASE}{number}"} for number in range(5)]
    crawl(items, {"memory://bucket/sitemap-%(batch_id)d.xml": {}}, {"FEED_STORAGES": {"memory": MemoryStorage}, **INDEXED})
    assert sorted(storage) == ["memory://bucket/sitemap-1.xml", "memory://bucket/sitemap-3.xml"]


# -- The command line


SPIDER = """
    import scrapy

    class ShopSpider(scrapy.Spider):
        name = "shop"

        async def start(self):
            for number in range(5):
                yield {"url": f"https://shop.example/{number}?a=1&b=2", "updated": "2024-02-29"}
"""


def test_any_project_writes_a_sitemap_from_the_command_line(tmp_path: Path) -> None:
    (tmp_path / "scrapy.cfg").write_text("[settings]\ndefault = foreign.settings\n")
    (tmp_path / "foreign").mkdir()
    (tmp_path / "foreign" / "__init__.py").write_text("")
    (tmp_path / "foreign" / "spiders.py").write_text(dedent(SPIDER))
    (tmp_path / "foreign" / "settings.py").write_text(
        f'SPIDER_MODULES = ["foreign.spiders"]\nFEED_EXPORTERS = {EXPORTERS!r}\nTELNETCONSOLE_ENABLED = False\n'
        'SITEMAPCRAWL_SITEMAP_FIELDS = {"loc": "url", "lastmod": "updated"}\n'
    )
    root = Path(__file__).resolve().parents[2]
    script = f"import sys; sys.path.insert(0, {str(root)!r}); from scrapy.cmdline import execute; execute()"
    for name in ("sitemap.xml", "sitemap.xml.gz"):
        subprocess.run(
            [sys.executable, "-c", script, "crawl", "shop", "-O", f"{name}:sitemap"],
            cwd=tmp_path,
            check=True,
            capture_output=True,
        )
        pages = parsed((tmp_path / name).read_bytes())
        assert pages[4] == Page(f"{BASE}4?a=1&b=2", lastmod="2024-02-29")
        assert len(pages) == 5
