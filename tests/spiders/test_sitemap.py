"""Whole crawls in this process, against a small web."""

from __future__ import annotations

import asyncio
import gzip
import logging
import threading
import time

import pytest
from scrapy import signals

from sitemapcrawl import signals as our_signals
from sitemapcrawl.protocol.records import Page
from tests.crawling import crawl
from tests.mockweb import Answer, MockWeb, index, urlset

ROOT = "http://example.com/"


def test_pages_of_an_index_and_its_sitemaps_are_delivered() -> None:
    pages = {ROOT + "i.xml": index("/a.xml", "/b.xml"), ROOT + "a.xml": urlset("/1", "/2"), ROOT + "b.xml": urlset("/3")}
    with MockWeb(pages) as web:
        result = crawl(web, ROOT + "i.xml")
    assert sorted(result.locations) == [ROOT + "1", ROOT + "2", ROOT + "3"]
    assert [entry["loc"] for entry in result.sitemaps] == [ROOT + "a.xml", ROOT + "b.xml"]
    assert (result.errors, result.exit_status) == ([], 0)
    assert result.stats["item_scraped_count"] == result.stats["sitemapcrawl/pages"] == 3
    assert result.stats["sitemapcrawl/sitemaps/read"] == 3


def test_wrong_options_request_nothing_and_leave_empty_feeds() -> None:
    with MockWeb({ROOT: urlset("/1")}) as web:
        result = crawl(web, ROOT, max_depth="0", rules="(", colour="red")
    assert result.exit_status == 2
    assert sorted(result.problems) == [("config", ROOT, None)] * 3
    assert web.requested == []


def test_options_of_the_project_are_defaults_and_arguments_win() -> None:
    with MockWeb({ROOT: urlset("/1", "/2", "/3")}) as web:
        assert len(crawl(web, ROOT, {"SITEMAPCRAWL_MAX_URLS": 2}).pages) == 2
        assert len(crawl(web, ROOT, {"SITEMAPCRAWL_MAX_URLS": 2}, max_urls="1").pages) == 1


def test_settings_of_the_project_stand_unless_an_option_is_given() -> None:
    with MockWeb({ROOT: urlset("/1")}) as web:
        crawl(web, ROOT, {"USER_AGENT": "project"})
        crawl(web, ROOT, {"USER_AGENT": "project"}, user_agent="option")
        crawl(web, ROOT)
    agents = [headers["User-Agent"] for headers in web.headers]
    assert agents[:2] == ["project", "option"]
    assert agents[2].startswith("sitemapcrawl/")


@pytest.mark.parametrize("url", ["ftp://example.com/a.xml", "sitemap.xml", "http:///a.xml"])
def test_start_that_is_no_web_url_is_a_validation_error(url: str) -> None:
    result = crawl(None, url)
    assert (result.problems, result.exit_status) == ([("validation", url, None)], 1)


def test_feeds_as_json_text_are_kept() -> None:
    # As Scrapyd sends them.
    with MockWeb({ROOT: urlset("/1")}) as web:
        result = crawl(web, ROOT, {"FEEDS": '{"/dev/null": {"format": "jsonlines"}}'}, max_urls="1", _job="17")
    assert (result.exit_status, result.errors) == (0, [])


# Order and limits


def test_sequential_crawl_goes_depth_first_across_hosts() -> None:
    web = {
        ROOT + "i.xml": index("http://b.example/i.xml", "http://c.example/3.xml", "/4.xml"),
        "http://b.example/i.xml": index("/1.xml", "http://c.example/2.xml"),
        "http://b.example/1.xml": urlset("/1"),
        "http://c.example/2.xml": urlset("/2"),
        "http://c.example/3.xml": urlset("/3"),
        ROOT + "4.xml": urlset("/4"),
    }
    with MockWeb(web) as served:
        result = crawl(served, ROOT + "i.xml", multi_thread="false")
    assert served.requested == list(web)
    assert [location[-1] for location in result.locations] == ["1", "2", "3", "4"]
    assert served.max_in_flight == 1


def test_sequential_retry_and_redirect_come_before_what_waits() -> None:
    tries = iter([Answer(status=503), Answer(status=503), Answer(urlset("/1").encode())])
    pages = {
        ROOT + "i.xml": index("/1.xml", "/2.xml", "/3.xml"),
        ROOT + "2.xml": Answer(status=301, headers={"Location": "/moved.xml"}),
        ROOT + "moved.xml": urlset("/2"),
        ROOT + "3.xml": urlset("/3"),
    }
    with MockWeb(pages, lambda url: next(tries)) as web:
        result = crawl(web, ROOT + "i.xml", multi_thread="false")
    assert [url.removeprefix(ROOT) for url in web.requested] == [
        "i.xml", "1.xml", "1.xml", "1.xml", "2.xml", "moved.xml", "3.xml",
    ]  # fmt: skip
    assert result.locations == [ROOT + "1", ROOT + "2", ROOT + "3"]


def test_sequential_sitemap_is_read_where_it_is_met_first() -> None:
    # The first index lists what the outer one lists later.
    pages = {
        ROOT + "i.xml": index("/inner.xml", "/1.xml"),
        ROOT + "inner.xml": index("/1.xml", "/2.xml"),
        ROOT + "1.xml": urlset("/1"),
        ROOT + "2.xml": urlset("/2"),
    }
    with MockWeb(pages) as web:
        crawl(web, ROOT + "i.xml", multi_thread="false")
    assert [url.removeprefix(ROOT) for url in web.requested] == ["i.xml", "inner.xml", "1.xml", "2.xml"]


@pytest.mark.parametrize("multi_thread", ["true", "false"])
def test_index_of_very_many_sitemaps_keeps_the_queue_bounded(multi_thread: str) -> None:
    most = 0

    def watch(crawler) -> None:
        def scheduled() -> None:
            nonlocal most
            most = max(most, len(crawler.engine.scheduler))

        crawler.signals.connect(scheduled, signals.request_scheduled, weak=False)

    many = index(*(f"/{number}.xml" for number in range(50_000)))
    with MockWeb({ROOT + "i.xml": many}, lambda url: Answer(urlset("/x").encode())) as web:
        result = crawl(web, ROOT + "i.xml", max_sitemaps="20", multi_thread=multi_thread, prepare=watch)
    assert len(web.requested) == 21
    assert most <= 20
    assert len(result.sitemaps) == 20
    assert result.problems == [("parse", ROOT + "i.xml", "max_sitemaps")]
    assert result.stats["sitemapcrawl/sitemaps/left_out"] == 49_980


@pytest.mark.parametrize(("limit", "problems"), [("3", 1), ("4", 0), ("5", 0)])
def test_max_urls_is_an_error_only_if_something_is_left(limit: str, problems: int) -> None:
    pages = {ROOT + "i.xml": index("/a.xml", "/b.xml"), ROOT + "a.xml": urlset("/1", "/2"), ROOT + "b.xml": urlset("/3", "/4")}
    for settings in ({}, {"SITEMAPCRAWL_BATCH_SIZE": 1}):
        for multi_thread in ("true", "false"):
            with MockWeb(pages) as web:
                result = crawl(web, ROOT + "i.xml", settings, max_urls=limit, multi_thread=multi_thread)
            assert len(result.pages) == min(4, int(limit))
            assert result.problems == [("parse", ROOT + "i.xml", "max_urls")] * problems


def test_max_urls_stops_what_waits_at_once() -> None:
    pages = {ROOT + "i.xml": index("/a.xml", *(f"/{number}.xml" for number in range(5_000)))}
    with MockWeb(pages, lambda url: Answer(urlset("/1", "/2").encode())) as web:
        started = time.process_time()
        result = crawl(web, ROOT + "i.xml", max_urls="1", multi_thread="false")
    assert len(web.requested) == 2
    assert time.process_time() - started < 10
    assert result.problems == [("parse", ROOT + "i.xml", "max_urls")]


def test_index_at_max_depth_that_leads_nowhere_new_is_no_error() -> None:
    pages = {ROOT + "i.xml": index("/inner.xml"), ROOT + "inner.xml": index("/i.xml", "/inner.xml")}
    with MockWeb(pages) as web:
        assert crawl(web, ROOT + "i.xml", max_depth="1").errors == []


def test_validation_errors_beyond_their_limit_are_one_error() -> None:
    with MockWeb({ROOT: urlset(*(f"ftp://example.com/{number}" for number in range(2_500)), "/ok")}) as web:
        result = crawl(web, ROOT, max_validation_errors="3")
    assert [problem[0] for problem in result.problems] == ["validation"] * 3 + ["parse"]
    assert result.locations == [ROOT + "ok"]


# Requests


def test_same_sitemap_is_the_same_url_character_by_character() -> None:
    pages = {
        ROOT + "i.xml": index("/s?a=1&amp;b=2", "/s?b=2&amp;a=1", "/s?a=1&amp;b=2#part", "/i.xml#top"),
        ROOT + "s?a=1&b=2": urlset("/1"),
        ROOT + "s?b=2&a=1": urlset("/2"),
    }
    with MockWeb(pages) as web:
        result = crawl(web, ROOT + "i.xml")
    assert sorted(web.requested) == sorted(pages)
    assert sorted(result.locations) == [ROOT + "1", ROOT + "2"]


def test_redirect_to_a_document_that_was_read_is_passed_over() -> None:
    pages = {
        ROOT + "i.xml": index("/a.xml", "/b.xml"),
        ROOT + "a.xml": urlset("/1"),
        ROOT + "b.xml": Answer(status=302, headers={"Location": "/a.xml"}),
    }
    with MockWeb(pages) as web:
        result = crawl(web, ROOT + "i.xml", multi_thread="false")
    assert (result.locations, result.errors) == ([ROOT + "1"], [])


@pytest.mark.parametrize("target", ["ftp://example.com/a.xml", "file:///etc/passwd", "data:text/plain,http://a.example/"])
def test_redirect_to_another_scheme_is_not_followed(target: str) -> None:
    with MockWeb({ROOT: Answer(status=302, headers={"Location": target})}) as web:
        result = crawl(web, ROOT)
    assert result.problems == [("network", ROOT, None)]
    assert "302" in result.errors[0]["message"]
    assert result.exit_status == 1


def test_redirect_loop_ends() -> None:
    with MockWeb({ROOT: Answer(status=302, headers={"Location": "/"})}) as web:
        result = crawl(web, ROOT)
    assert len(web.requested) == 11
    assert "redirects" in result.errors[0]["message"]


def test_file_and_ftp_locations_are_not_requested() -> None:
    with MockWeb({ROOT: index("file:///etc/passwd", "ftp://example.com/a.xml", "data:,x")}) as web:
        result = crawl(web, ROOT)
    assert web.requested == [ROOT]
    assert {problem[0] for problem in result.problems} == {"validation"}


@pytest.mark.parametrize("status", [429, 500, 503, 599])
def test_failure_that_may_pass_is_tried_twice_more(status: int) -> None:
    with MockWeb({ROOT: Answer(status=status)}) as web:
        result = crawl(web, ROOT)
    assert len(web.requested) == 3
    assert result.problems == [("network", ROOT, None)]
    assert str(status) in result.errors[0]["message"]


def test_given_timeout_holds_for_every_try() -> None:
    # Any try that waited longer would get the answer.
    with MockWeb({ROOT: Answer(urlset("/1").encode(), delay=2)}) as web:
        result = crawl(web, ROOT, fetch_timeout="1")
    assert len(web.requested) == 3
    assert result.pages == []
    assert "fetch_timeout" in result.errors[0]["message"]


def test_slow_server_gets_more_time_where_no_timeout_is_given() -> None:
    settings = {"SITEMAPCRAWL_TIMEOUT_FIRST": 1, "SITEMAPCRAWL_TIMEOUT_RETRIES": [10, 30]}
    with MockWeb({ROOT: Answer(urlset("/1").encode(), delay=2)}) as web:
        result = crawl(web, ROOT, settings)
    assert result.locations == [ROOT + "1"]
    assert len(web.requested) == 2


def test_byte_a_second_ends() -> None:
    # It would have arrived after three seconds, and would be read.
    with MockWeb({ROOT: Answer(urlset("/1").encode(), chunks=6, pause=0.5)}) as web:
        result = crawl(web, ROOT, {"RETRY_TIMES": 0}, fetch_timeout="1")
    assert result.pages == []
    assert result.problems == [("network", ROOT, None)]


def test_connection_refused_is_told() -> None:
    result = crawl(None, "http://127.0.0.1:1/sitemap.xml")
    assert result.problems == [("network", "http://127.0.0.1:1/sitemap.xml", None)]
    assert "3 tries" in result.errors[0]["message"]


def test_body_that_is_cut_off_is_an_error() -> None:
    with MockWeb({ROOT: Answer(b"http://example.com/1\nhttp://exa", length=500)}) as web:
        result = crawl(web, ROOT)
    assert (result.pages, [problem[0] for problem in result.problems]) == ([], ["network"])


# Bodies


def test_content_encoding_is_undone() -> None:
    body = gzip.compress(urlset("/1").encode())
    with MockWeb({ROOT: Answer(body, headers={"Content-Encoding": "gzip"})}) as web:
        assert crawl(web, ROOT).locations == [ROOT + "1"]


def test_content_encoding_that_is_cut_off_is_an_error() -> None:
    body = gzip.compress("\n".join(f"http://example.com/{number}" for number in range(1_000)).encode())
    with MockWeb({ROOT: Answer(body[:-20], headers={"Content-Encoding": "gzip"})}) as web:
        result = crawl(web, ROOT)
    assert (result.pages, result.problems) == ([], [("network", ROOT, None)])


def test_content_encoding_that_is_a_lie_is_passed_over() -> None:
    with MockWeb({ROOT: Answer(urlset("/1").encode(), headers={"Content-Encoding": "gzip"})}) as web:
        assert crawl(web, ROOT).locations == [ROOT + "1"]


@pytest.mark.parametrize("encoding", ["gzip", "deflate"])
def test_content_encoding_over_the_limit_is_a_network_error(encoding: str) -> None:
    import zlib

    content = urlset("/1").encode() + b" " * 100_000
    body = gzip.compress(content) if encoding == "gzip" else zlib.compress(content)
    with MockWeb({ROOT: Answer(body, headers={"Content-Encoding": encoding})}) as web:
        result = crawl(web, ROOT, {"LOG_LEVEL": "CRITICAL"}, max_response_size="50000")
    assert result.problems == [("network", ROOT, "max_response_size")]


@pytest.mark.parametrize("length", [None, -1])
def test_response_over_the_limit_is_a_network_error(length: int | None) -> None:
    with MockWeb({ROOT: Answer(urlset("/1").encode() + b" " * 1_000, length=length)}) as web:
        result = crawl(web, ROOT, {"LOG_LEVEL": "CRITICAL"}, max_response_size="500")
    assert result.problems == [("network", ROOT, "max_response_size")]


def test_content_of_a_file_is_read_and_nothing_is_requested(tmp_path) -> None:
    (tmp_path / "file").write_text(urlset("/1"))
    with MockWeb() as web:
        result = crawl(web, ROOT + "s.xml", content=str(tmp_path / "file"))
    assert (result.locations, web.requested, result.exit_status) == ([ROOT + "1"], [], 0)


def test_content_over_the_limit_is_a_parse_error(tmp_path) -> None:
    (tmp_path / "file").write_text(urlset("/1"))
    result = crawl(None, ROOT, content=str(tmp_path / "file"), max_response_size="10")
    assert (result.problems, result.exit_status) == ([("parse", ROOT, "max_response_size")], 1)


# The end


def test_crawl_that_is_cut_short_says_so_and_keeps_what_it_has() -> None:
    pages = {ROOT + "i.xml": index("/a.xml", "/b.xml", "/c.xml"), ROOT + "a.xml": urlset("/1")}
    with MockWeb(pages, lambda url: Answer(urlset("/2").encode(), delay=1.5)) as web:
        result = crawl(web, ROOT + "i.xml", {"CLOSESPIDER_TIMEOUT": 1}, max_concurrency="2")
    assert ROOT + "1" in result.locations
    assert len(result.sitemaps) == 3
    assert (result.problems, result.exit_status) == ([("parse", ROOT + "i.xml", None)], 1)
    assert "cut short" in result.errors[0]["message"]


def test_crawl_whose_first_request_is_cut_short_has_one_network_error() -> None:
    with MockWeb({ROOT: Answer(delay=5)}) as web:
        result = crawl(web, ROOT, {"CLOSESPIDER_TIMEOUT": 1, "RETRY_TIMES": 0}, fetch_timeout="2")
    assert (result.problems, result.exit_status) == ([("network", ROOT, None)], 1)


def test_sample_is_delivered_at_the_end_without_duplicates() -> None:
    with MockWeb({ROOT: urlset(*(f"/{number}" for number in range(3_000)))}) as web:
        result = crawl(web, ROOT, sample="50")
    assert len(set(result.locations)) == len(result.locations) == 50
    assert result.stats["sitemapcrawl/pages"] == 3_000


def test_batch_size_of_one_gives_extensions_single_pages() -> None:
    items = []

    def watch(crawler) -> None:
        crawler.signals.connect(lambda item: items.append(item), signals.item_scraped, weak=False)

    with MockWeb({ROOT: urlset("/1", "/2")}) as web:
        result = crawl(web, ROOT, {"SITEMAPCRAWL_BATCH_SIZE": 1}, prepare=watch)
    assert [item.loc for item in items] == result.locations == [ROOT + "1", ROOT + "2"]
    assert result.stats["item_scraped_count"] == 2


def test_errors_are_sent_in_lists() -> None:
    sizes = []

    def watch(crawler) -> None:
        crawler.signals.connect(lambda errors: sizes.append(len(errors)), our_signals.errors_found, weak=False)

    with MockWeb({ROOT: urlset(*["ftp://example.com/"] * 2_500)}) as web:
        crawl(web, ROOT, {"SITEMAPCRAWL_BATCH_SIZE": 1_000}, prepare=watch)
    assert sizes == [1_000, 1_000, 500]


def test_summary_is_readable(caplog: pytest.LogCaptureFixture) -> None:
    pages = {ROOT: index("/a.xml", "/b.xml"), ROOT + "a.xml": urlset("/1", "ftp://x/")}
    with MockWeb(pages) as web, caplog.at_level(logging.INFO):
        crawl(web, ROOT, {"LOG_LEVEL": "INFO"})
    summary = next(record.getMessage() for record in caplog.records if record.getMessage().startswith("Finished"))
    assert "2 read, 1 failed, 0 left out" in summary
    assert "status 404" in summary


def test_documents_are_read_in_one_thread_that_is_not_the_event_loops(monkeypatch: pytest.MonkeyPatch) -> None:
    threads = set()

    class Document:
        kind = "urlset"

        def batches(self, size: int):
            for number in range(5):
                threads.add(threading.get_ident())
                yield [Page(f"{ROOT}{number}")]

    def read(*args: object, **kwargs: object) -> Document:
        threads.add(threading.get_ident())
        return Document()

    monkeypatch.setattr("sitemapcrawl.spiders.sitemap.read", read)
    with MockWeb({ROOT: ""}) as web:
        assert len(crawl(web, ROOT).pages) == 5
    assert len(threads) == 1
    assert threading.get_ident() not in threads


def test_mistake_of_the_reader_costs_one_document(monkeypatch: pytest.MonkeyPatch) -> None:
    def read(*args: object, **kwargs: object) -> None:
        raise KeyError("oops")

    monkeypatch.setattr("sitemapcrawl.spiders.sitemap.read", read)
    with MockWeb({ROOT: ""}) as web:
        result = crawl(web, ROOT, {"LOG_LEVEL": "CRITICAL"})
    assert (result.problems, result.exit_status) == ([("parse", ROOT, None)], 1)
    assert "KeyError: 'oops'" in result.errors[0]["message"]


def test_event_loop_stays_responsive_while_a_large_document_is_read() -> None:
    gaps = []

    async def watch_loop() -> None:
        while True:
            # What this thread works, in which nothing else is done: by the clock, a busy machine would make gaps, too.
            before = time.thread_time()
            await asyncio.sleep(0.01)
            gaps.append(time.thread_time() - before)

    def prepare(crawler) -> None:
        tasks = []
        crawler.signals.connect(lambda: tasks.append(asyncio.ensure_future(watch_loop())), signals.spider_opened, weak=False)
        crawler.signals.connect(lambda: tasks[0].cancel(), signals.spider_closed, weak=False)

    with MockWeb({ROOT: urlset(*(f"/{number}" for number in range(100_000)))}) as web:
        result = crawl(web, ROOT, prepare=prepare, fetch_timeout="30")
    assert len(result.pages) == 100_000
    assert max(gaps) < 0.5


def test_crawl_below_an_index_that_is_cut_off_is_cut_short_all_the_same() -> None:
    cut_off = index("/a.xml", "/b.xml").removesuffix("</sitemapindex>")
    with MockWeb({ROOT + "i.xml": cut_off}, lambda url: Answer(urlset("/1").encode(), delay=1.5)) as web:
        result = crawl(web, ROOT + "i.xml", {"CLOSESPIDER_TIMEOUT": 1}, multi_thread="false")
    assert [(problem[0], problem[1]) for problem in result.problems] == [("parse", ROOT + "i.xml")] * 2
    assert "cut off" in result.errors[0]["message"]
    assert "cut short" in result.errors[1]["message"]


def test_sitemap_that_would_have_been_tried_again_is_reported_when_the_crawl_is_cut_short() -> None:
    pages = {ROOT + "i.xml": index("/a.xml", "/b.xml"), ROOT + "a.xml": Answer(status=503, delay=1.5)}
    with MockWeb(pages) as web:
        result = crawl(web, ROOT + "i.xml", {"CLOSESPIDER_TIMEOUT": 1}, multi_thread="false")
    assert web.requested == [ROOT + "i.xml", ROOT + "a.xml"]
    assert result.problems == [("network", ROOT + "a.xml", None), ("parse", ROOT + "i.xml", None)]


def test_what_is_left_at_max_urls_is_not_read_whatever_is_wrong_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    class Document:
        kind = "urlset"

        def batches(self, size: int):
            yield [Page(f"{ROOT}1")]
            raise KeyError("oops")

    monkeypatch.setattr("sitemapcrawl.spiders.sitemap.read", lambda *args, **kwargs: Document())
    with MockWeb({ROOT: ""}) as web:
        result = crawl(web, ROOT, max_urls="1")
    assert (len(result.pages), result.problems) == (1, [("parse", ROOT, "max_urls")])


def test_error_does_not_keep_the_document_that_it_is_about() -> None:
    kept = []

    def watch(crawler) -> None:
        crawler.signals.connect(lambda errors: kept.extend(errors), our_signals.errors_found, weak=False)

    with MockWeb({ROOT: Answer(gzip.compress(b" " * 1_000)[:-9])}) as web:
        crawl(web, ROOT, prepare=watch)
    assert [(error.__traceback__, error.__context__) for error in kept] == [(None, None)]


def test_a_robots_txt_under_another_name_is_told(caplog: pytest.LogCaptureFixture) -> None:
    robots = f"# the sitemap\nuser-agent: *\nDisallow: /a\n{ROOT}sitemap.xml\n"
    with MockWeb({ROOT + "my-robots.txt": robots, ROOT + "pages.txt": f"call: 0123\n{ROOT}1"}) as web:
        first = crawl(web, ROOT + "my-robots.txt")
        assert f"{ROOT}my-robots.txt was read as a text sitemap" in caplog.text
        caplog.clear()
        crawl(web, ROOT + "pages.txt")
    assert (first.locations, first.errors, first.exit_status) == ([ROOT + "sitemap.xml"], [], 0)
    assert "robots" not in caplog.text


def test_home_page_as_start_gets_a_hint_and_one_that_is_listed_does_not() -> None:
    pages = {ROOT: "<html></html>", ROOT + "i.xml": index("/a.xml"), ROOT + "a.xml": "<html></html>"}
    with MockWeb(pages) as web:
        start, listed = crawl(web, ROOT), crawl(web, ROOT + "i.xml")
    assert "try 'http://example.com/robots.txt'" in start.errors[0]["message"]
    assert "robots" not in listed.errors[0]["message"]


def test_several_starts_in_one_url_get_a_hint() -> None:
    with MockWeb({}) as web:
        result = crawl(web, f"{ROOT}a.xml,{ROOT}b.xml")
    assert "status 404" in result.errors[0]["message"]
    assert "several starts" in result.errors[0]["message"]
