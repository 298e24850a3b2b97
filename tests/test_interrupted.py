"""Crawls with JOBDIR that are interrupted at random moments, by Ctrl-C and by ``kill -9``, and started again."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from sitemapcrawl.journal import Journal
from sitemapcrawl.spiders._journalled import JOURNAL
from sitemapcrawl.spiders.sitemap import SitemapSpider
from tests.crawling import PROXIES, crawl, read_records
from tests.mockweb import Answer, MockWeb, index, urlset

if TYPE_CHECKING:
    from collections.abc import Callable

PROJECT = Path(__file__).parents[1]
ROOT = "http://example.com/"
SITEMAPS = 200
PAGES = 20
LARGE, MANY = 10, 2_000  # every tenth sitemap is large, so that some are under way for a while
KINDS = ("pages", "sitemaps", "errors")


def pages_of(number: int) -> list[str]:
    return [f"{ROOT}{number}/{page}" for page in range(MANY if number % LARGE == 0 else PAGES)]


def answer(url: str) -> Answer:
    """Return an index of two indexes, each of a hundred sitemaps; each sitemap has an entry that is no page."""
    name = url.removeprefix(ROOT).removesuffix(".xml")
    if name == "index":
        return Answer(index("/index-0.xml", "/index-1.xml", "/lost.xml").encode())
    if name.startswith("index-"):
        half = int(name[-1])
        return Answer(index(*(f"/{number}.xml" for number in range(half, SITEMAPS, 2))).encode())
    if not name.isdigit():
        return Answer(status=404)
    return Answer(urlset(*pages_of(int(name)), f"ftp://example.com/{name}").encode(), delay=0.02)


ALL_PAGES = [location for number in range(SITEMAPS) for location in pages_of(number)]
ALL_SITEMAPS = [f"{ROOT}{name}.xml" for name in ("index-0", "index-1", "lost", *range(SITEMAPS))]
ALL_ERRORS = [f"ftp://example.com/{number}" for number in range(SITEMAPS)] + [f"{ROOT}lost.xml"]


class Job:
    """A crawl with a JOBDIR, which processes work on one after the other."""

    def __init__(self, web: MockWeb, folder: Path, *arguments: str, pages: str = "-o") -> None:
        self.web = web
        self.files = {kind: folder / f"{kind}.jsonl" for kind in KINDS}
        self._command = [
            sys.executable, "-m", "scrapy", "crawl", "sitemap", "-s", f"JOBDIR={folder / 'job'}", pages, str(self.files["pages"]),
            "-a", f"sitemaps={self.files['sitemaps']}", "-a", f"errors={self.files['errors']}", "-a", "max_concurrency=8",
            *arguments,
        ]  # fmt: skip
        self.log = ""

    def start(self) -> subprocess.Popen[str]:
        environment = {name: value for name, value in os.environ.items() if name not in PROXIES}
        environment["http_proxy"] = self.web.address
        return subprocess.Popen(self._command, cwd=PROJECT, env=environment, text=True, stderr=subprocess.PIPE)

    def run(self, interrupt: signal.Signals | None = None, after: int = 0) -> int:
        """Work until the crawl ends, or until the web has been asked *after* times and a little later is interrupted."""
        process = self.start()
        if interrupt is not None:
            until, asked = time.monotonic() + 30, len(self.web.requested)
            while len(self.web.requested) < asked + after and process.poll() is None and time.monotonic() < until:
                time.sleep(0.002)
            time.sleep(random.uniform(0, 0.02))
            process.send_signal(interrupt)
        _, log = process.communicate(timeout=60)
        assert "Traceback" not in log, log
        self.log += log
        return process.returncode

    def records(self, kind: str) -> list[dict[str, Any]]:
        return read_records(self.files[kind])


@pytest.mark.parametrize(
    ("interrupts", "arguments"),
    [
        ([signal.SIGINT] * 3, []),
        ([signal.SIGKILL] * 6, []),
        ([signal.SIGKILL, signal.SIGINT], ["-a", "multi_thread=false"]),
    ],
    ids=["Ctrl-C", "kill -9", "both, one at a time"],
)
def test_every_page_is_delivered_once_however_often_the_crawl_is_interrupted(
    interrupts: list[signal.Signals], arguments: list[str], tmp_path: Path
) -> None:
    with MockWeb(answer=answer) as web:
        job = Job(web, tmp_path, "-a", f"url={ROOT}index.xml", *arguments)
        for interrupt in interrupts:
            # So few that some are left to the last.
            assert job.run(interrupt, after=random.randrange(1, 45 if len(interrupts) < 4 else 25)) != 0
        assert job.run() == 0
        # What a document under way had written is cut off when the crawl is resumed, so that it is not there twice.
        assert Counter(page["loc"] for page in job.records("pages")) == Counter(ALL_PAGES)
        assert Counter(entry["loc"] for entry in job.records("sitemaps")) == Counter(ALL_SITEMAPS)
        assert Counter(error["url"] for error in job.records("errors")) == Counter(ALL_ERRORS)
        if signal.SIGKILL not in interrupts:
            assert len(web.requested) == len(set(web.requested)) == SITEMAPS + 4
        requested = len(web.requested)
        assert job.run() == 0  # there is nothing left to do
        assert (len(web.requested), len(job.records("pages"))) == (requested, len(ALL_PAGES))


@pytest.mark.parametrize(("limit", "kind"), [("max_urls=10000", "pages"), ("max_sitemaps=150", "sitemaps")])
def test_limits_hold_for_all_runs_together(limit: str, kind: str, tmp_path: Path) -> None:
    with MockWeb(answer=answer) as web:
        job = Job(web, tmp_path, "-a", f"url={ROOT}index.xml", "-a", limit, "-a", "max_validation_errors=3")
        for interrupt in (signal.SIGKILL, signal.SIGINT, signal.SIGKILL):
            job.run(interrupt, after=random.randrange(1, 12))
        assert job.run() == 0
    name, _, most = limit.partition("=")
    found = [record["loc"] for record in job.records(kind)]
    assert len(set(found)) == len(found) == int(most)
    errors = job.records("errors")
    assert sum(error["type"] == "validation" for error in errors) == 3
    assert sorted(error["limit"] for error in errors if error["limit"]) == sorted([name, "max_validation_errors"])


def test_several_starts_go_on_where_they_were(tmp_path: Path) -> None:
    starts = tmp_path / "starts.txt"
    starts.write_text("\n".join(f"{ROOT}{number}.xml" for number in range(100)) + "\nhttp://lost.example/\n")
    with MockWeb(answer=answer) as web:
        job = Job(web, tmp_path, "-a", f"urls_file={starts}", pages="-O")
        for interrupt in (signal.SIGKILL, signal.SIGKILL, signal.SIGINT):
            assert job.run(interrupt, after=random.randrange(1, 15)) != 0
        assert job.run() == 1  # one of them cannot be fetched
    pages = Counter((page["loc"], page["start"]) for page in job.records("pages"))
    assert pages == Counter((loc, f"{ROOT}{number}.xml") for number in range(100) for loc in pages_of(number))
    assert sum(error["type"] == "network" for error in job.records("errors")) == 1


# In this process


def interrupt_after(count: int) -> dict[str, Any]:
    return {"CLOSESPIDER_PAGECOUNT": count}


def crawl_twice(folder: Path, name: str, first: Callable[[], None] | None = None, **options: Any) -> list[Any]:
    """Interrupt a crawl of three sitemaps after the first, and go on; return what each run left behind."""
    web = {ROOT + "i.xml": index("/a.xml", "/b.xml", "/c.xml")}
    web |= {f"{ROOT}{letter}.xml": urlset(f"/{letter}1", f"/{letter}2") for letter in "abc"}
    feeds = {
        "FEEDS": {str(folder / name): {"format": Path(name).suffix[1:], **options.pop("feed", {})}},
        "JOBDIR": str(folder / "job"),
    }
    with MockWeb(web) as served:
        results = [crawl(served, ROOT + "i.xml", {**feeds, **interrupt_after(2)}, multi_thread="false", **options)]
        if first:
            first()
        results.append(crawl(served, ROOT + "i.xml", feeds, multi_thread="false", **options))
    assert sorted(served.requested) == sorted(web)
    return results


def test_a_feed_that_overwrites_is_continued(tmp_path: Path) -> None:
    (tmp_path / "p.jsonl").write_text("of an earlier crawl\n")
    crawl_twice(tmp_path, "p.jsonl", feed={"overwrite": True})
    assert [page["loc"][-2:] for page in read_records(tmp_path / "p.jsonl")] == ["a1", "a2", "b1", "b2", "c1", "c2"]


def test_a_crawl_that_is_interrupted_is_not_reported_as_cut_short(tmp_path: Path) -> None:
    first, second = crawl_twice(tmp_path, "p.jsonl")
    assert (first.errors, first.sitemaps, first.exit_status) == ([], [], 1)
    assert ([entry["loc"] for entry in second.sitemaps], second.exit_status) == ([f"{ROOT}{name}.xml" for name in "abc"], 0)


def test_csv_is_continued_without_a_second_header(tmp_path: Path) -> None:
    crawl_twice(tmp_path, "p.csv")
    lines = (tmp_path / "p.csv").read_text().splitlines()
    assert [line.partition(",")[0].removeprefix(ROOT) for line in lines] == ["loc", "a1", "a2", "b1", "b2", "c1", "c2"]


@pytest.mark.parametrize(("first", "then"), [("true", "false"), ("false", "true")])
def test_a_crawl_may_go_on_in_another_order(first: str, then: str, tmp_path: Path) -> None:
    feeds = {"FEEDS": {str(tmp_path / "p.jsonl"): {"format": "jsonl"}}, "JOBDIR": str(tmp_path / "job")}
    web = {ROOT + "i.xml": index(*(f"/{number}.xml" for number in range(9)))}
    with MockWeb(web, lambda url: Answer(urlset(url + "#page").encode())) as served:
        crawl(served, ROOT + "i.xml", {**feeds, **interrupt_after(3)}, multi_thread=first, max_concurrency="2", max_sitemaps="9")
        result = crawl(served, ROOT + "i.xml", feeds, multi_thread=then, max_sitemaps="9")
    assert (len(served.requested), len(read_records(tmp_path / "p.jsonl"))) == (10, 9)
    assert (result.errors, result.exit_status) == ([], 0)


def test_items_that_come_from_elsewhere_are_not_cut_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    deliver = SitemapSpider.deliver

    async def deliver_another(spider: Any, *arguments: Any) -> None:
        await deliver(spider, *arguments)
        await spider.crawler.engine.scraper.start_itemproc_async({"loc": "mine"}, response=None)

    monkeypatch.setattr(SitemapSpider, "deliver", deliver_another)

    def append() -> None:
        with (tmp_path / "p.jsonl").open("a") as file:
            file.write('{"loc":"mine"}\n{"loc":"torn')

    crawl_twice(tmp_path, "p.jsonl", append)
    assert Counter(page["loc"] for page in read_records(tmp_path / "p.jsonl"))["mine"] == 4


def test_what_was_written_after_the_last_document_is_cut_off(tmp_path: Path) -> None:
    def tear() -> None:
        with (tmp_path / "p.jsonl").open("a") as file:
            file.write('{"loc":"http://example.com/b1"}\n{"loc":"http://exam')

    crawl_twice(tmp_path, "p.jsonl", tear)
    assert len(read_records(tmp_path / "p.jsonl")) == 6


def test_a_torn_line_of_a_file_that_was_changed_is_cut_off(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    crawl_twice(tmp_path, "p.jsonl", lambda: os.truncate(tmp_path / "p.jsonl", 80))
    assert [page["loc"][-2:] for page in read_records(tmp_path / "p.jsonl")] == ["a1", "b1", "b2", "c1", "c2"]
    assert "it had" in caplog.text


def test_files_of_so_many_pages_are_continued_with_a_new_one(tmp_path: Path) -> None:
    crawl_twice(tmp_path, "p-%(batch_id)d.jsonl", feed={"batch_item_count": 4})
    found = [len(read_records(tmp_path / f"p-{number}.jsonl")) for number in (1, 2, 3)]
    assert found == [2, 4, 0]


@pytest.mark.parametrize("batch_size", [1, 2_000])
def test_files_of_so_many_pages_are_whole_after_any_number_of_runs(tmp_path: Path, batch_size: int) -> None:
    """A file that was filled up in a document keeps the pages of those before it and of that one."""
    web = {ROOT + "i.xml": index(*(f"/{letter}.xml" for letter in "abcdef"))}
    web |= {f"{ROOT}{letter}.xml": urlset(*(f"/{letter}{number}" for number in range(3))) for letter in "abcdef"}
    settings = {
        "FEEDS": {str(tmp_path / "p-%(batch_id)d.jsonl"): {"format": "jsonl", "batch_item_count": 4}},
        "JOBDIR": str(tmp_path / "job"), "SITEMAPCRAWL_BATCH_SIZE": batch_size, **interrupt_after(3),
    }  # fmt: skip
    with MockWeb(web) as served:
        statuses = [crawl(served, ROOT + "i.xml", settings, multi_thread="false").exit_status for _ in range(3)]
    assert statuses == [1, 1, 0]
    pages = [page["loc"] for path in tmp_path.glob("p-*.jsonl") for page in read_records(path)]
    assert sorted(pages) == [f"{ROOT}{letter}{number}" for letter in "abcdef" for number in range(3)]


def test_another_crawl_in_the_same_folder_is_a_wrong_option(tmp_path: Path) -> None:
    settings = {"JOBDIR": str(tmp_path)}
    with MockWeb({ROOT: urlset("/1"), ROOT + "other": urlset("/2")}) as web:
        assert crawl(web, ROOT, settings).exit_status == 0
        result = crawl(web, ROOT + "other", settings)
    assert (result.exit_status, len(web.requested)) == (2, 1)
    assert ROOT in result.errors[0]["message"]


def test_what_is_found_wrong_late_does_not_cost_the_files_of_an_earlier_crawl(tmp_path: Path) -> None:
    files = {name: tmp_path / name for name in ("p.jsonl", "s.jsonl", "lint.jsonl")}
    feeds = {str(files["p.jsonl"]): {"format": "jsonl", "overwrite": True}}
    settings = {"JOBDIR": str(tmp_path / "job"), "FEEDS": feeds}
    options = {"sitemaps": str(files["s.jsonl"]), "lint": str(files["lint.jsonl"])}
    with MockWeb({ROOT: index("/a.xml"), ROOT + "a.xml": urlset("/1")}) as web:
        crawl(web, ROOT, settings, **options)
        before = {name: path.read_text() for name, path in files.items()}
        result = crawl(web, ROOT + "other", settings, **options)
    assert result.exit_status == 2
    assert all(before.values())
    assert {name: path.read_text() for name, path in files.items()} == before


def test_findings_are_continued(tmp_path: Path) -> None:
    path = tmp_path / "lint.jsonl"
    with MockWeb({ROOT: index("/a.xml", "/b.xml"), ROOT + "a.xml": urlset("/1"), ROOT + "b.xml": urlset("/2")}) as web:
        options = {"lint": str(path), "multi_thread": "false"}
        crawl(web, ROOT, {"JOBDIR": str(tmp_path / "job"), **interrupt_after(1)}, **options)
        assert {finding["file"] for finding in read_records(path)} < {ROOT, ROOT + "a.xml", ROOT + "b.xml"}
        crawl(web, ROOT, {"JOBDIR": str(tmp_path / "job")}, **options)
    assert {finding["file"] for finding in read_records(path)} == {ROOT, ROOT + "a.xml", ROOT + "b.xml"}


def test_a_sample_is_a_wrong_option(tmp_path: Path) -> None:
    result = crawl(None, ROOT, {"JOBDIR": str(tmp_path)}, sample="5")
    assert (result.exit_status, result.problems) == (2, [("config", ROOT, None)])


def test_content_of_a_file_is_read_once(tmp_path: Path) -> None:
    (tmp_path / "file").write_text(index("/a.xml", "/b.xml"))
    feeds = {"FEEDS": {str(tmp_path / "p.jsonl"): {"format": "jsonl"}}, "JOBDIR": str(tmp_path / "job")}
    with MockWeb({ROOT + "a.xml": urlset("/1"), ROOT + "b.xml": urlset("/2")}) as web:
        options = {"content": str(tmp_path / "file"), "multi_thread": "false"}
        crawl(web, ROOT + "i.xml", {**feeds, **interrupt_after(1)}, **options)
        result = crawl(web, ROOT + "i.xml", feeds, **options)
    assert [page["loc"] for page in read_records(tmp_path / "p.jsonl")] == [ROOT + "1", ROOT + "2"]
    assert (result.exit_status, len(result.sitemaps), len(web.requested)) == (0, 2, 2)


def test_feeds_that_cannot_be_continued_are_told(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    feeds = {str(tmp_path / "p.json"): {"format": "json"}, str(tmp_path / "p.csv"): {"format": "csv"}}
    with MockWeb({ROOT: urlset("/1")}) as web:
        crawl(web, ROOT, {"FEEDS": feeds, "JOBDIR": str(tmp_path / "job")})
    assert "p.json" in caplog.text
    assert "p.csv" not in caplog.text


def test_a_crawl_ends_where_its_state_cannot_be_saved_and_goes_on_from_there(tmp_path: Path) -> None:
    from sitemapcrawl.signals import documents_saving

    def spoil(crawler: Any) -> None:
        def full() -> None:
            if crawler.stats.get_value("sitemapcrawl/pages") == 2:  # of the first sitemap; the disk has room again later
                raise OSError("no space left on device")

        crawler.signals.connect(full, documents_saving, weak=False)

    feeds = {"FEEDS": {str(tmp_path / "p.jsonl"): {"format": "jsonl"}}, "JOBDIR": str(tmp_path / "job"), "LOG_LEVEL": "CRITICAL"}
    web = {ROOT: index("/a.xml", "/b.xml", "/c.xml")} | {f"{ROOT}{name}.xml": urlset(f"/{name}1", f"/{name}2") for name in "abc"}
    with MockWeb(web) as served:
        first = crawl(served, ROOT, feeds, prepare=spoil, multi_thread="false")
        second = crawl(served, ROOT, feeds, multi_thread="false")
    assert (first.exit_status, second.exit_status) == (1, 0)
    assert first.stats["finish_reason"] == "not_saved"
    assert [page["loc"][-2:] for page in read_records(tmp_path / "p.jsonl")] == ["a1", "a2", "b1", "b2", "c1", "c2"]
    assert served.requested.count(ROOT + "a.xml") == 2


@pytest.mark.parametrize("folder", ["file", "file/job"])
def test_a_folder_that_cannot_be_made_is_a_wrong_option(tmp_path: Path, folder: str) -> None:
    (tmp_path / "file").touch()
    result = crawl(None, ROOT, {"JOBDIR": str(tmp_path / folder)})
    assert (result.exit_status, [error["type"] for error in result.errors]) == (2, ["config"])
    assert folder in result.errors[0]["message"]


def test_a_second_process_leaves_the_files_of_the_first_alone(tmp_path: Path) -> None:
    (tmp_path / "e.jsonl").write_text("of the first\n")
    (tmp_path / "job").mkdir()
    journal = Journal(str(tmp_path / "job" / JOURNAL))
    try:
        result = crawl(None, ROOT, {"JOBDIR": str(tmp_path / "job")}, errors=str(tmp_path / "e.jsonl"))
    finally:
        journal.close()
    assert (result.exit_status, result.stats["sitemapcrawl/errors/config"]) == (2, 1)
    assert (tmp_path / "e.jsonl").read_text() == "of the first\n"


def test_a_wrong_option_in_between_costs_no_error(tmp_path: Path) -> None:
    settings = {"JOBDIR": str(tmp_path / "job")}
    options = {"errors": str(tmp_path / "e.jsonl"), "multi_thread": "false"}
    with MockWeb({ROOT: index("/lost.xml", "/a.xml"), ROOT + "a.xml": urlset("/1")}) as web:
        crawl(web, ROOT, {**settings, **interrupt_after(2)}, **options)
        assert crawl(web, ROOT, settings, **options, max_depth="0").exit_status == 2
        assert [error["type"] for error in read_records(tmp_path / "e.jsonl")] == ["network", "config"]
        assert crawl(web, ROOT, settings, **options).exit_status == 0
    assert [error["type"] for error in read_records(tmp_path / "e.jsonl")] == ["network"]


@pytest.mark.parametrize("name", ["requests.queue/active.json", "spider.state"])
def test_a_file_of_scrapy_that_was_cut_off_does_not_keep_a_crawl_from_going_on(
    tmp_path: Path, name: str, caplog: pytest.LogCaptureFixture
) -> None:
    crawl_twice(tmp_path, "p.jsonl", lambda: (tmp_path / "job" / name).write_bytes(b"") and None)
    assert len(read_records(tmp_path / "p.jsonl")) == 6
    assert "Traceback" not in caplog.text


def test_requests_that_wait_for_a_delay_are_left_for_the_next_run(tmp_path: Path) -> None:
    settings = {"JOBDIR": str(tmp_path / "job"), "FEEDS": {str(tmp_path / "p.jsonl"): {"format": "jsonl"}}}
    pages = {ROOT: index(*(f"/{number}.xml" for number in range(8)))}
    with MockWeb(pages, lambda url: Answer(urlset(url + "/page").encode())) as web:
        crawl(web, ROOT, {**settings, **interrupt_after(2), "DOWNLOAD_DELAY": 0.2})
        assert len(web.requested) <= 3
        assert crawl(web, ROOT, settings).exit_status == 0
    assert len(web.requested) == 9
    assert len(read_records(tmp_path / "p.jsonl")) == 8


def test_nothing_is_kept_without_a_folder_for_it(tmp_path: Path) -> None:
    with MockWeb({ROOT: urlset("/1")}) as web:
        crawl(web, ROOT, {"FEEDS": {str(tmp_path / "p.jsonl"): {"format": "jsonl"}}})
    assert [path.name for path in tmp_path.iterdir()] == ["p.jsonl"]
    assert json.loads((tmp_path / "p.jsonl").read_text())


def test_a_crawl_that_is_over_says_so(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with MockWeb({ROOT: urlset("/1")}) as web:
        crawl(web, ROOT, {"JOBDIR": str(tmp_path)})
        with caplog.at_level("INFO", "sitemapcrawl.spiders.sitemap"):
            crawl(web, ROOT, {"JOBDIR": str(tmp_path)})
    assert f"All is done, 1 start has ended; to crawl anew, remove the folder {str(tmp_path)!r}" in caplog.messages
