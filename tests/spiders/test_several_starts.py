"""Crawls of several starts, each with limits, listing and errors of its own."""

from __future__ import annotations

import asyncio
import io
import json
import logging
import os
import signal
import subprocess
import sys
import time
import tracemalloc
from collections import Counter
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any

import pytest

from sitemapcrawl.options import Options
from sitemapcrawl.spiders._starts import starts
from tests.crawling import crawl, read_records
from tests.mockweb import Answer, MockWeb, index, urlset

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

PROJECT = Path(__file__).parents[2]
A, B, C = "http://a.example/i.xml", "http://b.example/i.xml", "http://c.example/robots.txt"
WEB = {
    A: index("/1.xml", "/2.xml"),
    "http://a.example/1.xml": urlset("/1", "/2"),
    "http://a.example/2.xml": urlset("/3", "ftp://a.example/"),
    B: index("/1.xml", "http://a.example/1.xml"),
    "http://b.example/1.xml": urlset("/1", "/2"),
    C: "Sitemap: http://a.example/1.xml\nSitemap: http://c.example/lost.xml",
}


def by_start(records: list[dict[str, Any]], key: str = "loc") -> Counter[tuple[str, str]]:
    return Counter((record["start"], record[key].removeprefix("http://")) for record in records)


@pytest.mark.parametrize("batch_size", [1, 2_000])
@pytest.mark.parametrize("multi_thread", ["true", "false"])
def test_every_record_has_its_start_and_each_start_reads_for_itself(multi_thread: str, batch_size: int) -> None:
    with MockWeb(WEB) as web:
        result = crawl(web, json.dumps([A, B, C]), {"SITEMAPCRAWL_BATCH_SIZE": batch_size}, multi_thread=multi_thread)
    of_a1 = [(start, f"a.example/{number}") for start in (A, B, C) for number in (1, 2)]
    assert by_start(result.pages) == Counter([*of_a1, (A, "a.example/3"), (B, "b.example/1"), (B, "b.example/2")])
    assert by_start(result.sitemaps) == Counter(
        [
            (A, "a.example/1.xml"), (A, "a.example/2.xml"), (B, "b.example/1.xml"), (B, "a.example/1.xml"),
            (C, "a.example/1.xml"), (C, "c.example/lost.xml"),
        ]
    )  # fmt: skip
    assert by_start(result.errors, "url") == Counter([(A, "ftp://a.example/"), (C, "c.example/lost.xml")])
    assert Counter(web.requested)["http://a.example/1.xml"] == 3
    assert result.exit_status == 0
    assert result.stats["sitemapcrawl/starts/read"] == 3


def test_one_start_is_marked_nowhere() -> None:
    with MockWeb(WEB) as web:
        for url in (A, json.dumps([A])):
            result = crawl(web, url)
            assert not any("start" in record for record in result.pages + result.sitemaps + result.errors)


def test_pages_with_extensions_are_marked_too() -> None:
    page = "<urlset><url><loc>/1</loc><image:image><image:loc>/i.png</image:loc></image:image></url></urlset>"
    with MockWeb({A: page}) as web:
        result = crawl(web, json.dumps([A, A]))
    assert [(page["start"], len(page["images"])) for page in result.pages] == [(A, 1)] * 2


def test_pipelines_and_signals_see_the_start() -> None:
    from sitemapcrawl import signals

    starts: list[Any] = []

    class Watches:
        def process_item(self, item: Any) -> Any:
            starts.append(item.start)
            return item

        def process_batch(self, batch: Any) -> Any:
            starts.append(batch.start)
            return batch

    class Single:
        def process_item(self, item: Any) -> Any:
            starts.append(item.start)
            return item

    def prepare(crawler: Crawler) -> None:
        crawler.signals.connect(lambda errors: starts.extend(e.start for e in errors), signals.errors_found, weak=False)

    with MockWeb({A: urlset("/1", "ftp://x/")}) as web:
        crawl(web, json.dumps([A, A]), {"ITEM_PIPELINES": {Watches: 1, Single: 2}}, prepare)
    assert starts == [A] * 6


@pytest.mark.parametrize("multi_thread", ["true", "false"])
def test_limits_are_those_of_a_start_and_their_errors_name_it(multi_thread: str) -> None:
    many = {f"http://{host}.example/i.xml": index(*(f"/{number}.xml" for number in range(20))) for host in "ab"}
    with MockWeb(many, lambda url: Answer(urlset(*(f"/{n}" for n in range(4)), "ftp://x/1", "ftp://x/2").encode())) as web:
        result = crawl(web, json.dumps(list(many)), max_urls="10", multi_thread=multi_thread, max_validation_errors="3")
        assert Counter(page["start"] for page in result.pages) == dict.fromkeys(many, 10)
        limits = Counter((error["url"], error["start"], error["limit"]) for error in result.errors if error["limit"])
        assert limits == Counter((url, url, limit) for url in many for limit in ("max_urls", "max_validation_errors"))
        result = crawl(web, json.dumps(list(many)), max_sitemaps="5", multi_thread=multi_thread)
        assert Counter(entry["start"] for entry in result.sitemaps) == dict.fromkeys(many, 5)
        assert Counter(page["start"] for page in result.pages) == dict.fromkeys(many, 20)
        assert Counter((e["url"], e["limit"]) for e in result.errors if e["limit"]) == Counter((u, "max_sitemaps") for u in many)


def test_a_start_that_is_stopped_leaves_what_the_others_have_waiting() -> None:
    web = {A: index("/1.xml"), "http://a.example/1.xml": urlset("/1", "/2", "/3")}
    web[B] = index(*(f"/{number}.xml" for number in range(200)))
    with MockWeb(web, lambda url: Answer(urlset("/x").encode(), delay=0.01)) as served:
        result = crawl(served, json.dumps([B, A]), max_urls="200")
        assert Counter(page["start"] for page in result.pages) == {A: 3, B: 200}
        result = crawl(served, json.dumps([B, A, A, A]), max_urls="2", max_concurrency="4")
        assert Counter(page["start"] for page in result.pages) == {A: 6, B: 2}


@pytest.mark.parametrize("bad", ["http://a.example/lost.xml", "http://127.0.0.1:1/", "ftp://a.example/", "no url"])
def test_a_bad_start_does_not_end_the_others_and_is_exit_status_1(bad: str) -> None:
    with MockWeb(WEB) as web:
        result = crawl(web, json.dumps([A, bad, B]), {"RETRY_TIMES": 0})
    assert len(result.pages) == 7
    assert [error["url"] for error in result.errors if error["start"] == bad] == [bad]
    assert result.exit_status == 1


def test_sequential_starts_come_one_after_the_other() -> None:
    with MockWeb(WEB) as web:
        result = crawl(web, json.dumps([B, A]), multi_thread="false")
    first, second = "http://b.example/1.xml", "http://a.example/1.xml"
    assert web.requested == [B, first, second, A, second, "http://a.example/2.xml"]
    assert [page["start"] for page in result.pages] == [B] * 4 + [A] * 3


def test_samples_are_those_of_a_start() -> None:
    with MockWeb({A: urlset(*(f"/{n}" for n in range(50))), B: urlset("/1")}) as web:
        result = crawl(web, json.dumps([A, B]), sample="5")
    assert Counter(page["start"] for page in result.pages) == {A: 5, B: 1}


# Files


def test_file_has_a_start_a_line(tmp_path: Path) -> None:
    file = tmp_path / "starts.txt"
    file.write_bytes(f"\ufeff# sites\r\n\r\n  {A}\r\n#{C}\r\n{B}".encode())
    with MockWeb(WEB) as web:
        result = crawl(web, C, urls_file=str(file), multi_thread="false")
    assert web.requested[0] == C  # url comes first
    assert {page["start"] for page in result.pages} == {A, B, C}


def test_file_of_one_start_is_marked_nevertheless(tmp_path: Path) -> None:
    (tmp_path / "starts").write_text(A)
    with MockWeb(WEB) as web:
        assert {page["start"] for page in crawl(web, urls_file=str(tmp_path / "starts")).pages} == {A}


def test_standard_input_is_a_file(tmp_path: Path) -> None:
    with MockWeb(WEB) as web:
        done = subprocess.run(
            [sys.executable, "-m", "scrapy", "crawl", "sitemap", "-a", "urls_file=-", "-O", str(tmp_path / "p.jsonl")],
            cwd=PROJECT, input=f"{A}\n{B}\n", text=True, capture_output=True, timeout=60, check=False,
            env={**os.environ, "http_proxy": web.address},
        )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "starts      2 read, 0 failed" in done.stderr
    assert len(read_records(tmp_path / "p.jsonl")) == 7


def test_file_without_a_start_is_a_wrong_option(tmp_path: Path) -> None:
    (tmp_path / "starts").write_text("# nothing\n\n")
    result = crawl(None, urls_file=str(tmp_path / "starts"))
    assert (result.exit_status, [error["type"] for error in result.errors]) == (2, ["config"])


def test_starts_are_read_as_needed_and_let_go_when_they_have_ended(tmp_path: Path) -> None:
    """Of three hundred starts, few are open at a time, and nothing is left of those that have ended."""
    starts = [f"http://{number}.example/i.xml" for number in range(300)]
    (tmp_path / "starts").write_text("\n".join(starts))
    most = waiting = 0

    def watch(crawler: Crawler) -> None:
        from scrapy import signals

        def scheduled() -> None:
            nonlocal most, waiting
            most = max(most, len(crawler.spider.calls))  # type: ignore[union-attr]
            waiting = max(waiting, len(crawler.engine.scheduler))  # type: ignore[arg-type, union-attr]

        crawler.signals.connect(scheduled, signals.request_scheduled, weak=False)

    def answer(url: str) -> Answer:
        return Answer((index("/1.xml", "/2.xml") if url.endswith("i.xml") else urlset("/p")).encode())

    with MockWeb(answer=answer) as web:
        result = crawl(web, urls_file=str(tmp_path / "starts"), prepare=watch, max_concurrency="8")
    assert Counter(page["start"] for page in result.pages) == dict.fromkeys(starts, 2)
    assert len(result.sitemaps) == 600
    assert most <= 2 * 8
    assert waiting <= 2 * 8


def test_crawl_of_several_starts_that_is_cut_short_says_which(caplog: pytest.LogCaptureFixture) -> None:
    slow = {A: urlset("/1"), B: Answer(urlset("/2").encode(), delay=2.5), C: Answer(delay=2.5)}
    with MockWeb(slow) as web, caplog.at_level(logging.WARNING):
        options = {"max_concurrency": "2", "fetch_timeout": "5"}
        result = crawl(web, json.dumps([A, B, C, A]), {"CLOSESPIDER_TIMEOUT": 1, "LOG_LEVEL": "WARNING"}, **options)
    assert result.exit_status == 1
    assert "cut short" in {error["start"]: error["message"] for error in result.errors}[B]
    assert "the others were not begun" in caplog.text


def test_sitemap_that_would_have_been_tried_again_is_lost_for_its_start() -> None:
    pages = {A: index("/1.xml", "/2.xml"), "http://a.example/1.xml": Answer(urlset("/1").encode(), delay=1.5)}
    with MockWeb({**pages, "http://a.example/2.xml": Answer(status=503, delay=1.5), B: Answer(status=503, delay=1.5)}) as web:
        result = crawl(web, json.dumps([A, B]), {"CLOSESPIDER_TIMEOUT": 1})
    found = sorted((error["type"], error["url"], error["start"]) for error in result.errors)
    assert found == [("network", "http://a.example/2.xml", A), ("network", B, B), ("parse", A, A)]
    assert result.stats["sitemapcrawl/sitemaps/failed"] == 2
    assert result.stats["sitemapcrawl/sitemaps/read"] == 2
    assert "sitemapcrawl/sitemaps/left_out" not in result.stats


# Files that are not as they should be


def read(path: str) -> list[str]:
    async def collect() -> list[str]:
        return [url async for url in starts(Options(urls_file=path))]

    return asyncio.run(collect())


def test_lines_are_found_wherever_the_blocks_end(tmp_path: Path) -> None:
    lines = [f"http://{number}.example/" + "x" * (number * 37 % 5_000) for number in range(400)]
    (tmp_path / "starts").write_text("".join(f"  {line}{end}" for line, end in zip(lines, ["\n", "\r\n"] * 200, strict=True)))
    assert read(str(tmp_path / "starts")) == lines


def test_a_line_without_an_end_takes_no_memory(tmp_path: Path) -> None:
    with (tmp_path / "starts").open("wb") as file:
        file.write(A.encode() + b"\n")
        file.truncate(20_000_000)  # zeros
        file.seek(0, 2)
        file.write(b"\n" + B.encode())
    tracemalloc.start()
    try:
        first, long, last = read(str(tmp_path / "starts"))
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert (first, last) == (A, B)
    assert len(long) < 40_000
    assert most < 2_000_000


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        (b"http://a.example/caf\xe9", "not UTF-8"),
        (b"http://a.example/" + b"x" * 50_000, "8,192 characters"),
        (b"http://a.example/" + "é".encode() * 50_000, "8,192 characters"),
        (b"http://a.example/\x00", "control character"),
        (b"\x1f\x8b\x08\x00", "not UTF-8"),
    ],
)
def test_a_line_that_is_no_url_is_an_error_and_is_not_requested(line: bytes, problem: str, tmp_path: Path) -> None:
    (tmp_path / "starts").write_bytes(line + b"\n" + A.encode())
    with MockWeb(WEB) as web:
        result = crawl(web, urls_file=str(tmp_path / "starts"))
    assert (result.exit_status, len(result.pages), len(web.requested)) == (1, 3, 3)
    assert problem in result.errors[0]["message"]


def test_a_file_in_utf_16_is_a_wrong_option(tmp_path: Path) -> None:
    (tmp_path / "starts").write_text(A, encoding="utf-16")
    result = crawl(None, urls_file=str(tmp_path / "starts"))
    assert (result.exit_status, [error["type"] for error in result.errors]) == (2, ["config"])
    assert "UTF-16" in result.errors[0]["message"]


@pytest.mark.parametrize("job", [False, True])
def test_a_file_without_a_start_costs_no_file_of_an_earlier_crawl(job: bool, tmp_path: Path) -> None:
    files = {name: tmp_path / name for name in ("p.jsonl", "s.jsonl", "lint.jsonl")}
    for path in files.values():
        path.write_text("earlier\n")
    (tmp_path / "starts").write_text("# none\n")
    settings = {"FEEDS": {str(files["p.jsonl"]): {"format": "jsonl", "overwrite": True}}}
    settings |= {"JOBDIR": str(tmp_path / "job")} if job else {}
    options = {"sitemaps": str(files["s.jsonl"]), "lint": str(files["lint.jsonl"])}
    assert crawl(None, None, settings, urls_file=str(tmp_path / "starts"), **options).exit_status == 2
    assert {path.read_text() for path in files.values()} == {"earlier\n"}


class Failing(io.BytesIO):
    """A file that can be read so many times."""

    reads = 1

    def read(self, *arguments: Any) -> bytes:
        if not self.reads:
            raise OSError(5, "Input/output error")
        self.reads -= 1
        return super().read(*arguments)


@pytest.mark.parametrize("job", [False, True])
def test_a_file_that_cannot_be_read_any_further_is_an_error_and_exit_status_1(
    job: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "starts"
    file.write_text(f"{A}\n{B}\n")
    settings = {"JOBDIR": str(tmp_path / "job"), "FEEDS": {str(tmp_path / "p.jsonl"): {"format": "jsonl"}}} if job else {}
    with MockWeb(WEB) as web:
        with monkeypatch.context() as patch:
            patch.setattr("sitemapcrawl.spiders._starts._open", lambda path: Failing(f"{A}\n{B}".encode()))
            result = crawl(web, None, settings, urls_file=str(file))
        [error] = [error for error in result.errors if error["type"] == "parse"]
        assert (result.exit_status, error["url"]) == (1, str(file))
        assert "Input/output error" in error["message"]
        assert {page["start"] for page in result.pages or read_records(tmp_path / "p.jsonl")} == {A}
        if job:  # the rest is taken later
            assert crawl(web, None, settings, urls_file=str(file)).exit_status == 0
            assert Counter(page["start"] for page in read_records(tmp_path / "p.jsonl")) == {A: 3, B: 4}


def test_a_file_that_cannot_be_read_at_all_is_a_wrong_option(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "starts").write_text(A)
    monkeypatch.setattr("sitemapcrawl.spiders._starts._open", lambda path: Failing())
    monkeypatch.setattr(Failing, "reads", 0)
    result = crawl(None, urls_file=str(tmp_path / "starts"))
    assert (result.exit_status, [error["type"] for error in result.errors]) == (2, ["config"])


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes here")
def test_a_named_pipe_is_read_while_the_crawl_goes_on(tmp_path: Path) -> None:
    pipe = str(tmp_path / "pipe")
    os.mkfifo(pipe)
    with MockWeb(WEB) as web:

        def write() -> None:
            with open(pipe, "w") as file:
                print(A, file=file, flush=True)
                while "http://a.example/2.xml" not in web.requested:
                    time.sleep(0.01)
                print(B, file=file)

        writer = Thread(target=write, daemon=True)
        writer.start()
        result = crawl(web, urls_file=pipe)
        writer.join(10)
    assert (result.exit_status, len(result.pages)) == (0, 7)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes here")
@pytest.mark.parametrize("named", [True, False])
def test_a_pipe_that_never_ends_does_not_keep_an_interrupted_crawl_from_ending(named: bool, tmp_path: Path) -> None:
    pipe = str(tmp_path / "pipe")
    os.mkfifo(pipe)
    with MockWeb(WEB) as web:
        process = subprocess.Popen(
            [sys.executable, "-m", "scrapy", "crawl", "sitemap", "-a", f"urls_file={pipe if named else '-'}"],
            cwd=PROJECT, env={**os.environ, "http_proxy": web.address}, stdin=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip
        assert process.stdin is not None
        with process.stdin, open(pipe, "wb", 0) if named else process.stdin as file:
            file.write(f"{A}\n".encode())
            file.flush()
            until = time.monotonic() + 20
            while len(web.requested) < 3 and time.monotonic() < until:
                time.sleep(0.01)
            process.send_signal(signal.SIGINT)
            assert process.wait(10) == 1
            assert process.stderr is not None
            log = process.stderr.read()
            process.stderr.close()
    assert b"interrupted" in log
    assert b"Traceback" not in log
