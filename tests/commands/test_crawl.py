"""The command line, in a process of its own."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from argparse import Namespace
from pathlib import Path
from unittest.mock import Mock

import pytest
from scrapy.exceptions import UsageError

from sitemapcrawl.commands.crawl import Command
from tests.mockweb import Answer, MockWeb, index, urlset

PROJECT = Path(__file__).parents[2]
ROOT = "http://example.com/"


def start(web: MockWeb | None, *arguments: str) -> subprocess.Popen[str]:
    environment = {name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")}
    if web:
        environment["http_proxy"] = web.address
    return subprocess.Popen(
        [sys.executable, "-m", "scrapy", "crawl", "sitemap", *arguments],
        cwd=PROJECT, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip


def run(web: MockWeb | None, *arguments: str) -> tuple[int, str, str]:
    process = start(web, *arguments)
    out, err = process.communicate(timeout=60)
    return process.returncode, out, err


def test_pages_go_to_standard_output_and_the_log_does_not() -> None:
    with MockWeb({ROOT: urlset("/1", "/2")}) as web:
        status, out, err = run(web, "-a", f"url={ROOT}", "-O", "-:jsonl")
    assert status == 0
    assert [json.loads(line)["loc"] for line in out.splitlines()] == [ROOT + "1", ROOT + "2"]
    assert "2 pages" in err or "pages       2" in err
    assert "Traceback" not in err
    assert "Warning" not in err
    assert len(err.splitlines()) < 15


def test_document_that_cannot_be_read_is_exit_status_1() -> None:
    with MockWeb({ROOT: "<html></html>"}) as web:
        status, _, err = run(web, "-a", f"url={ROOT}")
    assert status == 1
    assert "html" in err


@pytest.mark.parametrize("quiet", [[], ["--nolog"], ["-L", "CRITICAL"]])
def test_wrong_options_are_exit_status_2_and_on_standard_error(quiet: list[str], tmp_path: Path) -> None:
    errors = tmp_path / "errors.csv"
    status, _, err = run(None, "-a", f"url={ROOT}", "-a", "max_depth=0", "-a", f"errors={errors}", *quiet)
    assert status == 2
    assert "max_depth: '0'" in err
    assert errors.read_text().splitlines()[0] == "type,url,limit,message"


def test_interrupt_ends_the_crawl_with_what_it_has(tmp_path: Path) -> None:
    pages, errors = tmp_path / "pages.csv", tmp_path / "errors.jsonl"
    web = {ROOT + "i.xml": index("/a.xml", *(f"/{number}.xml" for number in range(500))), ROOT + "a.xml": urlset("/1")}
    with MockWeb(web, lambda url: Answer(urlset("/2").encode(), delay=0.5)) as served:
        arguments = ["-a", f"url={ROOT}i.xml", "-a", "multi_thread=false", "-O", str(pages), "-a", f"errors={errors}"]
        process = start(served, *arguments)
        until = time.monotonic() + 30
        while len(served.requested) < 4 and time.monotonic() < until:
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=30)
    assert process.returncode == 1
    assert ROOT + "1" in pages.read_text()
    problems = [json.loads(line) for line in errors.read_text().splitlines()]
    assert [(problem["type"], problem["url"]) for problem in problems] == [("parse", ROOT + "i.xml")]
    assert "interrupted" in problems[0]["message"]
    assert "Received SIGINT, shutting down gracefully. Send again to force" in err
    assert "Traceback" not in err


def test_strict_profile_is_strict() -> None:
    os.environ["SCRAPY_PROJECT"] = "strict"
    try:
        with MockWeb({ROOT: urlset("http://example.org/1", "/2")}) as web:
            status, out, _ = run(web, "-a", f"url={ROOT}", "-O", "-:jsonl")
    finally:
        del os.environ["SCRAPY_PROJECT"]
    assert (status, out) == (0, "")


def test_a_wrong_option_leaves_the_file_of_an_earlier_crawl_alone(tmp_path: Path) -> None:
    urls, errors = tmp_path / "urls.jsonl", tmp_path / "errors.jsonl"
    urls.write_text("kept\n")
    with MockWeb({}) as web:
        status, _, err = run(web, "-a", f"url={ROOT}", "-a", "strct=1", "-O", str(urls), "-a", f"errors={errors}")
    assert status == 2
    assert urls.read_text() == "kept\n"
    assert json.loads(errors.read_text())["type"] == "config"
    assert "strct" in err
    assert web.requested == []


@pytest.mark.parametrize("target", ["", "/dev/null/urls.jsonl"], ids=["folder", "no folder"])
@pytest.mark.parametrize("option", ["-O", "errors", "sitemaps"])
def test_a_feed_that_cannot_be_written_is_told_before_anything_is_requested(option: str, target: str, tmp_path: Path) -> None:
    uri = target or str(tmp_path)
    feed = ["-O", f"{uri}:jsonl"] if option == "-O" else ["-a", f"{option}={uri}:jsonl"]
    with MockWeb({ROOT: urlset("/1")}) as web:
        status, _, err = run(web, "-a", f"url={ROOT}", *feed)
    assert status == 2
    assert "cannot be written" in err
    assert "Traceback" not in err
    assert web.requested == []


def test_the_summary_tells_what_was_left_out_on_purpose() -> None:
    with MockWeb({ROOT: index("/a", "/b"), ROOT + "a": urlset("/1", "/2")}) as web:
        status, _, err = run(web, "-a", f"url={ROOT}", "-a", "follow=/a$", "-a", "rules=/1$")
    assert status == 0
    assert "2 read, 0 failed, 0 left out, 1 not followed" in err
    assert "1, 1 not matched by rules" in err
    assert "neither a feed nor a pipeline" in err


def test_an_address_without_its_protocol_gets_a_hint() -> None:
    status, _, err = run(None, "-a", "url=example.com/sitemap.xml", "-O", "-:jsonl")
    assert status == 1
    assert "did you mean 'https://example.com/sitemap.xml'?" in err


@pytest.mark.parametrize("arguments", [["sitemap", f"{ROOT}robots.txt"], [f"{ROOT}robots.txt"]])
def test_a_url_without_the_name_of_its_option_gets_a_hint(arguments: list[str]) -> None:
    command = Command()
    command.crawler_process = Mock(create_crawler=Mock(side_effect=KeyError))
    with pytest.raises(UsageError, match=re.escape(f"-a url={ROOT}robots.txt")):
        command.run(arguments, Namespace(spargs={}))
