"""The add-on in a project that exists: one line of wiring, and everything else stays as it was."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from scrapy.settings import Settings

from sitemapcrawl.addon import SitemapAddon
from tests.mockweb import MockWeb, urlset

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = "http://example.com/"
WEB: dict[str, Any] = {
    ROOT + "s.xml": urlset("/1", "/2", "/3"),
    **{f"{ROOT}{number}": f"<h1>{number}</h1>" for number in (1, 2, 3)},
}
FILES = {
    "scrapy.cfg": "[settings]\ndefault = shop.settings\n",
    "shop/__init__.py": "",
    "shop/settings.py": """
        BOT_NAME = "shop"
        SPIDER_MODULES = ["shop.spiders"]
        ADDONS = {"sitemapcrawl.addon.SitemapAddon": 300}
        ITEM_PIPELINES = {"shop.parts.MarkPipeline": 300}
        DOWNLOADER_MIDDLEWARES = {"shop.parts.CountMiddleware": 400}
        USER_AGENT = "shop/1.0"
        LOG_LEVEL = "WARNING"
        """,
    "shop/parts.py": """
        from scrapy.pipelines import ItemPipelineManager

        class MarkPipeline:
            def process_item(self, item):
                loc = item["loc"] if isinstance(item, dict) else item.loc
                return {"loc": loc, "marked": True, "nothing": None}

        class CountMiddleware:
            def __init__(self, crawler):
                self.crawler = crawler

            @classmethod
            def from_crawler(cls, crawler):
                return cls(crawler)

            def process_request(self, request):
                self.crawler.stats.inc_value("shop/requests")

        class Processor(ItemPipelineManager):
            async def process_item_async(self, item):
                assert type(item).__name__ != "PageBatch"
                return await super().process_item_async(item)
        """,
    "shop/spiders/__init__.py": "",
    "shop/spiders/other.py": """
        import scrapy

        class OtherSpider(scrapy.Spider):
            name = "other"
            start_urls = ["http://example.com/1"]

            def parse(self, response):
                yield {"loc": response.url}

            def closed(self, reason):
                names = ("CONCURRENT_REQUESTS", "COOKIES_ENABLED", "DOWNLOADER", "ITEM_PROCESSOR", "RETRY_TIMES", "CONCURRENT_ITEMS")
                print(*(self.settings[name] for name in names))
        """,
    "shop/spiders/pages.py": """
        from sitemapcrawl.spiders import SitemapSpider

        class PagesSpider(SitemapSpider):
            name = "pages"
            sitemap_urls = ["http://example.com/s.xml"]
            sitemap_rules = [("/[12]$", "parse_page")]

            def parse_page(self, response, page):
                yield {"loc": page["loc"], "title": response.css("h1::text").get()}
        """,
}


class Project:
    """A Scrapy project of somebody else in *folder*, whose commands are run as they would be."""

    def __init__(self, folder: Path, web: MockWeb) -> None:
        self.folder = folder
        self._web = web
        for name, text in FILES.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(textwrap.dedent(text))

    def set(self, text: str) -> None:
        with (self.folder / "shop/settings.py").open("a") as file:
            file.write(text + "\n")

    def scrapy(self, *arguments: str, status: int = 0) -> subprocess.CompletedProcess[str]:
        environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1]), "http_proxy": self._web.address}
        environment.pop("no_proxy", None)
        environment.pop("SCRAPY_PROJECT", None)
        done = subprocess.run(
            [sys.executable, "-m", "scrapy", *arguments],
            cwd=self.folder,
            env=environment,
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert done.returncode == status, done.stderr
        return done

    def records(self, name: str = "out.jsonl") -> list[dict[str, Any]]:
        return [json.loads(line) for line in (self.folder / name).read_text().splitlines()]


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Project]:
    with MockWeb(WEB) as web:
        yield Project(tmp_path, web)


CRAWL = ("crawl", "sitemap", "-a", "url=http://example.com/s.xml", "-O", "out.jsonl")


def test_our_spider_uses_the_parts_of_the_project(project: Project) -> None:
    done = project.scrapy(*CRAWL, "-a", "errors=errors.jsonl", "-L", "INFO")
    assert project.records() == [{"loc": f"{ROOT}{number}", "marked": True, "nothing": None} for number in (1, 2, 3)]
    assert "'shop/requests': 1" in done.stderr
    assert {headers["User-Agent"] for headers in project._web.headers} == {"shop/1.0"}
    assert project.records("errors.jsonl") == []


def test_item_processor_of_the_project_gets_single_pages(project: Project) -> None:
    project.set('ITEM_PROCESSOR = "shop.parts.Processor"')
    project.scrapy(*CRAWL)
    assert [record["loc"] for record in project.records()] == [f"{ROOT}{number}" for number in (1, 2, 3)]
    project.scrapy(*CRAWL, "-a", "sample=2")
    assert len(project.records()) == 2


def test_feed_exporter_of_the_project_gets_single_pages(project: Project) -> None:
    project.set('EXTENSIONS = {"scrapy.extensions.feedexport.FeedExporter": 0}')
    project.scrapy(*CRAWL)
    assert len(project.records()) == 3


def test_other_spiders_are_as_before(project: Project) -> None:
    with_addon = project.scrapy("crawl", "other", "-O", "with.jsonl")
    project.set("ADDONS = {}")
    without = project.scrapy("crawl", "other", "-O", "without.jsonl")
    assert with_addon.stdout == without.stdout != ""
    assert (
        project.records("with.jsonl")
        == project.records("without.jsonl")
        == [{"loc": ROOT + "1", "marked": True, "nothing": None}]
    )


def test_spider_of_the_project_that_requests_pages(project: Project) -> None:
    project.scrapy("crawl", "pages", "-O", "out.jsonl")
    assert sorted(record["loc"] for record in project.records()) == [ROOT + "1", ROOT + "2"]


def test_shell_takes_the_spider(project: Project) -> None:
    done = project.scrapy("shell", "--spider=pages", "-c", "response.css('h1::text').get()", ROOT + "1")
    assert done.stdout.strip() == "1"


def test_exit_status_with_our_commands(project: Project) -> None:
    missing = ("crawl", "sitemap", "-a", "url=http://example.com/gone.xml")
    project.scrapy(*missing)
    done = project.scrapy("crawl", "sitemap", "-a", "max_depth=x")
    assert "option max_depth: 'x' is wrong" in done.stderr  # although the project's LOG_LEVEL is WARNING
    project.set('COMMANDS_MODULE = "sitemapcrawl.commands"')
    project.scrapy(*missing, status=1)
    project.scrapy("crawl", "sitemap", "-a", "max_depth=x", status=2)
    done = project.scrapy(*CRAWL, "-s", "SITEMAPCRAWL_BATCH_SIZE=abc", "-s", "SITEMAPCRAWL_MEMORY_TARGET=1GB", status=2)
    assert "setting SITEMAPCRAWL_BATCH_SIZE: 'abc' is wrong" in done.stderr
    assert "setting SITEMAPCRAWL_MEMORY_TARGET: '1GB' is wrong" in done.stderr
    assert "Traceback" not in done.stderr
    done = project.scrapy(*CRAWL, "-s", "TWISTED_REACTOR=twisted.internet.selectreactor.SelectReactor", status=2)
    assert "TWISTED_REACTOR: 'twisted.internet.selectreactor.SelectReactor' is wrong" in done.stderr
    assert "Traceback" not in done.stderr
    project.scrapy("crawl", "other")


def test_exit_status_with_commands_of_the_project(project: Project) -> None:
    commands = project.folder / "shop/commands"
    commands.mkdir()
    (commands / "__init__.py").write_text("")
    (commands / "crawl.py").write_text("from sitemapcrawl.commands import crawl\n\nclass Command(crawl.Command):\n    pass\n")
    project.set('COMMANDS_MODULE = "shop.commands"')
    project.scrapy("crawl", "sitemap", "-a", "url=http://example.com/gone.xml", status=1)


def test_a_spider_of_the_project_that_has_the_name_wins(project: Project) -> None:
    text = textwrap.dedent(FILES["shop/spiders/other.py"]).replace('name = "other"', 'name = "sitemap"')
    (project.folder / "shop/spiders/mine.py").write_text(text)
    project.scrapy("crawl", "sitemap", "-O", "out.jsonl")
    assert [record["loc"] for record in project.records()] == [ROOT + "1"]


def test_what_is_there_is_not_added_again() -> None:
    settings = Settings(
        {"SPIDER_MODULES": ["shop.spiders", "sitemapcrawl.spiders"], "FEED_EXPORTERS": {"sitemap": "mine.Exporter"}}
    )
    SitemapAddon.update_pre_crawler_settings(settings)
    SitemapAddon().update_settings(settings)
    assert settings["SPIDER_MODULES"] == ["shop.spiders", "sitemapcrawl.spiders"]
    assert settings["FEED_EXPORTERS"] == {"sitemap": "mine.Exporter"}
