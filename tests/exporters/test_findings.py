"""The file of findings of a crawl."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest

from sitemapcrawl.exporters.findings import FindingsFile

if TYPE_CHECKING:
    from pathlib import Path


def test_findings_of_documents_follow_each_other(tmp_path: Path) -> None:
    file = FindingsFile(str(tmp_path / "lint.jsonl"), datetime(2026, 1, 31, tzinfo=UTC))
    clean = b'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"><url><loc>https://example.com/</loc></url></urlset>'
    assert file.add(clean, "https://example.com/one.xml") == 0
    assert file.add(clean, "https://other.example/two.xml") == 1
    assert file.add(b"", "https://example.com/three.xml") == 1
    file.close()
    records = [json.loads(line) for line in (tmp_path / "lint.jsonl").read_text("utf-8").splitlines()]
    assert [(found["file"], found["line"], found["column"], found["rule"], found["severity"]) for found in records] == [
        ("https://other.example/two.xml", 1, 66, "host-mismatch", "error"),
        ("https://example.com/three.xml", 1, 1, "xml-empty", "error"),
    ]


def test_a_file_that_cannot_be_written_is_told_at_once(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        FindingsFile(str(tmp_path / "missing" / "lint.jsonl"))


def test_a_file_is_continued_behind_its_last_whole_line(tmp_path: Path) -> None:
    path = tmp_path / "lint.jsonl"
    path.write_text('{"file": "before"}\n{"file": "ha')
    file = FindingsFile(str(path), append=True)
    file.add(b"", "https://example.com/three.xml")
    file.close()
    assert [json.loads(line)["file"] for line in path.read_text("utf-8").splitlines()] == [
        "before",
        "https://example.com/three.xml",
    ]
