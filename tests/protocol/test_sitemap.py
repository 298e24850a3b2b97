"""One sitemap as a document: what it takes, what it refuses, and that it comes back as it went in."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone
from typing import Any

import pytest

from sitemapcrawl.protocol.errors import ParseError
from sitemapcrawl.protocol.limits import MAX_ENTRIES
from sitemapcrawl.protocol.records import Alternate, Image, News, Page, Publication, Relation, SitemapEntry, Uploader, Video
from sitemapcrawl.protocol.sitemap import Sitemap

LOC = "https://example.com/page"
VIDEO = {
    "thumbnail_loc": "https://cdn.example/t.jpg", "title": "T", "description": "D", "content_loc": "https://cdn.example/v.mp4",
}  # fmt: skip
NEWS = {"publication": {"name": "N", "language": "en"}, "publication_date": "2024-02-29", "title": "T"}


def appended(**values: Any) -> Any:
    sitemap = Sitemap()
    sitemap.append(LOC, **values)
    (entry,) = Sitemap.parse(sitemap.to_bytes()).entries
    assert entry == sitemap.entries[0], "what is read back is what was accepted"
    return entry


# -- What is accepted


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({}, {}),
        ({"lastmod": "2024-02"}, {"lastmod": "2024-02"}),
        ({"lastmod": date(2024, 2, 29)}, {"lastmod": "2024-02-29"}),
        ({"lastmod": datetime(2024, 2, 29, 10, 30, tzinfo=UTC)}, {"lastmod": "2024-02-29T10:30:00Z"}),
        (
            {"lastmod": datetime(2024, 2, 29, 10, 30, 0, 5, tzinfo=timezone(timedelta(hours=-3)))},
            {"lastmod": "2024-02-29T10:30:00.000005-03:00"},
        ),
        ({"lastmod": ""}, {}),
        ({"changefreq": "never", "priority": 0}, {"changefreq": "never", "priority": 0.0}),
        ({"priority": 1e-7}, {"priority": 1e-7}),  # never with an exponent
        ({"priority": " 0.25 "}, {"priority": 0.25}),
        ({"images": ["https://cdn.example/a.png"]}, {"images": [Image("https://cdn.example/a.png")]}),
        ({"images": {"url": "https://cdn.example/a.png"}}, {"images": [Image("https://cdn.example/a.png")]}),
        (
            {"images": [{"loc": "https://cdn.example/a?b=1&c='x'", "title": ' <Tom & "Jerry"> ]]> '}]},
            {"images": [Image("https://cdn.example/a?b=1&c='x'", title='<Tom & "Jerry"> ]]>')]},
        ),
        ({"news": NEWS}, {"news": News(Publication("N", "en"), "2024-02-29", "T")}),
        (
            {"alternates": [{"hreflang": "de-AT", "href": "https://example.at/?a&b"}, Alternate("alternate", "X-Default", LOC)]},
            {
                "alternates": [
                    Alternate("alternate", "de-AT", "https://example.at/?a&b"),
                    Alternate("alternate", "X-Default", LOC),
                ]
            },
        ),
        (
            {"videos": [VIDEO | {"duration": 28800.0, "rating": 5, "view_count": "0", "live": True, "tags": ["a", " ", "b"]}]},
            {"videos": [Video(**VIDEO, duration=28800, rating=5.0, view_count=0, live="yes", tags=["a", "b"])]},
        ),
        (
            {"videos": [VIDEO | {"restriction": {"relationship": "allow", "value": "IE gb\r\nUS"}}]},
            {"videos": [Video(**VIDEO, restriction=Relation("allow", "IE gb\r\nUS"))]},
        ),
        (
            {"videos": VIDEO | {"uploader": {"info": "https://www.example.com/u?a&b", "value": 'The "U"'}}},
            {"videos": [Video(**VIDEO, uploader=Uploader("https://www.example.com/u?a&b", 'The "U"'))]},
        ),
        (
            {"videos": VIDEO | {"platform": Relation("deny", "tv web"), "expiration_date": date(2030, 1, 1)}},
            {"videos": [Video(**VIDEO, platform=Relation("deny", "tv web"), expiration_date="2030-01-01")]},
        ),
    ],
)
def test_append_takes_what_a_record_holds(values: dict[str, Any], expected: dict[str, Any]) -> None:
    assert appended(**values) == Page(LOC, **expected)


def test_records_and_mappings_are_appended_as_they_are() -> None:
    sitemap = Sitemap()
    sitemap.append(Page(LOC, priority=0.5, sitemap="https://example.com/sitemap.xml"))
    sitemap.append({"loc": LOC, "lastmod": date(2024, 1, 1), "colour": "green"})
    assert sitemap.entries == [Page(LOC, priority=0.5), Page(LOC, lastmod="2024-01-01")]
    with pytest.raises(ValueError, match="no others"):
        sitemap.append(Page(LOC), priority=0.5)


# -- What is refused


@pytest.mark.parametrize(
    ("loc", "rule"),
    [
        ("", "empty"), (None, "empty"), (5, "text"), ("/page", "not absolute"), ("ftp://example.com/", "scheme"),
        ("https:///x", "host"), ("https://example.com/a b", "space"), ("https://example.com/\tb", "control character"),
        ("https://example.com/é", "ASCII"), ("https://bücher.example/", "ASCII"), ("https://example.com/\ud800", "ASCII"),
        ("https://example.com/<", "'<'"), ("https://example.com/%zz", "escape"), ("https://example.com/?%", "%"),
        ("https://example.com:99999/", "65535"), ("https://example.com/" + "a" * 2030, "2048"),
        (" https://example.com/", "absolute"),
    ],
)  # fmt: skip
def test_a_location_that_the_protocol_refuses(loc: Any, rule: str) -> None:
    sitemap = Sitemap()
    with pytest.raises(ValueError, match="<loc>") as caught:
        sitemap.append(loc)
    assert rule in str(caught.value)
    assert len(sitemap) == 0


@pytest.mark.parametrize(
    ("values", "mentions"),
    [
        ({"lastmod": "yesterday"}, ["<lastmod>", "'yesterday'", "W3C"]),
        ({"lastmod": "2023-02-29"}, ["2023-02-29", "calendar"]),
        ({"lastmod": "2024-01-01T10:00"}, ["zone"]),
        ({"lastmod": datetime(2024, 1, 1, 10)}, ["<lastmod>", "zone"]),
        ({"lastmod": 20240101}, ["20240101"]),
        ({"changefreq": "Daily"}, ["<changefreq>", "'Daily'", "hourly"]),
        ({"priority": 1.01}, ["<priority>", "1.01", "0.0 to 1.0"]),
        ({"priority": float("nan")}, ["nan"]),
        ({"priority": "high"}, ["'high'", "number"]),
        ({"priority": True}, ["True"]),
        ({"images": [{"title": "T"}]}, ["<image:loc>", "missing"]),
        ({"images": ["/a.png"]}, ["<image:loc>", "'/a.png'"]),
        ({"images": [{"loc": LOC, "title": "a\x08b"}]}, ["<image:title>", r"\x08", "XML"]),
        ({"images": [{"loc": LOC, "title": "a\ud800b"}]}, [r"\ud800"]),
        ({"images": [{"loc": LOC, "title": "a\ufffeb"}]}, [r"\ufffe"]),
        ({"images": [LOC] * 1_001}, ["1,001", "1,000"]),
        ({"news": NEWS | {"title": " "}}, ["<news:title>", "missing"]),
        ({"news": NEWS | {"publication": None}}, ["<news:name>"]),
        ({"news": NEWS | {"publication": {"name": "N", "language": "en-GB"}}}, ["<news:language>", "'en-GB'"]),
        ({"news": NEWS | {"publication_date": "2024-02"}}, ["<news:publication_date>", "day"]),
        ({"alternates": [{"hreflang": "en-UK", "href": LOC}]}, ["hreflang", "'en-UK'"]),
        ({"alternates": [{"href": LOC}]}, ["hreflang", "missing"]),
        ({"alternates": [{"hreflang": "de", "href": "/de"}]}, ["href", "'/de'"]),
        ({"alternates": [Alternate("canonical", "de", LOC)]}, ["rel", "'canonical'"]),
        ({"videos": VIDEO | {"thumbnail_loc": ""}}, ["<video:thumbnail_loc>"]),
        ({"videos": VIDEO | {"title": None}}, ["<video:title>"]),
        ({"videos": VIDEO | {"description": "x" * 2_049}}, ["<video:description>", "2,049"]),
        ({"videos": VIDEO | {"content_loc": None}}, ["<video:content_loc>", "<video:player_loc>"]),
        ({"videos": VIDEO | {"player_loc": LOC}}, ["<video:player_loc>", "page itself"]),
        ({"videos": VIDEO | {"duration": 0}}, ["<video:duration>", "28,800"]),
        ({"videos": VIDEO | {"duration": 1.5}}, ["<video:duration>", "whole"]),
        ({"videos": VIDEO | {"rating": 5.1}}, ["<video:rating>", "5.1"]),
        ({"videos": VIDEO | {"view_count": -1}}, ["<video:view_count>", "-1"]),
        ({"videos": VIDEO | {"live": "maybe"}}, ["<video:live>", "'maybe'"]),
        ({"videos": VIDEO | {"restriction": {"relationship": "only", "value": "DE"}}}, ["relationship", "'only'"]),
        ({"videos": VIDEO | {"restriction": {"relationship": "deny", "value": "DE EU"}}}, ["'EU'", "3166"]),
        ({"videos": VIDEO | {"platform": {"relationship": "deny", "value": "radio"}}}, ["'radio'"]),
        ({"videos": VIDEO | {"uploader": {"value": "x" * 256}}}, ["<video:uploader>", "256"]),
        ({"videos": VIDEO | {"uploader": {"value": "x", "info": "https://example.org/u"}}}, ["info", "example.com"]),
        ({"videos": VIDEO | {"tags": ["t"] * 33}}, ["33", "32"]),
    ],
)
def test_a_value_that_is_refused_is_named_with_its_rule(values: dict[str, Any], mentions: list[str]) -> None:
    sitemap = Sitemap()
    with pytest.raises(ValueError, match=r".") as caught:
        sitemap.append(LOC, **values)
    for words in mentions:
        assert words in str(caught.value)
    assert len(sitemap) == 0


def test_encode_writes_what_an_address_may_not_hold_percent_encoded() -> None:
    sitemap = Sitemap(encode=True)
    sitemap.append("https://bücher.example/a b/é?q=é&x=|%", images=["https://example.com/ü.png"])
    assert sitemap.entries == [
        Page("https://xn--bcher-kva.example/a%20b/%C3%A9?q=%C3%A9&x=%7C%25", images=[Image("https://example.com/%C3%BC.png")])
    ]
    for hopeless in ("/a b", "https://example.com/a\x08b", "https://exa mple.com/", "mailto:me@example.com"):
        with pytest.raises(ValueError, match="<loc>"):
            sitemap.append(hopeless)


def test_pages_elsewhere_are_refused_where_the_place_of_the_document_is_known() -> None:
    sitemap = Sitemap(url="https://example.com/shop/sitemap.xml")
    sitemap.append("https://example.com/shop/")
    for elsewhere, rule in [
        ("https://www.example.com/shop/", "host"), ("http://example.com/shop/", "protocol"),
        ("https://example.com:8443/shop/", "host"), ("https://example.com/shopping", "directory"),
    ]:  # fmt: skip
        with pytest.raises(ValueError, match=rule):
            sitemap.append(elsewhere)


def test_the_fifty_thousand_and_first_entry_is_refused() -> None:
    sitemap = Sitemap()
    sitemap.entries = [Page(LOC)] * MAX_ENTRIES
    with pytest.raises(ValueError, match="50,000"):
        sitemap.append(LOC)
    sitemap.entries.append(Page(LOC))
    with pytest.raises(ValueError, match="50,001 entries do not fit"):
        sitemap.to_bytes()


def test_what_is_put_into_entries_by_hand_is_judged_when_it_is_written() -> None:
    sitemap = Sitemap()
    sitemap.entries.append(Page("https://example.com/\x08"))
    with pytest.raises(ValueError, match="control"):
        str(sitemap)


# -- The document


def test_an_empty_document_has_a_self_closing_root() -> None:
    assert str(Sitemap()) == (
        '<?xml version="1.0" encoding="UTF-8"?>\n<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"/>\n'
    )
    assert Sitemap.parse(Sitemap("sitemapindex").to_bytes()).kind == "sitemapindex"


def test_only_the_namespaces_that_are_used_are_declared() -> None:
    sitemap = Sitemap()
    sitemap.append(LOC, alternates=[{"hreflang": "de", "href": LOC}])
    text = str(sitemap)
    assert "xmlns:xhtml=" in text
    assert text.count("xmlns") == 2


def test_an_index_is_written_back_as_one() -> None:
    index = Sitemap("sitemapindex")
    index.append("https://example.com/sitemap-1.xml?a&b", lastmod=date(2024, 2, 29))
    with pytest.raises(ValueError, match="priority"):
        index.append("https://example.com/sitemap-2.xml", priority=0.5)
    read = Sitemap.parse(index.to_bytes())
    assert read.kind == "sitemapindex"
    assert list(read) == [SitemapEntry("https://example.com/sitemap-1.xml?a&b", "2024-02-29")]
    assert read.to_bytes() == index.to_bytes()


def test_another_kind_is_refused() -> None:
    with pytest.raises(ValueError, match="'index'"):
        Sitemap("index")


def test_a_stylesheet_is_referred_to() -> None:
    assert b'<?xml-stylesheet type="text/xsl" href="/s.xsl?a&amp;b"?>\n<urlset' in Sitemap().to_bytes(stylesheet="/s.xsl?a&b")
    for wrong in ("", "a b", 'x"', "x?>", "\x00", "é"):
        with pytest.raises(ValueError, match="stylesheet"):
            Sitemap().to_bytes(stylesheet=wrong)


# -- Reading


DOCUMENT = """<?xml version="1.0"?>
<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">
  <url><loc>/relative</loc></url>
  <url><lastmod>2024-01-01</lastmod></url>
  <url><loc>https://example.com/1</loc><lastmod>soon</lastmod><changefreq>often</changefreq><priority>7</priority></url>
  <url><loc>https://example.com/2</loc><lastmod>2024-01-01</lastmod><changefreq>daily</changefreq><priority>0.7</priority></url>
</urlset>"""


def test_a_wrong_value_costs_itself_and_a_wrong_location_its_entry() -> None:
    sitemap = Sitemap.parse(DOCUMENT)
    assert sitemap.entries == [
        Page("https://example.com/1"),
        Page("https://example.com/2", lastmod="2024-01-01", changefreq="daily", priority=0.7),
    ]
    assert len(sitemap.errors) == 5
    assert "often" in " ".join(error.message for error in sitemap.errors)


def test_relative_locations_are_resolved_where_the_url_is_known() -> None:
    sitemap = Sitemap.parse(DOCUMENT.encode(), "https://example.com/sitemap.xml")
    assert sitemap.entries[0] == Page("https://example.com/relative", sitemap="https://example.com/sitemap.xml")


def test_filtered_entries_are_written() -> None:
    sitemap = Sitemap.parse(DOCUMENT)
    sitemap.entries = [entry for entry in sitemap if entry.lastmod]
    assert [entry.loc for entry in Sitemap.parse(str(sitemap))] == ["https://example.com/2"]


def test_a_text_is_read_whatever_encoding_it_declares() -> None:
    text = f'<?xml version="1.0" encoding="ISO-8859-1"?><urlset><url><loc>{LOC}/é</loc></url></urlset>'
    assert Sitemap.parse(text).entries[0].loc == f"{LOC}/%C3%A9"
    assert Sitemap.parse("\ufeff" + text).entries[0].loc == f"{LOC}/%C3%A9"


@pytest.mark.parametrize(
    ("body", "mentions"),
    [
        (b"<!DOCTYPE html><html><body>Not found</body></html>", "<html>"),
        (b"<rss><channel><item><link>https://example.com/</link></item></channel></rss>", "RSS"),
        (b"https://example.com/\n", "list of URLs"),
        (b"", "empty"),
    ],
)
def test_what_is_no_sitemap_is_refused(body: bytes, mentions: str) -> None:
    with pytest.raises(ParseError) as caught:
        Sitemap.parse(body)
    assert mentions in caught.value.message
