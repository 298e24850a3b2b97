"""Workers that a Scrapyd runs: the jobs of several, or several of one, share a crawl."""

from __future__ import annotations

import sys
import threading
from typing import TYPE_CHECKING

import redis

from sitemapcrawl.cluster.store import Store
from tests.cluster.cluster import until
from tests.mockweb import Answer, MockWeb, index, urlset
from tests.test_scrapyd import copy_project, deploy, running

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

ROOT = "http://example.com/"


def test_jobs_share_a_crawl(redis_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REDIS_URL", redis_url)
    copy_project(tmp_path / "tree")
    both_have_work = threading.Event()

    def answer(url: str) -> Answer:
        both_have_work.wait(30)
        return Answer(urlset(*(f"{url}#{page}" for page in range(30))).encode())

    web = MockWeb({ROOT + "i.xml": index(*(f"/{number}.xml" for number in range(20)))}, answer)
    conf = "\n[settings]\nsitemapcrawl = settings.cluster\n"
    # One alone cannot deliver as many, since the other has two documents in its hands.
    options = {"max_urls": "580", "max_concurrency": "4", "fetch_timeout": "60"}
    with web, redis.Redis.from_url(redis_url) as client, running(tmp_path, web, conf) as scrapyd:
        store = Store(client, "sitemap", "sitemap:start_urls")
        deploy(tmp_path / "tree", "make", "deploy", "-o", f"{sys.prefix}/.deploy", f"VENV={sys.prefix}", f"SCRAPYD={scrapyd.url}")
        jobs = [scrapyd.schedule(name, **options) for name in ("one", "two")]
        until(lambda: store.status().workers == 2, "both")
        store.enqueue([ROOT + "i.xml"])
        until(lambda: len(web.requested) == 1 + 4, "work for both")  # the share of each is two
        both_have_work.set()
        until(lambda: store.status().read == 1, "the crawl")
        for job in jobs:  # they wait for more
            assert scrapyd.call("cancel", ("job", job.name), post=True)["prevstate"] == "running"
            job.wait()
        found = [job.items for job in jobs]
        logs = [job.log for job in jobs]
        keys = {str(key, "ascii") for key in client.scan_iter()}
    assert all(found), logs
    pages = [(page["loc"], page["start"]) for items in found for page in items]
    assert len(set(pages)) == len(pages) == 580
    assert [error["limit"] for job in jobs for error in job.records("errors")] == ["max_urls"]
    assert sum(len(job.records("sitemaps")) for job in jobs) == 20
    assert not any("Traceback" in log for log in logs)
    assert keys == {"sitemap:totals"}
