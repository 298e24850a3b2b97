from __future__ import annotations

import csv
import io
import json
from typing import Any
from xml.etree import ElementTree

from sitemapcrawl.exporters.records import RecordCsvExporter, RecordJsonExporter, RecordXmlExporter
from sitemapcrawl.items import ErrorRecord
from sitemapcrawl.protocol.records import Alternate, Image, News, Page, SitemapEntry

URL = "https://example.com/"
RICH = Page(URL + "2", images=[Image(URL + "é.png", title="a, b")], news=News(title="T"), alternates=[Alternate(href=URL)])


def export(kind: type, *items: Any, **options: Any) -> str:
    file = io.BytesIO()
    exporter = kind(file, **options)
    exporter.start_exporting()
    for item in items:
        exporter.export_item(item)
    exporter.finish_exporting()
    return file.getvalue().decode("utf-8")


def test_csv_has_every_column_though_the_first_page_has_not() -> None:
    rows = list(csv.DictReader(io.StringIO(export(RecordCsvExporter, Page(URL), RICH))))
    assert [*rows[0], "start", "attempt"] == list(Page.__slots__)
    assert rows[0]["images"] == ""


def test_csv_has_the_start_where_there_are_several() -> None:
    rows = list(csv.DictReader(io.StringIO(export(RecordCsvExporter, Page(URL, start=URL), RICH))))
    assert [*rows[0], "attempt"] == list(Page.__slots__)
    assert rows[0]["start"] == URL


def test_csv_has_the_attempt_where_several_workers_share_a_crawl() -> None:
    rows = list(csv.DictReader(io.StringIO(export(RecordCsvExporter, Page(URL, start=URL, attempt=1), RICH))))
    assert list(rows[0]) == list(Page.__slots__)
    assert rows[0]["attempt"] == "1"


def test_csv_cells_of_nested_values_can_be_parsed_back() -> None:
    row = next(csv.DictReader(io.StringIO(export(RecordCsvExporter, RICH))))
    assert json.loads(row["images"]) == [{"loc": URL + "é.png", "title": "a, b"}]
    assert json.loads(row["news"]) == {"title": "T"}


def test_csv_of_sitemaps_and_errors_has_their_columns() -> None:
    assert export(RecordCsvExporter, SitemapEntry(URL)).splitlines()[0] == "loc,lastmod,sitemap"
    error = {"type": "parse", "url": URL, "limit": None, "message": "m"}
    assert export(RecordCsvExporter, error).splitlines() == ["type,url,limit,message", f"parse,{URL},,m"]


def test_csv_fields_can_be_chosen() -> None:
    assert export(RecordCsvExporter, RICH, fields_to_export={"loc": "URL"}).splitlines() == ["URL", URL + "2"]


def test_json_leaves_out_what_is_unset() -> None:
    assert json.loads(export(RecordJsonExporter, Page(URL), RICH))[0] == {"loc": URL}


def test_xml_holds_nested_records_as_elements() -> None:
    root = ElementTree.fromstring(export(RecordXmlExporter, Page(URL), RICH))
    assert [child.tag for child in root[0]] == ["loc"]
    assert root.findtext("item/images/value/loc") == URL + "é.png"


def test_xml_leaves_out_what_is_unset_of_an_error() -> None:
    root = ElementTree.fromstring(export(RecordXmlExporter, ErrorRecord(type="parse", url=URL, limit=None, message="m")))
    assert [child.tag for child in root[0]] == ["type", "url", "message"]
