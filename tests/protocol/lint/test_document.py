"""Gzip, encoding, size; where findings point; documents that are cut; bounds."""

from __future__ import annotations

import gzip
import tracemalloc
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest

from sitemapcrawl.protocol.lint import finding as finding_module
from sitemapcrawl.protocol.lint import lint

if TYPE_CHECKING:
    from collections.abc import Callable

HEAD = (
    '<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns:video="http://www.google.com/schemas/sitemap-video/1.1">'
)
LOC = "<loc>https://example.org/</loc>"


@pytest.mark.parametrize(
    ("head", "body", "encoding", "expected"),
    [
        ("<?xml version='1.0' encoding='utf-8'?>", "é", "utf-8", ""),
        ("\ufeff", "é", "utf-8", ""),
        ("\ufeff<?xml version='1.0' encoding='latin1'?>", "é", "utf-8", "encoding-not-utf8 1:1"),
        ("<?xml version='1.0' encoding='windows-1252'?>", "é€", "windows-1252", "encoding-not-utf8 1:1"),
        ("<?xml version='1.0' encoding='Shift_JIS'?>", "日本", "shift_jis", "encoding-not-utf8 1:1"),
        ("<?xml version='1.0' encoding='klingon'?>", "é", "utf-8", "encoding-not-utf8 1:1"),
        ("<?xml version='1.0' encoding='UTF-16'?>", "é", "utf-8", "encoding-not-utf8 1:1"),
        ("\ufeff<?xml version='1.0' encoding='UTF-8'?>", "é", "utf-16-be", "encoding-not-utf8 1:1"),
        ("\ufeff", "é\U0001f600", "utf-16-le", "encoding-not-utf8 1:1"),
        ("\ufeff", "é", "utf-32-le", "encoding-not-utf8 1:1"),
    ],
)
def test_encoding(head: str, body: str, encoding: str, expected: str, found: Callable[..., str]) -> None:
    document = f"{head}\n{HEAD}<!-- {body} -->\n<!-- {body} --><url/></urlset>"
    column = 10 + len(body)
    findings = found(document.encode(encoding))
    assert findings == ", ".join(filter(None, [expected, f"loc-missing 3:{column}"]))


def test_invalid_bytes_are_one_character_each_sequence(found: Callable[..., str]) -> None:
    body = HEAD.encode() + b"\n\xe9<url>\xf0\x9f\x98<loc>https://a.org/\xff\xfe</loc><x/></url>\n\xef\xbf\xbd\x80</urlset>\xc3"
    assert found(body) == (
        "encoding-invalid 2:1, encoding-invalid 2:7, loc-non-ascii 2:8, encoding-invalid 2:27, encoding-invalid 2:28, "
        "element-unknown 2:35, encoding-invalid 3:2, encoding-invalid 3:12, xml-outside-root 3:12"
    )


def test_gzip(found: Callable[..., str]) -> None:
    body = f"{HEAD}<url>{LOC}</url>\n<url/></urlset>".encode()
    packed = gzip.compress(body)
    assert found(packed) == found(gzip.compress(body[:50]) + gzip.compress(body[50:]) + b"\0\0 rest") == "loc-missing 2:1"
    assert found(packed[:-8] + bytes(8)) == "gzip-damaged 1:1, loc-missing 2:1"
    assert found(packed[:12]) == "gzip-damaged 1:1, xml-empty 1:1"
    cut = gzip.compress(body, 0)  # stored, so that its beginning is there
    assert found(cut[:-12]) == "gzip-damaged 1:1, loc-missing 2:1, xml-incomplete 2:12"


def test_size(found: Callable[..., str]) -> None:
    body = f"{HEAD}<url>{LOC}</url>\n</urlset>".encode()
    assert found(body + b" " * (52_428_800 - len(body))) == ""
    assert found(gzip.compress(body + b" " * (52_428_801 - len(body)), 1)) == "file-too-large 1:1"


def test_what_a_bomb_holds_beyond_reason_is_not_read(found: Callable[..., str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sitemapcrawl.protocol.lint.document._MAX_UNPACKED", 60_000_000)
    body = f"{HEAD}<url/>".encode() + b" " * 90_000_000
    assert found(gzip.compress(body, 1)) == f"file-too-large 1:1, loc-missing 1:{len(HEAD) + 1}"


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("", "xml-empty 1:1"),
        (" \n", "xml-empty 1:1"),
        ("<!-- -->", "xml-empty 1:1"),
        ("not found", "xml-empty 1:1"),
        (f"{HEAD}\r\n\r<url/>\r\n\n\t\U0001f600é&amp;<url/></urlset>", "loc-missing 3:1, loc-missing 5:9"),
        (f"{HEAD}\n<url\n a='>'\n><loc\n/></url></urlset>", "loc-empty 4:2"),
        (f"{HEAD}\n<url>{LOC}&x;<lastmod>a&b</lastmod>&y;</url>&</urlset>",
         "xml-entity 2:37, lastmod-format 2:40, xml-ampersand 2:50, xml-entity 2:62, xml-ampersand 2:71"),
        (f"{HEAD}\x01\n<x/>\x02<!-- \x03 --></urlset>\x04 x \x05",
         "no-entries 1:1, xml-character 1:123, element-unknown 2:1, xml-character 2:5, xml-character 2:11, xml-outside-root 2:25"),
        # What was complete in what was cut is checked; what was cut is not, nor what it lacks.
        (f"{HEAD}\n<url><priority>7</priority>{LOC}<lastmod>x", "priority-range 2:6, xml-incomplete 2:69"),
        (f"{HEAD}\n<url>{LOC}<video:video><video:live>x</video:live>", "video-yes-no 2:50, xml-incomplete 2:76"),
        (f"{HEAD}\n<url>{LOC}<x><loc/>", "xml-incomplete 2:46"),
        (f"{HEAD}\n<url>{LOC}<loc><priority/>", "element-misplaced 2:42, xml-incomplete 2:53"),
        (f"{HEAD}\n<url", "xml-incomplete 2:5"),
        # A fault may be told at the beginning of what follows, of which something else is told later.
        (f"{HEAD}<url>{LOC}</url\n<x/>\n<url>{LOC}</url\n<url/></urlset>",
         "element-unknown 2:1, xml-markup 2:1, duplicate-address 3:6, loc-missing 4:1, xml-markup 4:1"),
        (f"{HEAD}\n<url><loc>x</url>\n", "loc-relative 2:6, xml-tag-mismatch 2:12, xml-incomplete 3:1"),
    ],
)  # fmt: skip
def test_positions(content: str, expected: str, found: Callable[..., str]) -> None:
    assert found(content.encode()) == expected


def test_messages_are_one_line_and_values_short() -> None:
    body = f"{HEAD}<url><loc>a\n  b  c{'x' * 9_999}</loc><priority>{'9  ' * 999}</priority><{'y' * 999}/></url></urlset>"
    findings = list(lint(body.encode()))
    assert len(findings) == 6
    for finding in findings:
        assert finding.message == " ".join(finding.message.split())
        assert len(finding.message) < 400
        assert finding.value is not None
        assert len(finding.value) <= 200


def test_findings_come_while_the_document_is_read() -> None:
    findings = lint(f"{HEAD}{'<url/>' * 200_000}".encode())
    assert next(findings).rule == "loc-missing"  # or this would take a second


@pytest.mark.parametrize("content", ["<", "&", "</x>", "<url/>", "<x/>", "\x00", "&lt;&#0;"])
def test_a_million_findings_take_bounded_memory(content: str) -> None:
    # Not quite a million, for the time that it takes to trace memory.
    body = f"{HEAD}{content * 30_000}".encode()
    tracemalloc.start()
    count = sum(1 for _ in lint(body))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert count >= 30_000
    assert peak < 12 * len(body) + 5_000_000


def test_too_many_different_findings_are_told_in_the_words_of_their_rules(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(finding_module, "_MAX_KINDS", 10)
    body = f"{HEAD}<url>{''.join(f'&x{number};' for number in range(100))}</url></urlset>"
    findings = list(lint(body.encode()))
    assert len(findings) == 101
    assert all(first[:2] < second[:2] for first, second in pairwise(findings[1:]))
    assert findings[9].message == "The entity &x8; is not declared" or findings[9].value == "&x8;"
    assert findings[-1].message == "a reference to an entity that is not declared"


@pytest.mark.parametrize(
    ("content", "what"),
    [
        ("User-agent: *\nDisallow:\n\nSitemap: https://example.com/sitemap.xml\n", ": it is a robots.txt, which is not linted"),
        ("https://example.com/a\nhttps://example.com/b\n", ": it is a text sitemap, which is not linted"),
        ("not found", ""),
    ],
)
def test_a_document_that_may_be_in_order_as_something_else_is_told_as_that(content: str, what: str) -> None:
    (finding,) = lint(content.encode())
    assert (finding.rule, finding.message) == ("xml-empty", f"The document has no root element{what}")
