"""The rules of dates, change frequencies and priorities."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest

from sitemapcrawl.protocol.lint import lint
from sitemapcrawl.protocol.lint.values import ascii_lower, is_whole_within, is_within

if TYPE_CHECKING:
    from collections.abc import Callable

LOC = "<loc>https://example.org/</loc>"


@pytest.mark.parametrize(
    ("element", "value", "expected"),
    [
        ("lastmod", "1999", ""),
        ("lastmod", "2026-03", ""),
        ("lastmod", "2026-03-15", ""),
        ("lastmod", " 2024-02-29T23:59:59.9999999-23:59\n", ""),
        ("lastmod", "2026-03-15T12:00:00Z", ""),
        ("lastmod", "2026-03-15T13:00+01:00", ""),
        ("lastmod", "2026-03-15T12:00:00.000001Z", "lastmod-future"),
        ("lastmod", "2026-03-15T11:00-01:01", "lastmod-future"),
        ("lastmod", "2026-03-16", "lastmod-future"),
        ("lastmod", "2026-04", "lastmod-future"),
        ("lastmod", "9999", "lastmod-future"),
        ("lastmod", "2025-1-01", "lastmod-format"),
        ("lastmod", "2025-01-01T10:00 Z", "lastmod-format"),
        ("lastmod", "2025-01-01t10:00:00z", "lastmod-format"),
        ("lastmod", "２０２５", "lastmod-format"),
        ("lastmod", "2025-13-01T10", "lastmod-format"),
        ("lastmod", "2025-00", "lastmod-calendar"),
        ("lastmod", "2100-02-29", "lastmod-calendar"),
        ("lastmod", "2025-01-01T24:00Z", "lastmod-calendar"),
        ("lastmod", "2025-01-01T23:59:60Z", "lastmod-calendar"),
        ("lastmod", "2025-01-01T10:00+24:00", "lastmod-calendar"),
        ("lastmod", "2025-01-01T10:00+10:60", "lastmod-calendar"),
        ("lastmod", "2025-06-31T10:00", "lastmod-calendar"),
        ("lastmod", "2099-01-01T10:00", "lastmod-zone"),
        ("lastmod", "", "element-empty"),
        ("changefreq", "hourly", ""),
        ("changefreq", "\tnever ", ""),
        ("changefreq", "AlwayS", "changefreq-case"),
        ("changefreq", "wee\u212aly", "changefreq-value"),  # the Kelvin sign: its lower case is k
        ("changefreq", "daily weekly", "changefreq-value"),
        ("changefreq", " ", "element-empty"),
        ("priority", ".5", ""),
        ("priority", "1.", ""),
        ("priority", "+0.30", ""),
        ("priority", "-0.0", ""),
        ("priority", "0001.000", ""),
        ("priority", "1.00000000000000000000000001", "priority-range"),
        ("priority", "-0.00000000000000000000000001", "priority-range"),
        ("priority", "9" * 10_000, "priority-range"),
        ("priority", ".", "priority-format"),
        ("priority", "+", "priority-format"),
        ("priority", "1E-1", "priority-format"),
        ("priority", "INF", "priority-format"),
        ("priority", "٠٫٥", "priority-format"),
        ("priority", "0. 5", "priority-format"),
        ("priority", "<!-- 0.5 -->", "element-empty"),
    ],
)
def test_value(element: str, value: str, expected: str, found: Callable[..., str]) -> None:
    content = f"<url>{LOC}\n<{element}>{value}</{element}></url>"
    assert found(content) == (f"{expected} 2:1" if expected else "")


def test_what_is_fine_in_a_long_list_is_fine_alone(found: Callable[..., str]) -> None:
    # The past is told by comparing texts: the bound must not depend on zones.
    for value in ("2026-03-12T00:00:00-23:59", "2026-03-14T12:01:00-23:59", "2026-03-16T11:59:00+23:59"):
        assert found(f"<url>{LOC}<lastmod>{value}</lastmod></url>") in ("", "lastmod-future 1:37")


@pytest.mark.parametrize("now", [datetime(1, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, 23, 59, tzinfo=UTC)])
def test_the_ends_of_time(now: datetime) -> None:
    body = "<urlset><url><lastmod>0000</lastmod><lastmod>9999-12-31T23:59:59-23:59</lastmod></url></urlset>"
    rules = [finding.rule for finding in lint(body.encode(), None, now)]
    assert rules == ["namespace-missing", "loc-missing", "element-repeated", "lastmod-future"]


@pytest.mark.parametrize("url", ["", "/sitemap.xml", "ftp://example.org/", "https:///", "https://example.org:x/"])
def test_url_is_an_absolute_one(url: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        lint(b"", url)


def test_now_needs_a_zone() -> None:
    with pytest.raises(ValueError, match="expected a time with a zone"):
        lint(b"", None, datetime(2026, 1, 1))


@pytest.mark.parametrize(
    ("text", "expected"), [("0", True), ("5.000", True), ("5.0000000000000000000001", False), ("-0", True), ("-.1", False)]
)
def test_is_within(text: str, expected: bool) -> None:
    assert is_within(text, 0.0, 5.0) is expected


@pytest.mark.parametrize(
    ("text", "expected"), [("0", False), ("001", True), ("28800", True), ("28801", False), ("1" * 9_999, False)]
)
def test_is_whole_within(text: str, expected: bool) -> None:
    assert is_whole_within(text, 1, 28_800) is expected


def test_ascii_lower() -> None:
    assert ascii_lower("X-DEFAULT") == "x-default"
    assert ascii_lower("ÄK\u212a") == "Äk\u212a"
