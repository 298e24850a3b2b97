"""Progress in a terminal: crawls of two seconds, watched at the same time."""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.mockweb import Answer, MockWeb, index, urlset

PROJECT = Path(__file__).parents[2]
ROOT = "http://example.com/"

pty = pytest.importorskip("pty")


def watch(*arguments: str, **environment: str) -> str:
    """Return what a crawl of two seconds writes to a terminal."""
    web = {ROOT: index("/a.xml", "/b.xml"), ROOT + "a.xml": urlset("/1"), ROOT + "b.xml": Answer(urlset("/2").encode(), delay=2)}
    with MockWeb(web) as served:
        ours, theirs = pty.openpty()
        process = subprocess.Popen(
            [sys.executable, "-m", "scrapy", "crawl", "sitemap", "-a", f"url={ROOT}", *arguments],
            cwd=PROJECT, stdout=subprocess.DEVNULL, stderr=theirs,
            env={**os.environ, "http_proxy": served.address, "TERM": "xterm", "COLUMNS": "120", **environment},
        )  # fmt: skip
        os.close(theirs)
        written = b""
        while True:
            try:
                part = os.read(ours, 65_536)
            except OSError:  # the other end is closed
                break
            if not part:
                break
            written += part
        os.close(ours)
        assert process.wait(timeout=30) == 0
    return written.decode()


# name: arguments and environment by which no progress is shown.
HIDDEN: dict[str, tuple[list[str], dict[str, str]]] = {
    "log file": (["-s", "LOG_FILE=/dev/null"], {}),
    "scrapyd": ([], {"SCRAPY_JOB": "17"}),
    "switched off": (["-s", "SITEMAPCRAWL_PROGRESS_ENABLED=0"], {}),
}


@pytest.fixture(scope="module")
def written() -> dict[str, str]:
    """What each crawl writes; they wait most of the time, and do so together."""
    crawls = {"shown": ([], {}), **HIDDEN}
    with ThreadPoolExecutor() as pool:
        futures = {
            name: pool.submit(watch, "-a", "fetch_timeout=10", *arguments, **environment)
            for name, (arguments, environment) in crawls.items()
        }
        return {name: future.result() for name, future in futures.items()}


def test_progress_is_shown_in_a_terminal_and_log_lines_stay_whole(written: dict[str, str]) -> None:
    assert "of 3 sitemaps" in written["shown"]
    assert "INFO: Finished\r\n  sitemaps    3 read" in written["shown"]


@pytest.mark.parametrize("name", HIDDEN)
def test_progress_is_not_shown(written: dict[str, str], name: str) -> None:
    assert "of 3 sitemaps" not in written[name]
