"""The spider in the place of Scrapy's SitemapSpider: the examples of its documentation, and what it does beyond them."""

from __future__ import annotations

import asyncio
import gc
import json
import linecache
import re
import subprocess
import sys
import textwrap
import time
from datetime import datetime
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from scrapy import Request, signals
from scrapy.crawler import Crawler
from scrapy.exceptions import CloseSpider, DropItem
from scrapy.settings import Settings
from scrapy.utils.request import request_from_dict

from sitemapcrawl.extensions.outcome import Outcome
from sitemapcrawl.journal import Lock
from sitemapcrawl.spiders import SitemapSpider
from sitemapcrawl.spiders._pages import LOCK
from tests.crawling import crawl, proxy
from tests.mockweb import Answer, MockWeb, index, urlset

ROOT = "http://www.example.com/"
WEB: dict[str, Any] = {
    ROOT + "robots.txt": "User-agent: *\nDisallow: /private\nSitemap: /sitemap.xml\nSitemap: /sitemap_index.xml\n",
    ROOT + "sitemap.xml": urlset("/product/1", "/product/2", "/category/1", "/about"),
    ROOT + "sitemap_index.xml": index("/sitemap_shops.xml", "/sitemap_blog.xml"),
    ROOT + "sitemap_shops.xml": urlset("/shop/1", "/product/2"),
    ROOT + "sitemap_blog.xml": urlset("/blog/1"),
    **{ROOT + path: f"<h1>{path}</h1>" for path in (
        "product/1", "product/2", "category/1", "about", "shop/1", "blog/1", "other-page",
    )},
}  # fmt: skip
LASTMODS = (
    '<urlset xmlns:xhtml="http://www.w3.org/1999/xhtml">'
    "<url><loc>http://www.example.com/product/1</loc><lastmod>2010-01-01</lastmod><priority>0.8</priority>"
    '<xhtml:link rel="alternate" hreflang="de" href="http://www.example.com/shop/1"/><xhtml:link rel="alternate" hreflang="it"/></url>'
    "<url><loc>http://www.example.com/product/2</loc><lastmod>2004-01-01</lastmod></url></urlset>"
)


class Run:
    """A crawl of *spider*; what it found and what it did."""

    def __init__(
        self, spider: type[SitemapSpider], web: MockWeb, settings: dict[str, Any] | None = None, **arguments: Any
    ) -> None:
        self.items: list[Any] = []
        self.errors: list[Exception] = []
        self.crawler = Crawler(spider, Settings({"LOG_LEVEL": "CRITICAL", "TWISTED_REACTOR_ENABLED": False, **(settings or {})}))
        self.crawler.signals.connect(self._item, signals.item_scraped)
        self.crawler.signals.connect(self._error, signals.spider_error)
        with proxy(web.address):
            asyncio.run(self.crawler.crawl_async(**arguments))
        self.stats = self.crawler.stats.get_stats()
        outcome = self.crawler.get_extension(Outcome)
        assert outcome is not None
        self.exit_status = outcome.exit_status

    def _item(self, item: Any) -> None:
        self.items.append(item)

    def _error(self, failure: Any) -> None:
        self.errors.append(failure.value)


def paths(requested: list[str]) -> list[str]:
    return sorted(url.removeprefix(ROOT) for url in requested)


# The examples of Scrapy's documentation


class SimplestSpider(SitemapSpider):
    name = "simplest"
    sitemap_urls = ["http://www.example.com/sitemap.xml"]

    def parse(self, response: Any) -> Any:
        yield {"url": response.url, "title": response.css("h1::text").get()}


def test_all_urls_go_to_parse() -> None:
    with MockWeb(WEB) as web:
        run = Run(SimplestSpider, web)
    assert sorted(item["title"] for item in run.items) == ["about", "category/1", "product/1", "product/2"]
    assert (run.exit_status, run.errors) == (0, [])


class RulesSpider(SitemapSpider):
    name = "rules"
    sitemap_urls = ["http://www.example.com/sitemap.xml"]
    sitemap_rules = [
        ("/product/", "parse_product"),
        ("/category/", "parse_category"),
    ]

    def parse_product(self, response: Any) -> Any:
        return {"product": response.url}

    def parse_category(self, response: Any) -> Any:
        return {"category": response.url}


def test_rules_choose_the_callback_and_the_pages() -> None:
    with MockWeb(WEB) as web:
        run = Run(RulesSpider, web)
    found = sorted(json.dumps(item) for item in run.items)
    assert found == [
        '{"category": "http://www.example.com/category/1"}',
        '{"product": "http://www.example.com/product/1"}',
        '{"product": "http://www.example.com/product/2"}',
    ]
    assert "about" not in paths(web.requested)


class ShopsSpider(SitemapSpider):
    name = "shops"
    sitemap_urls = ["http://www.example.com/robots.txt"]
    sitemap_rules = [("/shop/", "parse_shop")]
    sitemap_follow = ["/sitemap_shops"]

    def parse_shop(self, response: Any) -> Any:
        return {"shop": response.url}


def test_follow_is_for_the_sitemaps_of_an_index() -> None:
    with MockWeb(WEB) as web:
        run = Run(ShopsSpider, web)
    assert run.items == [{"shop": ROOT + "shop/1"}]
    # As in Scrapy, what a robots.txt names is read whatever its name.
    assert paths(web.requested) == ["robots.txt", "shop/1", "sitemap.xml", "sitemap_index.xml", "sitemap_shops.xml"]


class CombinedSpider(SitemapSpider):
    name = "combined"
    sitemap_urls = ["http://www.example.com/robots.txt"]
    sitemap_rules = [("/shop/", "parse_shop")]
    other_urls = ["http://www.example.com/other-page"]

    async def start(self) -> Any:
        async for item_or_request in super().start():
            yield item_or_request
        for url in self.other_urls:
            yield Request(url, self.parse_other, cb_kwargs={"url": "mine", "start": True})

    def parse_shop(self, response: Any) -> Any:
        return {"shop": response.url}

    def parse_other(self, response: Any, url: str, start: bool) -> Any:
        return {"other": response.url}


def test_start_goes_together_with_other_requests() -> None:
    with MockWeb(WEB) as web:
        run = Run(CombinedSpider, web)
    assert sorted(map(str, run.items)) == [f"{{'other': '{ROOT}other-page'}}", f"{{'shop': '{ROOT}shop/1'}}"]
    assert run.exit_status == 0


class FilteredSitemapSpider(SitemapSpider):
    name = "filtered_sitemap_spider"
    allowed_domains = ["example.com"]
    sitemap_urls = ["http://www.example.com/lastmods.xml"]

    def sitemap_filter(self, entries: Any) -> Any:
        for entry in entries:
            date_time = datetime.strptime(entry["lastmod"], "%Y-%m-%d")
            if date_time.year >= 2005:
                yield entry

    def parse(self, response: Any) -> Any:
        return {"entry": response.meta["sitemapcrawl_page"]}


def test_filter_by_date_and_the_entry_in_the_callback() -> None:
    with MockWeb({**WEB, ROOT + "lastmods.xml": LASTMODS}) as web:
        run = Run(FilteredSitemapSpider, web)
    entry = run.items[0]["entry"]
    assert (len(run.items), entry["loc"], entry["lastmod"], entry["priority"]) == (1, ROOT + "product/1", "2010-01-01", "0.8")
    assert entry["alternate"] == [ROOT + "shop/1"]
    assert entry["sitemap"] == ROOT + "lastmods.xml"
    assert json.loads(json.dumps(entry)) == entry  # plain values, which can be stored


class AlternateSpider(SimplestSpider):
    name = "alternates"
    sitemap_urls = ["http://www.example.com/lastmods.xml"]
    sitemap_alternate_links = True


def test_alternate_links() -> None:
    with MockWeb({**WEB, ROOT + "lastmods.xml": LASTMODS}) as web:
        Run(AlternateSpider, web)
    assert paths(web.requested) == ["lastmods.xml", "product/1", "product/2", "shop/1"]


class AlternateFilterSpider(SimplestSpider):
    name = "alternate-filter"
    sitemap_urls = ["http://www.example.com/lastmods.xml"]

    def sitemap_filter(self, entries: Any) -> Any:
        for entry in entries:
            for link in entry.get("alternate", ()):
                entry["loc"] = link
                yield entry


def test_filter_may_change_entries() -> None:
    with MockWeb({**WEB, ROOT + "lastmods.xml": LASTMODS}) as web:
        Run(AlternateFilterSpider, web)
    assert paths(web.requested) == ["lastmods.xml", "shop/1"]


class IndexFilterSpider(SimplestSpider):
    name = "index-filter"
    sitemap_urls = ["http://www.example.com/dated.xml"]

    def sitemap_filter(self, entries: Any) -> Any:
        return [entry for entry in entries if entry.get("lastmod", "9") >= "2005"]


def test_filter_sees_the_sitemaps_of_an_index() -> None:
    dated = (
        "<sitemapindex><sitemap><loc>/sitemap_shops.xml</loc><lastmod>2004-01-01T20:00:00+00:00</lastmod></sitemap>"
        "<sitemap><loc>/sitemap_blog.xml</loc><lastmod>2005-01-01</lastmod></sitemap></sitemapindex>"
    )
    with MockWeb({**WEB, ROOT + "dated.xml": dated}) as web:
        Run(IndexFilterSpider, web)
    assert paths(web.requested) == ["blog/1", "dated.xml", "sitemap_blog.xml"]


# Beyond the examples


def examples(page: str) -> list[str]:
    """Return the Python of a page of the documentation; the mock web has no https."""
    text = (Path(__file__).parents[2] / page).read_text("utf-8").replace("https://example.com/", ROOT)
    blocks = re.findall(r"^ *```python\n(.*?)^ *```", text, re.DOTALL | re.MULTILINE)
    return [textwrap.dedent(code) for code in blocks]


def spider_of(page: str, name: str) -> type[SitemapSpider]:
    code = next(code for code in examples(page) if f"class {name}(" in code)
    linecache.cache["<example>"] = (len(code), None, code.splitlines(keepends=True), "<example>")  # Scrapy looks at it
    module = sys.modules["example_of_the_docs"] = ModuleType("example_of_the_docs")
    module.__dict__.update(SitemapSpider=SitemapSpider, __file__="<example>")
    exec(compile(code, "<example>", "exec"), module.__dict__)
    return module.__dict__[name]


@pytest.mark.parametrize("page", ["README.md", "docs/in-your-project.md"])
def test_examples_of_our_documentation(page: str) -> None:
    with MockWeb(WEB) as web:
        run = Run(spider_of(page, "ShopSpider"), web)
    assert {item["url"] for item in run.items} >= {ROOT + "product/1", ROOT + "product/2"}
    assert run.errors == []


def test_example_of_a_spider_that_filters() -> None:
    lastmods = LASTMODS.replace("2010", "2024")
    with MockWeb({**WEB, ROOT + "sitemap.xml": lastmods}) as web:
        result = crawl(web, spider=spider_of("docs/in-your-project.md", "RecentSpider"))
    assert result.locations == [ROOT + "product/1"]


def test_example_of_a_spider_that_makes_requests() -> None:
    lastmods = LASTMODS.replace("2010", "2024")
    with MockWeb({**WEB, ROOT + "robots.txt": "Sitemap: /s.xml", ROOT + "s.xml": lastmods}) as web:
        run = Run(spider_of("docs/in-your-project.md", "RecentProductsSpider"), web)
    assert run.items == [{"url": ROOT + "product/1", "changed": "2024-01-01"}]
    assert web.headers[-1]["Referer"] == ROOT + "s.xml"


def test_examples_of_programs() -> None:
    with MockWeb(WEB) as web, proxy(web.address):
        programs = [
            code for page in ("README.md", "docs/library.md") for code in examples(page) if "import sitemapcrawl\n" in code
        ]
        for code in programs:
            exec(code, {})
    assert len(programs) == 3


class SeveralSpider(SimplestSpider):
    name = "several"
    sitemap_urls = [
        "http://www.example.com/sitemap_shops.xml",
        "http://www.example.com/gone.xml",
        "http://www.example.com/sitemap_blog.xml",
    ]


def test_several_sitemap_urls_and_one_that_cannot_be_read() -> None:
    with MockWeb(WEB) as web:
        run = Run(SeveralSpider, web)
    assert sorted(item["title"] for item in run.items) == ["blog/1", "product/2", "shop/1"]
    assert run.exit_status == 1
    assert run.stats["sitemapcrawl/errors/network"] == 1


class RequestSpider(SitemapSpider):
    name = "request"
    sitemap_urls = ["http://www.example.com/lastmods.xml"]
    sitemap_rules = [("/product/", "parse_product")]

    def sitemap_request(self, loc: str, callback: Any, entry: dict[str, Any], **context: Any) -> Request | None:
        if "lastmod" not in entry or loc.endswith("/2"):
            return None
        request = super().sitemap_request(loc, callback, entry, **context)
        assert request is not None
        return request.replace(headers={"X-Since": entry["lastmod"]}, errback=self.lost)

    def parse_product(self, response: Any, page: dict[str, Any]) -> Any:
        request = request_from_dict(response.request.to_dict(spider=self), spider=self)  # can be stored
        assert request.callback == self.parse_product
        return {"since": response.request.headers["X-Since"].decode(), "lastmod": page["lastmod"]}

    def lost(self, failure: Any) -> Any:
        return {"lost": True}


def test_request_is_made_by_a_hook_and_the_callback_gets_the_page() -> None:
    with MockWeb({**WEB, ROOT + "lastmods.xml": LASTMODS}) as web:
        run = Run(RequestSpider, web)
    assert run.items == [{"since": "2010-01-01", "lastmod": "2010-01-01"}]


class MetaSpider(SitemapSpider):
    """As the docstring of the method that Scrapy is about to have shows it."""

    name = "meta"
    sitemap_urls = ["http://www.example.com/robots.txt"]
    sitemap_rules = [("/blog/", "parse_blog")]

    def sitemap_request(self, loc: str, callback: Any, entry: dict[str, Any], *, source: str, response: Any) -> Request | None:
        self.calls_of_the_hook.append((loc.removeprefix(ROOT), entry["loc"] == loc, source, response.url.removeprefix(ROOT)))
        if source == "sitemapindex" and "shops" in loc:
            return None
        meta = {**response.meta, "lastmod": entry.get("lastmod")}
        return Request(loc, callback, meta=meta, headers={"X-Source": source})

    def __init__(self) -> None:
        super().__init__()
        self.calls_of_the_hook: list[Any] = []

    def parse_blog(self, response: Any, page: dict[str, Any]) -> Any:
        return {"url": response.url, "page": page["loc"], "meta": sorted(response.meta.keys() - page.keys())}


def test_hook_makes_the_requests_for_sitemaps_too_and_may_copy_what_led_there() -> None:
    pages = {
        ROOT + "robots.txt": "Sitemap: /sitemap_index.xml\n",
        ROOT + "sitemap_blog.xml": urlset("/blog/1", "/blog/gone"),
    }
    with MockWeb({**WEB, **pages}) as web:
        run = Run(MetaSpider, web)
    spider: Any = run.crawler.spider
    assert spider.calls_of_the_hook == [
        ("sitemap_index.xml", True, "robotstxt", "robots.txt"),
        ("sitemap_shops.xml", True, "sitemapindex", "sitemap_index.xml"),
        ("sitemap_blog.xml", True, "sitemapindex", "sitemap_index.xml"),
        ("blog/1", True, "urlset", "sitemap_blog.xml"),
        ("blog/gone", True, "urlset", "sitemap_blog.xml"),
    ]
    assert paths(web.requested) == ["blog/1", "blog/gone", "robots.txt", "sitemap_blog.xml", "sitemap_index.xml"]
    assert [headers.get("X-Source") for headers in web.headers][:4] == [None, "robotstxt", "sitemapindex", "urlset"]
    # Nothing of what is for documents is left: a page that is not there is none for the callback.
    assert len(run.items) == 1
    assert not {"handle_httpstatus_all", "download_maxsize", "sitemapcrawl_admitted"} & set(run.items[0]["meta"])
    assert (run.exit_status, run.errors) == (0, [])


def test_hook_makes_the_requests_of_a_local_file(tmp_path: Path) -> None:
    (tmp_path / "s.xml").write_text(urlset("/blog/1"))
    with MockWeb(WEB) as web:
        run = Run(MetaSpider, web, url=ROOT + "s.xml", content=str(tmp_path / "s.xml"))
    assert [item["page"] for item in run.items] == [ROOT + "blog/1"]


class ItemsSpider(SitemapSpider):
    name = "items"
    url = "http://www.example.com/sitemap_index.xml"
    max_urls = 2
    sitemap_follow = ["shops"]

    def sitemap_filter(self, entries: Any) -> Any:
        return (entry for entry in entries if entry["loc"] != ROOT + "product/2")


def test_without_rules_and_parse_pages_are_the_items_and_the_filter_works() -> None:
    with MockWeb(WEB) as web:
        result = crawl(web, spider=ItemsSpider)
    assert result.locations == [ROOT + "shop/1"]
    assert paths(web.requested) == ["sitemap_index.xml", "sitemap_shops.xml"]
    assert result.exit_status == 0


class ChangedItemsSpider(SitemapSpider):
    name = "changed-items"
    url = ROOT + "lastmods.xml"

    def sitemap_filter(self, entries: Any) -> Any:
        yield {"loc": ROOT + "new", "images": [{"loc": ROOT + "new.png"}], "mine": 1}
        for entry in entries:
            if entry["loc"].endswith("/1"):
                yield {**entry, "priority": "0.9", "alternates": []}
            else:
                del entry["loc"]  # one without a location is dropped, as in Scrapy
                yield entry


def test_where_pages_are_the_items_they_are_what_the_filter_yields() -> None:
    with MockWeb({**WEB, ROOT + "lastmods.xml": LASTMODS}) as web:
        result = crawl(web, spider=ChangedItemsSpider)
    sitemap = ROOT + "lastmods.xml"
    assert result.pages == [
        {"loc": ROOT + "new", "images": [{"loc": ROOT + "new.png"}], "sitemap": sitemap},
        {"loc": ROOT + "product/1", "lastmod": "2010-01-01", "priority": 0.9, "sitemap": sitemap},
    ]
    assert result.errors == []


@pytest.mark.parametrize("source_of_the_fault", ["sitemapindex", "urlset"])
def test_a_hook_that_returns_no_request_is_told(source_of_the_fault: str) -> None:
    class Spider(SimplestSpider):
        name = "no-request"
        sitemap_urls = [ROOT + "sitemap_index.xml"]

        def sitemap_request(self, loc: str, *arguments: Any, source: str, **context: Any) -> Any:
            return loc if source == source_of_the_fault else super().sitemap_request(loc, *arguments, source=source, **context)

    with MockWeb(WEB) as web:
        run = Run(Spider, web)
    assert run.items == []
    assert run.stats["sitemapcrawl/errors/parse"] == (1 if source_of_the_fault == "sitemapindex" else 2)


def test_options_come_from_arguments_then_the_class_then_settings() -> None:
    class Spider(SimplestSpider):
        name = "options"
        max_urls = 2
        strict = True

    with MockWeb(WEB) as web:
        run = Run(Spider, web, {"SITEMAPCRAWL_MAX_URLS": 1, "SITEMAPCRAWL_MAX_DEPTH": 3}, strict="false", category="pens")
    spider: Any = run.crawler.spider
    assert (spider.options.max_urls, spider.options.strict, spider.options.max_depth) == (2, False, 3)
    assert spider.category == "pens"
    assert len(run.items) == 2
    assert run.stats["sitemapcrawl/limits/max_urls"] == 1


def test_names_that_the_spider_uses_itself_are_refused() -> None:
    with pytest.raises(TypeError, match="'report'"):
        type("Mine", (SitemapSpider,), {"report": None, "__module__": "mine"})


def test_summary_tells_what_came_of_the_pages(caplog: pytest.LogCaptureFixture) -> None:
    class Spider(SimplestSpider):
        name = "summary"

        def parse(self, response: Any) -> Any:
            if "category" in response.url:
                raise ValueError("a mistake")
            return {"url": response.url}

    with MockWeb({**WEB, ROOT + "about": Answer(b"gone", 404)}) as web, caplog.at_level("INFO"):
        Run(Spider, web, {"LOG_LEVEL": "INFO"})
    summary = next(record.getMessage() for record in caplog.records if record.getMessage().startswith("Finished"))
    assert [line.split(maxsplit=1) for line in summary.splitlines()[2:5]] == [
        ["pages", "4 to be requested"],
        ["responses", "4 with status 2xx, 1 with status 4xx (those of sitemaps, redirects and retries, too)"],
        ["items", "2, responses ignored for their status: 1, exceptions in callbacks: 1"],
    ]


@pytest.mark.parametrize(("attribute", "rules", "told"), [
    ("sitemap_rules", [("/a/", "parse"), ("/product/", "parse_prodct")], "('/product/', 'parse_prodct') is wrong, the spider has no method"),
    ("sitemap_rules", [("/prod(uct/", "parse")], "('/prod(uct/', 'parse') is wrong, the regular expression cannot be read (missing )"),
    ("sitemap_rules", ["/product/"], "'/product/' is wrong, expected a regular expression and a callback"),
    ("sitemap_rules", [("/product/", 1)], "('/product/', 1) is wrong, 1 is no callback"),
    ("sitemap_follow", ["*"], "'*' is wrong, the regular expression cannot be read (nothing to repeat"),
])  # fmt: skip
def test_wrong_rules_are_told_as_wrong_options(attribute: str, rules: list[Any], told: str) -> None:
    spider = type("Spider", (SimplestSpider,), {"name": "wrong", attribute: rules})
    with MockWeb(WEB) as web:
        run = Run(spider, web)
    assert (run.exit_status, web.requested) == (2, [])
    (error,) = run.crawler.spider.config_errors
    assert error.message.startswith(f"{attribute} of Spider: {told}")


def test_a_spider_needs_a_name_of_its_own() -> None:
    nameless = type("Nameless", (SitemapSpider,), {"__module__": "mine"})
    assert nameless.name is None
    assert SitemapSpider.name == "sitemap"


class OwnRequestsSpider(SitemapSpider):
    """Pages are the items, beside which the spider requests something of its own."""

    name = "own-requests"
    sitemap_urls = [ROOT + "sitemap.xml"]
    max_urls = 2
    max_concurrency = 1

    async def start(self) -> Any:
        async for request in super().start():
            yield request
        for number in range(10):
            yield Request(f"{ROOT}other-page?{number}", self.parse_other)

    def parse_other(self, response: Any) -> Any:
        return {"other": response.url}


@pytest.mark.parametrize("stored", [False, True], ids=["in memory", "on disk"])
def test_requests_of_a_subclass_are_not_lost_when_a_limit_is_reached(stored: bool, tmp_path: Path) -> None:
    with MockWeb(WEB, lambda url: Answer(b"other")) as web:
        run = Run(OwnRequestsSpider, web, {"JOBDIR": str(tmp_path)} if stored else {})
    assert run.stats["sitemapcrawl/limits/max_urls"] == 1
    assert len([item for item in run.items if isinstance(item, dict)]) == 10


class InstanceSpider(SitemapSpider):
    name = "instance"

    def __init__(self, part: str, *args: Any, **kwargs: Any) -> None:
        self.sitemap_urls = [f"{ROOT}sitemap.xml"]
        self.sitemap_rules = [(f"/{part}/", self.parse_part)]
        super().__init__(*args, **kwargs)

    def parse_part(self, response: Any) -> Any:
        return {"url": response.url}


def test_attributes_may_be_those_of_an_instance() -> None:
    with MockWeb(WEB) as web:
        run = Run(InstanceSpider, web, part="category")
    assert run.items == [{"url": ROOT + "category/1"}]
    assert run.crawler.settings.getbool("COOKIES_ENABLED")  # as for every spider that requests pages


@pytest.mark.parametrize("spider", [SitemapSpider, SimplestSpider])
def test_spider_is_made_where_settings_are_frozen(spider: type[SitemapSpider]) -> None:
    # So does scrapy shell. Nothing is crawled then.
    crawler = Crawler(spider, Settings({"TWISTED_REACTOR_ENABLED": False}))
    crawler._apply_settings()
    assert crawler._create_spider().name == spider.name


PAGES = 50_000


def test_a_large_sitemap_never_has_all_its_requests_in_memory() -> None:
    highest = {"alive": 0, "waiting": 0}

    class Spider(SitemapSpider):
        name = "large"
        sitemap_urls = [ROOT + "large.xml"]
        sitemap_rules = [("", "parse_page")]
        custom_settings = {"DOWNLOADER_MIDDLEWARES": {Short: 60}, "DUPEFILTER_CLASS": "scrapy.dupefilters.BaseDupeFilter"}
        done = 0

        def parse_page(self, response: Any) -> None:
            self.done += 1
            if self.done >= 2_000:
                raise CloseSpider("enough")  # all of them would take a minute
            if self.done % 500 == 0:
                alive = sum(isinstance(thing, Request) for thing in gc.get_objects())
                highest["alive"] = max(highest["alive"], alive)
                highest["waiting"] = max(highest["waiting"], len(self.crawler.engine.scheduler))  # type: ignore[arg-type]

    with MockWeb({ROOT + "large.xml": urlset(*(f"/{number}" for number in range(PAGES)))}) as web:
        run = Run(Spider, web)
    assert run.stats["sitemapcrawl/pages"] < 2_500
    assert 0 < highest["waiting"] <= 100
    assert highest["alive"] <= 500


class Short:
    """Answer for the pages: fifty thousand of them over a socket would take a while."""

    async def process_request(self, request: Request) -> Any:
        from scrapy.http import TextResponse

        if request.url.endswith(".xml"):
            return None
        await asyncio.sleep(0)
        return TextResponse(request.url, body=b"page")


def test_small_sitemaps_share_the_bound_and_all_is_read() -> None:
    waiting = [0]
    maps = [f"/s{number}.xml" for number in range(60)]
    web_pages: dict[str, Any] = {ROOT + "i.xml": index(*maps)}
    for name in maps:
        web_pages[ROOT + name[1:]] = urlset(*(f"{name}/{number}" for number in range(20)))

    class Spider(SitemapSpider):
        name = "small"
        sitemap_urls = [ROOT + "i.xml"]
        custom_settings = {"SITEMAPCRAWL_WAITING_PAGES": 10, "DOWNLOADER_MIDDLEWARES": {Short: 60}}

        def parse(self, response: Any) -> Any:
            waiting[0] = max(waiting[0], len(self.crawler.engine.scheduler))  # type: ignore[arg-type]
            return {"url": response.url}

    with MockWeb(web_pages) as web:
        run = Run(Spider, web)
    assert len(run.items) == 60 * 20
    assert len(web.requested) == 61
    assert waiting[0] <= 16 * 10 + 20


def test_requests_that_are_filtered_out_leave_no_gap() -> None:
    class Spider(SimplestSpider):
        name = "offsite"
        allowed_domains = ["www.example.com"]
        sitemap_urls = [ROOT + "i.xml"]
        custom_settings = {"SITEMAPCRAWL_WAITING_PAGES": 5}

    web_pages = {
        ROOT + "i.xml": index("/a.xml", "http://elsewhere.example/b.xml"),
        ROOT + "a.xml": urlset(*(f"http://other.example/{n}" for n in range(300)), *["/about"] * 300, "/product/1"),
    }
    with MockWeb({**WEB, **web_pages}) as web:
        run = Run(Spider, web)
    assert sorted(item["title"] for item in run.items) == ["about", "product/1"]
    assert paths(web.requested) == ["a.xml", "about", "i.xml", "product/1"]
    # After each gap the crawl would go on after five seconds, and there would be more than a hundred.
    assert run.stats["elapsed_time_seconds"] < 60


def test_pages_obey_the_settings_of_the_project_and_documents_the_options() -> None:
    class Spider(SimplestSpider):
        name = "settings"
        sitemap_urls = [ROOT + "robots.txt"]
        max_response_size = 2_000
        handle_httpstatus_list: list[int] = []

    settings = {"ROBOTSTXT_OBEY": True, "USER_AGENT": "shop/1.0", "RETRY_TIMES": 1, "CONCURRENT_REQUESTS": 3}
    web_pages = {
        ROOT + "robots.txt": "User-agent: *\nDisallow: /private\nSitemap: /s.xml\nSitemap: /large.xml\n",
        ROOT + "s.xml": urlset("/private/1", "/large-page", "/failing", "/missing", "/about"),
        ROOT + "large.xml": urlset("/" + "x" * 3_000),
        ROOT + "large-page": "<h1>large</h1>" + " " * 10_000,
        ROOT + "failing": Answer(b"", 503),
    }
    with MockWeb({**WEB, **web_pages}) as web:
        run = Run(Spider, web, settings)
    assert sorted(item["title"] for item in run.items) == ["about", "large"]
    assert web.requested.count(ROOT + "failing") == 2
    assert ROOT + "private/1" not in web.requested
    assert {headers["User-Agent"] for headers in web.headers} == {"shop/1.0"}
    assert run.stats["sitemapcrawl/limits/max_response_size"] == 1
    assert run.crawler.settings.getint("CONCURRENT_REQUESTS") == 3
    assert run.crawler.settings.getbool("COOKIES_ENABLED")
    assert web.max_in_flight <= 3


def test_page_requests_are_no_sitemaps() -> None:
    class Spider(SimplestSpider):
        name = "limits"
        sitemap_urls = [ROOT + "i.xml"]
        max_sitemaps = 1
        max_concurrency = 1

    with MockWeb({**WEB, ROOT + "i.xml": index("/sitemap.xml", "/sitemap_blog.xml")}) as web:
        run = Run(Spider, web)
    assert len(run.items) == 4
    assert run.stats["sitemapcrawl/sitemaps/read"] == 2
    assert run.stats["sitemapcrawl/limits/max_sitemaps"] == 1


def test_items_go_through_pipelines_and_feeds(tmp_path: Path) -> None:
    class Drops:
        def process_item(self, item: Any) -> Any:
            if item["title"] == "about":
                raise DropItem("no")
            return {**item, "empty": None}

    feeds = {str(tmp_path / "items.jsonl"): {"format": "jsonlines"}, str(tmp_path / "items.csv"): {"format": "csv"}}
    with MockWeb(WEB) as web:
        run = Run(SimplestSpider, web, {"ITEM_PIPELINES": {Drops: 1}, "FEEDS": feeds}, errors=str(tmp_path / "errors.jsonl"))
    lines = [json.loads(line) for line in (tmp_path / "items.jsonl").read_text().splitlines()]
    assert (len(lines), lines[0]["empty"]) == (3, None)  # as Scrapy exports it
    assert (tmp_path / "items.csv").read_text().startswith("url,title,empty")
    assert run.stats["item_scraped_count"] == 3
    assert (tmp_path / "errors.jsonl").exists()


def test_an_error_in_a_hook_costs_one_document() -> None:
    class Spider(SimplestSpider):
        name = "broken"
        sitemap_urls = [ROOT + "i.xml"]

        def sitemap_filter(self, entries: Any) -> Any:
            for entry in entries:
                if entry["loc"].endswith("/about"):
                    raise KeyError("lastmod")
                yield entry

    with MockWeb({**WEB, ROOT + "i.xml": index("/sitemap.xml", "/sitemap_blog.xml")}) as web:
        run = Run(Spider, web)
    assert sorted(item["title"] for item in run.items) == ["blog/1", "category/1", "product/1", "product/2"]
    assert run.stats["sitemapcrawl/sitemaps/failed"] == 1


def test_closing_ends_a_document_that_waits_for_room() -> None:
    class Spider(SimplestSpider):
        name = "closing"
        sitemap_urls = [ROOT + "large.xml"]
        custom_settings = {"CLOSESPIDER_ITEMCOUNT": 5, "DOWNLOADER_MIDDLEWARES": {Short: 60}}

    with MockWeb({ROOT + "large.xml": urlset(*(f"/{number}" for number in range(PAGES)))}) as web:
        run = Run(Spider, web)
    assert 5 <= len(run.items) < 500
    assert run.exit_status == 1


def test_each_of_several_starts_has_limits_of_its_own() -> None:
    class Spider(SimplestSpider):
        name = "several-limits"
        sitemap_urls = [ROOT + "sitemap.xml", ROOT + "i.xml", ROOT + "sitemap_blog.xml"]
        max_urls = 1

        def parse(self, response: Any) -> Any:
            return {"url": response.url, "start": response.meta["sitemapcrawl_page"]["start"]}

    with MockWeb({**WEB, ROOT + "i.xml": index("/sitemap_shops.xml", "/sitemap.xml")}) as web:
        run = Run(Spider, web, multi_thread="false")
    found = sorted((item["start"].removeprefix(ROOT), item["url"].removeprefix(ROOT)) for item in run.items)
    assert found == [("i.xml", "shop/1"), ("sitemap.xml", "product/1"), ("sitemap_blog.xml", "blog/1")]
    assert run.stats["sitemapcrawl/limits/max_urls"] == 2
    assert run.stats["sitemapcrawl/starts/read"] == 3
    assert run.exit_status == 0


def test_a_request_for_a_sitemap_that_a_subclass_makes_is_a_start() -> None:
    class Spider(SimplestSpider):
        name = "own-request"

        async def start(self) -> Any:
            async for request in super().start():
                yield request
            yield Request(ROOT + "sitemap_index.xml", self._parse_sitemap)

    with MockWeb(WEB) as web:
        run = Run(Spider, web)
    assert {item["title"] for item in run.items} >= {"blog/1", "shop/1", "about"}
    assert run.stats["sitemapcrawl/starts/read"] == 2
    assert run.exit_status == 0


def test_with_jobdir_all_documents_are_read_again_and_pages_are_not(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    class Spider(SimplestSpider):
        name = "jobdir"
        sitemap_urls = [ROOT + "robots.txt"]
        custom_settings = {"CLOSESPIDER_ITEMCOUNT": 1, "CONCURRENT_REQUESTS": 1}

    class Again(Spider):
        custom_settings = {"CLOSESPIDER_ITEMCOUNT": 0}

    with MockWeb(WEB) as web:
        settings = {"JOBDIR": str(tmp_path / "job"), "FEEDS": {str(tmp_path / "items.json"): {"format": "json"}}}
        first = Run(Spider, web, settings)
        second = Run(Again, web, settings)
    assert (first.exit_status, second.exit_status) == (1, 0)
    assert "is not whole" not in caplog.text  # the feeds are those of Scrapy
    titles = sorted(item["title"] for item in first.items + second.items)
    assert titles == ["about", "blog/1", "category/1", "product/1", "product/2", "shop/1"]
    assert not (tmp_path / "job/sitemapcrawl.sqlite").exists()


def test_one_process_at_a_time_requests_the_pages_of_a_jobdir(tmp_path: Path) -> None:
    """The lock is free when a crawl has ended, and while another has it nothing of that one's is touched."""
    lock = Lock(str(tmp_path / LOCK))
    (tmp_path / "items.jsonl").write_text("of the other")
    names = {path.name for path in tmp_path.iterdir()}
    settings = {"JOBDIR": str(tmp_path), "FEEDS": {str(tmp_path / "items.jsonl"): {"format": "jsonl", "overwrite": True}}}
    with MockWeb(WEB) as web:
        refused = Run(SimplestSpider, web, settings, errors=str(tmp_path / "items.errors.jsonl"))
        assert (refused.exit_status, web.requested) == (2, [])
        assert "another crawl is using it" in refused.crawler.spider.config_errors[0].message
        assert {path.name for path in tmp_path.iterdir()} == names
        assert (tmp_path / "items.jsonl").read_text() == "of the other"
        lock.release()
        first = Run(SimplestSpider, web, settings)
        again = Run(SimplestSpider, web, settings)
    assert (first.exit_status, len(first.items), again.exit_status, again.items) == (0, 4, 0, [])


@pytest.mark.parametrize("resumes", [True, False])
def test_what_waits_for_a_delay_is_not_sent_when_the_crawl_is_closed(resumes: bool, tmp_path: Path) -> None:
    failures: list[Any] = []

    class Spider(SimplestSpider):
        name = "delayed"
        sitemap_urls = [ROOT + "many.xml"]

        def sitemap_request(self, loc: str, callback: Any, entry: dict[str, Any], **context: Any) -> Request:
            return Request(loc, callback, errback=self.lost)

        def parse(self, response: Any) -> Any:
            return {"url": response.url}

        def lost(self, failure: Any) -> None:
            failures.append(failure)

    settings = {"JOBDIR": str(tmp_path)} if resumes else {}
    delays = {"DOWNLOAD_DELAY": 0.2, "DOWNLOAD_DELAY_JITTER": 0, "CLOSESPIDER_ITEMCOUNT": 1}
    with MockWeb({ROOT + "many.xml": urlset(*(f"/many/{number}" for number in range(12)))}, lambda url: Answer(b"page")) as web:
        first = Run(Spider, web, {**settings, **delays})
        sent = len(web.requested)
        again = Run(Spider, web, settings) if resumes else None
    assert sent < 6
    assert (failures, first.exit_status) == ([], 1)
    if again is not None:
        assert sorted(item["url"] for item in first.items + again.items) == sorted(pages_of(12))
        assert len(web.requested) == 2 + 12


KILLED = """
import asyncio, sys
from scrapy.crawler import Crawler
from scrapy.settings import Settings
from sitemapcrawl.spiders import SitemapSpider, _pages

_pages._NOTE_INTERVAL = 0.1

class Spider(SitemapSpider):
    name = "killed"
    sitemap_urls = ["http://www.example.com/many.xml"]

    def parse(self, response):
        return {"url": response.url}

feeds = {"items.jsonl": {"format": "jsonlines"}}
settings = {"JOBDIR": "job", "FEEDS": feeds, "CONCURRENT_REQUESTS_PER_DOMAIN": 4, "TWISTED_REACTOR_ENABLED": False}
asyncio.run(Crawler(Spider, Settings(settings)).crawl_async())
"""


def test_no_page_is_lost_when_the_process_is_killed(tmp_path: Path) -> None:
    pages = {ROOT + "many.xml": urlset(*(f"/many/{number}" for number in range(60)))}
    command = [sys.executable, "-c", KILLED]
    with MockWeb(pages, lambda url: Answer(b"page", delay=0.03)) as web:
        environment = {"PYTHONPATH": str(Path(__file__).parents[2]), "http_proxy": web.address, "PATH": ""}
        with subprocess.Popen(command, cwd=tmp_path, env=environment) as process:
            until = time.monotonic() + 30
            while len(web.requested) < 40 and time.monotonic() < until:
                time.sleep(0.01)
            process.kill()
            process.wait()
        with (tmp_path / "items.jsonl").open("a") as feed:
            feed.write('{"url": "half')  # as a full buffer may be written out
        before = len(set(web.requested))
        subprocess.run(command, cwd=tmp_path, env=environment, timeout=60, check=True)
    assert before < 61
    lines = (tmp_path / "items.jsonl").read_text().splitlines()
    assert {json.loads(line)["url"] for line in lines} == pages_of(60)
    assert len(web.requested) < 61 + 35  # what was done is not requested again


def pages_of(count: int) -> set[str]:
    return {f"{ROOT}many/{number}" for number in range(count)}
