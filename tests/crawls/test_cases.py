"""Every case of ``cases/``, each a whole crawl in this process, and some of them by the real command line."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.crawling import PROXIES, Result, crawl, read_records
from tests.crawls import cases

if TYPE_CHECKING:
    from tests.crawls.cases import Case

ROOT = Path(__file__).parents[2]
CASES = {case["id"]: case for case in cases.all_cases()}
ON_THE_COMMAND_LINE = (
    "formats-every-format-in-an-index",
    "crawl-max-urls-first-ones",
    "crawl-config-every-error-is-recorded",
    "crawl-status-404-entry",
    "crawl-content-index",
    "values-idn-robots",
    "extensions-all-at-once",
    "wild-gzip-bomb",
)


@pytest.mark.parametrize("case", CASES.values(), ids=list(CASES))
def test_crawl(case: Case, tmp_path: Path) -> None:
    arguments = cases.options(case)
    if "content" in case:
        (tmp_path / "content").write_bytes(cases.payload(case["content"]))
        arguments["content"] = str(tmp_path / "content")
    with cases.web(case) as web:
        result = crawl(web, case.get("url"), **arguments)
        assert cases.problems(case, result, web.requested, web.max_in_flight) == []


@pytest.mark.parametrize("name", ON_THE_COMMAND_LINE)
def test_command_line(name: str, tmp_path: Path) -> None:
    case = CASES[name]
    arguments = {"url": case.get("url"), **cases.options(case)}
    if "content" in case:
        (tmp_path / "content").write_bytes(cases.payload(case["content"]))
        arguments["content"] = str(tmp_path / "content")
    arguments |= {kind: str(tmp_path / f"{kind}.jsonl") for kind in ("sitemaps", "errors")}
    command = [sys.executable, "-m", "scrapy", "crawl", "sitemap", "-O", str(tmp_path / "urls.jsonl")]
    for option, value in arguments.items():
        command += ["-a", f"{option}={value}"] if value is not None else []
    environment = {variable: value for variable, value in os.environ.items() if variable not in PROXIES}
    with cases.web(case) as web:
        environment["http_proxy"] = web.address
        done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=60, check=False)
        pages, sitemaps, errors = (read_records(tmp_path / f"{kind}.jsonl") for kind in ("urls", "sitemaps", "errors"))
        result = Result(pages, sitemaps, errors, {}, done.returncode)
        assert cases.problems(case, result, web.requested, web.max_in_flight) == []
    assert "Traceback" not in done.stderr
