"""Servers that mean harm: each crawl comes to an end, in bounded memory or with so many requests."""

from __future__ import annotations

import asyncio
import gzip
import json
import os
import subprocess
import sys
import time
import zlib
from dataclasses import dataclass
from itertools import count, repeat
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import pytest
from scrapy import signals

from tests.crawling import PROXIES, crawl, read_records
from tests.mockweb import Answer, MockWeb, index, urlset

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

PROJECT = Path(__file__).parents[2]
ROOT = "http://example.com/"
START = ROOT + "index.xml"
MB = 1_000_000
# Run a command, and print its exit status and the most memory that it had. It is a small process in between, since a process
# begins with the peak of the one that started it.
MEASURE = """
import json, resource, subprocess, sys
status = subprocess.call(sys.argv[1:])
most = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
print(json.dumps({"status": status, "megabytes": most / (1e6 if sys.platform == "darwin" else 1e3)}))
"""


@dataclass
class Outcome:
    """What became of a crawl on the command line."""

    status: int
    megabytes: float
    log: str
    pages: int
    errors: list[dict[str, Any]]


def run(web: MockWeb, folder: Path, *arguments: str) -> Outcome:
    """Crawl *web* from START on the real command line, in a process of its own."""
    pages, errors = folder / "pages.jsonl", folder / "errors.jsonl"
    environment = {name: value for name, value in os.environ.items() if name not in PROXIES} | {"http_proxy": web.address}
    command = [sys.executable, "-m", "scrapy", "crawl", "sitemap", "-O", str(pages)]
    done = subprocess.run(
        [sys.executable, "-c", MEASURE, *command, "-a", f"url={START}", "-a", f"errors={errors}", *arguments],
        cwd=PROJECT, env=environment, capture_output=True, text=True, timeout=100, check=True,
    )  # fmt: skip
    found = json.loads(done.stdout)
    with pages.open("rb") as lines:
        number = sum(1 for _ in lines)
    return Outcome(found["status"], found["megabytes"], done.stderr, number, read_records(errors))


def response(body: Iterable[bytes], *headers: str, pause: float = 0) -> Answer:
    """Return an answer whose *body*, which may have no end, is sent piece by piece; the connection is closed behind it."""

    def write(file: BinaryIO) -> None:
        file.write("\r\n".join(["HTTP/1.1 200 OK", "Connection: close", *headers, "", ""]).encode())
        for piece in body:
            file.write(piece)
            time.sleep(pause)

    return Answer(write=write)


def chunked(body: Iterable[bytes]) -> Answer:
    return response((b"%x\r\n%b\r\n" % (len(piece), piece) for piece in body), "Transfer-Encoding: chunked")


def silence(file: BinaryIO) -> None:
    file.flush()
    time.sleep(3)


def headers_and_silence(file: BinaryIO) -> None:
    file.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/xml\r\n")
    silence(file)


def redirect(target: str) -> Answer:
    return Answer(status=302, headers={"Location": target})


@pytest.fixture(scope="module")
def idle(tmp_path_factory: pytest.TempPathFactory) -> float:
    """The megabytes that a crawl takes which has next to nothing to do."""
    with MockWeb({START: urlset("/1")}) as web:
        return run(web, tmp_path_factory.mktemp("idle")).megabytes


# What one sitemap may do to the others


PAGE = b"http://example.com/1\nhttp://exam"

# name: what the server does, the limit that is named, how often it is asked at most.
BAD: dict[str, tuple[Callable[[], Answer], str | None, int]] = {
    "endless": (lambda: response(repeat(b" " * 50_000)), "max_response_size", 1),
    "endless-chunks": (lambda: chunked(repeat(b"http://example.com/\n" * 1_000)), "max_response_size", 1),
    "endless-gzip": (lambda: response(repeat(gzip.compress(b"") * 1_000), "Content-Encoding: gzip"), "max_response_size", 1),
    "says-it-is-large": (lambda: response([PAGE], f"Content-Length: {10**15}"), "max_response_size", 1),
    "drip": (lambda: response(repeat(b"\n"), pause=0.2), None, 2),
    "drip-of-chunks": (lambda: chunked(time.sleep(0.2) or b"\n" for _ in count()), None, 2),
    "silent": (lambda: Answer(write=silence), None, 2),
    "silent-after-headers": (lambda: Answer(write=headers_and_silence), None, 2),
    "hangs-up": (lambda: Answer(write=lambda file: None), None, 4),  # a client asks anew if it had the connection before
    "hangs-up-in-the-body": (lambda: response([PAGE], "Content-Length: 500"), None, 2),
    "hangs-up-in-a-chunk": (lambda: response([b"ff\r\n" + PAGE], "Transfer-Encoding: chunked"), None, 2),
    "is-no-http": (lambda: Answer(write=lambda file: file.write(b"220 ready\r\n" * 9) and None), None, 2),
    "line-without-end": (lambda: Answer(write=lambda file: [file.write(b"x" * 9_999) for _ in count()] and None), None, 2),
    "cut-off-gzip": (lambda: response([gzip.compress(PAGE)[:-9]], "Content-Encoding: gzip"), None, 1),
    "cut-off-deflate": (lambda: response([zlib.compress(PAGE * 99)[:-9]], "Content-Encoding: deflate"), None, 1),
    "redirect-loop": (lambda: redirect("/redirect-loop"), None, 11),
    "redirect-file": (lambda: redirect("file:///etc/hosts"), None, 1),
    "redirect-ftp": (lambda: redirect("ftp://example.com/a.xml"), None, 1),
    "redirect-data": (lambda: redirect("data:text/plain,http://example.com/1"), None, 1),
    "redirect-s3": (lambda: redirect("s3://bucket/a.xml"), None, 1),
    "redirect-javascript": (lambda: redirect("javascript:alert(1)"), None, 1),
}  # fmt: skip


@pytest.fixture(scope="module")
def neighbours(tmp_path_factory: pytest.TempPathFactory) -> tuple[Outcome, list[str]]:
    """One crawl of all that is bad, with good ones before, between and after."""
    pages: dict[str, str | bytes | Answer] = {ROOT + name: make() for name, (make, _, _) in BAD.items()}
    good = {ROOT + f"good-{number}": urlset(f"/{number}") for number in range(3)}
    names = [*BAD]
    names[10:10] = ["good-1"]
    pages |= {START: index("/good-0", *(f"/{name}" for name in names), "/good-2"), **good}
    folder = tmp_path_factory.mktemp("neighbours")
    with MockWeb(pages) as web:
        outcome = run(web, folder, "-a", "fetch_timeout=1", "-a", f"max_response_size={3 * MB}", "-s", "RETRY_TIMES=1")
        return outcome, web.requested


def test_bad_neighbours_do_no_harm(neighbours: tuple[Outcome, list[str]], idle: float) -> None:
    outcome, _ = neighbours
    assert (outcome.status, outcome.pages) == (0, 3)
    assert len(outcome.errors) == len(BAD)
    assert "Traceback" not in outcome.log
    assert outcome.megabytes < idle + 80


@pytest.mark.parametrize("name", BAD)
def test_bad_sitemap_is_one_network_error(neighbours: tuple[Outcome, list[str]], name: str) -> None:
    outcome, requested = neighbours
    [error] = [error for error in outcome.errors if error["url"] == ROOT + name]
    assert (error["type"], error["limit"]) == ("network", BAD[name][1])
    assert 1 <= requested.count(ROOT + name) <= BAD[name][2]


# Indexes that lead astray


def test_index_that_lists_itself_is_read_once() -> None:
    with MockWeb({START: index("/index.xml", "/index.xml#a", START, "./index.xml", "//example.com/index.xml")}) as web:
        result = crawl(web, START)
    assert (web.requested, result.errors, result.exit_status) == ([START], [], 0)


def test_indexes_in_a_circle_are_read_once() -> None:
    ring = {f"{ROOT}{number}": index(*(f"/{(number + step) % 30}" for step in range(30))) for number in range(30)}
    with MockWeb(ring) as web:
        result = crawl(web, ROOT + "0", max_depth="40")
    assert sorted(web.requested) == sorted(ring)
    assert result.errors == []


def test_indexes_without_end_stop_at_the_depth() -> None:
    numbers = count()
    with MockWeb(answer=lambda url: Answer(index(f"/{next(numbers)}").encode())) as web:
        result = crawl(web, START)
    assert len(web.requested) == 11
    assert [error["limit"] for error in result.errors] == ["max_depth"]


@pytest.mark.parametrize("multi_thread", ["true", "false"])
def test_indexes_that_multiply_stop_at_the_number(multi_thread: str) -> None:
    numbers = count()
    with MockWeb(answer=lambda url: Answer(index(*(f"/{next(numbers)}" for _ in range(20))).encode())) as web:
        result = crawl(web, START, max_sitemaps="50", max_depth="1000", multi_thread=multi_thread)
    assert len(web.requested) == 51
    assert len(result.sitemaps) == 50
    assert [error["limit"] for error in result.errors] == ["max_sitemaps"]


@pytest.mark.parametrize("robots", [True, False], ids=["robots.txt", "index"])
def test_locations_of_other_schemes_are_not_requested(tmp_path: Path, robots: bool) -> None:
    local = tmp_path / "secret.txt"
    local.write_text("http://example.com/secret\n")
    bad = [local.as_uri(), f"FILE://{local}", "ftp://example.com/a.xml", "data:text/plain,http://example.com/1", "s3://bucket/a"]
    start = ROOT + "robots.txt" if robots else START
    with MockWeb({start: "".join(f"Sitemap: {url}\n" for url in bad) if robots else index(*bad)}) as web:
        result = crawl(web, start)
    assert (web.requested, result.pages, result.sitemaps) == ([start], [], [])
    assert [(error["type"], error["url"]) for error in result.errors] == [("validation", url) for url in bad]


@pytest.mark.parametrize("start", ["file:///etc/hosts", "data:text/plain,http://example.com/1", "s3://bucket/a.xml"])
def test_start_of_another_scheme_is_not_requested(start: str) -> None:
    result = crawl(None, start)
    assert (result.pages, result.problems, result.exit_status) == ([], [("validation", start, None)], 1)


def test_index_of_very_many_entries(tmp_path: Path, idle: float) -> None:
    entries = "".join(f"<sitemap><loc>http://a.example/{number}</loc></sitemap>" for number in range(300_000))
    packed = gzip.compress(f"<sitemapindex>{entries}</sitemapindex>".encode(), 1)
    del entries
    with MockWeb({START: packed}, lambda url: Answer(urlset("/1").encode())) as web:
        options = {
            "sitemaps": tmp_path / "sitemaps.jsonl",
            "max_sitemaps": 5_000,
            "fetch_timeout": 60,
        }
        given = [word for name, value in options.items() for word in ("-a", f"{name}={value}")]
        outcome = run(web, tmp_path, *given, "-s", "CLOSESPIDER_PAGECOUNT=20")
    assert len(web.requested) < 100
    assert len(read_records(tmp_path / "sitemaps.jsonl")) == 5_000
    assert [error["limit"] for error in outcome.errors] == ["max_sitemaps", None]  # and that it was cut short
    assert outcome.megabytes < idle + 60


# Memory


def test_bombs_are_not_unpacked(tmp_path: Path, idle: float) -> None:
    zeros = b"\x00" * MB
    packer = zlib.compressobj(9)
    deflated = b"".join(packer.compress(zeros) for _ in range(200)) + packer.flush()
    gzipped = gzip.compress(zeros, 9) * 200
    bombs = {
        "gzip-encoding": Answer(gzipped, headers={"Content-Encoding": "gzip"}),
        "deflate-encoding": Answer(deflated, headers={"Content-Encoding": "deflate"}),
        "both-encodings": Answer(gzip.compress(deflated), headers={"Content-Encoding": "deflate, gzip"}),
        "file.gz": Answer(gzipped),
        "twice.gz": Answer(gzip.compress(gzipped)),
        "file-and-encoding.gz": Answer(gzip.compress(gzipped), headers={"Content-Encoding": "gzip"}),
    }
    with MockWeb({START: index(*bombs), **{ROOT + name: bomb for name, bomb in bombs.items()}}) as web:
        outcome = run(web, tmp_path, "-a", "fetch_timeout=60")
    kinds = {error["url"].removeprefix(ROOT): error["type"] for error in outcome.errors}
    assert kinds == {name: "network" if name.endswith("encoding") or name == "both-encodings" else "parse" for name in bombs}
    assert {error["limit"] for error in outcome.errors} == {"max_response_size"}
    assert outcome.megabytes < idle + 350


@pytest.mark.parametrize("packed", [False, True], ids=["plain", "content-encoding"])
def test_large_documents_at_once(tmp_path: Path, idle: float, packed: bool) -> None:
    body = [b"<urlset>", *repeat(b" " * MB, 40), b"<url><loc>/1</loc></url></urlset>"]
    large = Answer(gzip.compress(b"".join(body), 1), headers={"Content-Encoding": "gzip"}) if packed else response(body)
    with MockWeb({START: index(*(f"/{number}" for number in range(16)))}, lambda url: large) as web:
        outcome = run(web, tmp_path, "-a", "fetch_timeout=60")
    assert (outcome.pages, outcome.errors) == (16, [])
    assert outcome.megabytes < idle + 260


def test_memory_does_not_grow_with_the_pages(tmp_path: Path) -> None:
    def peak(sitemaps: int) -> float:
        with MockWeb({START: index(*(f"/{number}" for number in range(sitemaps)))}, lambda url: Answer(body)) as web:
            outcome = run(web, tmp_path, "-a", "fetch_timeout=60", "-a", "max_concurrency=4")
        assert outcome.pages == sitemaps * 50_000
        return outcome.megabytes

    body = urlset(*(f"http://example.com/{number}" for number in range(50_000))).encode()
    assert peak(20) < 1.2 * peak(4)


class SlowPipeline:
    """Takes its time, and looks at how far the crawl has run ahead of it."""

    seen = ahead = documents = 0

    def __init__(self, crawler: Any) -> None:
        self.crawler = crawler

    @classmethod
    def from_crawler(cls, crawler: Any) -> SlowPipeline:
        cls.seen = cls.ahead = cls.documents = 0
        return cls(crawler)

    async def process_item(self, item: Any) -> Any:
        await asyncio.sleep(0.01)
        kind, engine = type(self), self.crawler.engine
        slot = engine.scraper.slot
        kind.seen += 1
        kind.ahead = max(kind.ahead, self.crawler.stats.get_value("sitemapcrawl/pages", 0) - kind.seen)
        kind.documents = max(kind.documents, len(engine.downloader.active) + len(slot.active) + len(slot.queue))
        return item


def test_slow_pipeline_holds_the_crawl_back() -> None:
    body = urlset(*(f"/{number}" for number in range(500))).encode()
    with MockWeb({START: index(*(f"/{number}" for number in range(20)))}, lambda url: Answer(body)) as web:
        result = crawl(web, START, {"ITEM_PIPELINES": {SlowPipeline: 1}, "SITEMAPCRAWL_BATCH_SIZE": 100}, max_concurrency="5")
    assert len(result.pages) == SlowPipeline.seen == 10_000
    assert SlowPipeline.ahead < 200
    assert SlowPipeline.documents <= 5


# Threads


def test_rich_documents_in_one_crawl(tmp_path: Path) -> None:
    # lxml's parsers do not survive being used in several threads: such a process dies of a signal.
    image = "<image:image><image:loc>http://example.com/{0}.png</image:loc><image:title>{0}</image:title></image:image>"
    link = '<xhtml:link rel="alternate" hreflang="de" href="http://example.com/de/{0}"/>'
    pages = "".join(f"<url><loc>/{number}</loc>{image.format(number) * 3}{link.format(number)}</url>" for number in range(1_000))
    body = (
        '<urlset xmlns:image="http://www.google.com/schemas/sitemap-image/1.1" xmlns:xhtml="http://www.w3.org/1999/xhtml">'
        f"{pages}<url><loc>/last</loc><x{{}}/></url></urlset>"
    )
    with MockWeb({START: index(*(f"/{number}" for number in range(12)))}) as web:
        web.answer = lambda url: Answer(body.format(url.rpartition("/")[2]).encode())
        outcome = run(web, tmp_path, "-a", "fetch_timeout=60")
    assert (outcome.status, outcome.pages, outcome.errors) == (0, 12 * 1_001, [])


def test_downloads_do_not_time_out_while_a_large_document_is_read() -> None:
    overlap = []

    def watch(crawler: Any) -> None:
        def arrived(response: Any) -> None:
            if len(response.body) < MB:
                overlap.append(crawler.engine.scraper.slot.active_size > MB)

        crawler.signals.connect(arrived, signals.response_received, weak=False)

    large = b"<urlset>" + b"<url><loc>http://example.com/page</loc><lastmod>2024-02-03</lastmod></url>" * 680_000 + b"</urlset>"
    pages = {START: index("/large", *(f"/{number}" for number in range(12))), ROOT + "large": Answer(large)}
    with MockWeb(pages, lambda url: Answer(urlset("/1").encode(), delay=0.5)) as web:
        settings = {"RETRY_TIMES": 0, "SITEMAPCRAWL_MEMORY_TARGET": 0}
        result = crawl(web, START, settings, watch, fetch_timeout="3", max_concurrency="4")
    assert result.errors == []
    assert len(result.pages) == 680_012
    assert any(overlap)
