"""Crawls in a program: all at once, page by page, several at a time, with and without an event loop or a reactor."""

from __future__ import annotations

import asyncio
import gc
import subprocess
import sys
import textwrap
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

import sitemapcrawl
from sitemapcrawl.items import ConfigError, NetworkError, Page, ParseError, SitemapEntry, ValidationError
from tests.crawling import proxy
from tests.mockweb import Answer, MockWeb, index, urlset

if TYPE_CHECKING:
    from collections.abc import Iterator

PROJECT = Path(__file__).parents[1]
ROOT = "http://example.com/"
WEB: dict[str, Any] = {
    ROOT + "robots.txt": "Sitemap: /i.xml\n",
    ROOT + "i.xml": index("/a.xml", "/b.xml", "/gone.xml"),
    ROOT + "a.xml": urlset("/1", "/2"),
    ROOT + "b.xml": "<urlset><url><loc>/3</loc><lastmod>2024-02</lastmod><priority>high</priority></url></urlset>",
    ROOT + "cut.xml": "<urlset><url><loc>/1</loc></url><url>",
    ROOT + "html.xml": "<html><body>no</body></html>",
    ROOT + "large.xml": urlset(*(f"/{number}" for number in range(20_000))),
}


@pytest.fixture
def web() -> Iterator[MockWeb]:
    with MockWeb(WEB) as web, proxy(web.address):
        yield web


def program(web: MockWeb, text: str) -> subprocess.CompletedProcess[str]:
    """Run a program of its own: what it logs and which reactor it has is its own matter."""
    environment = {"PYTHONPATH": str(PROJECT), "http_proxy": web.address, "PATH": ""}
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", textwrap.dedent(text)], env=environment, capture_output=True, text=True, timeout=60
    )


def test_all_at_once_from_a_script(web: MockWeb) -> None:
    result = sitemapcrawl.crawl_sync(ROOT + "robots.txt")
    assert sorted(page.loc for page in result.pages) == [ROOT + "1", ROOT + "2", ROOT + "3"]
    assert [entry.loc for entry in result.sitemaps] == [ROOT + name for name in ("i.xml", "a.xml", "b.xml", "gone.xml")]
    assert sorted((error.type, error.url) for error in result.errors) == [
        ("network", ROOT + "gone.xml"),
        ("validation", ROOT + "3"),
    ]
    assert result.stats["sitemapcrawl/pages"] == 3
    assert repr(result) == f"<Result of {ROOT}robots.txt: 3 pages, 4 sitemaps, 2 errors>"


def test_several_starts(web: MockWeb, tmp_path: Path) -> None:
    result = sitemapcrawl.crawl_sync([ROOT + "a.xml", ROOT + "b.xml"])
    assert sorted((page.start, page.loc) for page in result.pages) == [
        (ROOT + "a.xml", ROOT + "1"),
        (ROOT + "a.xml", ROOT + "2"),
        (ROOT + "b.xml", ROOT + "3"),
    ]
    assert repr(result) == "<Result of 2 starts: 3 pages, 0 sitemaps, 1 errors>"
    with pytest.raises(NetworkError) as info:
        sitemapcrawl.crawl_sync([ROOT + "a.xml", ROOT + "gone.xml", ROOT + "b.xml"])
    assert info.value.url == ROOT + "gone.xml"
    with pytest.raises(ConfigError, match="max_depth") as wrong:
        sitemapcrawl.crawl_sync([ROOT + "a.xml", ROOT + "b.xml"], max_depth=0)
    assert wrong.value.url is None
    (tmp_path / "urls.txt").write_text(ROOT + "a.xml\n")
    assert len(sitemapcrawl.crawl_sync(urls_file=str(tmp_path / "urls.txt")).pages) == 2
    with pytest.raises(ConfigError, match="option url: it is missing"):
        sitemapcrawl.crawl_sync()


def test_any_number_of_times_and_together(web: MockWeb) -> None:
    async def together() -> list[Any]:
        first = await sitemapcrawl.crawl(ROOT + "a.xml")
        return [first, *await asyncio.gather(*(sitemapcrawl.crawl(ROOT + name) for name in ("a.xml", "b.xml", "i.xml")))]

    results = asyncio.run(together())
    assert [len(result.pages) for result in results] == [2, 2, 1, 3]
    assert [len(sitemapcrawl.crawl_sync(ROOT + "i.xml", max_urls=count).pages) for count in (1, 2)] == [1, 2]


def test_in_a_notebook_where_a_loop_runs(web: MockWeb) -> None:
    async def cell() -> int:
        return len(sitemapcrawl.crawl_sync(ROOT + "a.xml").pages)

    assert asyncio.run(cell()) == 2


@pytest.mark.parametrize(
    ("url", "kind"),
    [
        ("http://example.com/gone.xml", NetworkError),
        ("http://example.com/html.xml", ParseError),
        ("http://example.com/cut.xml", ParseError),
        ("ftp://example.com/a.xml", ValidationError),
    ],
)
def test_start_that_cannot_be_read_is_an_exception(web: MockWeb, url: str, kind: type[Exception]) -> None:
    with pytest.raises(kind) as info:
        sitemapcrawl.crawl_sync(url)
    assert info.value.url == url  # type: ignore[attr-defined]
    result = sitemapcrawl.crawl_sync(url, raise_errors=False)
    assert [type(error) for error in result.errors] == [kind]
    assert len(result.pages) == (url == ROOT + "cut.xml")


def test_wrong_options_are_all_named(web: MockWeb) -> None:
    with pytest.raises(ConfigError) as info:
        sitemapcrawl.crawl_sync(ROOT + "a.xml", max_depth=0, colour="blue", raise_errors=False)
    assert "option max_depth: 0 is wrong" in info.value.message
    assert "option colour: there is no such option" in info.value.message
    assert web.requested == []


def test_settings_and_pipelines(web: MockWeb) -> None:
    class Upper:
        def process_item(self, item: Any) -> Any:
            return {"loc": item.loc.upper()}

    settings = {"ITEM_PIPELINES": {Upper: 1}, "USER_AGENT": "mine/1.0"}
    result = sitemapcrawl.crawl_sync(ROOT + "a.xml", settings=settings)
    assert result.pages[0] == {"loc": "HTTP://EXAMPLE.COM/1"}
    assert web.headers[0]["User-Agent"] == "mine/1.0"


def test_page_by_page(web: MockWeb) -> None:
    async def read() -> tuple[list[str], Any]:
        stream = sitemapcrawl.pages(ROOT + "robots.txt")
        return sorted([page.loc async for page in stream]), stream

    locations, stream = asyncio.run(read())
    assert locations == [ROOT + "1", ROOT + "2", ROOT + "3"]
    assert (len(stream.sitemaps), len(stream.errors), stream.stats["sitemapcrawl/pages"]) == (4, 2, 3)


def test_page_by_page_raises_at_the_end(web: MockWeb) -> None:
    async def read(url: str, **options: Any) -> list[str]:
        found = []
        try:
            async for page in sitemapcrawl.pages(url, **options):
                found.append(page.loc)
        except (ParseError, ConfigError) as error:
            found.append(type(error).__name__)
        return found

    assert asyncio.run(read(ROOT + "cut.xml")) == [ROOT + "1", "ParseError"]
    assert asyncio.run(read(ROOT + "cut.xml", raise_errors=False)) == [ROOT + "1"]
    assert asyncio.run(read(ROOT + "a.xml", max_urls="x")) == ["ConfigError"]


def test_reading_waits_for_who_takes_the_pages(web: MockWeb) -> None:
    async def read() -> tuple[int, int]:
        stream = sitemapcrawl.pages(ROOT + "large.xml", settings={"SITEMAPCRAWL_BATCH_SIZE": 100})
        taken = 0
        async with stream:
            async for _ in stream:
                taken += 1
                if taken == 150:
                    await asyncio.sleep(0.3)
                    assert stream._run.crawler.stats.get_value("sitemapcrawl/pages") <= 500
                if taken == 1_000:
                    break
        return taken, stream.stats["sitemapcrawl/pages"]

    taken, read_pages = asyncio.run(read())
    assert taken == 1_000
    assert read_pages < 2_000


def test_a_break_stops_the_crawl(web: MockWeb) -> None:
    web.pages[ROOT + "many.xml"] = index(*(f"/m{number}.xml" for number in range(300)))
    web.answer = lambda url: Answer(urlset(*(f"{url}?{number}" for number in range(50))).encode(), delay=0.01)

    async def read() -> list[str]:
        async for _ in sitemapcrawl.pages(ROOT + "many.xml"):
            break
        gc.collect()
        for _ in range(500):
            others = asyncio.all_tasks() - {asyncio.current_task()}
            if not others:
                break
            await asyncio.sleep(0.01)
        return [task.get_name() for task in others]

    assert asyncio.run(read()) == []
    assert len(web.requested) < 100


def test_a_loop_that_ends_right_after_a_break_comes_to_its_end(web: MockWeb) -> None:
    web.answer = lambda url: Answer(WEB[ROOT + "large.xml"].encode())
    web.pages[ROOT + "many.xml"] = index(*(f"/m{number}.xml" for number in range(20)))
    done = program(
        web,
        """
        import asyncio, threading, time
        import sitemapcrawl

        async def first():
            async for page in sitemapcrawl.pages("http://example.com/many.xml"):
                return page

        for _ in range(3):
            print(asyncio.run(first()) is not None)
        until = time.monotonic() + 5
        while threading.active_count() > 1 and time.monotonic() < until:
            time.sleep(0.01)
        print(threading.active_count())
        """,
    )
    assert done.stdout.split() == ["True", "True", "True", "1"]


def test_a_crawl_that_nobody_iterates_over_is_not_begun(web: MockWeb) -> None:
    async def unused() -> None:
        async with sitemapcrawl.pages(ROOT + "a.xml"):
            pass

    asyncio.run(unused())
    assert web.requested == []


def test_an_error_in_the_loop_stops_the_crawl(web: MockWeb) -> None:
    async def read() -> None:
        async with sitemapcrawl.pages(ROOT + "large.xml") as stream:
            async for page in stream:
                raise LookupError(page.loc)

    with pytest.raises(LookupError):
        asyncio.run(read())


def test_a_crawl_that_is_cancelled_has_stopped(web: MockWeb) -> None:
    under_way = threading.Event()

    def answer(url: str) -> Answer:
        if len(web.requested) >= 20:
            under_way.set()
        return Answer(urlset("/1").encode(), delay=0.05)

    web.answer = answer
    web.pages[ROOT + "many.xml"] = index(*(f"/m{number}.xml" for number in range(300)))

    async def read() -> int:
        task = asyncio.create_task(sitemapcrawl.crawl(ROOT + "many.xml"))
        assert await asyncio.to_thread(under_way.wait, 30)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return len(web.requested)

    requested = asyncio.run(read())
    assert 20 <= requested < 300
    assert len(web.requested) == requested


def test_nothing_is_logged(web: MockWeb) -> None:
    done = program(
        web,
        """
        import sitemapcrawl
        from sitemapcrawl.items import ConfigError
        print(len(sitemapcrawl.crawl_sync('http://example.com/i.xml').pages))
        try:
            sitemapcrawl.crawl_sync('http://example.com/i.xml', settings={"SITEMAPCRAWL_SUMMARY_ERRORS": "x"})
        except ConfigError as error:
            print(error.message)
        """,
    )
    wrong = "setting SITEMAPCRAWL_SUMMARY_ERRORS: 'x' is wrong, expected a whole number of 0 or more"
    assert (done.stdout.splitlines(), done.stderr) == (["3", wrong], "")


def test_within_a_scrapy_spider_with_a_reactor(web: MockWeb) -> None:
    done = program(
        web,
        """
        import sitemapcrawl
        from scrapy import Spider
        from scrapy.crawler import AsyncCrawlerProcess

        class Mine(Spider):
            name = "mine"

            async def start(self):
                result = await sitemapcrawl.crawl("http://example.com/i.xml")
                print(len(result.pages))
                async for page in sitemapcrawl.pages("http://example.com/a.xml"):
                    print(page.loc)
                    break
                try:
                    sitemapcrawl.crawl_sync("http://example.com/a.xml")
                except RuntimeError as error:
                    print("await crawl()" in str(error))
                return
                yield

        process = AsyncCrawlerProcess({"LOG_LEVEL": "ERROR"})
        process.crawl(Mine)
        process.start()
        """,
    )
    assert (done.stdout.split(), done.stderr) == (["3", "http://example.com/1", "True"], "")


def test_scrapy_is_imported_when_it_is_needed(web: MockWeb) -> None:
    done = program(
        web,
        "import sitemapcrawl, sys; print('scrapy' in sys.modules, 'crawl' in dir(sitemapcrawl), hasattr(sitemapcrawl, 'nothing'));"
        "sitemapcrawl.crawl; print('scrapy' in sys.modules)",
    )
    assert done.stdout.split() == ["False", "True", "False", "True"]


def test_to_pandas(web: MockWeb) -> None:
    pytest.importorskip("pandas")
    result = sitemapcrawl.crawl_sync(ROOT + "robots.txt")
    frame = result.to_pandas()
    assert list(frame.columns[:4]) == ["loc", "lastmod", "changefreq", "priority"]
    assert sorted(frame["loc"]) == [ROOT + "1", ROOT + "2", ROOT + "3"]
    assert len(result.to_pandas("sitemaps")) == 4
    assert list(result.to_pandas("errors").columns[:4]) == ["type", "url", "limit", "message"]
    with pytest.raises(ValueError):
        result.to_pandas("cheese")


def test_what_a_data_frame_is_made_of(web: MockWeb, monkeypatch: pytest.MonkeyPatch) -> None:
    # For where pandas is missing: it is large, and nothing of ours but this needs it.
    monkeypatch.setitem(sys.modules, "pandas", SimpleNamespace(DataFrame=lambda rows, columns=None: (rows, columns)))
    result = sitemapcrawl.crawl_sync(ROOT + "b.xml")
    columns = list(Page.__slots__)
    assert result.to_pandas() == ([{"loc": ROOT + "3", "lastmod": "2024-02", "sitemap": ROOT + "b.xml"}], columns)
    assert result.to_pandas("sitemaps") == ([], list(SitemapEntry.__slots__))
    rows, columns = result.to_pandas("errors")  # type: ignore[misc]
    assert [row["type"] for row in rows] == ["validation"]
    assert columns[:5] == ["type", "url", "limit", "message", "start"]  # of several starts it says which

    class Titled:
        def process_item(self, item: Any) -> Any:
            return {"url": item.loc, "title": "One"}

    own = sitemapcrawl.crawl_sync(ROOT + "b.xml", settings={"ITEM_PIPELINES": {Titled: 1}})
    assert own.to_pandas() == ([{"url": ROOT + "3", "title": "One"}], None)


def test_a_program_that_leaves_early_can_go_on_with_jobdir(tmp_path: Path) -> None:
    maps = [f"/j{number}.xml" for number in range(6)]
    web_pages: dict[str, Any] = {"http://example.com/j.xml": index(*maps)}
    web_pages.update({f"http://example.com{name}": urlset(f"{name}/1", f"{name}/2") for name in maps})
    settings = {"JOBDIR": str(tmp_path)}

    async def leave() -> None:
        async with sitemapcrawl.pages("http://example.com/j.xml", settings=settings, multi_thread=False) as stream:
            async for _ in stream:
                break

    with MockWeb(web_pages) as served, proxy(served.address):
        asyncio.run(leave())
        result = sitemapcrawl.crawl_sync("http://example.com/j.xml", settings=settings, multi_thread=False)
    assert {page.loc for page in result.pages} >= {f"http://example.com{name}/1" for name in maps[2:]}
    assert result.errors == []


def test_an_error_comes_without_another_that_is_none(web: MockWeb) -> None:
    with pytest.raises(ConfigError) as info:
        sitemapcrawl.crawl_sync("", colour="red")
    assert info.value.__context__ is None
