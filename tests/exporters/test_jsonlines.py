from __future__ import annotations

import datetime
import io
import json
from typing import Any

import pytest

from sitemapcrawl.exporters.jsonlines import JsonLinesExporter
from sitemapcrawl.items import ErrorRecord
from sitemapcrawl.protocol.records import Alternate, Image, News, Page, Publication, Relation, SitemapEntry, Video, set_fields

URL = "https://example.com/"
RICH = Page(
    URL + "rich", "2024-02", "daily", 0.0,
    images=[Image(URL + "a.png", title="é")],
    news=News(Publication("P", "en"), "2024-01-01", "T"),
    videos=[Video(URL + "t.png", duration=0, restriction=Relation("allow", "IE"), tags=["a"])],
    alternates=[Alternate("alternate", "de", URL + "de")],
    sitemap=URL + "s.xml",
)  # fmt: skip


def export(items: list[Any], **options: Any) -> list[Any]:
    file = io.BytesIO()
    exporter = JsonLinesExporter(file, **options)
    exporter.start_exporting()
    exporter.export_batch(items)
    exporter.finish_exporting()
    return [json.loads(line) for line in file.getvalue().decode("utf-8").splitlines()]


@pytest.mark.parametrize("page", [Page(URL), Page(URL, priority=0.0, sitemap=URL), RICH], ids=["bare", "plain", "rich"])
def test_line_holds_what_is_set(page: Page) -> None:
    assert export([page]) == [set_fields(page)]


def test_lines_of_the_slow_way_are_the_same() -> None:
    assert export([RICH]) == export([RICH], fields_to_export=list(Page.__slots__))


def test_text_is_utf8_whatever_indent_is_set() -> None:
    file = io.BytesIO()
    JsonLinesExporter(file, encoding=None, indent=4).export_batch([RICH, Page(URL + "é")])
    assert file.getvalue().count(b"\n") == 2
    assert "é".encode() in file.getvalue()


def test_another_encoding_is_honoured() -> None:
    file = io.BytesIO()
    JsonLinesExporter(file, encoding="latin-1").export_batch([Page(URL + "é")])
    assert b"\xe9" in file.getvalue()


@pytest.mark.parametrize(
    ("fields", "expected"),
    [(["sitemap", "loc"], {"sitemap": URL, "loc": URL}), ({"loc": "URL"}, {"URL": URL}), (["lastmod"], {})],
    ids=["list", "mapping", "unset"],
)
def test_fields_to_export_are_honoured(fields: Any, expected: dict[str, str]) -> None:
    assert export([Page(URL, sitemap=URL)], fields_to_export=fields) == [expected]


def test_other_items_go_the_way_of_scrapy() -> None:
    assert export([Page(URL), {"a": 1}, SitemapEntry(URL)]) == [{"loc": URL}, {"a": 1}, {"loc": URL}]


def test_value_that_only_scrapy_knows_does_not_break_the_batch() -> None:
    class Odd(list):
        def __len__(self) -> int:
            raise TypeError

    page = Page(URL, lastmod=datetime.datetime(2024, 1, 15))  # type: ignore[arg-type]
    lines = export([Page(URL), page])
    assert [line["loc"] for line in lines] == [URL, URL]
    assert lines[1]["lastmod"].startswith("2024-01-15")


def test_sitemaps_and_errors_are_lines_as_well() -> None:
    assert export([SitemapEntry(URL), SitemapEntry(URL, "2024")]) == [{"loc": URL}, {"loc": URL, "lastmod": "2024"}]
    error = ErrorRecord(type="parse", url=URL, limit=None, message="m")
    assert export([error]) == [error]
