"""Crawls with JOBDIR that are killed between any two steps: of exporting, of writing out, of the journal, of going on.

The processes are forks of this one, which take a few hundredths of a second to start and end on the step, as by ``kill -9``:
what is in their buffers is lost.
"""

from __future__ import annotations

import asyncio
import csv
import json
import logging
import os
import random
import traceback
import warnings
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from scrapy.crawler import Crawler
from scrapy.settings import Settings

from sitemapcrawl.extensions import feeds
from sitemapcrawl.extensions.outcome import Outcome
from sitemapcrawl.journal import Journal
from sitemapcrawl.signals import documents_saving
from sitemapcrawl.spiders.sitemap import SitemapSpider
from tests.crawling import proxy, read_records
from tests.mockweb import Answer, MockWeb, index, urlset

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")

ROOT = "http://example.com/"
KILLED = 9
ALL = Counter(f"{ROOT}{name}" for name in "a1 a2 b1 b2 b3 c1 r1 r2".split())
ALL_SITEMAPS = Counter(f"{ROOT}{name}.xml" for name in ("a", "b", "r", "j", "lost", "c"))
ALL_ERRORS = Counter(["ftp://a/", "ftp://c/", f"{ROOT}lost.xml"])
STEPS = 60  # of the some 120 of a crawl: a second kill comes in a shorter one


def pages() -> dict[str, str | Answer]:
    return {
        ROOT: index("/a.xml", "/b.xml", "/r.xml", "/j.xml", "/lost.xml"),
        ROOT + "a.xml": urlset("/a1", "/a2", "ftp://a/"),
        ROOT + "b.xml": urlset("/b1", "/b2", "/b3"),
        ROOT + "r.xml": Answer(status=302, headers={"Location": ROOT + "moved.xml"}),
        ROOT + "moved.xml": urlset("/r1", "/r2"),
        ROOT + "j.xml": index("/c.xml", "/a.xml"),
        ROOT + "c.xml": urlset("/c1", "ftp://c/"),
        ROOT + "lost.xml": Answer(status=503),
    }


class Held:
    """A pipeline that holds back what it gets, and writes it out when a document is to be saved."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._held: list[str] = []

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Held:
        pipeline = cls(crawler.settings["HELD"])
        crawler.signals.connect(pipeline.write, documents_saving)
        return pipeline

    def process_item(self, item: Any) -> Any:
        self._held.append(item.loc)
        return item

    def write(self) -> None:
        with open(self._path, "a") as file:
            file.writelines(f"{loc}\n" for loc in self._held)
        self._held = []


def watch(step: Callable[[], None]) -> None:
    """Have *step* called before and after everything that a kill may come between."""

    def around(of: Any, name: str) -> None:
        before = getattr(of, name)

        def call(*arguments: Any, **keywords: Any) -> Any:
            step()
            result = before(*arguments, **keywords)
            step()
            return result

        setattr(of, name, call)

    for name in ("_export", "_written", "_continued", "_next_slot"):
        around(feeds.BatchFeedExporter, name)
    around(feeds, "_cut")
    for name in ("_save_call", "_save_document", "save", "_prepare"):
        around(Journal, name)


def work(web: MockWeb, folder: Path, feed: dict[str, Any], kill_at: int = 0, batch_size: int = 2, **options: str) -> int:
    """Crawl in a process that is killed at a step, if it gets there; return its exit status."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of threads in a process that forks: those of the web are not needed in the other
        process = os.fork()
    if process:
        return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
    status = 99
    try:
        done = 0

        def step() -> None:
            nonlocal done
            done += 1
            if done == kill_at:
                os._exit(KILLED)

        watch(step)
        logging.disable()
        settings = {
            "FEEDS": feed, "JOBDIR": str(folder / "job"), "SITEMAPCRAWL_BATCH_SIZE": batch_size, "TWISTED_REACTOR_ENABLED": False,
            "ITEM_PIPELINES": {Held: 1}, "HELD": str(folder / "held"),
        }  # fmt: skip
        crawler = Crawler(SitemapSpider, Settings(settings))
        files = {name: str(folder / f"{name}.jsonl") for name in ("sitemaps", "errors")}
        with proxy(web.address):
            asyncio.run(crawler.crawl_async(url=ROOT, **files, **options))
        outcome = crawler.get_extension(Outcome)
        assert outcome is not None
        status = outcome.exit_status
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(status)


# The file is in a process of its own here, too, for it can never be closed.
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no file that is always full")
@pytest.mark.parametrize("count", [2, 3_000])
@pytest.mark.parametrize("form", ["jsonl", "csv"])
def test_pages_that_a_full_disk_did_not_take_are_not_done(form: str, count: int, tmp_path: Path) -> None:
    with MockWeb({ROOT: urlset(*(f"/{number}" for number in range(count)))}) as web:
        assert work(web, tmp_path, {"/dev/full": {"format": form}}, batch_size=2_000) == 1
        assert work(web, tmp_path, {str(tmp_path / "p.jsonl"): {"format": "jsonl"}}) == 0
    assert len(list(locations(tmp_path))) == count


def locations(folder: Path) -> Iterator[str]:
    for path in folder.glob("p*"):
        if path.suffix == ".csv":
            with path.open(newline="") as file:
                yield from (row["loc"] for row in csv.DictReader(file))
        else:
            yield from (json.loads(line)["loc"] for line in path.read_text().splitlines())


@pytest.mark.parametrize("multi_thread", ["true", "false"])
@pytest.mark.parametrize("form", ["jsonl", "csv", "files of three pages"])
def test_nothing_is_lost_whatever_the_steps_that_kills_come_between(form: str, multi_thread: str, tmp_path: Path) -> None:
    name, options = {
        "jsonl": ("p.jsonl", {"format": "jsonl", "overwrite": True}),
        "csv": ("p.csv", {"format": "csv"}),
        "files of three pages": ("p-%(batch_id)d.jsonl", {"format": "jsonl", "batch_item_count": 3}),
    }[form]
    feed = {str(tmp_path / name): options}
    kills = [random.randrange(1, 2 * STEPS), random.randrange(1, STEPS), random.randrange(1, STEPS)]
    with MockWeb(pages()) as web:
        statuses = [work(web, tmp_path, feed, kill_at, multi_thread=multi_thread) for kill_at in [*kills, 0]]
    assert statuses[-1] == 0, (kills, statuses)
    assert set(statuses) <= {KILLED, 0}, (kills, statuses)
    found = Counter(locations(tmp_path))
    if form == "files of three pages":  # those of a document under way may be there twice
        assert found.keys() == ALL.keys(), (kills, ALL - found)
    else:
        assert found == ALL, kills
    assert set((tmp_path / "held").read_text().split()) == set(ALL), kills
    assert Counter(entry["loc"] for entry in read_records(tmp_path / "sitemaps.jsonl")) == ALL_SITEMAPS, kills
    assert Counter(error["url"] for error in read_records(tmp_path / "errors.jsonl")) == ALL_ERRORS, kills
