"""The option lint: findings of every document that a crawl fetched."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from tests.crawling import crawl
from tests.mockweb import Answer, MockWeb, index, urlset

if TYPE_CHECKING:
    from pathlib import Path

BASE = "http://example.com"


def findings(path: Path) -> list[tuple[str, str]]:
    return [(finding["file"], finding["rule"]) for finding in map(json.loads, path.read_text("utf-8").splitlines())]


def test_findings_of_every_document_name_it(tmp_path: Path) -> None:
    pages = {
        f"{BASE}/robots.txt": f"Sitemap: {BASE}/index.xml\nSitemap: {BASE}/list.txt\n",
        f"{BASE}/index.xml": index(f"{BASE}/a.xml", f"{BASE}/b.xml"),
        f"{BASE}/a.xml": urlset(f"{BASE}/1", f"{BASE}/two words"),
        f"{BASE}/b.xml": "<urlset><url><loc>",
        f"{BASE}/list.txt": f"{BASE}/3\n",
    }
    with MockWeb(pages) as web:
        result = crawl(web, f"{BASE}/robots.txt", lint=str(tmp_path / "lint.jsonl"))
    assert len(result.pages) == 3
    assert sorted(findings(tmp_path / "lint.jsonl")) == [
        (f"{BASE}/a.xml", "loc-space"),
        (f"{BASE}/a.xml", "namespace-missing"),
        (f"{BASE}/b.xml", "namespace-missing"),
        (f"{BASE}/b.xml", "xml-incomplete"),
        (f"{BASE}/index.xml", "namespace-missing"),
    ]


def test_what_is_served_after_a_redirect_is_named_by_where_it_is(tmp_path: Path) -> None:
    pages = {
        f"{BASE}/s.xml": Answer(b"", 302, {"Location": f"{BASE}/maps/s.xml"}),
        f"{BASE}/maps/s.xml": urlset(f"{BASE}/elsewhere"),
    }
    with MockWeb(pages) as web:
        crawl(web, f"{BASE}/s.xml", lint=str(tmp_path / "lint.jsonl"))
    assert (f"{BASE}/maps/s.xml", "directory-mismatch") in findings(tmp_path / "lint.jsonl")


def test_a_file_that_cannot_be_written_is_a_wrong_option(tmp_path: Path) -> None:
    with MockWeb({}) as web:
        result = crawl(web, f"{BASE}/s.xml", lint=str(tmp_path / "no" / "lint.jsonl"))
    assert result.exit_status == 2
    assert web.requested == []
