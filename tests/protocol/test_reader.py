"""The door: what whole documents come to, by kind and mode, how lazily they are read, and what refuses them."""

from __future__ import annotations

import gzip
import tracemalloc
from typing import Any

import pytest

from sitemapcrawl.protocol.errors import ParseError, SitemapError, ValidationError
from sitemapcrawl.protocol.reader import Document, read
from sitemapcrawl.protocol.records import Page, SitemapEntry, set_fields

URL = "https://example.com/shop/sitemap.xml"
SITEMAP = 'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'
EXTENSIONS = (
    'xmlns:image="http://www.google.com/schemas/sitemap-image/1.1" xmlns:news="http://www.google.com/schemas/sitemap-news/0.9" '
    'xmlns:video="http://www.google.com/schemas/sitemap-video/1.1" xmlns:xhtml="http://www.w3.org/1999/xhtml"'
)
DECLARATION = '<?xml version="1.0" encoding="UTF-8"?>\n'

MODES = [pytest.param(False, id="tolerant"), pytest.param(True, id="strict")]


def urlset(inner: str, *, head: str = DECLARATION, attributes: str = SITEMAP) -> str:
    return f"{head}<urlset {attributes}>{inner}</urlset>"


def url(loc: str, rest: str = "") -> str:
    return f"<url><loc>{loc}</loc>{rest}</url>"


def encode(document: str | bytes) -> bytes:
    return document if isinstance(document, bytes) else document.encode()


def locs(document: str | bytes, *, strict: bool = False, at: str = URL) -> list[str]:
    """The locations in their order, "! " and the URL for a validation error, and "!!" for a parse error."""
    found = []
    try:
        for record in read(encode(document), at, strict):
            if isinstance(record, SitemapError):
                found.append("!!" if isinstance(record, ParseError) else f"! {record.url}")
            else:
                found.append(record.loc)
    except ParseError:
        found.append("!!")
    return found


def fields(document: str | bytes, *, strict: bool = False, at: str = URL) -> list[dict[str, Any]]:
    records = read(encode(document), at, strict)
    return [record.record() if isinstance(record, SitemapError) else set_fields(record) for record in records]


def refusal(document: str | bytes, *, strict: bool = False, **options: Any) -> ParseError:
    with pytest.raises(ParseError) as caught:
        list(read(encode(document), URL, strict, **options))
    assert caught.value.url == URL
    return caught.value


# -- kinds -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("strict", MODES)
@pytest.mark.parametrize(
    ("document", "kind", "expected"),
    [
        pytest.param(
            urlset(
                url("https://example.com/a", "<lastmod>2024-02</lastmod><changefreq>daily</changefreq><priority>0.8</priority>")
            ),
            "urlset",
            [Page("https://example.com/a", "2024-02", "daily", 0.8, sitemap=URL)],
            id="urlset",
        ),
        pytest.param(
            f"<sitemapindex {SITEMAP}><sitemap><loc>https://example.com/a.xml</loc><lastmod>2024</lastmod></sitemap></sitemapindex>",
            "sitemapindex",
            [SitemapEntry("https://example.com/a.xml", "2024", URL)],
            id="index",
        ),
        pytest.param(
            "<rss version='2.0'><channel><title>t</title><link>https://example.com/</link><pubDate>Mon, 01 Jan 2024 00:00:00 GMT</pubDate>"
            "<item><title>t</title><link> https://example.com/a </link><pubDate>Mon, 15 Jan 2024 10:30:00 EST</pubDate></item>"
            "<item><title>without a link</title></item><item><link/><guid>https://example.com/no</guid></item></channel></rss>",
            "rss",
            [Page("https://example.com/a", "2024-01-15T10:30:00-05:00", sitemap=URL)],
            id="rss",
        ),
        pytest.param(
            '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns="http://purl.org/rss/1.0/"><channel><link>https://example.com/'
            "</link></channel><image><link>https://example.com/i</link></image><item><link>https://example.com/a</link></item></rdf:RDF>",
            "rss",
            [Page("https://example.com/a", sitemap=URL)],
            id="rdf",
        ),
        pytest.param(
            '<feed xmlns="http://www.w3.org/2005/Atom"><updated>2020-01-01T00:00:00Z</updated><link href="https://example.com/"/>'
            '<entry><link rel="self" href="https://example.com/self"/><link rel="alternate" href="https://example.com/a"/>'
            '<link href="https://example.com/second"/><published>2019-01-01T00:00:00Z</published><updated>2024-01-15T10:30:00Z</updated>'
            '</entry><entry><link rel="enclosure" href="https://example.com/e"/></entry></feed>',
            "atom",
            [Page("https://example.com/a", "2024-01-15T10:30:00Z", sitemap=URL)],
            id="atom",
        ),
        pytest.param(
            '<feed version="0.3" xmlns="http://purl.org/atom/ns#"><entry><link href="https://example.com/a"/><modified>2024</modified></entry></feed>',
            "atom",
            [Page("https://example.com/a", "2024", sitemap=URL)],
            id="atom-0.3",
        ),
        pytest.param(
            "# pages\nhttps://example.com/a\r\n\r\n  https://example.com/b\t\rno URL\nHTTPS://example.com/c",
            "text",
            [
                Page("https://example.com/a", sitemap=URL),
                Page("https://example.com/b", sitemap=URL),
                Page("HTTPS://example.com/c", sitemap=URL),
            ],
            id="text",
        ),
    ],
)
def test_kinds(document: str, kind: str, expected: list[object], strict: bool) -> None:
    found = read(encode(document), URL, strict)
    assert (found.kind, found.url, list(found)) == (kind, URL, expected)


@pytest.mark.parametrize("strict", MODES)
@pytest.mark.parametrize(
    "document",
    [
        (
            "<rss xmlns:x='u:x'><channel><item><x:link>https://example.com/x</x:link><x:pubDate>x</x:pubDate><link>https://example.com/a</link>"
            "<pubDate>15 Jan 2024 10:30:00 Z</pubDate></item><item><x:link>https://example.com/x</x:link></item></channel></rss>"
        ),
        (
            '<feed xmlns:x="http://purl.org/dc/terms/" xmlns="http://www.w3.org/2005/Atom"><entry><x:link href="https://example.com/x"/>'
            '<x:modified>2001</x:modified><link rel=" " href="https://example.com/a"/><updated>2024-01-15T10:30:00Z</updated></entry></feed>'
        ),
    ],
    ids=["rss", "atom"],
)
def test_extensions_of_a_feed_have_links_and_dates_of_their_own(document: str, strict: bool) -> None:
    assert fields(document, strict=strict) == [
        {"loc": "https://example.com/a", "lastmod": "2024-01-15T10:30:00Z", "sitemap": URL}
    ]


@pytest.mark.parametrize("strict", MODES)
def test_an_unreadable_date_of_a_feed_or_an_index_costs_itself_alone(strict: bool) -> None:
    for document in (
        "<rss><channel><item><link>https://example.com/a</link><pubDate>2024-01-15</pubDate></item></channel></rss>",
        '<feed><entry><link href="https://example.com/a"/><updated>Mon, 15 Jan 2024 10:30:00 GMT</updated></entry></feed>',
        "<sitemapindex><sitemap><loc>https://example.com/a</loc><lastmod>yesterday</lastmod></sitemap></sitemapindex>",
    ):
        assert locs(document, strict=strict) == ["! https://example.com/a", "https://example.com/a"]


@pytest.mark.parametrize("strict", MODES)
@pytest.mark.parametrize(
    "document", [urlset(""), "<urlset/>", "<sitemapindex></sitemapindex>", "<rss><channel/></rss>", "<feed/>"]
)
def test_a_document_without_an_entry_is_read(document: str, strict: bool) -> None:
    assert locs(document, strict=strict) == []


# -- robots.txt ------------------------------------------------------------------------------------------------------

ROBOTS = """User-agent: *
Disallow: /
  sitemap : https://example.com/a.xml # the first
SITEMAP:/b.xml
Site-map: https://other.example/c.xml
Sitemap:
Sitemap: ftp://example.com/d.xml
# Sitemap: https://example.com/no.xml
"""


@pytest.mark.parametrize(
    ("at", "robots", "kind"),
    [
        ("https://example.com/robots.txt", None, "robots"),
        ("https://example.com/a/ROBOTS.txt?v=2#x", None, "robots"),
        ("https://example.com/any", True, "robots"),
        ("https://example.com/robots.txt", False, "text"),
        ("https://example.com/sitemap.txt?from=/robots.txt", None, "text"),
    ],
)
def test_the_url_or_the_caller_says_what_is_a_robots_txt(at: str, robots: bool | None, kind: str) -> None:
    assert read(b"https://example.com/a\nSitemap: https://example.com/b", at, robots=robots).kind == kind


def test_robots_tolerant() -> None:
    assert locs(ROBOTS, at="https://example.com/robots.txt") == [
        "https://example.com/a.xml",
        "https://example.com/b.xml",
        "https://other.example/c.xml",
        "! ftp://example.com/d.xml",
    ]


def test_robots_strict_takes_any_host_and_no_relative_url() -> None:
    assert locs(ROBOTS, strict=True, at="https://example.com/robots.txt") == [
        "https://example.com/a.xml",
        "! /b.xml",
        "https://other.example/c.xml",
        "! ftp://example.com/d.xml",
    ]


@pytest.mark.parametrize("body", [b"", b"\n", b"User-agent: *", b"<html>Sitemap: none</html>", b"\xff\xfe"])
def test_a_robots_txt_that_names_no_sitemap_is_read(body: bytes) -> None:
    assert list(read(body, "https://example.com/robots.txt")) == []


# -- what is refused -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("strict", MODES)
@pytest.mark.parametrize(
    ("document", "word"),
    [
        pytest.param("", "empty", id="empty"),
        pytest.param(" \r\n\t", "empty", id="white-space"),
        pytest.param(b"\xef\xbb\xbf", "empty", id="byte-order-mark-alone"),
        pytest.param(gzip.compress(b""), "empty", id="gzip-of-nothing"),
        pytest.param('{"error": "not found", "url": "https://example.com/a"}', "neither", id="json"),
        pytest.param("example.com/a\n/b", "neither", id="lines"),
        pytest.param(b"\x89PNG\r\n\x1a\n\x00\x00", "neither", id="png"),
        pytest.param("<!-- nothing -->", "", id="comment-alone"),
        pytest.param("<!DOCTYPE html><html><body/></html>", "html", id="html"),
        pytest.param("<html>\nhttps://example.com/a\n</html>", "html", id="html-with-lines"),
        pytest.param("<!doctype HTML>\n<meta charset=utf-8><p>not & found", "HTML", id="html-without-html"),
        pytest.param("<?xml version='1.0'?><!-- <x> --><head/>", "HTML", id="html-of-a-head"),
        pytest.param("<!DOCTYPE html>", "HTML", id="html-of-nothing"),
        pytest.param("<html><body>a & b<br></html>", "HTML page", id="html-not-well-formed"),
        pytest.param("Error\nhttps://example.com/a\n<HTML lang=en>", "HTML page", id="html-behind-lines"),
        pytest.param("<error>no sitemap</error>", "<error>", id="another-root"),
        pytest.param(
            f"<catalog>{urlset(url('https://example.com/a'), head='')}</catalog>", "<catalog>", id="within-another-root"
        ),
        pytest.param("<rdf:RDF xmlns:rdf='u:r'><rdf:Description/></rdf:RDF>", "RDF", id="rdf-of-another-kind"),
        pytest.param('<?xml version="1.0" encoding="KLINGON-8"?><urlset/>', "KLINGON-8", id="unknown-encoding"),
        pytest.param(urlset("").encode("utf-32"), "UTF-32", id="utf-32"),
        pytest.param(b"\x1f\x8b\x08\x00garbage", "gzip", id="broken-gzip"),
        pytest.param(gzip.compress(urlset("").encode())[:-9], "gzip", id="cut-off-gzip"),
    ],
)
def test_what_is_no_sitemap_is_refused(document: str | bytes, word: str, strict: bool) -> None:
    error = refusal(document, strict=strict)
    assert word in error.message
    assert error.limit is None


@pytest.mark.parametrize("pack", [pytest.param(bytes, id="plain"), pytest.param(gzip.compress, id="gzip")])
def test_a_size_limit_is_named(pack: Any) -> None:
    body = urlset(url("https://example.com/a")).encode()
    assert locs_within(pack(body), len(body)) == ["https://example.com/a"]
    assert locs_within(pack(body), None) == ["https://example.com/a"]
    error = refusal(pack(body), max_size=len(body) - 1)
    assert error.limit == "max_response_size"


def locs_within(body: bytes, max_size: int | None) -> list[str]:
    return [record.loc for record in read(body, URL, max_size=max_size) if isinstance(record, Page)]


@pytest.mark.parametrize(
    "document",
    [
        pytest.param(urlset(url("https://example.com/?a=1&b=2")), id="ampersand"),
        pytest.param(urlset(url("https://example.com/&eacute;")), id="entity"),
        pytest.param(urlset("<url><loc>https://example.com/a</loc>"), id="missing-end-tag"),
        pytest.param(urlset(url("https://example.com/a")) + "<!-- x --> more", id="text-behind"),
        pytest.param(" " + urlset(url("https://example.com/a")), id="space-before-declaration"),
        pytest.param(urlset(url("https://example.com/a"))[:-1], id="cut-off"),
        pytest.param(urlset(url("https://example.com/a\x08")), id="control-character"),
        pytest.param(urlset(url("https://example.com/a")).encode() + b"<!-- \xe9 -->", id="invalid-byte"),
        pytest.param(urlset(url("https://example.com/a"), attributes='a="1" a="2"'), id="attribute-twice"),
        pytest.param(
            "<!DOCTYPE urlset [<!ENTITY a 'b'>]>" + urlset(url("https://example.com/?a&b"), head=""), id="behind-a-doctype"
        ),
        pytest.param("<br/>" + urlset(url("https://example.com/a"), head=""), id="element-before"),
        pytest.param("Warning\n" + urlset(url("https://example.com/a")), id="text-before"),
        pytest.param(urlset(url("https://example.com/a")).replace("urlset", "URLSET"), id="capitals"),
    ],
)
def test_strict_mode_returns_nothing_of_what_is_not_well_formed(document: str | bytes) -> None:
    assert locs(document, strict=True) == ["!!"]
    assert "https://example.com/" in locs(document)[0] or locs(document)[0] == f"! {URL}"


def test_a_well_formedness_error_names_line_and_column() -> None:
    assert "line 2" in refusal("<urlset>\n<url><loc>a & b</loc></url></urlset>", strict=True).message
    assert "line 2" in refusal("<!DOCTYPE a [<!ENTITY b 'c'>]>\n<urlset>&</urlset>", strict=True).message


# -- what strict mode accepts ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("strict", MODES)
@pytest.mark.parametrize(
    "document",
    [
        pytest.param(urlset(url("https://example.com/a")).encode("utf-8-sig"), id="utf-8-mark"),
        pytest.param(urlset(url("https://example.com/a"), head="").encode("utf-16"), id="utf-16-mark"),
        pytest.param(
            urlset(url("https://example.com/a"), head='<?xml version="1.0" encoding="utf-16"?>'), id="utf-16-declared-of-utf-8"
        ),
        pytest.param(urlset(url("https://example.com/a"), head='<?xml version="1.0" encoding="utf8"?>'), id="utf8"),
        pytest.param(urlset(url("https://example.com/a"), head='<?xml version="1.0" encoding="Shift_JIS"?>'), id="shift-jis"),
        pytest.param(urlset(url("https://example.com/a"), head='<?xml version="1.1"?>'), id="version-1.1"),
        pytest.param(urlset(url("https://example.com/a"), head="\n<!-- a --><?b c?>\n"), id="comments-first"),
        pytest.param("<!DOCTYPE urlset>" + urlset(url("https://example.com/a"), head=""), id="doctype"),
        pytest.param(
            '<!DOCTYPE urlset SYSTEM "a.dtd" [<!ENTITY b "c">]>' + urlset(url("https://example.com/a"), head=""),
            id="doctype-with-all",
        ),
        pytest.param(urlset(url("https://example.com/a"), attributes=""), id="no-namespace"),
        pytest.param(
            urlset(url("https://example.com/a"), attributes='xmlns="http://www.google.com/schemas/sitemap/0.84"'),
            id="old-namespace",
        ),
        pytest.param('<s:urlset xmlns:s="u:s"><s:url><s:loc>https://example.com/a</s:loc></s:url></s:urlset>', id="prefix"),
        pytest.param(urlset("<url><loc><![CDATA[https://example.com/a]]></loc></url>"), id="cdata"),
        pytest.param(urlset("<url><loc>https://example.com/<!-- b -->a<?c?></loc></url>"), id="comment-within"),
        pytest.param(urlset("<url><loc>&#104;ttps://example.com/a</loc></url>"), id="character-reference"),
        pytest.param(urlset(url("\n\t https://example.com/a\u2003\r\n")), id="white-space-around"),
        pytest.param(
            urlset("<url><x:y xmlns:x='u:x'>1</x:y><other><loc>no</loc></other><loc>https://example.com/a</loc></url><x>2</x>"),
            id="unknown-elements",
        ),
        pytest.param(gzip.compress(urlset(url("https://example.com/a")).encode()) + b"\n", id="gzip"),
        pytest.param(gzip.compress(gzip.compress(urlset(url("https://example.com/a")).encode())), id="gzip-twice"),
        pytest.param(
            b"".join(gzip.compress(part.encode()) for part in urlset(url("https://example.com/a")).partition("<loc>")),
            id="members",
        ),
        pytest.param("https://example.com/a\n".encode("utf-8-sig"), id="text-with-mark"),
    ],
)
def test_both_modes_read(document: str | bytes, strict: bool) -> None:
    assert locs(document, strict=strict) == ["https://example.com/a"]


def test_encodings_are_transcoded() -> None:
    body = urlset(url("https://example.com/café"), head='<?xml version="1.0" encoding="ISO-8859-1"?>').encode("latin-1")
    assert locs(body) == ["https://example.com/caf%C3%A9"]
    assert locs(body, strict=True) == ["https://example.com/café"]


# -- what tolerant mode reads past -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        pytest.param(urlset(url("/a?b=1&c=2&amp;d=3")), ["https://example.com/a?b=1&c=2&d=3"], id="ampersands"),
        pytest.param(urlset(url("/&eacute;&nbsp;&bogus;&copy=1")), ["https://example.com/%C3%A9%C2%A0&bogus;&copy=1"], id="html-entities"),
        pytest.param(urlset(url("&nbsp;/a&nbsp;")), ["https://example.com/a"], id="entity-of-a-space"),
        pytest.param(urlset(url("<![CDATA[/a?b&c]]>") + url("/d&e")), ["https://example.com/a?b&c", "https://example.com/d&e"], id="cdata-beside"),
        pytest.param(urlset("<url><loc>/a</loc><url><loc>/b</url><url><loc>/c<lastmod>2024</lastmod></url>"),
                     ["https://example.com/a", "https://example.com/b", "https://example.com/c"], id="missing-end-tags"),
        pytest.param(urlset("<url><loc>/a<loc></url><url><loc>/b<loc></url>"), ["https://example.com/a", "https://example.com/b"], id="start-for-end"),
        pytest.param(urlset("<url><loc>/a</lco><lastmod>2024</lastmod></url>" + url("/b")), ["https://example.com/a", "https://example.com/b"], id="typo"),
        pytest.param(urlset("<URL><Loc>/a</loc></url><URL><LOC>/b</LOC></URL>"), ["https://example.com/a", "https://example.com/b"], id="letter-case"),
        pytest.param(urlset(url("/a")).replace("urlset", "UrlSet"), ["https://example.com/a"], id="root-in-capitals"),
        pytest.param(urlset(url("/a"))[:-3], ["https://example.com/a", "!!"], id="cut-off"),
        pytest.param(urlset(url("/a") + "<url><loc>/b")[:-9], ["https://example.com/a", "!!"], id="cut-in-a-location"),
        pytest.param(urlset(url("/a")) + "<!-- cache --> <script>x</script>", ["https://example.com/a"], id="junk-behind"),
        pytest.param("\n \t" + urlset(url("/a")), ["https://example.com/a"], id="space-before"),
        pytest.param(b"\xef\xbb\xbf\xef\xbb\xbf" + urlset(url("/a")).encode(), ["https://example.com/a"], id="two-marks"),
        pytest.param("<!-- cache -->" + urlset(url("/a")), ["https://example.com/a"], id="late-declaration"),
        pytest.param("Notice: x in y.php on line 3\n" + urlset(url("/a")), ["https://example.com/a"], id="php-text"),
        pytest.param("<br />\n<b>Warning</b>: x in <b>y.php</b> on line <b>3</b><br />\n" + urlset(url("/a")), ["https://example.com/a"], id="php-html"),
        pytest.param("<br>\n<b>Warning</b>: x<br>\n" + urlset(url("/a")), ["https://example.com/a"], id="php-html-before-a-declaration"),
        pytest.param(urlset(url("/a") + "<br />\n<b>Notice</b>: x<br />\n" + url("/b")), ["https://example.com/a", "https://example.com/b"], id="php-within"),
        pytest.param("HTTP/1.1 200 OK\r\n\r\n" + urlset(url("/a")), ["https://example.com/a"], id="headers-before"),
        pytest.param(urlset(url("/a")).encode("utf-16-le"), ["https://example.com/a"], id="utf-16-without-mark"),
        pytest.param(urlset(url("/a")).encode("utf-16-be"), ["https://example.com/a"], id="utf-16-be-without-mark"),
        pytest.param(urlset(url("/a")).encode("utf-16") + b"\n", [f"! {URL}", "https://example.com/a"], id="utf-16-with-a-byte-more"),
        pytest.param("https://example.com/a\n".encode("utf-16") + b"\n", [f"! {URL}", "https://example.com/a"], id="text-in-utf-16-with-a-byte-more"),
        pytest.param(urlset(url("/a?b&c") + url("/b"), attributes='x="\xe9 &&amp;&eacute;"').encode("latin-1"),
                     [f"! {URL}", "https://example.com/a?b&c", "https://example.com/b"], id="invalid-byte-and-ampersands-in-the-root"),
        pytest.param(urlset(url("/caf\xe9")).encode("latin-1"), [f"! {URL}", "https://example.com/caf%EF%BF%BD"], id="invalid-byte"),
        pytest.param("<s:urlset><s:url><s:loc>/a</s:loc></s:url></s:urlset>", ["https://example.com/a"], id="undeclared-prefix"),
        pytest.param(urlset(urlset(url("/a") + url("/b"), head="") + url("/c")),
                     ["https://example.com/a", "https://example.com/b", "https://example.com/c"], id="root-in-root"),
        pytest.param("<RSS><CHANNEL><ITEM><LINK>/a</LINK></ITEM></CHANNEL></RSS>", ["https://example.com/a"], id="rss-in-capitals"),
        pytest.param('<rss xmlns="http://www.w3.org/2005/Atom"><channel><item><link>/a</link></item></channel></rss>', ["https://example.com/a"],
                     id="rss-in-the-namespace-of-atom"),
        pytest.param('<!DOCTYPE rss PUBLIC "-//Netscape Communications//DTD RSS 0.91//EN" "http://my.netscape.com/publish/formats/rss-0.91.dtd">'
                     "<rss><channel><title>&eacute;</title><item><link>/a?&eacute;</link></item></channel></rss>",
                     ["https://example.com/a?%C3%A9"], id="rss-0.91"),
        pytest.param("<rss><channel><item><link>/a<pubDate>Mon, 15 Jan 2024 10:30:00 GMT</pubDate></item></channel></rss>", ["https://example.com/a"],
                     id="rss-link-without-end"),
        pytest.param("<rss><channel><item><title>t<link>/a<item><link>/b</link></item></channel></rss>",
                     ["https://example.com/a", "https://example.com/b"], id="rss-items-without-end"),
        pytest.param('<feed><entry><link href="/a"><entry><title>t<link href="/b"/></entry></feed>',
                     ["https://example.com/a", "https://example.com/b"], id="atom-entries-without-end"),
        pytest.param("<!DOCTYPE a [<!ENTITY x 'y'>]>" + urlset(url("https://example.com/&x;"), head=""), ["https://example.com/&x;"], id="declared-entity"),
        pytest.param(urlset(url("\u200b/a\ufeff") + url("https://example.com/b\u200e")), ["https://example.com/a", "https://example.com/b"], id="invisible"),
        pytest.param(urlset(url("&lt;![CDATA[ https://example.com/a?b&amp;c ]]&gt;")), ["https://example.com/a?b&c"], id="escaped-cdata"),
    ],
)  # fmt: skip
def test_tolerant_mode_reads_past(document: str | bytes, expected: list[str]) -> None:
    assert locs(document) == expected


# A wrong URL is worse than none: where markup stands in a location, the text around it is not what was meant.
@pytest.mark.parametrize(
    "loc",
    [
        "https://example.com/?a<b",
        "https://example.com/?a<b&c=1",
        "https://example.com/?a<b>c",
        "https://example.com/?a</b",
        "https://example.com/?a<!b",
        "https://example.com/a</b>c",
        "https://example.com/a<b>c</b>",
        "https://example.com/a<b>c</b>d",
        "https://example.com/a<x:y xmlns:x='u:x'/>b",
        "https://example.com/a<br/>",
    ],
)
@pytest.mark.parametrize(
    "around", ["<urlset><url><loc>{}</loc></url>{}</urlset>", "<rss><channel><item><link>{}</link></item>{}</channel></rss>"]
)
def test_a_location_with_markup_in_it_is_rejected(loc: str, around: str) -> None:
    for after in ("", "&"):  # as libxml2 reads it where it can, and as the tolerant reader does
        assert locs(around.format(loc, after)) == [f"! {URL}"]


def test_text_with_a_stray_less_than_is_a_location() -> None:
    assert locs(urlset(url("https://example.com/?a< b") + url("https://example.com/?a<5"))) == [
        "https://example.com/?a<%20b",
        "https://example.com/?a<5",
    ]


def test_an_image_whose_location_has_markup_in_it_is_left_out() -> None:
    document = urlset(
        url("https://example.com/", "<image:image><image:loc>https://example.com/?a<b</image:loc></image:image>"),
        attributes=f"{SITEMAP} {EXTENSIONS}",
    )
    assert fields(document) == [{"loc": "https://example.com/", "sitemap": URL}]


def test_a_page_keeps_its_values_when_an_end_tag_is_missing() -> None:
    document = urlset(
        "<url><loc>https://example.com/a<lastmod>2024-01-01</lastmod><priority>0.3</url>" + url("https://example.com/b")
    )
    assert fields(document) == [
        {"loc": "https://example.com/a", "lastmod": "2024-01-01", "priority": 0.3, "sitemap": URL},
        {"loc": "https://example.com/b", "sitemap": URL},
    ]


# -- entries ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("strict", MODES)
@pytest.mark.parametrize(
    "entry",
    [
        "<url/>",
        "<url><loc/></url>",
        url(""),
        url(" \n\xa0"),
        "<url><lastmod>2024</lastmod></url>",
        "<url>https://example.com/</url>",
    ],
)
def test_an_entry_without_a_location_is_an_error_that_names_the_document(entry: str, strict: bool) -> None:
    [error] = read(encode(urlset(entry)), URL, strict)
    assert isinstance(error, ValidationError)
    assert (error.url, error.message) == (URL, "<loc> of an entry is empty or missing")


@pytest.mark.parametrize("strict", MODES)
def test_the_first_of_two_values_counts(strict: bool) -> None:
    document = urlset(
        url("https://example.com/", "<lastmod>2024</lastmod><lastmod>2023</lastmod><priority/><priority>1</priority>")
    )
    assert fields(document, strict=strict) == [
        {"loc": "https://example.com/", "lastmod": "2024", "priority": 0.0, "sitemap": URL}
    ]


def test_several_locations_are_several_pages_or_an_error() -> None:
    document = urlset(
        "<url><loc>https://example.com/a</loc><loc/><loc>ftp://no</loc><loc>https://example.com/b</loc><priority>1</priority></url>"
    )
    assert locs(document) == ["! ftp://no", "https://example.com/a", "https://example.com/b"]
    assert locs(document, strict=True) == ["! https://example.com/a"]


@pytest.mark.parametrize("strict", MODES)
def test_entries_of_the_other_kind_are_passed_over(strict: bool) -> None:
    assert locs(urlset("<sitemap><loc>https://example.com/s</loc></sitemap>" + url("https://example.com/a")), strict=strict) == [
        "https://example.com/a"
    ]
    index = f"<sitemapindex>{url('https://example.com/a')}<sitemap><loc>https://example.com/s</loc></sitemap></sitemapindex>"
    assert locs(index, strict=strict) == ["https://example.com/s"]


def test_a_prefixed_root_says_what_its_namespace_is() -> None:
    # Elements without a prefix are those of the image extension here.
    document = (
        '<s:urlset xmlns="http://www.google.com/schemas/sitemap-image/1.1" xmlns:s="http://www.sitemaps.org/schemas/sitemap/0.9"><s:url>'
        "<s:loc>https://example.com/a</s:loc><image><loc>https://example.com/i</loc></image></s:url></s:urlset>"
    )
    assert fields(document) == [{"loc": "https://example.com/a", "images": [{"loc": "https://example.com/i"}], "sitemap": URL}]


def test_a_reference_to_a_quotation_mark_does_not_end_an_attribute() -> None:
    link = '<xhtml:link rel="alternate" hreflang="de" href="https://example.com/&QUOT; href=&QUOT;b&Tab;"/>'
    document = urlset(url("https://example.com/", link), attributes=f"{SITEMAP} {EXTENSIONS}")
    [page] = read(encode(document), URL)
    assert isinstance(page, Page)
    assert [alternate.href for alternate in page.alternates] == ["https://example.com/%22%20href=%22b"]


def test_elements_too_deep_for_libxml2_cost_nothing_that_stands_beside_them() -> None:
    document = urlset(url("https://example.com/a") + "<x>" * 3_000 + "</x>" * 3_000 + url("https://example.com/b", "<image/>"))
    assert locs(document) == locs(document, strict=True) == ["https://example.com/a", "https://example.com/b"]


# -- laziness --------------------------------------------------------------------------------------------------------


def test_batches_are_lists_of_the_size_that_is_asked_for() -> None:
    body = encode(urlset("".join(url(f"/{number}") for number in range(7))))
    assert [len(batch) for batch in read(body, URL).batches(3)] == [3, 3, 1]
    assert list(read(b"<urlset/>", URL).batches()) == []


def test_a_document_is_iterated_over_once() -> None:
    document = read(encode(urlset(url("/a"))), URL)
    assert isinstance(document, Document)
    assert [len(list(document)), len(list(document))] == [1, 0]
    assert repr(document) == f"Document(kind='urlset', url={URL!r})"


ROWS = {
    "plain": "<url><loc>https://example.com/%d</loc><lastmod>2024-01-01</lastmod></url>\n",
    "libxml2": '<url><loc a="">https://example.com/%d</loc><lastmod>2024-01-01</lastmod></url>\n',
    "tolerant": "<url><loc>https://example.com/%d</loc><lastmod>2024-01-01</url>\n",
}


@pytest.mark.parametrize("row", ROWS.values(), ids=ROWS)
def test_a_large_document_is_read_in_little_memory(row: str) -> None:
    rows = "".join(row % number for number in range(20_000))
    body = f"<urlset>{rows}</urlset>".encode()
    del rows
    tracemalloc.start()
    try:
        batches = read(body, URL).batches(1_000)
        first = next(batches)
        count = len(first) + sum(len(batch) for batch in batches)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert first[0] == Page("https://example.com/0", "2024-01-01", sitemap=URL)
    assert count == 20_000
    # The tolerant reader holds the text once; the records of the whole document would be another 5 MB.
    assert peak < len(body) + 3_000_000


def test_the_first_batch_does_not_read_the_rest() -> None:
    rows = "".join(ROWS["plain"] % number for number in range(20_000))
    batches = read(f"<urlset>{rows}".encode(), URL).batches(10)
    # The document is cut off, which is known when its end has been reached.
    assert [type(record) for record in next(batches)] == [Page] * 10
    *_, last = (record for batch in batches for record in batch)
    assert isinstance(last, ParseError)


@pytest.mark.parametrize(("body", "told"), [(b"User-agent: *\nDisalow: /a", True), (b"Sitemap: /a", True), (b"see: /a", False)])
def test_robots_txt_without_a_url_says_how_one_is_known(body: bytes, told: bool) -> None:
    with pytest.raises(ParseError) as caught:
        read(body, "https://example.com/other.txt")
    assert ("a robots.txt is known by its URL" in caught.value.message) is told


def test_lines_of_a_text_sitemap_that_are_no_urls_are_passed_over() -> None:
    body = b"htp://example.com/a\nwww.example.com/a\nftp://example.com/a\n/a\nsee https://example.com/a\nhttps://example.com/b\n"
    for strict in (False, True):
        assert [str(record) for record in read(body, "https://example.com/p.txt", strict=strict)] == [
            str(Page("https://example.com/b", sitemap="https://example.com/p.txt"))
        ]
